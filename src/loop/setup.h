/*
 * setup.h - what `run`, `verify` and `prompt` need before the first stage: a
 * platform with one of its devices, and for each problem its bundle and
 * baseline.
 */
#ifndef KF_SETUP_H
#define KF_SETUP_H

#include "evaluate/evaluate.h"

struct kf_setup_spec {
	const char *platform;		/* "cpu" or "cpu:0" */
	const char *python;		/* NULL: found */
	const char *const *set;		/* NAME=VALUE for problems */
	size_t set_count;
	const char *cache_path;		/* NULL: the user's cache folder */
	unsigned threads;		/* 0: as many as the device has units */
	enum kf_sandbox_tier tier_min;
	enum kf_baseline_use baseline;
	bool measure;			/* a card with measured ceilings */
	const struct kf_log *log;
	const volatile int *cancel;
};

struct kf_setup {
	struct kf_platform *platform;
	struct kf_device_info device;
	struct kf_problem_spec problem_spec;	/* path is filled in per problem */
	enum kf_baseline_use baseline;
	unsigned threads;
	bool compiler_proved;		/* it has compiled our own example */
};

/* A zeroed kf_setup is empty. The spec's strings are borrowed for as long as
 * the setup is used. */
KF_MUST_CHECK enum kf_code kf_setup_open(const struct kf_setup_spec *spec,
					 struct kf_setup *out,
					 struct kf_err *err);
void kf_setup_release(struct kf_setup *setup);

/* One problem, made concrete. */
struct kf_target {
	struct kf_problem problem;
	struct kf_bundle bundle;
	struct kf_baseline *baseline;	/* NULL unless live */
	uint64_t baseline_stored_ns;	/* 0: none */
};

/* From a file. */
KF_MUST_CHECK enum kf_code kf_target_open(const struct kf_setup *setup,
		const char *path, struct kf_target *out, struct kf_err *err);
/* From a problem that is already read; takes it over, also on failure. */
KF_MUST_CHECK enum kf_code kf_target_open_take_problem(
		const struct kf_setup *setup, struct kf_problem *problem,
		struct kf_target *out, struct kf_err *err);
void kf_target_release(struct kf_target *target);

struct kf_judge_spec {
	struct kf_setup *setup;		/* remembers that its compiler works */
	const struct kf_target *target;
	enum kf_rules rules;
	uint64_t seed;			/* 0: random */
	unsigned call_count_fixed;	/* 0: until the interval is narrow */
	const char *source_dir;		/* the candidate's files */
	const char *work_dir;		/* ours; emptied before each try */
};

/* kf_evaluate, repeated when the trouble was ours (harness_error). Trouble
 * that a repetition cannot mend (stopped by the user, nothing there to run
 * with) is returned at once. A compiler that refuses a program must once have
 * compiled the platform's own example, else the refusal is KF_E_UNAVAIL. */
KF_MUST_CHECK enum kf_code kf_judge(const struct kf_judge_spec *spec,
				    struct kf_verdict *out, struct kf_err *err);

#endif
