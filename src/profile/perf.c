/* perf stat, beside the program: hardware counters, where the machine has them
 * and lets us count; the kernel's own in any case. */
#include "profile/profiler.h"

static const char *const command[] = {
	"perf", "stat", "-x", ",", "-o", "{out}/perf.csv", "-D", "-1",
	"--control", "{control}", "-e",
	"task-clock,context-switches,cpu-migrations,page-faults,cycles,instructions,branches,branch-misses,cache-references,cache-misses,L1-dcache-loads,L1-dcache-load-misses,dTLB-load-misses",
	"-p", "{pid}", NULL
};

const struct kf_profiler kf_profiler_perf = {
	.abi = KF_PROFILER_ABI,
	.name = "perf",
	.title = "perf stat: hardware counters of the processor",
	.one_part = true,
	.command = command,
	.install = "install perf (on Debian: apt install linux-perf)",
	.result = "perf.csv",
	.read = kf_read_perf,
	.warm_count = 3,
	.call_count = 20,
	.slower = 4,
};
