/*
 * record.h - how NVIDIA's CUPTI lays out its records of copies, fills and
 * kernels: the beginning, which all its versions share (of kernels from CUDA 9
 * on). tests/gpu/records.c compares it with the headers of a toolkit.
 */
#ifndef KF_PLATFORM_CUDA_RECORD_H
#define KF_PLATFORM_CUDA_RECORD_H

#include <stdint.h>

/* Kinds of records. */
enum { KF_CUPTI_COPY = 1, KF_CUPTI_FILL = 2, KF_CUPTI_KERNEL = 10 };

struct kf_cupti_record {	/* of any kind; bytes: not of kernels */
	int32_t kind;
	char pad[4];
	uint64_t bytes;
	uint64_t start_ns, end_ns;
};

struct kf_cupti_kernel {
	int32_t kind;
	unsigned char config[2];
	uint16_t registers;
	char pad[8];
	uint64_t start_ns, end_ns, completed_ns;
	uint32_t device, context, stream;
	int32_t grid[3], block[3];
	int32_t static_shared, dynamic_shared;
	uint32_t local_bytes, local_all, correlation;
	int64_t grid_id;
	const char *name;
};

#endif
