/* What the kernel tells of the program's threads: always there, on a processor.
 * Waiting threads sleep here, so that a thread that waits for others does not
 * look busy. */
#include "profile/profiler.h"

const struct kf_profiler kf_profiler_threads = {
	.abi = KF_PROFILER_ABI,
	.name = "threads",
	.title = "processor time of each thread, by the kernel",
	.one_part = true,
	.result = "threads.csv",
	.read = kf_read_table,
	.sample = true,
	.passive = true,
	.warm_count = 3,
	.call_count = 20,
	.slower = 4,
};
