/* NVIDIA's own records of what ran on the device, when it began and ended: by
 * CUPTI, which kforge's device runner opens. No tool is needed, and no event
 * stands between the operations. */
#include "profile/profiler.h"

const struct kf_profiler kf_profiler_cupti = {
	.abi = KF_PROFILER_ABI,
	.name = "cupti",
	.title = "NVIDIA's CUPTI: when each kernel, copy and fill ran",
	.two_part = true,
	.device = "cuda",
	.result = "launches.csv",
	.read = kf_read_cupti,
	.trace = true,
	.activity = true,
	.instead_of = "nsys",
	.call_count = 12,	/* the first one is not counted */
	.slower = 4,
};
