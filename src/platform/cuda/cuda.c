/* The table. */
#include "platform/cuda/cuda.h"

#include "platform/drivers.h"

/* Handed on: where libraries lie on machines that have them elsewhere. */
const char *const kf_cuda_env[] = {
	"CUDA_HOME", "CUDA_PATH", "CUTLASS_PATH", "VIRTUAL_ENV",
	"CONDA_PREFIX", "KFORGE_CUDA_DRIVER", "KFORGE_NVRTC",
	"KFORGE_CUPTI", "LD_LIBRARY_PATH", NULL
};

static void paths(enum kf_driver_place place, kf_driver_path_fn *add, void *arg)
{
	kf_cuda_paths(place, add, arg);
	if (place == KF_DRIVER_WATCHER)
		kf_cuda_watch_paths(add, arg);
}

const struct kf_driver kf_driver_cuda = {
	.abi = KF_DRIVER_ABI,
	.name = "cuda",
	.find = kf_cuda_find,
	.find_one = kf_cuda_find_one,
	.build = kf_cuda_build,
	.open = kf_cuda_open,
	.load = kf_cuda_load,
	.prepare = kf_cuda_prepare,
	.forward = kf_cuda_forward,
	.close = kf_cuda_close,
	.two_part = true,
	.flushes = true,
	.attach = kf_cuda_attach,
	.upload = kf_cuda_upload,
	.fills_outputs = true,
	.download = kf_cuda_download,
	.sum = kf_cuda_sum,
	.base = kf_cuda_base,
	.make = kf_cuda_make,
	.device_ns = kf_cuda_device_ns,
	.host_ns = kf_cuda_host_ns,
	.fault = kf_cuda_fault,
	.short_of_memory = kf_cuda_short_of_memory,
	.paths = paths,
	.env = kf_cuda_env,
	.torch_device = "cuda",
	.torch_env = kf_cuda_torch_env,
	.trace = kf_cuda_trace,
	.sanitizer = kf_cuda_sanitizer,
	.canary = kf_cuda_canary,
	.clocks = &kf_cuda_clocks,
	.memory_free = kf_cuda_memory_free,
};
