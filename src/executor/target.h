/*
 * target.h - one problem, made concrete: its bundle, whether it is worth
 * working on, and the baseline that programs are measured against.
 */
#ifndef KF_EXECUTOR_TARGET_H
#define KF_EXECUTOR_TARGET_H

#include "evaluate/health.h"
#include "executor/setup.h"

/* With several shapes: the first, and the others in `more`. */
struct kf_target {
	struct kf_problem problem;
	struct kf_bundle bundle;
	struct kf_health health;
	struct kf_baseline *baseline;	/* NULL unless live */
	uint64_t baseline_stored_ns;	/* 0: none */
	json_t *baseline_stored_about;	/* owned; or NULL */
	struct kf_target *more;		/* owned; one shape each, none below them */
	size_t more_count;
};

/* From a file; with the setup's shapes. */
KF_MUST_CHECK enum kf_code kf_target_open(const struct kf_setup *setup,
		const char *path, struct kf_target *out, struct kf_err *err);
/* From a problem that is already read; takes it over, also on failure. */
KF_MUST_CHECK enum kf_code kf_target_open_take_problem(
		const struct kf_setup *setup, struct kf_problem *problem,
		struct kf_target *out, struct kf_err *err);
/* Of several shapes the first unhealthy one's, else the first's. Borrowed. */
const struct kf_health *kf_target_health(const struct kf_target *target);
/* KF_E_INPUT, with a sentence that names --force, for an unhealthy problem. */
KF_MUST_CHECK enum kf_code kf_target_healthy(const struct kf_target *target,
					     struct kf_err *err);
/* From the shapes of one problem (count of them, at least 1), which are left
 * for the caller to free: their contents are taken over, also on failure. */
KF_MUST_CHECK enum kf_code kf_target_open_take_shapes(
		const struct kf_setup *setup, struct kf_problem *problem,
		size_t count, struct kf_target *out, struct kf_err *err);
void kf_target_release(struct kf_target *target);

#endif
