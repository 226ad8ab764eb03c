/*
 * judge.h - kforge judge in its two forms: folders of jobs, and lines of JSON
 * on standard input and output.
 */
#ifndef KF_CLI_JUDGE_H
#define KF_CLI_JUDGE_H

#include "cli/cli.h"
#include "executor/work.h"

/* Both return the exit status. */
int kf_judge_folders(const struct kf_options *options, struct kf_work *work,
		     const char **argument, size_t argument_count);
int kf_judge_lines(const struct kf_options *options, struct kf_work *work);

/* Processors that this process may use; at least 1. */
unsigned kf_judge_cores(void);
/* How many may work at once on the platform ("cuda:1") of a job: asked (0:
 * usual, which is for the caller to say), or as many as what is free of the
 * device's memory now has room for, where references run there. */
unsigned kf_judge_at_once(const char *platform, unsigned asked,
			  unsigned usual);
/* The same on those of the devices that jobs share that are well: as many on
 * each as the fullest has room for, and usually one on each at least. A code
 * only if they cannot be found. */
KF_MUST_CHECK enum kf_code kf_judge_at_once_shared(
		const struct kf_targets_spec *spec, unsigned asked,
		unsigned usual, unsigned *out, struct kf_err *err);
/* For --devices where no job tells of which platform they are. */
KF_MUST_CHECK enum kf_code kf_judge_wants_platform(
		const struct kf_options *options, struct kf_err *err);

#endif
