/*
 * shrink.h - a smaller size for a Python problem that is too large for this
 * machine: its batch first, then its largest other size. Pure.
 */
#ifndef KF_PROBLEM_SHRINK_H
#define KF_PROBLEM_SHRINK_H

#include "base/base.h"

#define KF_SHRINK_SIZES 16

/* A top-level assignment of an integer, or of a product of some. */
struct kf_size { char name[64]; int64_t published, now; };

/* The sizes of a problem, as it stands there and as they are to be. */
struct kf_shrink {
	struct kf_size size[KF_SHRINK_SIZES];
	size_t count;
};

/* Reads what can be made smaller without making the problem another one:
 * batch sizes, lengths, sides of matrices and images, features; no channels, no
 * kernels, for these must fit each other. */
void kf_shrink_read(const char *source, struct kf_shrink *out);

/* Makes it ratio times smaller, in halves: the batch down to 4 (statistics over
 * fewer would be another problem), when there is nothing left of it the largest
 * of the other sizes. False if nothing can be made smaller. */
bool kf_shrink_step(struct kf_shrink *shrink, double ratio);

/* "batch_size=16" for each size that is not as published; the texts and their
 * array are the caller's, count of them. */
char **kf_shrink_sets(const struct kf_shrink *shrink, size_t *count);
/* "at batch_size=16, published 128"; "" if all is as published. */
void kf_shrink_say(const struct kf_shrink *shrink, struct kf_buf *out);

#endif
