/*
 * rewrite.h - `--set NAME=VALUE` on the text of a Python file, without Python.
 *
 * Only assignments of names, `N = 4` or `H, W = 8, 8`, that stand at top level,
 * in column one, count; sizes derived from them in the file follow because the
 * file runs afterwards.
 * Pure.
 */
#ifndef KF_PROBLEM_REWRITE_H
#define KF_PROBLEM_REWRITE_H

#include "base/base.h"

/* Replaces NAME's value in its assignment; the rest of the line, a
 * comment for instance, stays, and so do the numbers of all lines. by: who
 * asks, "--set", for the sentence. *out is the new text (caller frees).
 * KF_E_INPUT: set is not NAME=VALUE, VALUE is not one plain expression, NAME is
 * not assigned (the sentence lists what is), is assigned twice, has no value of
 * its own (`a = b = 1`, `a, b = f()`), or has one over several lines. */
KF_MUST_CHECK enum kf_code kf_rewrite(const char *source, const char *set,
				      const char *by, char **out,
				      struct kf_err *err);

/* What stands at top level; pointers into the source. */
struct kf_assignment {
	const char *name;
	size_t name_len;
	const char *value;	/* without white space around it */
	size_t value_len;
};
/* Where a search goes on; begins as { source, 0 }. */
struct kf_rewrite_at {
	const char *line;
	size_t place;		/* among the names that it assigns */
};
/* The next name with a value of its own from *at on, which moves behind it. */
bool kf_rewrite_next(struct kf_rewrite_at *at, struct kf_assignment *out);

/* Behind the line that begins at `at`, or behind the lines, where a string or
 * a bracket goes on over its end. */
const char *kf_rewrite_after_line(const char *at);

#endif
