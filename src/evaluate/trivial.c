#include "evaluate/trivial.h"

#include <float.h>
#include <math.h>

#include "base/half.h"
#include "evaluate/digest.h"
#include "problem/case.h"

#define BLOCK_ROWS 32		/* of the comparison's blocks */
#define BLOCK_FLAT 1024		/* the same for rank 1 */

enum { ZEROS, ONES, CONSTANT, SAME, MEAN, ROW_MEAN, COPY };

const struct kf_trivial kf_trivials[] = {
	[ZEROS] = { "zeros", "all zeros", false, false },
	[ONES] = { "ones", "all ones", false, false },
	[CONSTANT] = { "constant", "one number, the same for every element and set,", true, false },
	[SAME] = { "same", "the first set's output, whatever the input,", true, true },
	[MEAN] = { "mean", "one number for every element of a set, its mean,", false, true },
	[ROW_MEAN] = { "row_mean", "one number for every row, its mean,", false, true },
	[COPY] = { "copy", "a copy of an input", false, false },
	{ NULL, NULL, false, false },
};

_Static_assert(COPY == KF_TRIVIAL_COPY, "its place is part of the header");

/* The output as far as its values are known: of a condensed one the windows,
 * one behind the other. The name is borrowed. */
static struct kf_tensor_info info_of(const struct kf_trivial_case *c)
{
	struct kf_tensor_info info = c->bundle->out[c->out];

	if (!c->set || !c->set->digest)
		return info;
	info.numel = kf_expect_count(&info, &c->set->digest[c->out]);
	info.rank = 1;
	info.shape[0] = info.numel;
	info.bytes = (size_t)info.numel * kf_dtype_bytes(info.dtype);
	return info;
}

static int64_t row_length(const struct kf_tensor_info *info)
{
	return info->rank ? info->shape[info->rank - 1] : 1;
}

static bool same_form(const struct kf_tensor_info *a,
		      const struct kf_tensor_info *b)
{
	return a->dtype == b->dtype && a->rank == b->rank &&
	       memcmp(a->shape, b->shape,
		      (size_t)a->rank * sizeof(a->shape[0])) == 0;
}

bool kf_trivial_applies(const struct kf_trivial_case *c)
{
	const struct kf_tensor_info info = info_of(c);

	switch (c->trivial) {
	case MEAN:
		return info.numel > 1;
	case ROW_MEAN:
		/* Of rank 1 it is the mean. */
		return info.rank > 1 && row_length(&info) > 1;
	case COPY:
		return same_form(&c->bundle->in[c->input],
				 &c->bundle->out[c->out]) &&
		       c->set->in[c->input];
	default:
		return true;
	}
}

/* --- making an answer ----------------------------------------------------- */

static void put(enum kf_dtype dtype, void *data, int64_t i, double value)
{
	switch (dtype) {
	case KF_F64:
		((double *)data)[i] = value;
		break;
	case KF_F32:
		((float *)data)[i] = (float)value;
		break;
	case KF_F16:
		((uint16_t *)data)[i] = kf_half_of_float((float)value);
		break;
	case KF_BF16:
		((uint16_t *)data)[i] = kf_bfloat_of_float((float)value);
		break;
	case KF_I64:
		((int64_t *)data)[i] = (int64_t)llrint(value);
		break;
	case KF_I32:
		((int32_t *)data)[i] = (int32_t)lrint(value);
		break;
	case KF_I16:
		((int16_t *)data)[i] = (int16_t)lrint(value);
		break;
	case KF_I8:
		((int8_t *)data)[i] = (int8_t)lrint(value);
		break;
	default:
		((uint8_t *)data)[i] = (uint8_t)lrint(value);
	}
}

static void fill(enum kf_dtype dtype, char *data, int64_t count, double value)
{
	size_t size = kf_dtype_bytes(dtype);

	if (!count)
		return;
	put(dtype, data, 0, value);
	for (int64_t i = 1; i < count; i++)
		memcpy(data + (size_t)i * size, data, size);
}

static double mean_of(const struct kf_trivial_case *c,
		      const struct kf_case *set, int64_t from, int64_t count)
{
	const double *exact = set->exact ? set->exact[c->out] : NULL;
	double sum = 0;

	for (int64_t i = from; i < from + count; i++)
		sum += exact ? exact[i] : kf_element(info_of(c).dtype,
						     set->expect[c->out], i);
	return count ? sum / (double)count : 0;
}

/* The first count elements of the input that are looked at. */
static void copy_input(const struct kf_trivial_case *c, int64_t count,
		       char *got)
{
	const struct kf_digest *d = c->set->digest ?
		&c->set->digest[c->out] : NULL;
	size_t size = kf_dtype_bytes(c->bundle->in[c->input].dtype);
	int64_t step = d ? d->window : count;

	for (int64_t k = 0; k < count; k += step)
		kf_case_input_part(c->bundle, c->set, c->input,
				   kf_digest_place(d, k), count - k < step ?
				   count - k : step, got + (size_t)k * size);
}

/* The first count elements of the answer. */
static void make(const struct kf_trivial_case *c, int64_t count, char *got)
{
	const struct kf_tensor_info view = info_of(c), *info = &view;
	const struct kf_case *first = &c->bundle->set[0];
	size_t size = kf_dtype_bytes(info->dtype);
	int64_t row = row_length(info);

	switch (c->trivial) {
	case ZEROS:
		memset(got, 0, (size_t)count * size);
		break;
	case ONES:
		fill(info->dtype, got, count, 1);
		break;
	case CONSTANT:
		fill(info->dtype, got, count,
		     mean_of(c, first, 0, info->numel));
		break;
	case SAME:
		memcpy(got, first->expect[c->out], (size_t)count * size);
		break;
	case MEAN:
		fill(info->dtype, got, count,
		     mean_of(c, c->set, 0, info->numel));
		break;
	case ROW_MEAN:
		for (int64_t i = 0; i + row <= count; i += row)
			fill(info->dtype, got + (size_t)i * size, row,
			     mean_of(c, c->set, i, row));
		break;
	case COPY:
		copy_input(c, count, got);
		break;
	}
}

/* --- judging it ----------------------------------------------------------- */

/* The answer's first rows (of the leading axis) by the judge's rule. Blocks do
 * not reach across them, so that a fault there is a fault of the whole. */
static bool rows_pass(const struct kf_trivial_case *c, int64_t rows,
		      bool kernelbench, char *got)
{
	const struct kf_tensor_info view = info_of(c), *info = &view;
	struct kf_compare_request req = {
		.dtype = info->dtype,
		.rank = info->rank,
		.got = got,
		.expect = c->set->expect[c->out],
		.exact = c->set->exact ? c->set->exact[c->out] : NULL,
		.react = c->set->react ? c->set->react[c->out] : NULL,
		.noise = c->set->noise ? c->set->noise[c->out] : NULL,
		.limit = kf_compare_limit(info->dtype, c->set->kind),
		.nan_is_open = kf_compare_open(c->set->kind),
	};
	struct kf_compare result;
	int64_t count = info->numel;

	memcpy(req.shape, info->shape, sizeof(req.shape));
	if (info->rank && rows < info->shape[0]) {
		count = info->numel / info->shape[0] * rows;
		req.shape[0] = rows;
	}
	make(c, count, got);
	if (kernelbench)
		kf_compare_kernelbench(&req, &result);
	else
		kf_compare_run(&req, &result);
	return result.end == KF_COMPARE_GOOD;
}

bool kf_trivial_passes(const struct kf_trivial_case *c, bool kernelbench)
{
	const struct kf_tensor_info view = info_of(c), *info = &view;
	int64_t part = info->rank == 1 ? BLOCK_FLAT :
		       info->rank == 2 ? BLOCK_ROWS : 1;
	char *got;
	bool good;

	if (!info->numel)
		return true;
	got = kf_alloc(info->bytes);
	/* Most answers fail at once: do not make all of them. */
	good = rows_pass(c, part, kernelbench, got) &&
	       rows_pass(c, INT64_MAX, kernelbench, got);
	free(got);
	return good;
}
