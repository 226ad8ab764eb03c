/*
 * clock.h - a simulated machine on which a candidate and its baseline are
 * timed, block by block in turn, as timing.c does it: seeded, so that everybody
 * sees the same numbers. For tests/unit/stats.c and bench/clock.c.
 */
#ifndef KF_CLOCK_H
#define KF_CLOCK_H

#include <math.h>

#include "evaluate/stats.h"

#define CLOCK_CALLS 10			/* in a block */
#define CLOCK_BLOCKS_MAX 20

struct clock {
	struct kf_rng rng;
	double noise, correlation;	/* of a call's time, from call to call */
	double drift;			/* slower by so much with each call */
	double spike;			/* share of calls that take three times
					   as long */
	double throttle;		/* slower by so much, at times */
	double throttle_in, throttle_out; /* chance at each call that this
					   begins, and ends */
	double process;			/* noise from process to process of the
					   candidate */
	double level, slope, offset;	/* how it stands */
	bool throttled;
};

static inline double clock_normal(struct kf_rng *rng)
{
	double u = 1 - kf_rng_double(rng), v = kf_rng_double(rng);

	return sqrt(-2 * log(u)) * cos(2 * 3.14159265358979 * v);
}

static inline double clock_call(struct clock *c, double base)
{
	double fresh = sqrt(1 - c->correlation * c->correlation), time;

	c->level = c->correlation * c->level + fresh * clock_normal(&c->rng);
	c->slope += c->drift;
	if (c->throttle > 0 && kf_rng_double(&c->rng) <
	    (c->throttled ? c->throttle_out : c->throttle_in))
		c->throttled = !c->throttled;
	time = base * exp(c->noise * c->level + c->slope +
			  (c->throttled ? c->throttle : 0));
	if (kf_rng_double(&c->rng) < c->spike)
		time *= 3;
	return time;
}

static inline double clock_block(struct clock *c, double base)
{
	double time[CLOCK_CALLS];

	for (int i = 0; i < CLOCK_CALLS; i++)
		time[i] = clock_call(c, base);
	return kf_stats_median(time, CLOCK_CALLS);
}

/* A measurement: by the stopping rule, or of as many blocks as it allows, each
 * from a fresh process. A coin says whose block comes first. */
static inline void clock_measure(struct clock *c, double true_ratio,
				 bool stopping, struct kf_ratio *r)
{
	double candidate[CLOCK_BLOCKS_MAX], baseline[CLOCK_BLOCKS_MAX];
	size_t n = 0;
	bool first;

	do {
		c->offset = c->process * clock_normal(&c->rng);
		first = kf_rng_next(&c->rng) >> 63;
		if (first)
			baseline[n] = clock_block(c, 1e6 * true_ratio);
		candidate[n] = clock_block(c, 1e6 * exp(c->offset));
		if (!first)
			baseline[n] = clock_block(c, 1e6 * true_ratio);
		n++;
		kf_stats_ratio(candidate, baseline, n, r);
	} while (stopping ? !kf_stats_done(&kf_stop_default, r) :
		 n < CLOCK_BLOCKS_MAX);
}

struct clock_found {
	double covered;			/* share of intervals with the true ratio */
	double bias, bias_error;	/* mean of log(ratio / true ratio), and the
					   standard error of that mean */
	double narrow;			/* share of intervals up to 2 % wide */
	double narrow_covered;		/* and of those, with the true ratio */
	double blocks;			/* mean */
};

static inline void clock_trials(const struct clock *machine, unsigned trials,
				double true_ratio, bool stopping,
				uint64_t seed, struct clock_found *out)
{
	double squares = 0, narrow = 0, n = trials;

	*out = (struct clock_found) { 0 };
	for (unsigned t = 0; t < trials; t++) {
		struct clock c = *machine;
		struct kf_ratio r;
		double off;
		bool holds, is_narrow;

		c.rng.state = t * UINT64_C(977) + seed;
		clock_measure(&c, true_ratio, stopping, &r);
		off = log(r.ratio / true_ratio);
		holds = r.low <= true_ratio && true_ratio <= r.high;
		is_narrow = r.width <= kf_stop_default.width;
		out->covered += holds / n;
		out->bias += off / n;
		squares += off * off / n;
		narrow += is_narrow;
		out->narrow_covered += is_narrow && holds;
		out->blocks += (double)r.block_count / n;
	}
	out->narrow = narrow / n;
	out->narrow_covered = narrow > 0 ? out->narrow_covered / narrow :
		(double)NAN;
	out->bias_error = sqrt((squares - out->bias * out->bias) / n);
}

/* The machines that the tests and docs/judging.md speak of. */
struct clock_case { const char *name; struct clock machine; };

static const struct clock_case clock_cases[] = {
	{ "a quiet machine, noise of 1 %", { .noise = 0.01 } },
	{ "noise of 5 %", { .noise = 0.05 } },
	{ "autocorrelation 0.8", { .noise = 0.02, .correlation = 0.8 } },
	{ "autocorrelation 0.95", { .noise = 0.02, .correlation = 0.95 } },
	{ "slower by 5 % in all", { .noise = 0.01, .drift = 0.05 / 400 } },
	{ "slower by 30 % in all", { .noise = 0.01, .drift = 0.3 / 400 } },
	{ "one call in twenty interrupted", { .noise = 0.02, .spike = 0.05 } },
	{ "throttled by 20 % for some 30 calls, a third of the time",
	  { .noise = 0.01, .throttle = 0.2, .throttle_in = 1.0 / 60,
	    .throttle_out = 1.0 / 30 } },
	{ "throttled by 20 % for some 300 calls, half of the time",
	  { .noise = 0.01, .throttle = 0.2, .throttle_in = 1.0 / 300,
	    .throttle_out = 1.0 / 300 } },
	{ "0.2 % from process to process", { .noise = 0.01, .process = 0.002 } },
	{ "1 % from process to process", { .noise = 0.01, .process = 0.01 } },
	{ "3 % from process to process", { .noise = 0.01, .process = 0.03 } },
};

#endif
