/*
 * publish.h - RUN/best/PROBLEM/: the best program so far, as files that a
 * person can take away: its source by name, the problem, and verdict.json.
 */
#ifndef KF_PUBLISH_H
#define KF_PUBLISH_H

#include "loop/attempt.h"

/* Caller frees. */
char *kf_publish_path(const char *run_dir, const struct kf_problem *problem);

/* What is best by what the store has of the problem: nothing stays there if
 * nothing is. *path, which is freed before, becomes the folder or NULL. */
KF_MUST_CHECK enum kf_code kf_publish_from_store(struct kf_store *store,
		int64_t problem_id, const struct kf_problem *problem,
		const struct kf_attempts *attempts, char **path,
		struct kf_err *err);

/* Replaces the whole folder. *path (caller frees) is the folder. */
KF_MUST_CHECK enum kf_code kf_publish_best(const char *run_dir,
		const struct kf_problem *problem,
		const struct kf_attempt *attempt, const json_t *verdict,
		char **path, struct kf_err *err);

#endif
