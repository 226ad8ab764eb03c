/*
 * health.h - is a problem worth working on? One that an answer without work
 * passes is not: zeros, a constant, a copy of an input, anything that does not
 * depend on the inputs.
 *
 * Each trivial answer is held to the expected outputs by the judge's own
 * comparison, over all sets together. A problem is unhealthy if one of them
 * passes, be it only on the sets that have the problem's own weights: timed
 * calls have these, and a program may look at its weights beforehand.
 *
 * Bundles are data from a process that nobody has reviewed; whatever they
 * hold, a check ends at its deadline.
 */
#ifndef KF_EVALUATE_HEALTH_H
#define KF_EVALUATE_HEALTH_H

#include "problem/problem.h"

/* Raise it when the rules, the trivial answers or the comparison's limits
 * change: what is kept of older ones counts no more. */
#define KF_HEALTH_VERSION 1

struct kf_health {
	bool healthy;
	bool complete;		/* false: the deadline came first, and what was
				   not tried counts as refused by the judge */
	char reason[32];	/* stable token; "" if healthy (docs/health.md) */
	char text[512];		/* a sentence for people; "" if healthy */
	json_t *notes;		/* owned; list of sentences */
	json_t *kernelbench;	/* owned; names of the trivial answers that
				   KernelBench's tolerance lets pass */
	double magnitude;	/* max |y| over the declared sets */
	double between_seeds;	/* max difference of two declared sets' outputs;
				   NaN if there is one set only */
	uint64_t took_ns;
};

struct kf_health_limits {
	uint64_t timeout_ns;	/* 0: KF_HEALTH_TIMEOUT_NS */
	const volatile int *cancel;	/* NULL */
};
#define KF_HEALTH_TIMEOUT_NS (60 * UINT64_C(1000000000))

/* Pure over the bundle: no files. *out may always be released. */
KF_MUST_CHECK enum kf_code kf_health_check(const struct kf_bundle *bundle,
		const struct kf_health_limits *limits, struct kf_health *out,
		struct kf_err *err);
void kf_health_release(struct kf_health *health);

/* A problem that has no bundle because it cannot be judged at all: random
 * numbers in forward, not the same twice, not finite. False: another refusal,
 * which says nothing about its health. sentence is the refusal's. */
bool kf_health_of_refusal(const struct kf_refusal *refusal,
			  const char *sentence, struct kf_health *out);

/* New reference; and back, false if it is no such thing or another version. */
json_t *kf_health_to_json(const struct kf_health *health);
bool kf_health_from_json(const json_t *json, struct kf_health *out);

/* The same, kept beside the bundle: place is its folder's name, whether there
 * is such a folder or not (kf_bundle.place). Trouble with the file is no
 * trouble: then it is not kept. An incomplete check is not kept either. */
bool kf_health_stored(const char *place, struct kf_health *out);
void kf_health_store(const char *place, const struct kf_health *health);

/* Stored, else checked and stored. */
KF_MUST_CHECK enum kf_code kf_health_open(const struct kf_bundle *bundle,
		const struct kf_health_limits *limits, struct kf_health *out,
		struct kf_err *err);

#endif
