/*
 * prompt.h - what is sent to the generation agent.
 *
 * Templates lie in prompts/ and can be overridden file by file with --prompts
 * DIR. The context is one JSON object, described in docs/prompts.md; make it
 * with kf_prompt_context, add to it, render.
 */
#ifndef KF_PROMPT_H
#define KF_PROMPT_H

#include "candidate/candidate.h"
#include "platform/platform.h"
#include "problem/problem.h"

/* What is known about an attempt, for history, repair and optimisation. */
struct kf_prompt_attempt {
	unsigned number;
	const char *state;		/* "mismatch"; kf_state_name */
	const char *reason;
	const char *feedback;		/* verdict's text; may be NULL */
	const struct kf_source_file *file;	/* may be NULL: no code */
	size_t file_count;
	double time_ns, baseline_ns, speedup;	/* NaN if unknown */
	const char *summary;		/* model's own first sentence, or NULL */
	double expected_gain;		/* of the advice that it followed, a factor;
					   0: none */
	double gain;			/* how many times as fast as the program
					   that it was to better; 0: unknown */
};

/* One of several shapes on which a program is judged. */
struct kf_prompt_shape {
	const char *name;
	const struct kf_bundle *bundle;
};
#define KF_PROMPT_SHAPES 16

struct kf_prompt_request {
	const struct kf_platform *platform;
	const struct kf_device_info *device;
	const struct kf_problem *problem;
	const struct kf_bundle *bundle;
	const struct kf_prompt_shape *shape;	/* the first is bundle's */
	size_t shape_count;		/* 0: only one */
	const char *prompts_dir;	/* override; NULL */
	unsigned attempt, attempt_max;
	bool optimize;			/* false: functional pass */
	bool plateau;			/* gains flattened: ask for another
					   algorithm */
	const char *page;		/* of the best program's profile, for a
					   writer who reads it himself; NULL */
	const json_t *advice;		/* kf_advice_to_json; NULL: none */
	double target_speedup;		/* NaN: none */
	bool no_libraries;		/* vendors' libraries are refused */
	const struct kf_prompt_attempt *previous;	/* NULL at first */
	const struct kf_prompt_attempt *best;		/* NULL until correct */
	const struct kf_prompt_attempt *history;	/* oldest first */
	size_t history_count;
};

#define KF_PROMPT_BYTES (256u << 10)

struct kf_prompt {
	struct kf_buf system_text, user_text;	/* owned; rendered */
	const char *template_name;	/* "generate.md.j2" ... */
	size_t picture_count;		/* that go with it */
};
void kf_prompt_release(struct kf_prompt *prompt);

KF_MUST_CHECK enum kf_code kf_prompt_make(const struct kf_prompt_request *req,
		struct kf_prompt *out, struct kf_err *err);
/* The context alone (new reference), for `kforge prompt --context`. */
json_t *kf_prompt_context(const struct kf_prompt_request *req);

/* --- for another agent: its own templates, more in the context ------------ */

/* The object of docs/prompts.md. KF_E_UNAVAIL without the contract's header. */
KF_MUST_CHECK enum kf_code kf_prompt_context_make(
		const struct kf_prompt_request *req, json_t **out,
		struct kf_err *err);
/* prompts_dir: NULL, or where templates are looked for first; system, user: the
 * names of two. */
KF_MUST_CHECK enum kf_code kf_prompt_render(const char *prompts_dir,
		const json_t *context, const char *system, const char *user,
		struct kf_prompt *out, struct kf_err *err);

/* {"text", "fence", "cut"}: a text, and a row of back ticks longer than any in
 * it. What is beyond max bytes is left out; cut is the number of bytes then. */
json_t *kf_prompt_text(const char *text, size_t len, size_t max);
#define KF_PROMPT_FEEDBACK_BYTES (12u << 10)	/* what judge or model said */

#endif
