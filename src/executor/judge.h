/*
 * judge.h - a candidate's files in, its verdict out; trouble of ours is tried
 * again.
 */
#ifndef KF_EXECUTOR_JUDGE_H
#define KF_EXECUTOR_JUDGE_H

#include "candidate/candidate.h"
#include "executor/target.h"

/* Ceilings, 0: the platform's. They are only ever lowered. */
struct kf_judge_limits {
	uint64_t build_s, build_mib, run_mib, call_s;
};

struct kf_judge_spec {
	struct kf_setup *setup;		/* remembers that its compiler works */
	const struct kf_target *target;
	enum kf_rules rules;
	enum kf_libraries libraries;
	uint64_t seed;			/* 0: random */
	unsigned call_count_fixed;	/* 0: until the interval is narrow */
	enum kf_reach stop_after;	/* NONE: all the way */
	struct kf_judge_limits limits;
	const char *source_dir;		/* the candidate's files */
	const char *work_dir;		/* ours; emptied before each try */
	const volatile int *cancel;	/* NULL: the setup's */
};

/* The same as evaluate asks for it: for who times programs by other plans. */
struct kf_evaluate_request kf_judge_request(const struct kf_judge_spec *spec);

/* With several shapes: on each in turn, until one on which the program is not
 * correct (evaluate/shapes.h).
 *
 * kf_evaluate, repeated when the trouble was ours (harness_error), or may be
 * that of a machine which killed the program. Trouble
 * that a repetition cannot mend (stopped by the user, nothing there to run
 * with) is returned at once. A compiler that refuses a program must once have
 * compiled the platform's own example, else the refusal is KF_E_UNAVAIL. */
KF_MUST_CHECK enum kf_code kf_judge(const struct kf_judge_spec *spec,
				    struct kf_verdict *out, struct kf_err *err);

/* The verdict on a candidate without a program: it says why itself. The caller
 * releases it. */
void kf_generation_failure(const struct kf_candidate *candidate,
			   struct kf_verdict *out);

/* Compiles the platform's own example for this device below work_dir. Of spec
 * counts how: its python, cache_path, tier_min, cancel.
 * KF_E_UNAVAIL, with the compiler's words, if that is refused. *compiler
 * (unless NULL) gets the first line of its --version, or NULL; caller frees. */
KF_MUST_CHECK enum kf_code kf_compiler_prove(const struct kf_platform *platform,
		const struct kf_device_info *device,
		const struct kf_problem_spec *spec, const char *work_dir,
		char **compiler, struct kf_err *err);

#endif
