/*
 * contest.h - several candidates for one problem: each is judged, and those
 * that are right are then timed against each other in one session
 * (evaluate/duel.h).
 */
#ifndef KF_EXECUTOR_CONTEST_H
#define KF_EXECUTOR_CONTEST_H

#include "evaluate/duel.h"
#include "executor/judge.h"

/* A zeroed one is empty, but for its candidate. */
struct kf_contestant {
	const struct kf_candidate *candidate;	/* borrowed */
	char *work_dir, *artefact;	/* owned; NULL until it was judged */
	struct kf_verdict verdict;	/* owned; NONE until then */
};
void kf_contestant_release(struct kf_contestant *contestant);

/* Judges it as how says, but for source_dir and work_dir, which are made in
 * folder: one of ours, for this candidate alone. */
KF_MUST_CHECK enum kf_code kf_contest_judge(const struct kf_judge_spec *how,
		const char *folder, struct kf_contestant *contestant,
		struct kf_err *err);
/* Times 2 to KF_DUEL_PROGRAMS that were judged correct, and whose folders are
 * still there, in turn; count of them. Their verdicts then have these times. A
 * stored baseline becomes the last side. One that turns out to be wrong
 * (out->wrong) gets that verdict instead of its own, and there are no times. */
KF_MUST_CHECK enum kf_code kf_contest_duel(const struct kf_judge_spec *how,
		struct kf_contestant *const *contestant, size_t count,
		struct kf_duel *out, struct kf_err *err);

#endif
