/*
 * cast.h - the type in which a Python file is run, where it is not the file's
 * own: a comment line in column one,
 *
 *	# kforge: dtype float16
 *
 * python/reference.py casts the module and its floating-point inputs to it
 * after they were made. Since it is part of the text, it is part of all that
 * is named by the text: hash, bundle, baseline, what a run keeps. Pure.
 */
#ifndef KF_PROBLEM_CAST_H
#define KF_PROBLEM_CAST_H

#include "base/base.h"

/* The type that the text asks for; NONE: its own. KF_E_INPUT: a line that
 * names no floating-point type, or two lines. */
KF_MUST_CHECK enum kf_code kf_cast_line_get(const char *source,
					    enum kf_dtype *out,
					    struct kf_err *err);
/* Makes the owned text ask for dtype, instead of what it asked for; NONE: only
 * checks the text. */
KF_MUST_CHECK enum kf_code kf_cast_line_set(char **source, enum kf_dtype dtype,
					    struct kf_err *err);

#endif
