/*
 * valgrind's callgrind, around the runner: instructions by function and line,
 * and simulated caches. It knows no AVX-512, so the program is compiled once
 * more for a processor that it knows; with one thread, for it runs one at a
 * time and counts what kf_forward itself calls.
 */
#include "profile/profiler.h"

static const char *const command[] = {
	"valgrind", "-q", "--vgdb=no", "--tool=callgrind",
	"--callgrind-out-file={out}/callgrind.out",
	"--toggle-collect=kf_forward",
	"--cache-sim=yes", "--branch-sim=yes", "{run}", NULL
};

static const char *const *machine(void)
{
	static const char *const plain[] = { "-g", NULL };
#if defined(__x86_64__)
	static const char *const v2[] = { "-march=x86-64-v2", "-g", NULL };
	static const char *const v3[] = { "-march=x86-64-v3", "-g", NULL };

	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
	    __builtin_cpu_supports("bmi2"))
		return v3;
	if (__builtin_cpu_supports("sse4.2"))
		return v2;
#endif
	return plain;
}

const struct kf_profiler kf_profiler_callgrind = {
	.abi = KF_PROFILER_ABI,
	.name = "callgrind",
	.title = "callgrind: instructions by function and line, simulated "
		"caches",
	.one_part = true,
	.command = command,
	.install = "install valgrind",
	.result = "callgrind.out",
	.read = kf_read_callgrind,
	.threads = 1,
	.call_count = 1,
	.slower = 400,
	.machine = machine,
};
