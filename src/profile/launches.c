/* Each launch by the device's own clock, in kforge's own runners: needs no tool
 * and no permission. OpenCL's events, CUDA's; of programs with host code of
 * their own what CUPTI or PyTorch's profiler tells. */
#include "profile/profiler.h"

const struct kf_profiler kf_profiler_launches = {
	.abi = KF_PROFILER_ABI,
	.name = "launches",
	.title = "each launch by the device's own events",
	.two_part = true,
	.free = true,
	.result = "launches.csv",
	.read = kf_read_launches,
	.trace = true,
	.call_count = 12,	/* the first one is not counted */
	.slower = 4,
};
