/*
 * duel.h - several programs for one problem, timed in turn: which one is
 * faster, by how much, and is that more than chance?
 *
 * The programs (and the baseline) are the *sides*. In a *round* each program
 * gets a fresh process; then all sides run the same block of fresh inputs, one
 * after the other in an order drawn from the seed, and once more in the reverse
 * order, on other inputs, so that a machine that slows down or speeds up treats
 * all alike. A round gives each side one time, the geometric mean of its two
 * blocks' medians; the ratio of two sides has an interval of 95 % over rounds
 * (stats.h), which so knows what differs from process to process too.
 *
 * Every call is checked in full, as in a judgement. A program that turns out to
 * be wrong here ends the duel with its verdict.
 *
 * Memory: for each program a process with one case's tensors at a time.
 */
#ifndef KF_EVALUATE_DUEL_H
#define KF_EVALUATE_DUEL_H

#include "evaluate/evaluate.h"

#define KF_DUEL_PROGRAMS 8
#define KF_DUEL_SIDES (KF_DUEL_PROGRAMS + 1)	/* and the baseline, last */
#define KF_DUEL_PAIRS (KF_DUEL_SIDES * (KF_DUEL_SIDES - 1) / 2)
#define KF_DUEL_ROUNDS 20

enum kf_duel_end {
	KF_DUEL_UNKNOWN,	/* no interval: fewer than two rounds */
	KF_DUEL_NO_DIFFERENCE,	/* none that the interval shows */
	KF_DUEL_FASTER,		/* b is faster than a */
	KF_DUEL_SLOWER,
};
const char *kf_duel_end_name(enum kf_duel_end end); /* "no_difference" */

/* Differences below it are not called: what is that small may come from where
 * a program happened to lie in memory. */
#define KF_DUEL_LEAST 0.005

struct kf_duel_pair {
	size_t a, b;			/* sides, a < b */
	struct kf_ratio ratio;		/* time of a / time of b: above 1, b is
					   the faster one */
	enum kf_duel_end end;
	bool conclusive;		/* the interval became narrow, the machine
					   was quiet, the calls long enough */
};

struct kf_duel {
	size_t program_count, side_count;
	double time_ns[KF_DUEL_SIDES];	/* median over rounds; NaN before any */
	struct kf_duel_pair pair[KF_DUEL_PAIRS];
	size_t pair_count;
	size_t round_count;
	unsigned block_calls;		/* calls in a block, at last */
	unsigned call_count;		/* of all programs, timed or not */
	size_t disturbed_count;		/* turns that were taken again */
	enum kf_sandbox_tier tier;	/* the weakest */
	uint64_t took_ns;
	size_t wrong;			/* program that turned out to be wrong;
					   program_count: none */
};

/* --- pure: what the rounds say -------------------------------------------- */

struct kf_duel_round { double time_ns[KF_DUEL_SIDES]; };

/* Fills in time_ns, pair and round_count from the rounds; side_count,
 * program_count and disturbed_count are there already. At most
 * KF_DUEL_ROUNDS rounds. */
void kf_duel_settle(const struct kf_duel_round *round, size_t round_count,
		    struct kf_duel *duel);
/* Whether every pair's interval is narrow, or there were rounds enough. */
bool kf_duel_done(const struct kf_duel *duel);
/* What a ratio with its interval shows. */
enum kf_duel_end kf_duel_decide(const struct kf_ratio *ratio);
/* An order of so many sides, drawn from rng. */
void kf_duel_order(struct kf_rng *rng, size_t count, size_t *order);

/* --- and run -------------------------------------------------------------- */

struct kf_duel_program {
	const char *work_dir;		/* an own folder of ours */
	const char *artefact_path;	/* judged correct before */
};

struct kf_duel_request {
	/* As for kf_evaluate; its baseline, if any, is the last side. work_dir
	 * and source_dir are not used. */
	const struct kf_evaluate_request *base;
	const struct kf_duel_program *program;
	size_t program_count;		/* 2 .. KF_DUEL_PROGRAMS */
};

/* *wrong is the verdict on out->wrong if there is one, else empty; to be
 * released in any case. */
KF_MUST_CHECK enum kf_code kf_duel_run(const struct kf_duel_request *req,
				       struct kf_duel *out,
				       struct kf_verdict *wrong,
				       struct kf_err *err);
/* Puts what a duel without a wrong program says of one into its verdict on
 * values: times, and the speed-up against the baseline, which is the last side
 * if there is one. */
void kf_duel_tell(const struct kf_duel_request *req,
		  const struct kf_duel *duel, size_t program,
		  struct kf_verdict *verdict);
/* Everything about it as JSON (new reference), with the sides' names. */
json_t *kf_duel_to_json(const struct kf_duel *duel, const char *const *name);
/* Adds some lines of plain text for people. */
void kf_duel_explain(const struct kf_duel *duel, const char *const *name,
		     struct kf_buf *out);

#endif
