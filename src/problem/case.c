#include "problem/case.h"

#include "base/half.h"
#include "base/parallel.h"

#define PART (INT64_C(64) * KF_CHUNK)	/* elements for one thread */

/* --- elements as double and back ------------------------------------------ */

static void read_elements(enum kf_dtype dtype, const void *data, int64_t at,
			  int64_t count, double *out)
{
	const uint16_t *half = (const uint16_t *)data + at;

	switch (dtype) {
	case KF_F16:
		for (int64_t i = 0; i < count; i++)
			out[i] = (double)kf_float_of_half(half[i]);
		break;
	case KF_BF16:
		for (int64_t i = 0; i < count; i++)
			out[i] = (double)kf_float_of_bfloat(half[i]);
		break;
	case KF_F32:
		for (int64_t i = 0; i < count; i++)
			out[i] = (double)((const float *)data)[at + i];
		break;
	default:	/* others are not made again */
		memcpy(out, (const double *)data + at,
		       (size_t)count * sizeof(double));
	}
}

/* As torch does: to the 16-bit types by way of float. */
static void write_elements(enum kf_dtype dtype, const double *from,
			   int64_t count, void *to)
{
	uint16_t *half = to;

	switch (dtype) {
	case KF_F16:
		for (int64_t i = 0; i < count; i++)
			half[i] = kf_half_of_float((float)from[i]);
		break;
	case KF_BF16:
		for (int64_t i = 0; i < count; i++)
			half[i] = kf_bfloat_of_float((float)from[i]);
		break;
	case KF_F32:
		for (int64_t i = 0; i < count; i++)
			((float *)to)[i] = (float)from[i];
		break;
	default:
		memcpy(to, from, (size_t)count * sizeof(double));
	}
}

/* --- making --------------------------------------------------------------- */

struct making {
	const struct kf_tensor_info *info;
	const struct kf_fresh *fresh;
	const void *base;
	bool tail;
	int64_t row, from;	/* with tail */
};

bool kf_case_tail(const struct kf_bundle *bundle, const struct kf_case *kase,
		  size_t i, int64_t *row, int64_t *from)
{
	const struct kf_tensor_info *info = &bundle->in[i];

	if (strcmp(kase->kind, "tail") != 0 || !info->rank)
		return false;
	*row = info->shape[info->rank - 1];
	*from = *row - (*row / 8 ? *row / 8 : 1);
	return true;
}

static struct making making_of(const struct kf_bundle *bundle,
			       const struct kf_case *kase, size_t i)
{
	struct making m = {
		.info = &bundle->in[i], .fresh = &kase->fresh[i],
		.base = kase->in[i],
	};

	m.tail = kf_case_tail(bundle, kase, i, &m.row, &m.from);
	return m;
}

static bool is_made(const struct kf_case *kase, size_t i)
{
	return kase->fresh && kase->fresh[i].column;
}

static void raise(enum kf_dtype dtype, int64_t count, char *to)
{
	double value[KF_CHUNK];

	read_elements(dtype, to, 0, count, value);
	for (int64_t i = 0; i < count; i++)
		value[i] *= 8;
	write_elements(dtype, value, count, to);
}

/* The last eighth of the last axis times 8, of what was rounded already. */
static void raise_tail(const struct making *m, int64_t at, int64_t count,
		       char *to)
{
	size_t size = kf_dtype_bytes(m->info->dtype);
	int64_t row = m->row, from = m->from, i = 0;

	while (i < count) {
		int64_t place = (at + i) % row, first = i;

		i += (place < from ? from : row) - place;
		i = i < count ? i : count;
		if (place >= from)
			raise(m->info->dtype, i - first,
			      to + (size_t)first * size);
	}
}

/* The products are exact; only the shift and the type round. */
static void make_plain(const struct making *m, int64_t at, int count, char *to)
{
	const float *column = m->fresh->column + at % KF_CHUNK;
	double row = (double)m->fresh->row[at / KF_CHUNK];
	double value[KF_CHUNK];

	read_elements(m->info->dtype, m->base, at, count, value);
	for (int i = 0; i < count; i++)
		value[i] = value[i] * (double)column[i] * row -
			m->fresh->shift;
	write_elements(m->info->dtype, value, count, to);
}

/* The same for a whole chunk of float32, of which large inputs consist: with a
 * fixed length and in one go compilers make vectors of it. */
static void make_floats(const float *restrict base,
			const float *restrict column, double row, double shift,
			float *restrict to)
{
	for (int i = 0; i < KF_CHUNK; i++)
		to[i] = (float)((double)base[i] * (double)column[i] * row -
				shift);
}

static void make_in_chunk(const struct making *m, int64_t at, int count,
			  char *to)
{
	if (m->info->dtype == KF_F32 && count == KF_CHUNK)
		make_floats((const float *)m->base + at, m->fresh->column,
			    (double)m->fresh->row[at / KF_CHUNK],
			    m->fresh->shift, (float *)(void *)to);
	else
		make_plain(m, at, count, to);
	if (m->tail)
		raise_tail(m, at, count, to);
}

static void make(const struct making *m, int64_t first, int64_t count,
		 char *to)
{
	size_t size = kf_dtype_bytes(m->info->dtype);

	for (int64_t at = first; at < first + count;) {
		int64_t n = KF_CHUNK - at % KF_CHUNK;

		n = n < first + count - at ? n : first + count - at;
		make_in_chunk(m, at, (int)n, to + (size_t)(at - first) * size);
		at += n;
	}
}

void kf_case_input_part(const struct kf_bundle *bundle,
			const struct kf_case *kase, size_t i, int64_t first,
			int64_t count, void *to)
{
	size_t size = kf_dtype_bytes(bundle->in[i].dtype);
	struct making m;

	if (is_made(kase, i)) {
		m = making_of(bundle, kase, i);
		make(&m, first, count, to);
	} else if (kase->in[i] && count) {
		memcpy(to, (const char *)kase->in[i] + (size_t)first * size,
		       (size_t)count * size);
	}
}

/* --- all of an input ------------------------------------------------------ */

struct all {
	struct making making;
	char *to;
	const char *data;		/* to be compared instead */
};

static void make_part(void *arg, int64_t first, int64_t end)
{
	const struct all *all = arg;
	size_t size = kf_dtype_bytes(all->making.info->dtype);

	make(&all->making, first, end - first, all->to + (size_t)first * size);
}

void kf_case_input(const struct kf_bundle *bundle, const struct kf_case *kase,
		   size_t i, void *to)
{
	const struct kf_tensor_info *info = &bundle->in[i];
	struct all all = { .to = to };

	if (is_made(kase, i)) {
		all.making = making_of(bundle, kase, i);
		kf_parallel_parts(info->numel, PART, make_part, &all);
	} else if (kase->in[i] && info->bytes) {
		kf_parallel_copy(to, kase->in[i], info->bytes);
	}
}

static size_t first_difference(const char *a, const char *b, size_t bytes)
{
	size_t i = 0;

	if (memcmp(a, b, bytes) == 0)
		return SIZE_MAX;
	while (a[i] == b[i])
		i++;
	return i;
}

/* The first byte that differs, or -1. */
static int64_t compare_part(void *arg, int64_t first, int64_t end)
{
	const struct all *all = arg;
	size_t size = kf_dtype_bytes(all->making.info->dtype), byte;
	size_t at = (size_t)first * size, bytes = (size_t)(end - first) * size;
	char *made = kf_alloc(bytes);

	make(&all->making, first, end - first, made);
	byte = first_difference(made, all->data + at, bytes);
	free(made);
	return byte == SIZE_MAX ? -1 : (int64_t)(at + byte);
}

bool kf_case_input_is(const struct kf_bundle *bundle,
		      const struct kf_case *kase, size_t i, const void *data,
		      int64_t *byte)
{
	const struct kf_tensor_info *info = &bundle->in[i];
	struct all all = { .data = data };

	if (!data || !kase->in[i] || !info->bytes)
		return true;
	if (!is_made(kase, i)) {
		if (kf_parallel_same(data, kase->in[i], info->bytes))
			return true;
		*byte = (int64_t)first_difference(kase->in[i], data,
						  info->bytes);
		return false;
	}
	all.making = making_of(bundle, kase, i);
	*byte = kf_parallel_least(info->numel, PART, compare_part, &all);
	return *byte < 0;
}
