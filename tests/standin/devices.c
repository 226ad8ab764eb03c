/* Two devices that look like Hopper ones with four multiprocessors; those that
 * CUDA_VISIBLE_DEVICES lists, by number, when the library is initialised. */
#include "standin.h"

#include <stdio.h>
#include <stdlib.h>

#define DEVICES 2

static struct { int device[DEVICES], count; } visible;

static void look_what_is_visible(void)
{
	const char *list = getenv("CUDA_VISIBLE_DEVICES");

	visible.count = 0;
	for (int i = 0; !list && i < DEVICES; i++)
		visible.device[visible.count++] = i;
	while (list && *list && visible.count < DEVICES) {
		char *end;
		long number = strtol(list, &end, 10);

		if (end == list || number < 0 || number >= DEVICES)
			return;		/* what comes after it is hidden too */
		visible.device[visible.count++] = (int)number;
		list = end + (*end == ',');
	}
}

ENTRY(cuInit, unsigned flags)
{
	ENTER();
	(void)flags;
	look_what_is_visible();
	return visible.count ? 0 : KF_CUDA_NO_DEVICE;
}

ENTRY(cuDriverGetVersion, int *version)
{
	*version = 13000;
	return 0;
}

ENTRY(cuGetErrorName, int result, const char **name)
{
	static const struct { int result; const char *name; } rows[] = {
		{ KF_CUDA_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE" },
		{ KF_CUDA_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY" },
		{ 46, "CUDA_ERROR_DEVICE_UNAVAILABLE" },
		{ 214, "CUDA_ERROR_ECC_UNCORRECTABLE" },
	};

	*name = "CUDA_ERROR_OTHER";
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].result == result)
			*name = rows[i].name;
	return 0;
}

ENTRY(cuDeviceGetCount, int *count)
{
	ENTER();
	*count = visible.count;
	return 0;
}

ENTRY(cuDeviceGet, int *device, int ordinal)
{
	ENTER();
	if (ordinal < 0 || ordinal >= visible.count)
		return KF_CUDA_INVALID_VALUE;
	*device = visible.device[ordinal];
	return 0;
}

ENTRY(cuDeviceGetName, char *name, int len, int device)
{
	ENTER();
	snprintf(name, (size_t)len, "Stand-in %d", device);
	return 0;
}

ENTRY(cuDeviceGetUuid, unsigned char uuid[16], int device)
{
	ENTER();
	memset(uuid, 0xa0 + device, 16);
	return 0;
}

ENTRY(cuDeviceTotalMem_v2, size_t *bytes, int device)
{
	const char *gib = getenv("STANDIN_TOTAL_GIB");

	ENTER();
	(void)device;
	*bytes = gib ? strtoull(gib, NULL, 10) << 30 : STANDIN_MEMORY_BYTES;
	return 0;
}

ENTRY(cuDeviceGetAttribute, int *value, int attribute, int device)
{
	static const struct { int attribute, value; } rows[] = {
		{ KF_CUDA_MAX_THREADS_PER_BLOCK, 1024 },
		{ KF_CUDA_MAX_BLOCK_DIM_X, 1024 },
		{ KF_CUDA_MAX_BLOCK_DIM_X + 1, 1024 },
		{ KF_CUDA_MAX_BLOCK_DIM_X + 2, 64 },
		{ KF_CUDA_MAX_GRID_DIM_X, 2147483647 },
		{ KF_CUDA_MAX_GRID_DIM_X + 1, 65535 },
		{ KF_CUDA_MAX_GRID_DIM_X + 2, 65535 },
		{ KF_CUDA_CLOCK_RATE, 1980000 },
		{ KF_CUDA_MULTIPROCESSOR_COUNT, 4 },
		{ KF_CUDA_MEMORY_CLOCK_RATE, 2619000 },
		{ KF_CUDA_GLOBAL_MEMORY_BUS_WIDTH, 5120 },
		{ KF_CUDA_L2_CACHE_SIZE, 1 << 20 },
		{ KF_CUDA_MAX_THREADS_PER_MULTIPROCESSOR, 2048 },
		{ KF_CUDA_COMPUTE_CAPABILITY_MAJOR, 9 },
		{ KF_CUDA_COMPUTE_CAPABILITY_MINOR, 0 },
		{ KF_CUDA_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 233472 },
		{ KF_CUDA_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536 },
		{ KF_CUDA_COOPERATIVE_LAUNCH, 1 },
		{ KF_CUDA_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232448 },
		{ KF_CUDA_READ_ONLY_HOST_REGISTER_SUPPORTED, 1 },
		{ KF_CUDA_CLUSTER_LAUNCH, 1 },
		{ KF_CUDA_TENSOR_MAP_ACCESS_SUPPORTED, 1 },
	};

	ENTER();
	(void)device;
	for (size_t i = 0; i < KF_COUNT(rows); i++)
		if (rows[i].attribute == attribute) {
			*value = rows[i].value;
			return 0;
		}
	return KF_CUDA_INVALID_VALUE;
}

ENTRY(cuDevicePrimaryCtxRetain, void **context, int device)
{
	static char the_context;

	ENTER();
	(void)device;
	standin_count_alive(1);
	*context = &the_context;
	return 0;
}

ENTRY(cuDevicePrimaryCtxRelease_v2, int device)
{
	int released = standin_release(__func__);

	(void)device;
	standin_count_alive(-1);
	return released;
}

ENTRY(cuCtxSetCurrent, void *context)
{
	ENTER();
	(void)context;
	return 0;
}

/* Every stream was worked off when it was waited for. */
ENTRY(cuCtxSynchronize, void)
{
	ENTER();
	return 0;
}

ENTRY(cuCtxPushCurrent_v2, void *context)
{
	ENTER();
	(void)context;
	return 0;
}

ENTRY(cuCtxPopCurrent_v2, void **context)
{
	ENTER();
	*context = NULL;
	return 0;
}

ENTRY(cuCtxResetPersistingL2Cache, void)
{
	ENTER();
	return 0;
}
