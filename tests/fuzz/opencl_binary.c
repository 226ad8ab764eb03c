/* opencl_binary.c - what is read of a pack's part for an OpenCL device is all
 * that was there: written again it is the same. */
#include "platform/opencl/opencl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kf_buf again = { .max = size };
	struct kf_opencl_binary binary;

	if (kf_opencl_binary_read(data, size, &binary)) {
		kf_opencl_binary_write(&binary, &again);
		if (again.len != size || memcmp(again.data, data, size) != 0)
			abort();
	}
	kf_opencl_binary_release(&binary);
	kf_buf_release(&again);
	return 0;
}
