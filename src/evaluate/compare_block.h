/*
 * compare_block.h - shared by compare*.c and pattern.c only: how an output is
 * cut into blocks, and what was found for each element.
 */
#ifndef KF_EVALUATE_COMPARE_BLOCK_H
#define KF_EVALUATE_COMPARE_BLOCK_H

#include "evaluate/compare.h"

#define KF_BLOCK_ELEMENTS 1024

/* An output seen as items of rows x cols, in blocks of high x wide. */
struct kf_grid {
	int64_t items, rows, cols;
	int64_t high, wide;		/* of a whole block */
	int64_t blocks_down, blocks_across;	/* in one item */
};

/* Elements of an output, and of a row of its last axis; 1 for a scalar. */
int64_t kf_compare_numel(int rank, const int64_t *shape);
int64_t kf_compare_row(int rank, const int64_t *shape);

struct kf_grid kf_grid_of(int rank, const int64_t *shape);
int64_t kf_grid_blocks(const struct kf_grid *grid);

/* One block: elements offset + r * stride + k, r < high, k < wide. */
struct kf_block {
	int64_t index, offset, stride;
	int high, wide;
};
struct kf_block kf_grid_block(const struct kf_grid *grid, int64_t item,
			      int64_t down, int64_t across);

/* What an element turned out to be, one byte each. */
enum kf_mark { KF_MARK_GOOD, KF_MARK_WRONG, KF_MARK_NONFINITE,
	       KF_MARK_UNWRITTEN };

/* Facts about the floating-point types, all as double. */
struct kf_float_facts {
	double top;		/* largest finite value */
	double flushed;		/* below it 0 is right; 0: nothing is flushed */
};
const struct kf_float_facts *kf_float_facts(enum kf_dtype dtype);
bool kf_dtype_is_float(enum kf_dtype dtype);

/* Rows as float (half types and float32 only) or double. They return data
 * itself where it has that type already, else what was put into room. */
const float *kf_row_float(enum kf_dtype dtype, const void *data, int64_t offset,
			  int count, float *room);
const double *kf_row_double(enum kf_dtype dtype, const void *data,
			    int64_t offset, int count, double *room);

/* Put an element into out->worst if it belongs there. */
void kf_compare_note(struct kf_compare *out, const struct kf_worst *element);
/* Judge one block element by element. marks may be NULL. */
void kf_compare_block(const struct kf_compare_request *req,
		      const struct kf_block *block, unsigned char *marks,
		      struct kf_compare *out);
/* Judge count (at most KF_BAND_BLOCKS) neighbouring blocks of one row of blocks
 * at once, block first of it being the leftmost. Bit b of what is returned: the
 * b-th is in doubt and still to be judged; the others are right, and in out's
 * figures. */
#define KF_BAND_BLOCKS 4
uint32_t kf_compare_band(const struct kf_compare_request *req,
			 const struct kf_block *block, int count,
			 struct kf_compare *out);

#ifdef __x86_64__
/* One of its variants; compare_quick.c chooses. */
uint32_t kf_compare_band_avx2(const struct kf_compare_request *req,
			      const struct kf_block *block, int count,
			      struct kf_compare *out);
#endif

/* What the counts in out come to. */
enum kf_compare_end kf_compare_end_of(const struct kf_compare_request *req,
				      const struct kf_compare *out);

/* The pattern of what is wrong, in words; out is "" if there is none. */
void kf_pattern_find(const struct kf_compare_request *req,
		     const unsigned char *marks, enum kf_compare_end end,
		     char out[KF_COMPARE_PATTERN]);

#endif
