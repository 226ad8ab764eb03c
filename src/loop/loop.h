/*
 * loop.h - the main job: problems in, verified faster programs out.
 *
 * Begin reading at loop.c: the stages stand there in their order.
 */
#ifndef KF_LOOP_H
#define KF_LOOP_H

#include <limits.h>

#include "loop/attempt.h"
#include "executor/job.h"


struct kf_run_spec {
	const char *run_dir;
	const char *const *problem;	/* paths */
	size_t problem_count;
	struct kf_setup_spec setup;
	const char *model;		/* "openai:NAME" ... */
	const char *advisor;		/* the same, "rules" or "none" */
	bool advisor_sees;		/* it gets the profilers' pictures */
	const char *profile;		/* "auto", "none", or a profiler as
					   kf_profile_request has it */
	unsigned profile_hidden;	/* as kf_profile_hide has it */
	const char *record_path;	/* NULL; replay's format */
	const char *prompts_dir;	/* NULL */
	const char *const *start;	/* --start FILE...: the first attempt */
	size_t start_count;
	unsigned attempt_max;
	double target_speedup;		/* NaN: none */
	double temperature;		/* NaN: not sent */
	unsigned token_max;		/* of one reply; 0: KF_REPLY_TOKENS */
	uint64_t budget_tokens;		/* of the whole run; 0: no budget given */
	uint64_t ask_timeout_ns;	/* one reply */
	enum kf_rules rules;
	enum kf_libraries libraries;
	uint64_t seed;			/* 0: random */
	unsigned call_count_fixed;
	bool force;			/* work on unhealthy problems too */
	unsigned rejudge_count;		/* judged again at the end: at most
					   KF_REJUDGE_MAX, 0: none, or
					   KF_REJUDGE_UNSAID */
};

#define KF_REJUDGE_MAX		8
#define KF_REJUDGE_UNSAID	UINT_MAX	/* as before; 3 in a new run */

#define KF_REPLY_TOKENS 32768u

/* What the loop tells while it works; pointers are borrowed for the call. */
enum kf_event_kind {
	KF_EVENT_PROBLEM,	/* bundle is there: problem, bundle */
	KF_EVENT_ASK,		/* about to ask a model: attempt; line: NULL, or
				   the agent's name */
	KF_EVENT_PROGRESS,	/* bytes of the reply so far */
	KF_EVENT_NOTICE,	/* line */
	KF_EVENT_JUDGING,	/* the candidate goes to the judge: attempt */
	KF_EVENT_JUDGED,	/* attempt, verdict (NULL for a generation
				   failure), is_best */
	KF_EVENT_PROFILE,	/* the program goes to the profilers: attempt */
	KF_EVENT_ADVICE,	/* for attempt: line, expected_gain */
	KF_EVENT_STOP,		/* line says why; best may be NULL */
};
struct kf_event {
	enum kf_event_kind kind;
	const char *problem;
	const struct kf_bundle *bundle;
	const struct kf_attempt *attempt, *best;
	const struct kf_verdict *verdict;
	const char *best_path;
	const char *line;
	unsigned attempt_max;
	size_t reply_bytes, reasoning_bytes;
	double expected_gain;
	bool is_best;
};
struct kf_watch {
	void (*event)(void *arg, const struct kf_event *event);
	void *arg;
};

struct kf_run_summary {
	size_t problem_count, correct_count;
	size_t unhealthy_count;		/* passed over for that, now */
	unsigned asked_count;		/* programs replied, over all sessions of
					   the run */
	uint64_t tokens;		/* likewise, advice included */
	bool budget_spent;
};

/* Begins a run (run_dir must not hold one) or, with resume, goes on with the
 * one in run_dir: then the settings stored there replace the spec's but for
 * run_dir, setup.log, setup.cancel and, if given, model, advisor and
 * rejudge_count. On
 * KF_E_CANCELED and any other failure the run can be resumed: nothing paid for
 * is lost. Only a new run that fails before its first attempt is removed again,
 * for there is nothing to go on with; out->problem_count is 0 then. */
KF_MUST_CHECK enum kf_code kf_loop_run(const struct kf_run_spec *spec,
		bool resume, const struct kf_watch *watch,
		struct kf_run_summary *out, struct kf_err *err);

/* Whether the spec's advisor is a model; else "rules" or "none". */
bool kf_loop_asks_advisor(const struct kf_run_spec *spec);

/* The shapes of a target as prompts show them; borrows. Returns how many; 0
 * where there is only one. */
size_t kf_loop_shapes(const struct kf_target *target,
		      struct kf_prompt_shape out[KF_PROMPT_SHAPES]);

#endif
