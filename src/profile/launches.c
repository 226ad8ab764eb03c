/* Each launch by the device's own events, in kforge's own device runner: needs
 * no tool and no permission. OpenCL's events, CUDA's. */
#include "profile/profiler.h"

const struct kf_profiler kf_profiler_launches = {
	.abi = KF_PROFILER_ABI,
	.name = "launches",
	.title = "each launch by the device's own events",
	.two_part = true,
	.result = "launches.csv",
	.read = kf_read_launches,
	.trace = true,
	.call_count = 12,	/* the first one is not counted */
	.slower = 4,
};
