#include "evaluate/compare.h"

#include <float.h>
#include <math.h>

#include "base/parallel.h"
#include "evaluate/compare_block.h"

/* Beyond this many elements no byte for each is spent on finding a pattern. */
#define PATTERN_ELEMENTS_MAX (INT64_C(1) << 28)

/* Groups of blocks that one thread takes at a time: a million elements, so that
 * small outputs need no thread. */
#define PART_STEPS 256

/* Neighbouring blocks of one row of blocks, as the quick comparison takes them.
 * first: of the leftmost. */
static void compare_some(const struct kf_compare_request *req,
			 const struct kf_grid *grid, int64_t band,
			 int64_t first, unsigned char *marks,
			 struct kf_compare *out)
{
	struct kf_block block[KF_BAND_BLOCKS];
	int count = 0;
	uint32_t doubt;

	while (count < KF_BAND_BLOCKS && first < grid->blocks_across)
		block[count++] = kf_grid_block(grid, band / grid->blocks_down,
					       band % grid->blocks_down,
					       first++);
	doubt = kf_compare_band(req, block, count, out);
	for (int b = 0; b < count; b++)
		if (doubt >> b & 1)
			kf_compare_block(req, &block[b], marks, out);
}

/* A comparison in parts, which threads share. */
struct parts {
	const struct kf_compare_request *req;
	struct kf_grid grid;
	int64_t steps_across, steps, steps_of_part;
	unsigned char *marks;
	struct kf_compare *found;	/* of each part */
};

static void compare_part(void *arg, size_t part)
{
	const struct parts *p = arg;
	int64_t step = (int64_t)part * p->steps_of_part;
	int64_t end = step + p->steps_of_part;

	for (end = end < p->steps ? end : p->steps; step < end; step++)
		compare_some(p->req, &p->grid, step / p->steps_across,
			     step % p->steps_across * KF_BAND_BLOCKS, p->marks,
			     &p->found[part]);
}

static void add_part(const struct kf_compare *part, struct kf_compare *out)
{
	out->wrong_count += part->wrong_count;
	out->unwritten_count += part->unwritten_count;
	out->nonfinite_count += part->nonfinite_count;
	out->block_bad_count += part->block_bad_count;
	out->tie_count += part->tie_count;
	out->q_max = fmax(out->q_max, part->q_max);
	out->rms_max = fmax(out->rms_max, part->rms_max);
	out->error_max_abs = fmax(out->error_max_abs, part->error_max_abs);
	for (size_t i = 0; i < part->worst_count; i++)
		kf_compare_note(out, &part->worst[i]);
}

static void compare_floats(const struct kf_compare_request *req,
			   unsigned char *marks, struct kf_compare *out)
{
	struct parts p = {
		.req = req, .grid = kf_grid_of(req->rank, req->shape),
		.marks = marks,
	};
	size_t count;

	out->block_count = kf_grid_blocks(&p.grid);
	p.steps_across = (p.grid.blocks_across + KF_BAND_BLOCKS - 1) /
		KF_BAND_BLOCKS;
	p.steps = p.grid.items * p.grid.blocks_down * p.steps_across;
	p.steps_of_part = PART_STEPS;
	count = (size_t)((p.steps + PART_STEPS - 1) / PART_STEPS);
	p.found = kf_alloc((count + 1) * sizeof(p.found[0]));
	kf_parallel(count, compare_part, &p);
	for (size_t i = 0; i < count; i++)
		add_part(&p.found[i], out);
	free(p.found);
}

static void compare_integers(const struct kf_compare_request *req,
			     unsigned char *marks, struct kf_compare *out)
{
	size_t size = kf_dtype_bytes(req->dtype);
	const char *got = req->got, *expect = req->expect;

	if (memcmp(got, expect, (size_t)out->numel * size) == 0)
		return;
	for (int64_t i = 0; i < out->numel; i++) {
		size_t at = (size_t)i * size;
		double c, y, q;
		bool unwritten;

		if (memcmp(got + at, expect + at, size) == 0)
			continue;
		unwritten = kf_compare_is_poison(req->dtype, got, i,
						 req->poison);
		c = kf_element(req->dtype, got, i);
		y = kf_element(req->dtype, expect, i);
		q = fmax(fabs(c - y), 1);	/* int64 may round to equal */
		out->wrong_count++;
		out->unwritten_count += unwritten;
		out->q_max = fmax(out->q_max, q);
		out->error_max_abs = out->q_max;
		kf_compare_note(out, &(struct kf_worst) {
			.index = i, .got = c, .expect = y, .q = q });
		if (marks)
			marks[i] = unwritten ? KF_MARK_UNWRITTEN :
				KF_MARK_WRONG;
	}
}

/*
 * Are the wrong elements wrong because nobody wrote them? A byte looks like the
 * poison by chance one time in 256, so small types need a larger share.
 */
static bool looks_unwritten(const struct kf_compare_request *req,
			    const struct kf_compare *out)
{
	int64_t share = kf_dtype_bytes(req->dtype) == 1 ? 2 : 20;

	if (!out->unwritten_count)
		return false;
	return out->unwritten_count * share >= out->wrong_count;
}

enum kf_compare_end kf_compare_end_of(const struct kf_compare_request *req,
				      const struct kf_compare *out)
{
	if (!out->wrong_count && !out->block_bad_count)
		return KF_COMPARE_GOOD;
	if (looks_unwritten(req, out))
		return KF_COMPARE_UNWRITTEN;
	return out->nonfinite_count ? KF_COMPARE_NONFINITE : KF_COMPARE_VALUES;
}

static void compare_once(const struct kf_compare_request *req,
			 unsigned char *marks, struct kf_compare *out)
{
	memset(out, 0, sizeof(*out));
	out->numel = kf_compare_numel(req->rank, req->shape);
	if (!out->numel)
		return;
	if (kf_dtype_is_float(req->dtype))
		compare_floats(req, marks, out);
	else
		compare_integers(req, marks, out);
	out->end = kf_compare_end_of(req, out);
}

/* What is off in more places than ties are is wrong, and so is all of an output
 * that is wrong elsewhere. */
void kf_compare_run(const struct kf_compare_request *req,
		    struct kf_compare *out)
{
	struct kf_compare_request strict = *req;
	unsigned char *marks;

	compare_once(req, NULL, out);
	if (out->tie_count && (out->end || out->tie_count > req->ties)) {
		strict.ties = 0;
		req = &strict;
		compare_once(req, NULL, out);
	}
	if (out->end == KF_COMPARE_GOOD || out->numel > PATTERN_ELEMENTS_MAX)
		return;
	marks = kf_alloc((size_t)out->numel);
	compare_once(req, marks, out);
	kf_pattern_find(req, marks, out->end, out->pattern);
	kf_error_map_shape(req->rank, req->shape, &out->map);
	kf_error_map_fill(marks, &out->map);
	free(marks);
}

/* --- KernelBench's rule --------------------------------------------------- */

static inline uint32_t far(float c, float r, float tolerance)
{
	float error = fabsf(c - r);

	return (uint32_t)!(error <= tolerance + tolerance * fabsf(r)) |
		(uint32_t)!(error <= FLT_MAX);
}

/* How many are not close, or not finite: those want a closer look. */
static int64_t count_far(const float *c, const float *r, int64_t count,
			 float tolerance)
{
	uint32_t lane[8] = { 0 };
	int64_t i = 0, total = 0;

	for (; i + 8 <= count; i += 8)
		for (int k = 0; k < 8; k++)
			lane[k] += far(c[i + k], r[i + k], tolerance);
	for (; i < count; i++)
		lane[0] += far(c[i], r[i], tolerance);
	for (int k = 0; k < 8; k++)
		total += lane[k];
	return total;
}

static double allclose_q(double c, double r, double tolerance)
{
	if (c == r)	/* equal infinities too */
		return 0;
	if (!isfinite(c) || !isfinite(r))
		return (double)INFINITY;
	return fabs(c - r) / (tolerance + tolerance * fabs(r));
}

static void allclose(const struct kf_compare_request *req, double tolerance,
		     struct kf_compare *out)
{
	for (int64_t i = 0; i < out->numel; i++) {
		double c = kf_element(req->dtype, req->got, i);
		double r = kf_element(req->dtype, req->expect, i);
		double q = allclose_q(c, r, tolerance);

		out->q_max = fmax(out->q_max, q);
		if (isfinite(c) && isfinite(r))
			out->error_max_abs = fmax(out->error_max_abs,
						  fabs(c - r));
		if (q <= 1)
			continue;
		out->wrong_count++;
		if (kf_compare_is_poison(req->dtype, req->got, i, req->poison))
			out->unwritten_count++;
		else if (isinf(q))
			out->nonfinite_count++;
		kf_compare_note(out, &(struct kf_worst) {
			.index = i, .got = c, .expect = r, .q = q });
	}
	out->end = kf_compare_end_of(req, out);
}

void kf_compare_kernelbench(const struct kf_compare_request *req,
			    struct kf_compare *out)
{
	bool half = req->dtype == KF_F16 || req->dtype == KF_BF16;
	double tolerance = half ? 1e-2 : 1e-4;

	memset(out, 0, sizeof(*out));
	out->numel = kf_compare_numel(req->rank, req->shape);
	if (!out->numel)
		return;
	if (!kf_dtype_is_float(req->dtype)) {
		compare_integers(req, NULL, out);
		out->end = kf_compare_end_of(req, out);
		return;
	}
	if (req->dtype == KF_F32 &&
	    !count_far(req->got, req->expect, out->numel, (float)tolerance))
		return;
	allclose(req, tolerance, out);
}
