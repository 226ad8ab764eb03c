/*
 * advice.h - the analysis agent: the one change most worth making to a correct
 * program.
 *
 *	profile, roofline, program, history -> prompt -> reply -> advice
 *
 * A model answers with JSON that is checked here; without one, and where it
 * answers nothing usable twice, the written rules of docs/profiling.md give the
 * advice. Nothing here asks a model or a store: src/loop does.
 */
#ifndef KF_ADVICE_H
#define KF_ADVICE_H

#include "profile/profile.h"
#include "prompt/prompt.h"

enum kf_advice_source {		/* kept in stores by name */
	KF_ADVICE_NONE,		/* there is nothing to recommend */
	KF_ADVICE_MODEL,
	KF_ADVICE_MODEL_AGAIN,	/* at the second try */
	KF_ADVICE_RULES,
	KF_ADVICE_SOURCES
};
const char *kf_advice_source_name(enum kf_advice_source source);

#define KF_ADVICE_EVIDENCE_MAX	6
#define KF_ADVICE_TEXT_BYTES	2000u	/* of each of its texts */
#define KF_ADVICE_WHY_BYTES	400u
#define KF_ADVICE_GAIN_MAX	1000.0

/* What it goes by: a counter that was measured, a line of the program, or
 * both. */
struct kf_advice_evidence {
	char *counter;		/* owned; NULL: a line alone */
	char *kernel;		/* owned; "": the whole program */
	double value;		/* of the counter, as measured; NaN without */
	char *line;		/* owned; "program.c:12"; NULL: none */
};

struct kf_advice {
	enum kf_advice_source source;
	enum kf_profile_class bottleneck;
	struct kf_advice_evidence evidence[KF_ADVICE_EVIDENCE_MAX];
	size_t evidence_count;
	char *change;		/* owned; the one thing to do; NULL: nothing */
	char *keep;		/* owned; what to leave alone; "" */
	char *algorithm;	/* owned; the one in use, in a few words; "" */
	double expected_gain;	/* a factor of at least 1; NaN: none named */
};
void kf_advice_release(struct kf_advice *advice);

/* Advice of before, and what came of it. */
struct kf_advice_tried {
	enum kf_profile_class bottleneck;
	const char *change;	/* borrowed */
	double gain;		/* times as fast; NaN: not correct, not judged */
};
/* Under this it has brought nothing. */
#define KF_ADVICE_GAIN_LEAST 1.02

struct kf_advice_request {
	/* The prompt of the attempt that is to be advised; `best` is the
	 * program that this is about. */
	const struct kf_prompt_request *prompt;
	const struct kf_profile *profile;
	const struct kf_roofline *roofline;
	const char *page;		/* kf_profile_reduce's */
	const struct kf_advice_tried *tried;	/* oldest first */
	size_t tried_count;
	size_t picture_count;		/* that the model will see */
};

/* A reply that could not be used, and the sentence that says why. */
struct kf_advice_wrong { const char *reply, *why; };

/* For the model; wrong is NULL the first time. */
KF_MUST_CHECK enum kf_code kf_advice_prompt(const struct kf_advice_request *req,
		const struct kf_advice_wrong *wrong, struct kf_prompt *out,
		struct kf_err *err);

/* false: it cannot be used; why gets a sentence that helps to mend it. Pure.
 * Counters must have been measured and lines must be there. *out is to be
 * released in any case. */
bool kf_advice_read(const struct kf_advice_request *req, const char *reply,
		    size_t len, struct kf_advice *out,
		    char why[KF_ADVICE_WHY_BYTES]);

/* By the rules: the heaviest finding whose change has not been tried in vain.
 * On a plateau there is none: another algorithm is asked for instead. Pure. */
void kf_advice_by_rules(const struct kf_advice_request *req,
			struct kf_advice *out);

/* docs/prompts.md has the members. New reference. */
json_t *kf_advice_to_json(const struct kf_advice *advice);

#endif
