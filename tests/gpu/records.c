/*
 * Are records laid out as src/platform/cuda/record.h has them? Compiled, never
 * run, with a toolkit's headers, by tests/gpu/profile.py: KERNEL, COPY and FILL
 * are the newest structs of each kind there.
 */
#include <cupti.h>
#include <stddef.h>

#include "platform/cuda/record.h"

#define SAME(ours, member, theirs, name) \
	_Static_assert(offsetof(struct ours, member) == \
		       offsetof(theirs, name) && \
		       sizeof(((struct ours *)0)->member) == \
		       sizeof(((theirs *)0)->name), #theirs "." #name)

SAME(kf_cupti_record, kind, COPY, kind);
SAME(kf_cupti_record, bytes, COPY, bytes);
SAME(kf_cupti_record, start_ns, COPY, start);
SAME(kf_cupti_record, end_ns, COPY, end);
SAME(kf_cupti_record, kind, FILL, kind);
SAME(kf_cupti_record, bytes, FILL, bytes);
SAME(kf_cupti_record, start_ns, FILL, start);
SAME(kf_cupti_record, end_ns, FILL, end);
SAME(kf_cupti_record, kind, KERNEL, kind);
SAME(kf_cupti_kernel, registers, KERNEL, registersPerThread);
SAME(kf_cupti_record, start_ns, KERNEL, start);
SAME(kf_cupti_kernel, start_ns, KERNEL, start);
SAME(kf_cupti_kernel, end_ns, KERNEL, end);
SAME(kf_cupti_kernel, grid[0], KERNEL, gridX);
SAME(kf_cupti_kernel, grid[2], KERNEL, gridZ);
SAME(kf_cupti_kernel, block[0], KERNEL, blockX);
SAME(kf_cupti_kernel, block[2], KERNEL, blockZ);
SAME(kf_cupti_kernel, static_shared, KERNEL, staticSharedMemory);
SAME(kf_cupti_kernel, dynamic_shared, KERNEL, dynamicSharedMemory);
SAME(kf_cupti_kernel, local_bytes, KERNEL, localMemoryPerThread);
SAME(kf_cupti_kernel, name, KERNEL, name);

_Static_assert(KF_CUPTI_COPY == CUPTI_ACTIVITY_KIND_MEMCPY, "copies");
_Static_assert(KF_CUPTI_FILL == CUPTI_ACTIVITY_KIND_MEMSET, "fills");
_Static_assert(KF_CUPTI_KERNEL == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
	       "kernels");
