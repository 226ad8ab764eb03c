/*
 * compare.h - is an output right? Pure: no files, no processes, no log.
 *
 * JUDGING.md, "Values", in one place (docs/judging.md repeats it for users):
 *
 *	S_B     = RMS over block B of max(|y|, g)
 *	sigma_i = max(|y_i|, g_i, S_B / 32, (4 / T) e_i)
 *	q_i     = |c_i - y_i| / sigma_i
 *	good if every q_i <= 16 T and in every block the RMS of q over its n
 *	elements with max(|y|, g) >= S_B / 32 is <= T (1 + 15 / n)
 *
 * Blocks are 32 x 32 of the last two axes (1,024 consecutive elements for
 * rank 1), within one batch item. Integers and bools must be equal. Non-finite
 * values must stand where the reference has them, with its sign (NaN's sign
 * aside). Denormals may be flushed.
 *
 * Where softmax and its like are saturated, what is nearly a tie may go either
 * way, and no run of the reference tells which. There, in blocks that are not
 * right, elements that are off by KF_TIE_Q T to KF_TIE_MOST sigma do not count,
 * if all of an output's are no more than one in KF_TIES, or than a row (of the
 * last axis) of at least KF_TIE_ROWS. Only finite values where y is finite, and
 * no unwritten ones.
 */
#ifndef KF_EVALUATE_COMPARE_H
#define KF_EVALUATE_COMPARE_H

#include "evaluate/error_map.h"

#define KF_COMPARE_FAR 16	/* in T: what is further off is wrong */
#define KF_COMPARE_WORST 8
#define KF_COMPARE_PATTERN 256

#define KF_TIES		256
#define KF_TIE_ROWS	64
#define KF_TIE_Q	4.0	/* in units of T */
#define KF_TIE_MOST	128.0	/* in units of sigma: 4 S_B and less */

/*
 * What fresh data of the same kind lacks: how strongly it reacts and how noisy
 * the reference is, taken for each block from a case that has both.
 */
struct kf_compare_typical {
	float *react_rms, *noise_max;	/* owned; [block_count]; NULL: 0 */
	int64_t block_count;
};

/* react and noise may be NULL. Ready for any request of that shape. */
void kf_compare_typical_make(int rank, const int64_t *shape,
			     const float *react, const float *noise,
			     struct kf_compare_typical *out);
void kf_compare_typical_release(struct kf_compare_typical *typical);

struct kf_compare_request {
	enum kf_dtype dtype;
	int rank;
	int64_t shape[KF_MAX_RANK];
	const void *got;	/* candidate's, in dtype */
	const double *sums;	/* of got, where a device added up: then got has
				   windows alone. NULL: got is whole */
	const void *expect;	/* reference in dtype */
	const double *exact;	/* y; NULL: judged against expect */
	const float *react;	/* g; NULL: see typical */
	const float *noise;	/* e; NULL: see typical */
	/* Used where react or noise is NULL; NULL: 0. */
	const struct kf_compare_typical *typical;
	double limit;		/* T; kf_compare_limit() */
	bool nan_is_open;	/* where the reference has a NaN all is right,
				   and a NaN that was written is everywhere */
	int64_t ties;		/* so many elements may be off, see above */
	uint32_t poison;	/* repeated pattern that marks unwritten memory,
				   from the start of got; 0: there is none */
	unsigned variant;	/* 0: the fastest for this processor; else the
				   one of kf_compare_variant, for tests */
};

/* The name of the number-th (from 1) variant of the quick comparison that this
 * processor can run, best first; NULL after the last. */
const char *kf_compare_variant(unsigned number);

enum kf_compare_end {
	KF_COMPARE_GOOD,
	KF_COMPARE_UNWRITTEN,	/* elements still hold the poison */
	KF_COMPARE_NONFINITE,
	KF_COMPARE_VALUES,	/* an element, or the RMS of a block, is too far off */
};

/* Which term of sigma is the largest for an element. */
enum kf_scale {
	KF_SCALE_NONE,		/* there is no such scale: integers, other rules */
	KF_SCALE_SIZE,		/* |y|, its own size */
	KF_SCALE_REACTION,	/* g, how it reacts to its inputs */
	KF_SCALE_BLOCK,		/* S_B / 32, its block's size */
	KF_SCALE_NOISE,		/* (4 / T) e, the reference's own error */
};
const char *kf_scale_name(enum kf_scale scale);	/* "reaction"; "" for NONE */

struct kf_worst {
	int64_t index;
	double got, expect, q;
	double sigma;		/* its scale; 0 for KF_SCALE_NONE */
	enum kf_scale scale;
};

/* How many times as far off it is as it may be, above 1 if it is wrong; 0 where
 * there is no such measure: integers, other rules. */
double kf_compare_excess(const struct kf_worst *worst);

struct kf_compare {
	enum kf_compare_end end;
	int64_t numel;
	int64_t wrong_count;	/* elements with q > KF_COMPARE_FAR T, or unequal */
	int64_t unwritten_count;	/* wrong ones that hold the poison */
	int64_t nonfinite_count;	/* others: NaN or infinite where the
					   reference is not, or vice versa */
	int64_t block_count, block_bad_count;
	/* Elements and, of sums, stretches that are off and do not count, nor
	 * in any other of these figures. */
	int64_t tie_count, tie_chunk_count;
	double q_max;		/* worst element, in units of T; integers: the
				   largest difference; KernelBench: in units
				   of its tolerance */
	double rms_max;		/* worst block, in units of T (1 + 15 / n) */
	double error_max_abs;	/* max |c - y| over finite elements */
	struct kf_worst worst[KF_COMPARE_WORST];	/* by q, falling */
	size_t worst_count;
	char pattern[KF_COMPARE_PATTERN]; /* in words: "the last 7 elements of every row",
				   "all values are 2 times too large", "looks
				   transposed", "shifted by one along axis 1",
				   "row 0 only"; "" if none was found */
	struct kf_error_map map;	/* where they lie */
};

/* True if the element's bytes are the poison's. */
bool kf_compare_is_poison(enum kf_dtype dtype, const void *data, int64_t index,
			  uint32_t poison);

/* T for a dtype and kind of case (docs/judging.md): float32 2^-15, on wide,
 * tail, large, tiny and outliers sets 2^-13; float16 2^-9; bfloat16 2^-6;
 * float64 2^-44, on these sets 2^-42. */
double kf_compare_limit(enum kf_dtype dtype, const char *case_kind);
/* nan_is_open for a kind of case. */
bool kf_compare_open(const char *case_kind);
/* How many elements of an output of that shape may be ties, for a kind of case:
 * 0 for most kinds. */
int64_t kf_compare_ties(const char *case_kind, int rank, const int64_t *shape);

void kf_compare_run(const struct kf_compare_request *req,
		    struct kf_compare *out);

/* KernelBench's own rule: allclose, rtol = atol = 1e-4 (float32, float64),
 * 1e-2 (half types); integers equal; NaN nowhere. Uses got and expect. */
void kf_compare_kernelbench(const struct kf_compare_request *req,
			    struct kf_compare *out);

/* "(3, 17)" for a flat index; out needs 128 bytes. */
void kf_compare_index(int rank, const int64_t *shape, int64_t index,
		      char out[128]);
/* One element as double; integers above 2^53 are rounded. */
double kf_element(enum kf_dtype dtype, const void *data, int64_t index);

#endif
