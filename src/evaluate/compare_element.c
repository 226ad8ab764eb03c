/* compare_element.c - element types: values, rows, names of places. */
#include "evaluate/compare_block.h"

#include <float.h>
#include <math.h>

#include "base/half.h"
#include "evaluate/kinds.h"

#define TAKE(type)							\
	type value;							\
	memcpy(&value, (const char *)data + (size_t)index * sizeof(value), \
	       sizeof(value))

static double take_u8(const void *data, int64_t index)
{
	TAKE(uint8_t);
	return value;
}

static double take_i8(const void *data, int64_t index)
{
	TAKE(int8_t);
	return value;
}

static double take_i16(const void *data, int64_t index)
{
	TAKE(int16_t);
	return value;
}

static double take_i32(const void *data, int64_t index)
{
	TAKE(int32_t);
	return value;
}

static double take_i64(const void *data, int64_t index)
{
	TAKE(int64_t);
	return (double)value;
}

static double take_f16(const void *data, int64_t index)
{
	TAKE(uint16_t);
	return (double)kf_float_of_half(value);
}

static double take_bf16(const void *data, int64_t index)
{
	TAKE(uint16_t);
	return (double)kf_float_of_bfloat(value);
}

static double take_f32(const void *data, int64_t index)
{
	TAKE(float);
	return (double)value;
}

static double take_f64(const void *data, int64_t index)
{
	TAKE(double);
	return value;
}

static double (*const take[])(const void *data, int64_t index) = {
	[KF_BOOL] = take_u8, [KF_U8] = take_u8, [KF_I8] = take_i8,
	[KF_I16] = take_i16, [KF_I32] = take_i32, [KF_I64] = take_i64,
	[KF_F16] = take_f16, [KF_BF16] = take_bf16, [KF_F32] = take_f32,
	[KF_F64] = take_f64,
};

double kf_element(enum kf_dtype dtype, const void *data, int64_t index)
{
	if ((size_t)dtype >= KF_COUNT(take) || !take[dtype])
		return (double)NAN;
	return take[dtype](data, index);
}

static const struct kf_float_facts facts[] = {
	[KF_F16] = { .top = 65504, .flushed = 0 },
	[KF_BF16] = { .top = 0x1.fep127, .flushed = 0x1p-126 },
	[KF_F32] = { .top = FLT_MAX, .flushed = FLT_MIN },
	[KF_F64] = { .top = DBL_MAX, .flushed = DBL_MIN },
};

bool kf_dtype_is_float(enum kf_dtype dtype)
{
	return (size_t)dtype < KF_COUNT(facts) && facts[dtype].top > 0;
}

const struct kf_float_facts *kf_float_facts(enum kf_dtype dtype)
{
	return kf_dtype_is_float(dtype) ? &facts[dtype] : NULL;
}

const float *kf_row_float(enum kf_dtype dtype, const void *data, int64_t offset,
			  int count, float *room)
{
	const uint16_t *half = data;

	if (dtype == KF_F32)
		return (const float *)data + offset;
	half += offset;
	if (dtype == KF_F16)
		for (int i = 0; i < count; i++)
			room[i] = kf_float_of_half(half[i]);
	else
		for (int i = 0; i < count; i++)
			room[i] = kf_float_of_bfloat(half[i]);
	return room;
}

const double *kf_row_double(enum kf_dtype dtype, const void *data,
			    int64_t offset, int count, double *room)
{
	const float *single = data;

	if (dtype == KF_F64)
		return (const double *)data + offset;
	if (dtype == KF_F32)
		for (int i = 0; i < count; i++)
			room[i] = (double)single[offset + i];
	else
		for (int i = 0; i < count; i++)
			room[i] = kf_element(dtype, data, offset + i);
	return room;
}

bool kf_compare_is_poison(enum kf_dtype dtype, const void *data, int64_t index,
			  uint32_t poison)
{
	size_t size = kf_dtype_bytes(dtype), at = (size_t)index * size;
	const unsigned char *bytes = (const unsigned char *)data + at;
	unsigned char pattern[sizeof(poison)];

	if (!poison || !size)
		return false;
	memcpy(pattern, &poison, sizeof(poison));
	for (size_t i = 0; i < size; i++)
		if (bytes[i] != pattern[(at + i) % sizeof(poison)])
			return false;
	return true;
}

void kf_compare_index(int rank, const int64_t *shape, int64_t index,
		      char out[128])
{
	int64_t place[KF_MAX_RANK] = { 0 };
	size_t len = 0;

	for (int axis = rank - 1; axis >= 0; axis--) {
		int64_t n = shape[axis] > 0 ? shape[axis] : 1;

		place[axis] = index % n;
		index /= n;
	}
	out[len++] = '(';
	for (int axis = 0; axis < rank && len < 100; axis++)
		len += (size_t)snprintf(out + len, 128 - len, "%s%lld",
					axis ? ", " : "",
					(long long)place[axis]);
	snprintf(out + len, 128 - len, ")");
}

double kf_compare_limit(enum kf_dtype dtype, const char *case_kind)
{
	static const struct { double plain, coarse; } limit[] = {
		[KF_F16] = { 0x1p-9, 0x1p-9 },
		[KF_BF16] = { 0x1p-6, 0x1p-6 },
		[KF_F32] = { 0x1p-15, 0x1p-13 },
		[KF_F64] = { 0x1p-44, 0x1p-42 },
	};

	if (!kf_dtype_is_float(dtype))
		return 0;
	return kf_kind_of(case_kind).coarse ? limit[dtype].coarse :
	       limit[dtype].plain;
}

bool kf_compare_open(const char *case_kind)
{
	return kf_kind_of(case_kind).nan_is_open;
}

int64_t kf_compare_numel(int rank, const int64_t *shape)
{
	int64_t numel = 1;

	for (int axis = 0; axis < rank; axis++)
		numel *= shape[axis];
	return numel;
}

int64_t kf_compare_row(int rank, const int64_t *shape)
{
	return rank ? shape[rank - 1] : 1;
}

int64_t kf_compare_ties(const char *case_kind, int rank, const int64_t *shape)
{
	int64_t numel = kf_compare_numel(rank, shape);
	int64_t row = kf_compare_row(rank, shape), most = numel / KF_TIES;

	if (!kf_kind_of(case_kind).ties)
		return 0;
	return row > most && numel >= KF_TIE_ROWS * row ? row : most;
}
