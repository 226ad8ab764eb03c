/*
 * publish.h - RUN/best/PROBLEM/: the best program so far, as files that a
 * person can take away: its source by name, the problem, and verdict.json.
 */
#ifndef KF_PUBLISH_H
#define KF_PUBLISH_H

#include "loop/attempt.h"

/* Caller frees. */
char *kf_publish_path(const char *run_dir, const struct kf_problem *problem);

/* Replaces the whole folder. *path (caller frees) is the folder. */
KF_MUST_CHECK enum kf_code kf_publish_best(const char *run_dir,
		const struct kf_problem *problem,
		const struct kf_attempt *attempt, const json_t *verdict,
		char **path, struct kf_err *err);

#endif
