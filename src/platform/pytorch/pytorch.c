/*
 * The drivers of programs that are Python files: plain PyTorch, with C++ or
 * CUDA inside, or Triton. Devices are found as the drivers find them that they
 * stand beside; the build command runs python/candidate.py, as does the
 * supervisor to run what was built.
 */
#include "platform/cuda/cuda.h"
#include "platform/drivers.h"
#include "platform/host/host.h"

#define IN_PYTHON \
	.abi = KF_DRIVER_ABI, \
	.in_process = true, \
	.build = kf_host_build, \
	.python = true, \
	.forward_name = "forward", \
	.prepare_name = "ModelNew, while it was given its weights,"

const struct kf_driver kf_driver_pytorch = {
	IN_PYTHON,
	.name = "pytorch",
	.find = kf_host_find,
	.clocks = &kf_host_clocks,
};

const struct kf_driver kf_driver_pytorch_cuda = {
	IN_PYTHON,
	.name = "pytorchcuda",
	.find = kf_cuda_find,
	.find_one = kf_cuda_find_one,
	.paths = kf_cuda_module_paths,
	.env = kf_cuda_env,
	.torch_device = "cuda",
	.torch_env = kf_cuda_module_env,
	.canary = kf_cuda_canary,
	.clocks = &kf_cuda_clocks,
	.memory_free = kf_cuda_memory_free,
};
