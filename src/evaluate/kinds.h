/*
 * kinds.h - the kinds of data on which a program is judged (docs/judging.md,
 * "Verdict sets"): what they are called in words, what a failure on one alone
 * hints at, and by which limits they are judged.
 */
#ifndef KF_EVALUATE_KINDS_H
#define KF_EVALUATE_KINDS_H

#include <stdbool.h>

struct kf_kind {
	const char *name;	/* of a case: "zero_mean" */
	const char *data;	/* "inputs shifted to a mean of zero" */
	const char *brief;	/* the same for a table; NULL: that */
	const char *hint;	/* a sentence that helps to repair; NULL: none */
	bool range;		/* which is about their sign or range: what is
				   off by little is imprecise rather */
	bool coarse;		/* two more bits may be lost */
	bool nan_is_open;	/* as in struct kf_compare_request */
	bool ties;		/* likewise: there may be some */
	bool odd;		/* a failure on another kind tells more */
};

/* Of a name that is none, or NULL, a kind with that name and nothing else. */
struct kf_kind kf_kind_of(const char *name);

#endif
