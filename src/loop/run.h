/*
 * run.h - a run at work: what all of its problems share, and what is known of
 * the one that is worked on. Inside loop/ only; others call kf_loop_run.
 */
#ifndef KF_RUN_H
#define KF_RUN_H

#include "loop/loop.h"
#include "profile/profile.h"

struct kf_run {
	const struct kf_run_spec *spec;
	const struct kf_watch *watch;
	struct kf_run_summary *summary;
	struct kf_store *store;
	struct kf_model *model;
	struct kf_model *advisor;	/* NULL: no model advises */
	struct kf_setup setup;
	struct kf_profile_denied denied;
	char *dir;		/* owned; the run's folder, absolute */
	char *work_dir;		/* owned; absolute, as sandboxes want it */
};

/* Why the best program takes its time, and what to do about it. */
struct kf_look {
	int64_t attempt_id;		/* whose program; 0: nobody's yet */
	struct kf_profile profile;
	struct kf_roofline roofline;
	char *page;			/* owned; kf_profile_reduce's */
	json_t *advice;			/* owned; for the attempt that comes next;
					   NULL: none */
};
void kf_look_release(struct kf_look *look);

/* One problem of the run. */
struct kf_lane {
	struct kf_run *run;
	int64_t problem_id;
	struct kf_target target;
	struct kf_attempts attempts;
	struct kf_look look;
	char *best_path;	/* owned; NULL until there is a best */
	bool budget_spent;
};

/* All attempts of one problem, from where the store has it; row is one of
 * kf_store_problems. */
KF_MUST_CHECK enum kf_code kf_run_problem(struct kf_run *run,
		const json_t *row, struct kf_err *err);

/* The problem of row, made concrete as setup has it: the run's, or one like
 * it. */
KF_MUST_CHECK enum kf_code kf_run_open_target(struct kf_run *run,
		struct kf_setup *setup, const json_t *row,
		struct kf_target *out, struct kf_err *err);

/* What the run asks of every judgement; borrows. */
struct kf_job kf_run_job(const struct kf_run *run);

/* After a target was opened, with what came of that: keeps in the store
 * whether the problem is healthy, before anything is paid for. Gives what is
 * to be done about it: code, or KF_E_INPUT for a problem that is unhealthy
 * where the run was not told to work on it all the same. */
KF_MUST_CHECK enum kf_code kf_run_check_health(struct kf_run *run,
		int64_t problem_id, const struct kf_target *target,
		enum kf_code code, struct kf_err *err);

#endif
