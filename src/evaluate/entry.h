/*
 * entry.h - a program with a C function of its own in the place of kf_forward,
 * which one of the comments before its first code declares:
 *
 *	// kforge: entry void solve(const float *x = in0, float *y = out0,
 *	//                          int64_t n = in0.shape[0])
 *
 * kforge writes the kf_forward that calls it, compiled along with the program.
 * docs/forms.md has what may stand there. Pure.
 */
#ifndef KF_EVALUATE_ENTRY_H
#define KF_EVALUATE_ENTRY_H

#include "problem/problem.h"

#define KF_ENTRY_BYTES (16u << 10)

/* Adds the text of that kf_forward (C++) to *out, nothing if the source
 * declares no entry. refused gets a sentence (also on a declaration that comes
 * too late), else "", and *line the source's line that it is about. bundle: the
 * problem that the values are of; NULL: they are not checked against one. */
void kf_entry_make(const char *source, const struct kf_bundle *bundle,
		   struct kf_buf *out, char refused[256], unsigned *line);

#endif
