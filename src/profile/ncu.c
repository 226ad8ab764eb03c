/* Nsight Compute, around the runner: a chosen set of metrics. The runner tells
 * it when a call begins and ends, so it sees the program's own kernels alone;
 * those of a two-part program are launched one by one, never as one graph. */
#include "profile/ncu.h"
#include "profile/profiler.h"

static const char *const command[] = {
	"ncu", "--csv", "--page", "raw", "--log-file", "{out}/ncu.csv",
	"--profile-from-start", "off", "--target-processes", "all",
	"--clock-control", "base", "--metrics", "{metrics}", "{run}", NULL
};

static const char *const path[] = {
	"/opt/nvidia", "/usr/local/cuda", "/dev/nvidia-caps", NULL
};

const struct kf_profiler kf_profiler_ncu = {
	.abi = KF_PROFILER_ABI,
	.name = "ncu",
	.title = "Nsight Compute: a GPU's counters, kernel by kernel",
	.two_part = true,
	.free = true,
	.device = "cuda",
	.command = command,
	.install = "install Nsight Compute, or put its ncu on PATH",
	.result = "ncu.csv",
	.path = path,
	.read = kf_read_ncu,
	.launcher = true,
	.trace = true,
	.call_count = 1,
	.slower = 1000,
};
