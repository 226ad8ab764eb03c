/*
 * baseline.h - what every kind of baseline has: a table and its state.
 * For those that make baselines; users need problem.h only.
 */
#ifndef KF_PROBLEM_BASELINE_H
#define KF_PROBLEM_BASELINE_H

#include "problem/problem.h"

struct kf_baseline_table {
	/* Has it do what takes no times, if it has not yet; NULL: nothing. */
	enum kf_code (*warm)(struct kf_baseline_process *process,
			     struct kf_err *err);
	/* Waits until it is ready for the first call, if it is not yet. */
	enum kf_code (*ready)(struct kf_baseline_process *process,
			      struct kf_err *err);
	/* Times one case of a ready one. */
	enum kf_code (*time)(struct kf_baseline_process *process,
			     const struct kf_case *kase, uint64_t *time_ns,
			     uint64_t *delay_ns, struct kf_err *err);
	void (*free)(struct kf_baseline_process *process);
};

/* One life of a baseline; the first member of each kind's own struct. */
struct kf_baseline_process {
	const struct kf_baseline_table *table;
	char *name;		/* owned; the problem's */
	struct kf_baseline_info info;
	/* Of inputs, before each call; NULL: not asked for. */
	void (*evict)(const void *data, size_t bytes);
};
void kf_baseline_process_free(struct kf_baseline_process *process);

#endif
