/*
 * laps.h - where the time of something that is done in steps went, as a line
 * for the log: "poison 12.1 ms, inputs 40 ms, run 5.21 ms". A step costs one
 * reading of the clock. Zeroed: no step yet.
 */
#ifndef KF_BASE_LAPS_H
#define KF_BASE_LAPS_H

#include "base/base.h"

#define KF_LAPS_MAX 24		/* names */
#define KF_LAPS_TEXT 1024

struct kf_laps {
	uint64_t since_ns;	/* when the step that is under way began */
	size_t count;
	struct {
		const char *name;	/* borrowed, for ever */
		uint64_t ns;
	} lap[KF_LAPS_MAX];
};

/* A step begins: what passed since the last one ended belongs to none. */
void kf_laps_begin(struct kf_laps *laps);
/* It ends, and the next begins. Steps of one name are added up. */
void kf_laps_end(struct kf_laps *laps, const char *name);
/* The steps of other are added to these. */
void kf_laps_add(struct kf_laps *laps, const struct kf_laps *other);
/* All of them, in the order in which they were first seen; those below a
 * thousandth of the whole are left out. */
void kf_laps_text(const struct kf_laps *laps, char out[KF_LAPS_TEXT]);

#endif
