/*
 * standin.h - what the parts of the stand-in share.
 *
 *	libcuda.c   memory, modules, streams, graphs
 *	kernels.c   what kernels do, in C
 *	cubin.c     of other kernels what their code tells
 *	devices.c   which devices there are
 */
#ifndef KF_TESTS_STANDIN_H
#define KF_TESTS_STANDIN_H

#include <string.h>

#include "libcuda.h"
#include "platform/cuda/api.h"

#define ARGS_MAX	16
#define STANDIN_MEMORY_BYTES (UINT64_C(1) << 30)

/* Declared and defined at once: no header has them. */
#define ENTRY(name, ...) \
	int name(__VA_ARGS__); \
	int name(__VA_ARGS__)
#define ENTER() \
	do { \
		int entered = standin_enter(__func__); \
		if (entered) \
			return entered; \
	} while (0)

/* Counts a call; what it must give instead of doing its work, or 0. */
int standin_enter(const char *name);
/* Of what gives back: it does so after a fault too, and tells of it. */
int standin_release(const char *name);
void standin_count_alive(int more);

static inline void *pointer(uint64_t at)
{
	return (void *)(uintptr_t)at;
}

/* Does a range lie in one block of the device's? */
bool on_device(uint64_t at, uint64_t bytes);

struct kernel {
	const char *name;
	int (*run)(void *const *arg, const struct kf_cuda_launch *launch);
	size_t bytes[ARGS_MAX];		/* of its parameters; 0 ends them */
	int threads, fixed_shared, cluster;
};

/* One of real code, which does nothing; name lives on. */
void standin_cubin_kernel(const char *image, const char *name,
			  struct kernel *out);

/* How far the stamps of events lag behind the time, for a kernel that reached
 * them. */
extern uint64_t standin_lag_ns;
/* The time, of no clock in particular. */
uint64_t standin_now_ns(void);

extern const struct kernel standin_kernel[];
extern const size_t standin_kernel_count;

#endif
