/* Nsight Systems, around the device runner: when each kernel began and ended,
 * and what lies between. */
#include "profile/profiler.h"

static const char *const command[] = {
	"nsys", "profile", "--trace=cuda", "--sample=none", "--cpuctxsw=none",
	"--capture-range=cudaProfilerApi", "--capture-range-end=none",
	"--cuda-graph-trace=node", "--force-overwrite=true",
	"--output={out}/nsys", "{run}", NULL
};

/* Reports were renamed in 2023. */
static const char *const stats[] = {
	"nsys", "stats", "--quiet", "--force-export=true", "--format", "csv",
	"--report", "cuda_gpu_trace", "{report}", NULL
};
static const char *const stats_before[] = {
	"nsys", "stats", "--quiet", "--force-export=true", "--format", "csv",
	"--report", "gputrace", "{report}", NULL
};
static const char *const *const after[] = { stats, stats_before, NULL };
static const char *const report[] = { "nsys.nsys-rep", "nsys.qdrep", NULL };

static const char *const path[] = {
	"/opt/nvidia", "/usr/local/cuda", NULL
};

const struct kf_profiler kf_profiler_nsys = {
	.abi = KF_PROFILER_ABI,
	.name = "nsys",
	.title = "Nsight Systems: when each kernel ran, and the gaps between",
	.two_part = true,
	.device = "cuda",
	.command = command,
	.install = "install Nsight Systems, or put its nsys on PATH",
	.after = after,
	.report = report,
	.path = path,
	.read = kf_read_nsys,
	.launcher = true,
	.trace = true,
	.call_count = 5,
	.slower = 50,
};
