/*
 * second.h - what the store keeps of second judgements: when a run ends, its
 * best programs are judged once more, on data drawn anew. docs/judging.md says
 * why and how.
 */
#ifndef KF_STORE_SECOND_H
#define KF_STORE_SECOND_H

#include "store/store.h"

/* The seed of a problem's second judgements. proposed, which is above 0 and
 * fits into 63 bits, is kept unless there is one already; *out is the one that
 * counts, so that a run that is resumed judges in the same order. */
enum kf_code kf_store_second_seed(struct kf_store *store, int64_t problem_id,
		uint64_t proposed, uint64_t *out, struct kf_err *err);

struct kf_store_second {
	int64_t attempt_id;
	const char *state, *reason;
	unsigned place;			/* 1: the best; 0: not correct */
	double time_ns, baseline_ns, speedup;	/* NaN if unknown */
	const json_t *verdict;		/* whole */
};
/* All of them or none, final: a second one of an attempt is KF_E_IO. */
enum kf_code kf_store_seconds(struct kf_store *store,
		const struct kf_store_second *second, size_t count,
		struct kf_err *err);

#endif
