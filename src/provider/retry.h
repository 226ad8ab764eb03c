/*
 * retry.h - whether a failed request is worth another, and when. Pure: the
 * time of day and the random number are arguments.
 */
#ifndef KF_PROVIDER_RETRY_H
#define KF_PROVIDER_RETRY_H

#include "base/base.h"

struct kf_retry_policy {
	unsigned retry_max;	/* tries after the first */
	uint64_t floor_ns;	/* the first wait; doubles from there */
	uint64_t cap_ns;	/* the longest wait of our own */
	uint64_t asked_cap_ns;	/* the longest that a server may ask for */
};

extern const struct kf_retry_policy kf_retry_default;

/* 408, 409, 429 and 5xx; nothing else gets better by asking again. */
bool kf_retry_status(long status);

/* What the server asks for, from the values of its Retry-After (seconds, with
 * decimals or without, or an HTTP date) and retry-after-ms headers; either may
 * be NULL or "". retry-after-ms is preferred, being the finer. Rounded up.
 * False if neither makes sense. A date that has passed is a wait of 0.
 * now_s: seconds since 1970, UTC. */
bool kf_retry_asked_ns(const char *retry_after, const char *retry_after_ms,
		       int64_t now_s, uint64_t *asked_ns);

/* How long to wait after the failed-th failure (1..) before the next try. The
 * server's wish (0: none) counts where it is longer than our own; a fraction
 * (random, [0, 1)) is added so that many callers do not come back as one.
 * False if there is to be none: no try is left, or the wait would not end
 * before left_ns, what remains of the whole call's time, is over. *delay_ns is
 * set either way. */
bool kf_retry_next(const struct kf_retry_policy *policy, unsigned failed,
		   uint64_t asked_ns, double random, uint64_t left_ns,
		   uint64_t *delay_ns);

#endif
