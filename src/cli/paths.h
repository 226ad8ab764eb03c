/*
 * paths.h - the problems that arguments stand for.
 */
#ifndef KF_CLI_PATHS_H
#define KF_CLI_PATHS_H

#include "base/base.h"

#define KF_PROBLEMS_MAX 4096

/* A list of paths; zeroed is empty. */
struct kf_paths { char **path; size_t count; };	/* owned */

void kf_paths_add_take(struct kf_paths *paths, char *path);
void kf_paths_release(struct kf_paths *paths);

/* Absolute, so that a run can be resumed from anywhere. Caller frees. */
char *kf_path_absolute(const char *path) KF_NEVER_NULL;

/* Adds what the argument stands for, absolute: a file, a C problem's folder, a
 * folder of problems (looked through three levels deep, in the order of their
 * numbers), or a KernelBench checkout, whose problems lie in
 * KernelBench/level*. KF_E_INPUT if there is none. */
KF_MUST_CHECK enum kf_code kf_paths_add_problems(struct kf_paths *paths,
		const char *argument, struct kf_err *err);

#endif
