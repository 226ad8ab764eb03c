/*
 * run.h - a run at work: what all of its problems share. Inside loop/ only;
 * others call kf_loop_run.
 */
#ifndef KF_RUN_H
#define KF_RUN_H

#include "loop/loop.h"

struct kf_run {
	const struct kf_run_spec *spec;
	const struct kf_watch *watch;
	struct kf_run_summary *summary;
	struct kf_store *store;
	struct kf_model *model;
	struct kf_setup setup;
	char *work_dir;		/* owned; absolute, as sandboxes want it */
};

/* All attempts of one problem, from where the store has it; row is one of
 * kf_store_problems. */
KF_MUST_CHECK enum kf_code kf_run_problem(struct kf_run *run,
		const json_t *row, struct kf_err *err);

/* After a target was opened, with what came of that: keeps in the store
 * whether the problem is healthy, before anything is paid for. Gives what is
 * to be done about it: code, or KF_E_INPUT for a problem that is unhealthy
 * where the run was not told to work on it all the same. */
KF_MUST_CHECK enum kf_code kf_run_check_health(struct kf_run *run,
		int64_t problem_id, const struct kf_target *target,
		enum kf_code code, struct kf_err *err);

#endif
