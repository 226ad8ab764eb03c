/*
 * run_spec.h - what a run is made of, from the options of `kforge run`. All
 * paths become absolute, so that the run can be resumed from anywhere.
 */
#ifndef KF_CLI_RUN_SPEC_H
#define KF_CLI_RUN_SPEC_H

#include "cli/cli.h"
#include "cli/paths.h"

struct kf_cli_run {
	struct kf_run_spec spec;	/* run_dir is the caller's to set */
	struct kf_paths problems, start;	/* owned */
	char *model, *advisor, *prompts, *record;	/* owned */
	char *python, *cache, *away;	/* owned */
};

/* options and log must outlive it; it is to be released also after a failure.
 * A file of --start that is not there is told here, before a bundle is made. */
KF_MUST_CHECK enum kf_code kf_cli_run_open(const struct kf_options *options,
		const char *const *problem, size_t problem_count,
		const struct kf_log *log, struct kf_cli_run *out,
		struct kf_err *err);
void kf_cli_run_release(struct kf_cli_run *run);

/* Replies that the analysis agent may be asked for on each problem before
 * `replies` more programs: twice for each at most, and not before there is a
 * program to improve. begun: there may be one. 0 where no model advises. */
uint64_t kf_cli_run_advised(const struct kf_run_spec *spec, uint64_t replies,
			    bool begun);

#endif
