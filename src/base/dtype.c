#include "base/base.h"

static const struct { const char *name; size_t bytes; } dtype[] = {
	[KF_DTYPE_NONE] = { "none", 0 },
	[KF_BOOL] = { "bool", 1 },
	[KF_U8] = { "uint8", 1 },
	[KF_I8] = { "int8", 1 },
	[KF_I16] = { "int16", 2 },
	[KF_I32] = { "int32", 4 },
	[KF_I64] = { "int64", 8 },
	[KF_F16] = { "float16", 2 },
	[KF_BF16] = { "bfloat16", 2 },
	[KF_F32] = { "float32", 4 },
	[KF_F64] = { "float64", 8 },
};

size_t kf_dtype_bytes(enum kf_dtype which)
{
	return (size_t)which < KF_COUNT(dtype) ? dtype[which].bytes : 0;
}

const char *kf_dtype_name(enum kf_dtype which)
{
	return (size_t)which < KF_COUNT(dtype) ? dtype[which].name : "none";
}

enum kf_dtype kf_dtype_by_name(const char *name)
{
	for (size_t i = 1; i < KF_COUNT(dtype); i++)
		if (strcmp(name, dtype[i].name) == 0)
			return (enum kf_dtype)i;
	return KF_DTYPE_NONE;
}
