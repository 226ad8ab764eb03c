/*
 * kforge_dlpack.h - the tensors of DLPack, declared from its published ABI:
 * DLManagedTensor as in version 0.8, DLManagedTensorVersioned as in 1.x.
 *
 * A program that uses the official <dlpack/dlpack.h> includes that first, and
 * this header then adds only what it lacks.
 */
#ifndef KFORGE_DLPACK_H
#define KFORGE_DLPACK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef DLPACK_DLPACK_H_
#define DLPACK_DLPACK_H_

typedef enum {
	kDLCPU = 1, kDLCUDA = 2, kDLCUDAHost = 3, kDLOpenCL = 4,
	kDLVulkan = 7, kDLMetal = 8, kDLROCM = 10, kDLROCMHost = 11,
	kDLCUDAManaged = 13, kDLOneAPI = 14
} DLDeviceType;

typedef struct {
	DLDeviceType device_type;
	int32_t device_id;
} DLDevice;

typedef enum {
	kDLInt = 0, kDLUInt = 1, kDLFloat = 2, kDLOpaqueHandle = 3,
	kDLBfloat = 4, kDLComplex = 5, kDLBool = 6
} DLDataTypeCode;

typedef struct {
	uint8_t code;		/* DLDataTypeCode */
	uint8_t bits;		/* of one lane */
	uint16_t lanes;		/* 1: not a vector type */
} DLDataType;

typedef struct {
	void *data;
	DLDevice device;
	int32_t ndim;
	DLDataType dtype;
	int64_t *shape;
	int64_t *strides;	/* in elements; NULL: contiguous, row-major */
	uint64_t byte_offset;	/* of the first element from data */
} DLTensor;

typedef struct DLManagedTensor {
	DLTensor dl_tensor;
	void *manager_ctx;
	void (*deleter)(struct DLManagedTensor *self);
} DLManagedTensor;

#endif

#if !defined(DLPACK_MAJOR_VERSION) && !defined(DLPACK_FLAG_BITMASK_READ_ONLY)
#define DLPACK_FLAG_BITMASK_READ_ONLY (UINT64_C(1) << 0)

typedef struct {
	uint32_t major, minor;
} DLPackVersion;

typedef struct DLManagedTensorVersioned {
	DLPackVersion version;
	void *manager_ctx;
	void (*deleter)(struct DLManagedTensorVersioned *self);
	uint64_t flags;
	DLTensor dl_tensor;
} DLManagedTensorVersioned;
#endif

#ifdef __cplusplus
}
#endif

#endif
