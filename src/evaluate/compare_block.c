/*
 * compare_block.c - blocks: how they lie, what is typical of them, and the
 * verdict on one of them, element by element and with every special rule.
 */
#include "evaluate/compare_block.h"

#include <float.h>
#include <math.h>

struct kf_grid kf_grid_of(int rank, const int64_t *shape)
{
	struct kf_grid grid = { .items = 1, .rows = 1, .cols = 1, .high = 1,
				.wide = KF_BLOCK_ELEMENTS };

	if (rank >= 1)
		grid.cols = shape[rank - 1];
	if (rank >= 2) {
		grid.rows = shape[rank - 2];
		grid.high = grid.wide = 32;
	}
	for (int axis = 0; axis < rank - 2; axis++)
		grid.items *= shape[axis];
	grid.blocks_down = (grid.rows + grid.high - 1) / grid.high;
	grid.blocks_across = (grid.cols + grid.wide - 1) / grid.wide;
	return grid;
}

int64_t kf_grid_blocks(const struct kf_grid *grid)
{
	return grid->items * grid->blocks_down * grid->blocks_across;
}

struct kf_block kf_grid_block(const struct kf_grid *grid, int64_t item,
			      int64_t down, int64_t across)
{
	int64_t row = down * grid->high, col = across * grid->wide;
	int64_t high = grid->rows - row, wide = grid->cols - col;

	return (struct kf_block) {
		.index = (item * grid->blocks_down + down) *
			grid->blocks_across + across,
		.offset = (item * grid->rows + row) * grid->cols + col,
		.stride = grid->cols,
		.high = (int)(high < grid->high ? high : grid->high),
		.wide = (int)(wide < grid->wide ? wide : grid->wide),
	};
}

static void typical_of_block(const struct kf_block *block, const float *react,
			     const float *noise,
			     struct kf_compare_typical *out)
{
	double energy = 0;
	float most = 0;

	for (int r = 0; r < block->high; r++)
		for (int k = 0; k < block->wide; k++) {
			int64_t i = block->offset + r * block->stride + k;
			float g = react ? react[i] : 0;
			float e = noise ? noise[i] : 0;

			if (isfinite(g))
				energy += (double)g * (double)g;
			if (isfinite(e) && e > most)
				most = e;
		}
	out->react_rms[block->index] =
		(float)sqrt(energy / (block->high * block->wide));
	out->noise_max[block->index] = most;
}

/*
 * A block that the one case left dead (a channel that ReLU shut) may live in
 * the next one: no block is taken to react less than a 32nd of what the whole
 * output does, as no element is smaller than a 32nd of its block.
 */
static void raise_dead_blocks(struct kf_compare_typical *typical)
{
	double energy = 0;
	float least;

	for (int64_t i = 0; i < typical->block_count; i++)
		energy += (double)typical->react_rms[i] *
			  (double)typical->react_rms[i];
	least = (float)(sqrt(energy / (double)typical->block_count) / 32);
	for (int64_t i = 0; i < typical->block_count; i++)
		if (typical->react_rms[i] < least)
			typical->react_rms[i] = least;
}

void kf_compare_typical_make(int rank, const int64_t *shape,
			     const float *react, const float *noise,
			     struct kf_compare_typical *out)
{
	struct kf_grid grid = kf_grid_of(rank, shape);
	size_t count = (size_t)kf_grid_blocks(&grid);

	*out = (struct kf_compare_typical) { .block_count = (int64_t)count };
	if (!count || (!react && !noise))
		return;
	out->react_rms = kf_alloc(count * sizeof(float));
	out->noise_max = kf_alloc(count * sizeof(float));
	for (int64_t item = 0; item < grid.items; item++)
		for (int64_t down = 0; down < grid.blocks_down; down++)
			for (int64_t a = 0; a < grid.blocks_across; a++) {
				struct kf_block block =
					kf_grid_block(&grid, item, down, a);

				typical_of_block(&block, react, noise, out);
			}
	raise_dead_blocks(out);
}

void kf_compare_typical_release(struct kf_compare_typical *typical)
{
	free(typical->react_rms);
	free(typical->noise_max);
	*typical = (struct kf_compare_typical) { 0 };
}

const char *kf_scale_name(enum kf_scale scale)
{
	static const char *const name[] = {
		[KF_SCALE_NONE] = "",
		[KF_SCALE_SIZE] = "size",
		[KF_SCALE_REACTION] = "reaction",
		[KF_SCALE_BLOCK] = "block",
		[KF_SCALE_NOISE] = "noise",
	};

	return name[scale];
}

double kf_compare_excess(const struct kf_worst *worst)
{
	return worst->scale == KF_SCALE_NONE || !isfinite(worst->q) ? 0 :
		worst->q / KF_COMPARE_FAR;
}

void kf_compare_note(struct kf_compare *out, const struct kf_worst *element)
{
	const double q = element->q;
	size_t at = out->worst_count;

	if (at == KF_COMPARE_WORST && !(q > out->worst[at - 1].q))
		return;
	if (at < KF_COMPARE_WORST)
		out->worst_count = at + 1;
	else
		at--;
	for (; at > 0 && q > out->worst[at - 1].q; at--)
		out->worst[at] = out->worst[at - 1];
	out->worst[at] = *element;
}

/* The scale of an element before the block has its say. */
struct scale { double size, noise; bool usable, reacts; };

static struct scale scale_at(const struct kf_compare_request *req,
			     const struct kf_block *block, int64_t i, double y,
			     double top)
{
	const struct kf_compare_typical *typical = req->typical;
	struct scale s = { .size = fabs(y), .usable = fabs(y) <= top };
	double g = 0;

	if (req->react)
		g = (double)req->react[i];
	else if (typical && typical->react_rms)
		g = (double)typical->react_rms[block->index];
	if (req->noise)
		s.noise = (double)req->noise[i];
	else if (typical && typical->noise_max)
		s.noise = (double)typical->noise_max[block->index];
	if (!isfinite(s.noise))
		s.noise = 0;
	s.reacts = isfinite(g) && g > s.size;
	if (s.reacts)
		s.size = g;
	return s;
}

/*
 * How far one element is off, in units of T. Infinity: a non-finite value
 * where there should be none, or the reverse. r is the reference in the
 * output's own type: where it went beyond what y did (an overflow on the way),
 * either is right.
 */
static double element_q(double c, double y, double r, double sigma,
			const struct kf_float_facts *f, double limit)
{
	if (isnan(c))
		return isnan(y) || isnan(r) ? 0 : (double)INFINITY;
	if (isinf(c)) {
		if ((isinf(r) && (r > 0) == (c > 0)) ||
		    (fabs(y) > f->top && (y > 0) == (c > 0)))
			return 0;
		if (!(fabs(y) > f->top / 2))
			return (double)INFINITY;
		c = copysign(f->top, c);
	}
	if (isnan(y))
		return (double)INFINITY;
	if (fabs(y) > f->top) {
		y = copysign(f->top, y);
		sigma = f->top;
		if (fabs(c) < f->top / 2 || (c > 0) != (y > 0))
			return (double)INFINITY;
	}
	if (c == y || (c == 0 && fabs(y) < f->flushed))
		return 0;
	/* Finite, however small the scale: infinity means something else. */
	return fmin(fabs(c - y) / fmax(sigma, DBL_MIN) / limit, 1e300);
}

static enum kf_mark mark_of(const struct kf_compare_request *req, int64_t i,
			    double q)
{
	if (!(q > KF_COMPARE_FAR))
		return KF_MARK_GOOD;
	if (kf_compare_is_poison(req->dtype, req->got, i, req->poison))
		return KF_MARK_UNWRITTEN;
	return isinf(q) ? KF_MARK_NONFINITE : KF_MARK_WRONG;
}

/* Is whatever the program gives right, or the NaN that it gives? */
static bool is_open(const struct kf_compare_request *req, int64_t i, double c,
		    double r)
{
	return req->nan_is_open &&
		(isnan(r) || (isnan(c) &&
			      !kf_compare_is_poison(req->dtype, req->got, i,
						    req->poison)));
}

struct block_sums { double q_squares; int counted; };

/* The block's own share of the scale, S_B / 32. */
static double block_floor(const struct scale *scale, int count)
{
	double energy = 0;
	int used = 0;

	for (int i = 0; i < count; i++) {
		if (!scale[i].usable)
			continue;
		/* hypot-like care is not needed: sizes of float64 outputs near
		 * its limit only make the floor infinite, which is refused. */
		energy += scale[i].size * scale[i].size;
		used++;
	}
	energy = used ? sqrt(energy / used) / 32 : 0;
	return isfinite(energy) ? energy : 0;
}

static void count_mark(struct kf_compare *out, enum kf_mark mark)
{
	out->wrong_count += mark != KF_MARK_GOOD;
	out->nonfinite_count += mark == KF_MARK_NONFINITE;
	out->unwritten_count += mark == KF_MARK_UNWRITTEN;
}

/* Sigma, and which of its terms it is. */
static double sigma_of(const struct scale *scale, double floor_size,
		       double noise, enum kf_scale *which)
{
	double sigma = scale->size;

	*which = scale->reacts ? KF_SCALE_REACTION : KF_SCALE_SIZE;
	if (floor_size > sigma) {
		sigma = floor_size;
		*which = KF_SCALE_BLOCK;
	}
	if (noise > sigma) {
		sigma = noise;
		*which = KF_SCALE_NOISE;
	}
	return sigma;
}

static struct kf_worst element_at(const struct kf_compare_request *req,
				  int64_t i, const struct scale *scale,
				  double floor_size)
{
	const struct kf_float_facts *f = kf_float_facts(req->dtype);
	double r = kf_element(req->dtype, req->expect, i);
	struct kf_worst e = {
		.index = i,
		.got = kf_element(req->dtype, req->got, i),
		.expect = req->exact ? req->exact[i] : r,
	};

	e.sigma = sigma_of(scale, floor_size, 4 / req->limit * scale->noise,
			   &e.scale);
	e.q = is_open(req, i, e.got, r) ? 0 :
		element_q(e.got, e.expect, r, e.sigma, f, req->limit);
	return e;
}

static void note(const struct kf_worst *e, enum kf_mark mark,
		 struct kf_compare *out)
{
	if (isfinite(e->got) && isfinite(e->expect) &&
	    fabs(e->got - e->expect) > out->error_max_abs)
		out->error_max_abs = fabs(e->got - e->expect);
	if (e->q > out->q_max)
		out->q_max = e->q;
	count_mark(out, mark);
	kf_compare_note(out, e);
}

static bool is_tie(const struct kf_compare_request *req,
		   const struct kf_worst *e, enum kf_mark mark)
{
	double top = kf_float_facts(req->dtype)->top;

	return e->q > KF_TIE_Q && e->q * req->limit <= KF_TIE_MOST &&
		isfinite(e->got) && fabs(e->expect) <= top &&
		mark != KF_MARK_UNWRITTEN;
}

/* Where a block's RMS is too large but no element is, those that make it so
 * are marked: the pattern is looked for in them. */
static void mark_block(const struct kf_block *block, const double *q,
		       unsigned char *marks)
{
	for (int r = 0; r < block->high; r++)
		for (int k = 0; k < block->wide; k++) {
			int64_t i = block->offset + r * block->stride + k;

			if (!marks[i] && q[r * block->wide + k] > 1)
				marks[i] = KF_MARK_WRONG;
		}
}

/* Of one block, and how ties are handled in it. */
struct look {
	const struct kf_compare_request *req;
	const struct kf_block *block;
	const struct scale *scale;	/* of each element */
	double floor_size;
	bool ties;			/* they are left out */
};

/* One element, the n-th. Returns q; *used: does it count in the RMS? */
static double look_at(const struct look *l, int64_t i, int n,
		      unsigned char *marks, bool *used, struct kf_compare *out)
{
	struct kf_worst e = element_at(l->req, i, &l->scale[n], l->floor_size);
	enum kf_mark mark = mark_of(l->req, i, e.q);

	*used = l->scale[n].usable && l->scale[n].size >= l->floor_size;
	if (l->ties && is_tie(l->req, &e, mark)) {
		*used = false;
		out->tie_count++;
		return e.q;
	}
	note(&e, mark, out);
	if (marks)
		marks[i] = (unsigned char)mark;
	return e.q;
}

/* Adds what is found to *out. Is the block right? */
static bool judge(const struct look *l, unsigned char *marks,
		  struct kf_compare *out)
{
	const struct kf_block *block = l->block;
	int64_t wrong_before = out->wrong_count;
	struct block_sums sums = { 0 };
	double q[KF_BLOCK_ELEMENTS], rms;
	int n = 0;

	for (int r = 0; r < block->high; r++)
		for (int k = 0; k < block->wide; k++, n++) {
			bool used;

			q[n] = look_at(l, block->offset + r * block->stride + k,
				       n, marks, &used, out);
			if (!used)
				continue;
			sums.q_squares += q[n] * q[n];
			sums.counted++;
		}
	rms = sums.counted ? sqrt(sums.q_squares / sums.counted) /
		(1 + 15.0 / sums.counted) : 0;
	if (rms > out->rms_max)
		out->rms_max = rms;
	if (rms > 1) {
		out->block_bad_count++;
		if (marks)
			mark_block(block, q, marks);
	}
	return rms <= 1 && out->wrong_count == wrong_before;
}

void kf_compare_block(const struct kf_compare_request *req,
		      const struct kf_block *block, unsigned char *marks,
		      struct kf_compare *out)
{
	const struct kf_float_facts *f = kf_float_facts(req->dtype);
	struct scale scale[KF_BLOCK_ELEMENTS];
	struct look l = { .req = req, .block = block, .scale = scale };
	struct kf_compare before;
	int n = 0;

	for (int r = 0; r < block->high; r++)
		for (int k = 0; k < block->wide; k++, n++) {
			int64_t i = block->offset + r * block->stride + k;
			double y = req->exact ? req->exact[i] :
				kf_element(req->dtype, req->expect, i);

			scale[n] = scale_at(req, block, i, y, f->top);
		}
	l.floor_size = block_floor(scale, n);
	if (!req->ties) {
		judge(&l, marks, out);
		return;
	}
	before = *out;
	if (judge(&l, marks, out))
		return;
	*out = before;
	l.ties = true;
	judge(&l, marks, out);
}
