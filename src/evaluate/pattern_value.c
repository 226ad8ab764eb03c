/* pattern_value.c - what the wrong elements hold: zeros, a multiple, another
 * element's value. Works on a sample, spread evenly over them. */
#include "evaluate/pattern.h"

#include <math.h>

#define SAMPLE_MAX 4096
#define SHARE 0.95

struct sample {
	const struct kf_compare_request *req;
	int64_t numel;
	size_t count;
	int64_t index[SAMPLE_MAX];
	double got[SAMPLE_MAX], want[SAMPLE_MAX];
	double size;		/* RMS of the finite wanted values */
	double tolerance;	/* relative; what counts as the same value */
	double wrong_share;	/* of all elements */
	double other_share;	/* of the sample: off by more than tolerance */
};

static double want_at(const struct kf_compare_request *req, int64_t i)
{
	return req->exact ? req->exact[i] :
		kf_element(req->dtype, req->expect, i);
}

static double got_at(const struct kf_compare_request *req, int64_t i)
{
	return kf_element(req->dtype, req->got, i);
}

static bool same(const struct sample *s, double a, double b)
{
	return fabs(a - b) <= s->tolerance * (fabs(b) + s->size / 32);
}

static void take_sample(const struct kf_compare_request *req,
			const unsigned char *marks, enum kf_compare_end end,
			struct sample *s)
{
	int64_t total = 0, seen = 0, next = 0, step;
	double squares = 0;
	size_t finite = 0, other = 0;

	for (int64_t i = 0; i < s->numel; i++)
		total += kf_pattern_selected(marks[i], end);
	step = (total + SAMPLE_MAX - 1) / SAMPLE_MAX;
	for (int64_t i = 0; i < s->numel && s->count < SAMPLE_MAX; i++) {
		if (!kf_pattern_selected(marks[i], end) || seen++ != next)
			continue;
		next += step;
		s->index[s->count] = i;
		s->got[s->count] = got_at(req, i);
		s->want[s->count] = want_at(req, i);
		if (isfinite(s->want[s->count])) {
			squares += s->want[s->count] * s->want[s->count];
			finite++;
		}
		s->count++;
	}
	s->size = finite ? sqrt(squares / (double)finite) : 0;
	s->wrong_share = (double)total / (double)s->numel;
	for (size_t i = 0; i < s->count; i++)
		other += !same(s, s->got[i], s->want[i]);
	s->other_share = s->count ? (double)other / (double)s->count : 0;
}

static bool most(size_t hits, size_t of)
{
	return of && (double)hits >= SHARE * (double)of;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Sorts value and returns the one at share of the way. */
static double quantile(double *value, size_t count, double share)
{
	qsort(value, count, sizeof(value[0]), by_value);
	return value[(size_t)(share * (double)(count - 1))];
}

/* --- one statement each: true if it was made ----------------------------- */

static bool say_nan(struct sample *s, struct kf_buf *out)
{
	size_t nan = 0, inf = 0, should = 0;

	for (size_t i = 0; i < s->count; i++) {
		nan += isnan(s->got[i]) != 0;
		inf += isinf(s->got[i]) != 0;
		should += isfinite(s->got[i]) != 0;
	}
	if (most(nan, s->count))
		kf_buf_puts(out, "they are NaN");
	else if (most(inf, s->count))
		kf_buf_puts(out, "they are infinite");
	else if (most(should, s->count))
		kf_buf_puts(out, "they are finite where the reference is not");
	return nan + inf + should > 0;
}

static bool say_bool(struct sample *s, struct kf_buf *out)
{
	size_t hits = 0;

	if (s->req->dtype != KF_BOOL)
		return false;
	for (size_t i = 0; i < s->count; i++)
		hits += s->got[i] > 1;
	if (!most(hits, s->count))
		return false;
	kf_buf_puts(out, "they are neither 0 nor 1, as bools must be");
	return true;
}

static bool say_constant(struct sample *s, struct kf_buf *out)
{
	size_t zero = 0, equal = 0;
	double room[SAMPLE_MAX], value;

	for (size_t i = 0; i < s->count; i++)
		zero += s->got[i] == 0;
	if (most(zero, s->count)) {
		kf_buf_puts(out, s->count == 1 ? "it is zero" :
			    "they are all zero");
		return true;
	}
	if (s->count < 4 || s->req->dtype == KF_BOOL)
		return false;
	memcpy(room, s->got, s->count * sizeof(room[0]));
	value = quantile(room, s->count, 0.5);
	for (size_t i = 0; i < s->count; i++)
		equal += s->got[i] == value;
	if (!most(equal, s->count))
		return false;
	kf_buf_printf(out, "they all hold the same value, %.6g", value);
	return true;
}

static bool say_factor(struct sample *s, struct kf_buf *out)
{
	double ratio[SAMPLE_MAX], factor;
	size_t count = 0, hits = 0;

	for (size_t i = 0; i < s->count; i++)
		if (fabs(s->want[i]) > s->size / 1024)
			ratio[count++] = s->got[i] / s->want[i];
	if (count < 4)
		return false;
	factor = quantile(ratio, count, 0.5);
	if (!isfinite(factor) || fabs(factor - 1) < 4 * s->tolerance)
		return false;
	for (size_t i = 0; i < s->count; i++)
		hits += fabs(s->got[i] - factor * s->want[i]) <= s->tolerance *
			fabs(factor) * (fabs(s->want[i]) + s->size / 1024);
	if (!most(hits, s->count))
		return false;
	if (fabs(factor + 1) < s->tolerance)
		kf_buf_puts(out, "their sign is flipped");
	else
		kf_buf_printf(out, "they are %.4g times the expected values",
			      factor);
	return true;
}

static bool say_offset(struct sample *s, struct kf_buf *out)
{
	double room[SAMPLE_MAX], offset;
	size_t hits = 0;

	if (s->count < 4)
		return false;
	for (size_t i = 0; i < s->count; i++)
		room[i] = s->got[i] - s->want[i];
	offset = quantile(room, s->count, 0.5);
	if (!isfinite(offset) || offset == 0)
		return false;
	for (size_t i = 0; i < s->count; i++)
		hits += fabs(s->got[i] - s->want[i] - offset) <=
			0.01 * fabs(offset);
	if (!most(hits, s->count))
		return false;
	kf_buf_printf(out, "they are off by the same amount, %+.4g", offset);
	return true;
}

static bool say_sign(struct sample *s, struct kf_buf *out)
{
	size_t hits = 0;

	if (s->count < 4)
		return false;
	for (size_t i = 0; i < s->count; i++)
		hits += same(s, -s->got[i], s->want[i]);
	if (!most(hits, s->count))
		return false;
	kf_buf_puts(out, "their sign is flipped");
	return true;
}

/* Flat index of the element whose value would stand at index if the last two
 * axes had been swapped. */
static int64_t transposed(int64_t index, int64_t rows, int64_t cols)
{
	int64_t item = index / (rows * cols), at = index % (rows * cols);

	return item * rows * cols + (at % rows) * cols + at / rows;
}

static bool say_transposed(struct sample *s, struct kf_buf *out)
{
	int rank = s->req->rank;
	int64_t rows, cols;
	size_t hits = 0;

	if (rank < 2 || s->count < 4)
		return false;
	rows = s->req->shape[rank - 2];
	cols = s->req->shape[rank - 1];
	if (rows < 2 || cols < 2)
		return false;
	for (size_t i = 0; i < s->count; i++)
		hits += same(s, s->got[i], want_at(s->req,
				transposed(s->index[i], rows, cols)));
	if (!most(hits, s->count))
		return false;
	kf_buf_printf(out, "they look transposed (axes %d and %d swapped)",
		      rank - 2, rank - 1);
	return true;
}

/* Does element i hold what belongs at i + by along an axis? */
static bool shifted(struct sample *s, int axis, int64_t by)
{
	int64_t n = s->req->shape[axis], stride = 1;
	size_t hits = 0, of = 0;

	for (int a = axis + 1; a < s->req->rank; a++)
		stride *= s->req->shape[a];
	for (size_t i = 0; i < s->count; i++) {
		int64_t place = s->index[i] / stride % n + by;

		if (place < 0 || place >= n)
			continue;
		of++;
		hits += same(s, s->got[i], want_at(s->req,
						   s->index[i] + by * stride));
	}
	return of >= 4 && 2 * of >= s->count && most(hits, of);
}

static bool say_shifted(struct sample *s, struct kf_buf *out)
{
	for (int axis = s->req->rank - 1; axis >= 0; axis--)
		for (int64_t by = -1; by <= 1; by += 2) {
			if (s->req->shape[axis] < 3 || !shifted(s, axis, by))
				continue;
			kf_buf_printf(out, "they are shifted by one along axis "
				      "%d (index i holds what belongs at i %c "
				      "1)", axis, by < 0 ? '-' : '+');
			return true;
		}
	return false;
}

#define ROW_PROBES 16

/* Is got's row a (flat start) equal to the reference's row b? */
static bool row_equal(const struct sample *s, int64_t a, int64_t b,
		      int64_t cols)
{
	for (int64_t k = 0; k < ROW_PROBES; k++) {
		int64_t col = k * cols / ROW_PROBES;

		if (!same(s, got_at(s->req, a + col),
			  want_at(s->req, b + col)))
			return false;
	}
	return true;
}

static bool say_permuted(struct sample *s, struct kf_buf *out)
{
	int rank = s->req->rank;
	int64_t rows, cols;
	size_t found = 0, of = 0;

	if (rank < 2 || s->count < 4)
		return false;
	rows = s->req->shape[rank - 2];
	cols = s->req->shape[rank - 1];
	if (rows < 2 || rows > 4096 || cols < ROW_PROBES)
		return false;
	for (size_t i = 0; i < s->count; i += s->count / 16 + 1) {
		int64_t start = s->index[i] / cols * cols;
		int64_t item = start / (rows * cols) * rows * cols;

		of++;
		for (int64_t r = 0; r < rows; r++)
			if (item + r * cols != start &&
			    row_equal(s, start, item + r * cols, cols)) {
				found++;
				break;
			}
	}
	if (of < 2 || found < of)
		return false;
	kf_buf_puts(out, "each wrong row holds the values of another row");
	return true;
}

static bool say_short_sum(struct sample *s, struct kf_buf *out)
{
	double ratio[SAMPLE_MAX], low, middle, high;
	size_t count = 0, hits = 0;

	for (size_t i = 0; i < s->count; i++) {
		double r = s->got[i] / s->want[i];

		if (!isfinite(r))
			continue;
		ratio[count++] = r;
		hits += r > 0 && r < 1;
	}
	if (count < 16 || !most(hits, s->count))
		return false;
	low = quantile(ratio, count, 0.025);
	middle = quantile(ratio, count, 0.5);
	high = quantile(ratio, count, 0.975);
	if (middle < 0.25 || high - low > 0.25)
		return false;
	kf_buf_printf(out, "they are all too small, %.4g to %.4g of the "
		      "expected values: a sum may leave terms out", low, high);
	return true;
}

static bool say_precision(struct sample *s, struct kf_buf *out)
{
	double room[SAMPLE_MAX], middle;
	size_t hits = 0;

	if (s->count < 16 || s->wrong_share < 0.1 ||
	    (s->req->dtype != KF_F32 && s->req->dtype != KF_F64))
		return false;
	for (size_t i = 0; i < s->count; i++) {
		room[i] = fabs(s->got[i] - s->want[i]) /
			fmax(fabs(s->want[i]), s->size);
		hits += room[i] <= 0x1p-6;
	}
	middle = quantile(room, s->count, 0.5);
	if (!most(hits, s->count) || !(middle > 0x1p-17))
		return false;
	kf_buf_printf(out, "errors are small and spread over the output "
		      "(median 2^%.0f of the values' size): looks like "
		      "arithmetic in lower precision, or an approximation",
		      log2(middle));
	return true;
}

struct statement {
	bool (*say)(struct sample *s, struct kf_buf *out);
	bool far_only;	/* means nothing where errors are tiny */
};

static const struct statement statements[] = {
	{ say_bool, false },
	{ say_constant, false },
	{ say_sign, true },
	{ say_factor, false },
	{ say_transposed, true },
	{ say_shifted, true },
	{ say_permuted, true },
	{ say_offset, false },
	{ say_precision, false },
	{ say_short_sum, false },
};

void kf_pattern_value(const struct kf_compare_request *req,
		      const unsigned char *marks, enum kf_compare_end end,
		      struct kf_buf *out)
{
	struct sample *s;

	if (end == KF_COMPARE_UNWRITTEN)
		return;
	s = kf_alloc(sizeof(*s));
	s->req = req;
	s->numel = 1;
	for (int a = 0; a < req->rank; a++)
		s->numel *= req->shape[a];
	s->tolerance = fmax(1e-4, req->limit);
	take_sample(req, marks, end, s);
	if (end == KF_COMPARE_NONFINITE && say_nan(s, out))
		goto out;
	for (size_t i = 0; i < KF_COUNT(statements); i++) {
		if (statements[i].far_only && s->other_share < 0.5)
			continue;
		if (statements[i].say(s, out))
			break;
	}
out:
	free(s);
}
