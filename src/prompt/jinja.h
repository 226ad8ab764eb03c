/*
 * jinja.h - the part of Jinja2 that prompt writers use, over jansson values.
 *
 * Expressions, attributes and items, slices, filters with arguments, tests,
 * calls, if/elif/else, for (loop variables, else, tuple unpacking, inline
 * if), set and block set, macro, call, include, import of macros, extends and
 * block with super(), raw, comments, inline if, whitespace control (-, +,
 * trim_blocks off, keep_trailing_newline off as in Jinja2's defaults). Output
 * is byte for byte Python jinja2's, autoescape off, undefined =
 * StrictUndefined.
 *
 * Errors: KF_E_INPUT with "FILE:LINE: sentence". Undefined names are errors.
 * Bounds: output, nesting, loop and include depth have ceilings (KF_E_LIMIT).
 * Pure: reads templates through the loader only.
 */
#ifndef KF_JINJA_H
#define KF_JINJA_H

#include "base/json.h"

struct kf_jinja_loader {
	/* The text of a template by name, allocated; NULL if there is none. */
	char *(*load)(void *arg, const char *name);
	void *arg;
};

KF_MUST_CHECK enum kf_code kf_jinja_render(const struct kf_jinja_loader *loader,
		const char *name, const json_t *context, struct kf_buf *out,
		struct kf_err *err);

#endif
