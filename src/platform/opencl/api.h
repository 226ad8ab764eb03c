/*
 * api.h - what is used of OpenCL 1.2: types, numbers and functions, declared
 * from the public specification, so that no SDK is needed to build. The loader
 * (libOpenCL.so.1) is opened at run time.
 */
#ifndef KF_PLATFORM_OPENCL_API_H
#define KF_PLATFORM_OPENCL_API_H

#include "base/base.h"

/* The variable that names it. kf_opencl_find() sets it to the one that it
 * found: there may be several, not all of which read the same variables, and
 * sandboxes have another search path. */
#define KF_OCL_LIBRARY "KFORGE_OPENCL_LIBRARY"

struct ocl_platform;
struct ocl_device;
struct ocl_context;
struct ocl_queue;
struct ocl_mem;
struct ocl_program;
struct ocl_kernel;
struct ocl_event;
struct ocl_region { size_t origin, size; };
/* version: 10 bits of the first number, 10 of the second, 12 of the third. */
struct ocl_named { uint32_t version; char name[64]; };

enum {
	CL_SUCCESS = 0, CL_DEVICE_NOT_FOUND = -1,
	CL_MEM_OBJECT_ALLOCATION_FAILURE = -4, CL_OUT_OF_RESOURCES = -5,
	CL_OUT_OF_HOST_MEMORY = -6, CL_BUILD_PROGRAM_FAILURE = -11,
	CL_INVALID_BINARY = -42, CL_INVALID_KERNEL_NAME = -46,
	CL_INVALID_ARG_SIZE = -51,

	CL_DEVICE_TYPE_CPU = 2, CL_DEVICE_TYPE_GPU = 4,
	CL_DEVICE_TYPE_ACCELERATOR = 8,

	CL_DEVICE_TYPE = 0x1000, CL_DEVICE_MAX_COMPUTE_UNITS = 0x1002,
	CL_DEVICE_MAX_WORK_GROUP_SIZE = 0x1004,
	CL_DEVICE_MAX_WORK_ITEM_SIZES = 0x1005,
	CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT = 0x100a,
	CL_DEVICE_MAX_CLOCK_FREQUENCY = 0x100c,
	CL_DEVICE_MAX_MEM_ALLOC_SIZE = 0x1010,
	CL_DEVICE_MEM_BASE_ADDR_ALIGN = 0x1019,
	CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE = 0x101d,
	CL_DEVICE_GLOBAL_MEM_CACHE_SIZE = 0x101e,
	CL_DEVICE_GLOBAL_MEM_SIZE = 0x101f,
	CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE = 0x1020,
	CL_DEVICE_LOCAL_MEM_TYPE = 0x1022, CL_DEVICE_LOCAL_MEM_SIZE = 0x1023,
	CL_DEVICE_PROFILING_TIMER_RESOLUTION = 0x1025,
	CL_DEVICE_ENDIAN_LITTLE = 0x1026, CL_DEVICE_AVAILABLE = 0x1027,
	CL_DEVICE_COMPILER_AVAILABLE = 0x1028, CL_DEVICE_NAME = 0x102b,
	CL_DRIVER_VERSION = 0x102d, CL_DEVICE_VERSION = 0x102f,
	CL_DEVICE_EXTENSIONS = 0x1030, CL_DEVICE_PLATFORM = 0x1031,
	CL_PLATFORM_NAME = 0x902,
	CL_DEVICE_UUID = 0x106a,		/* cl_khr_device_uuid */
	CL_DEVICE_OPENCL_C_VERSION = 0x103d,
	CL_DEVICE_OPENCL_C_ALL_VERSIONS = 0x1066,	/* of 3.0 */
	CL_DEVICE_OPENCL_C_FEATURES = 0x106f,

	CL_QUEUE_PROFILING_ENABLE = 2, CL_MEM_READ_WRITE = 1,
	CL_BUFFER_CREATE_TYPE_REGION = 0x1220,
	CL_PROGRAM_BINARY_SIZES = 0x1165, CL_PROGRAM_BINARIES = 0x1166,
	CL_PROGRAM_BUILD_LOG = 0x1183,
	CL_KERNEL_FUNCTION_NAME = 0x1190, CL_KERNEL_NUM_ARGS = 0x1191,
	CL_KERNEL_ARG_ADDRESS_QUALIFIER = 0x1196,
	CL_KERNEL_ARG_TYPE_NAME = 0x1198, CL_KERNEL_ARG_NAME = 0x119a,
	CL_KERNEL_ARG_ADDRESS_GLOBAL = 0x119b,
	CL_KERNEL_ARG_ADDRESS_LOCAL = 0x119c,
	CL_KERNEL_ARG_ADDRESS_CONSTANT = 0x119d,
	CL_KERNEL_ARG_ADDRESS_PRIVATE = 0x119e,
	CL_DEVICE_WARP_SIZE_NV = 0x4003,
	CL_DEVICE_WAVEFRONT_WIDTH_AMD = 0x4043,
	CL_KERNEL_WORK_GROUP_SIZE = 0x11b0,
	CL_KERNEL_COMPILE_WORK_GROUP_SIZE = 0x11b1,
	CL_KERNEL_LOCAL_MEM_SIZE = 0x11b2,
	CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE = 0x11b3,
	CL_EVENT_COMMAND_EXECUTION_STATUS = 0x11d3,
	CL_PROFILING_COMMAND_START = 0x1282, CL_PROFILING_COMMAND_END = 0x1283
};
#define CL_DEVICE_TYPE_ALL UINT64_C(0xffffffff)

/* What the functions below have in common. */
#define OCL_INFO	size_t, void *, size_t *
#define OCL_EVENTS	uint32_t, struct ocl_event *const *, struct ocl_event **

/* X(what it returns, name, parameters) */
#define OCL_FUNCTIONS(X) \
	X(int32_t, clGetPlatformIDs, \
	  (uint32_t, struct ocl_platform **, uint32_t *)) \
	X(int32_t, clGetPlatformInfo, (struct ocl_platform *, uint32_t, \
	  OCL_INFO)) \
	X(int32_t, clGetDeviceIDs, (struct ocl_platform *, uint64_t, \
	  uint32_t, struct ocl_device **, uint32_t *)) \
	X(int32_t, clGetDeviceInfo, (struct ocl_device *, uint32_t, \
	  OCL_INFO)) \
	X(struct ocl_context *, clCreateContext, (const intptr_t *, uint32_t, \
	  struct ocl_device *const *, void *, void *, int32_t *)) \
	X(int32_t, clReleaseContext, (struct ocl_context *)) \
	X(struct ocl_queue *, clCreateCommandQueue, (struct ocl_context *, \
	  struct ocl_device *, uint64_t, int32_t *)) \
	X(int32_t, clReleaseCommandQueue, (struct ocl_queue *)) \
	X(struct ocl_mem *, clCreateBuffer, (struct ocl_context *, uint64_t, \
	  size_t, void *, int32_t *)) \
	X(struct ocl_mem *, clCreateSubBuffer, (struct ocl_mem *, uint64_t, \
	  uint32_t, const void *, int32_t *)) \
	X(int32_t, clReleaseMemObject, (struct ocl_mem *)) \
	X(struct ocl_program *, clCreateProgramWithSource, \
	  (struct ocl_context *, uint32_t, const char *const *, \
	  const size_t *, int32_t *)) \
	X(struct ocl_program *, clCreateProgramWithBinary, \
	  (struct ocl_context *, uint32_t, struct ocl_device *const *, \
	  const size_t *, const unsigned char *const *, int32_t *, \
	  int32_t *)) \
	X(int32_t, clBuildProgram, (struct ocl_program *, uint32_t, \
	  struct ocl_device *const *, const char *, void *, void *)) \
	X(int32_t, clGetProgramInfo, (struct ocl_program *, uint32_t, \
	  OCL_INFO)) \
	X(int32_t, clGetProgramBuildInfo, (struct ocl_program *, \
	  struct ocl_device *, uint32_t, OCL_INFO)) \
	X(int32_t, clReleaseProgram, (struct ocl_program *)) \
	X(int32_t, clCreateKernelsInProgram, (struct ocl_program *, uint32_t, \
	  struct ocl_kernel **, uint32_t *)) \
	X(struct ocl_kernel *, clCreateKernel, (struct ocl_program *, \
	  const char *, int32_t *)) \
	X(int32_t, clGetKernelInfo, (struct ocl_kernel *, uint32_t, \
	  OCL_INFO)) \
	X(int32_t, clGetKernelArgInfo, (struct ocl_kernel *, uint32_t, \
	  uint32_t, OCL_INFO)) \
	X(int32_t, clGetKernelWorkGroupInfo, (struct ocl_kernel *, \
	  struct ocl_device *, uint32_t, OCL_INFO)) \
	X(int32_t, clReleaseKernel, (struct ocl_kernel *)) \
	X(int32_t, clSetKernelArg, (struct ocl_kernel *, uint32_t, size_t, \
	  const void *)) \
	X(int32_t, clEnqueueNDRangeKernel, (struct ocl_queue *, \
	  struct ocl_kernel *, uint32_t, const size_t *, const size_t *, \
	  const size_t *, OCL_EVENTS)) \
	X(int32_t, clEnqueueFillBuffer, (struct ocl_queue *, \
	  struct ocl_mem *, const void *, size_t, size_t, size_t, \
	  OCL_EVENTS)) \
	X(int32_t, clEnqueueCopyBuffer, (struct ocl_queue *, \
	  struct ocl_mem *, struct ocl_mem *, size_t, size_t, size_t, \
	  OCL_EVENTS)) \
	X(int32_t, clEnqueueReadBuffer, (struct ocl_queue *, \
	  struct ocl_mem *, uint32_t, size_t, size_t, void *, OCL_EVENTS)) \
	X(int32_t, clEnqueueWriteBuffer, (struct ocl_queue *, \
	  struct ocl_mem *, uint32_t, size_t, size_t, const void *, \
	  OCL_EVENTS)) \
	X(int32_t, clFlush, (struct ocl_queue *)) \
	X(int32_t, clFinish, (struct ocl_queue *)) \
	X(struct ocl_event *, clCreateUserEvent, (struct ocl_context *, \
	  int32_t *)) \
	X(int32_t, clSetUserEventStatus, (struct ocl_event *, int32_t)) \
	X(int32_t, clGetEventInfo, (struct ocl_event *, uint32_t, OCL_INFO)) \
	X(int32_t, clGetEventProfilingInfo, (struct ocl_event *, uint32_t, \
	  OCL_INFO)) \
	X(int32_t, clReleaseEvent, (struct ocl_event *))

#define OCL_MEMBER(result, name, parameters) result (*name) parameters;
struct ocl_api { OCL_FUNCTIONS(OCL_MEMBER) };

/* KF_E_UNAVAIL if there is no loader here. It stays open: what devices have
 * started runs in it. */
KF_MUST_CHECK enum kf_code kf_ocl_open(struct ocl_api *out,
				       struct kf_err *err);
/* Where the loader lies, an absolute path; "" if that is not known. */
void kf_ocl_library(const struct ocl_api *cl, char *out, size_t size);
/* "CL_OUT_OF_RESOURCES (-5)"; returns out. */
const char *kf_ocl_error(int32_t number, char out[64]);
/* Fails with KF_E_UNAVAIL: "OpenCL cannot " what. */
enum kf_code kf_ocl_trouble(const char *what, int32_t number,
			    struct kf_err *err);

/* One number of the device; 0 if it does not tell. */
uint64_t kf_ocl_number(const struct ocl_api *cl, struct ocl_device *device,
		       uint32_t what, size_t bytes);
/* One text, cut to size; "" if it does not tell. */
void kf_ocl_text(const struct ocl_api *cl, struct ocl_device *device,
		 uint32_t what, char *text, size_t size);

#define KF_OCL_DEVICES_MAX 32
struct ocl_list {
	struct ocl_device *device[KF_OCL_DEVICES_MAX];
	struct ocl_platform *platform[KF_OCL_DEVICES_MAX];
	size_t count;
};
/* The devices of all platforms that can compile, always in the same order:
 * "opencl:N" is the Nth. */
void kf_ocl_list(const struct ocl_api *cl, struct ocl_list *out);
/* KF_E_UNAVAIL if there is no such device. */
KF_MUST_CHECK enum kf_code kf_ocl_device(const struct ocl_api *cl,
		const char *id, struct ocl_device **out,
		struct kf_err *err);

#endif
