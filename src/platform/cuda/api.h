/*
 * api.h - what this driver uses of NVIDIA's interfaces: the CUDA driver API
 * and the run-time compiler, opened when needed, declared here from their
 * documentation, so that kforge is built without a toolkit and runs without.
 *
 * Names are NVIDIA's without the prefix. Handles are void *, device addresses
 * uint64_t, results int: 0 is good.
 */
#ifndef KF_PLATFORM_CUDA_API_H
#define KF_PLATFORM_CUDA_API_H

#include <kforge/base.h>

/* --- the driver ----------------------------------------------------------- */

enum kf_cuda_result {
	KF_CUDA_INVALID_VALUE = 1,
	KF_CUDA_OUT_OF_MEMORY = 2,
	KF_CUDA_DEINITIALIZED = 4,
	KF_CUDA_NO_DEVICE = 100,
	KF_CUDA_INVALID_IMAGE = 200,
	KF_CUDA_INVALID_CONTEXT = 201,
	KF_CUDA_NO_BINARY_FOR_GPU = 209,
	KF_CUDA_INVALID_SOURCE = 300,
	KF_CUDA_INVALID_HANDLE = 400,
	KF_CUDA_NOT_FOUND = 500,
	KF_CUDA_ILLEGAL_ADDRESS = 700,
	KF_CUDA_LAUNCH_OUT_OF_RESOURCES = 701,
	KF_CUDA_LAUNCH_TIMEOUT = 702,
	KF_CUDA_CONTEXT_IS_DESTROYED = 709,
	KF_CUDA_ASSERT = 710,
	KF_CUDA_HARDWARE_STACK_ERROR = 714,
	KF_CUDA_ILLEGAL_INSTRUCTION = 715,
	KF_CUDA_MISALIGNED_ADDRESS = 716,
	KF_CUDA_INVALID_ADDRESS_SPACE = 717,
	KF_CUDA_INVALID_PC = 718,
	KF_CUDA_LAUNCH_FAILED = 719,
	KF_CUDA_COOPERATIVE_LAUNCH_TOO_LARGE = 720,
	KF_CUDA_TENSOR_MEMORY_LEAK = 721,
	KF_CUDA_NOT_SUPPORTED = 801,
	KF_CUDA_STREAM_CAPTURE_UNSUPPORTED = 900,
	KF_CUDA_STREAM_CAPTURE_INVALIDATED = 901,
	KF_CUDA_STREAM_CAPTURE_UNJOINED = 904,
	KF_CUDA_STREAM_CAPTURE_IMPLICIT = 906,
	KF_CUDA_STREAM_CAPTURE_WRONG_THREAD = 908,
	KF_CUDA_INVALID_CLUSTER_SIZE = 912,
};

enum kf_cuda_device_attribute {
	KF_CUDA_MAX_THREADS_PER_BLOCK = 1,
	KF_CUDA_MAX_BLOCK_DIM_X = 2,	/* Y and Z follow */
	KF_CUDA_MAX_GRID_DIM_X = 5,	/* Y and Z follow */
	KF_CUDA_CLOCK_RATE = 13,		/* kHz */
	KF_CUDA_MULTIPROCESSOR_COUNT = 16,
	KF_CUDA_INTEGRATED = 18,
	KF_CUDA_MEMORY_CLOCK_RATE = 36,		/* kHz */
	KF_CUDA_GLOBAL_MEMORY_BUS_WIDTH = 37,	/* bits */
	KF_CUDA_L2_CACHE_SIZE = 38,
	KF_CUDA_MAX_THREADS_PER_MULTIPROCESSOR = 39,
	KF_CUDA_COMPUTE_CAPABILITY_MAJOR = 75,
	KF_CUDA_COMPUTE_CAPABILITY_MINOR = 76,
	KF_CUDA_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81,
	KF_CUDA_MAX_REGISTERS_PER_MULTIPROCESSOR = 82,
	KF_CUDA_COOPERATIVE_LAUNCH = 95,
	KF_CUDA_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
	KF_CUDA_MAX_BLOCKS_PER_MULTIPROCESSOR = 106,
	KF_CUDA_READ_ONLY_HOST_REGISTER_SUPPORTED = 113,
	KF_CUDA_CLUSTER_LAUNCH = 120,
	KF_CUDA_TENSOR_MAP_ACCESS_SUPPORTED = 127,
};

enum kf_cuda_function_attribute {
	KF_CUDA_FUNC_MAX_THREADS_PER_BLOCK = 0,
	KF_CUDA_FUNC_SHARED_SIZE_BYTES = 1,
	KF_CUDA_FUNC_LOCAL_SIZE_BYTES = 3,
	KF_CUDA_FUNC_NUM_REGS = 4,
	KF_CUDA_FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
	KF_CUDA_FUNC_CLUSTER_SIZE_MUST_BE_SET = 10,
	KF_CUDA_FUNC_REQUIRED_CLUSTER_WIDTH = 11,	/* HEIGHT, DEPTH follow */
	KF_CUDA_FUNC_NON_PORTABLE_CLUSTER_SIZE_ALLOWED = 14,
};

enum kf_cuda_launch_attribute_id {
	KF_CUDA_LAUNCH_COOPERATIVE = 2,
	KF_CUDA_LAUNCH_CLUSTER_DIMENSION = 4,
	KF_CUDA_LAUNCH_PROGRAMMATIC_STREAM_SERIALIZATION = 6,
};

struct kf_cuda_launch_attribute {
	int id;
	char pad[4];
	union {
		char pad[64];
		int flag;
		struct { unsigned x, y, z; } dim;
	} value;
};

struct kf_cuda_launch {
	unsigned grid[3], block[3];
	unsigned shared_bytes;
	void *stream;
	struct kf_cuda_launch_attribute *attribute;
	unsigned attribute_count;
};

enum {
	KF_CUDA_STREAM_NON_BLOCKING = 1,
	KF_CUDA_CAPTURE_THREAD_LOCAL = 1,
	KF_CUDA_WAIT_VALUE_GEQ = 0,
	KF_CUDA_INPUT_PTX = 1,
	KF_CUDA_REGISTER_PORTABLE = 1,
	KF_CUDA_REGISTER_READ_ONLY = 8,
	KF_CUDA_HOST_ALLOC_DEVICE_MAP = 2,
	KF_CUDA_TENSOR_MAP_BYTES = 128,
	KF_CUDA_TENSOR_MAP_ALIGNMENT = 64,
};

struct kf_cuda_api {
	void *library;		/* from dlopen; NULL: not open */
	int *refused;		/* borrowed; kf_cuda_check's last result that
				   was not 0; NULL: nobody asks */
	bool absent;		/* no driver or no device: nothing is wrong */
	int (*init)(unsigned flags);
	int (*driver_version)(int *version);
	int (*error_name)(int result, const char **name);
	int (*device_count)(int *count);
	int (*device_get)(int *device, int ordinal);
	int (*device_name)(char *name, int len, int device);
	int (*device_uuid)(unsigned char uuid[16], int device);
	int (*device_memory)(size_t *bytes, int device);
	int (*device_attribute)(int *value, int attribute, int device);

	int (*context_retain)(void **context, int device);
	int (*context_release)(int device);
	int (*context_set)(void *context);
	int (*context_synchronize)(void);
	int (*reset_persisting_l2)(void);

	int (*memory_info)(size_t *free, size_t *total);
	int (*memory_alloc)(uint64_t *at, size_t bytes);
	int (*memory_free)(uint64_t at);
	int (*host_alloc)(void **memory, size_t bytes, unsigned flags);
	int (*host_free)(void *memory);
	int (*host_address)(uint64_t *at, void *memory, unsigned flags);
	int (*host_register)(void *memory, size_t bytes, unsigned flags);
	int (*host_unregister)(void *memory);
	int (*copy_to_device)(uint64_t to, const void *from, size_t bytes,
			      void *stream);
	int (*copy_to_host)(void *to, uint64_t from, size_t bytes,
			    void *stream);
	int (*copy)(uint64_t to, uint64_t from, size_t bytes, void *stream);
	int (*fill8)(uint64_t at, unsigned char value, size_t count,
		     void *stream);
	int (*fill16)(uint64_t at, unsigned short value, size_t count,
		      void *stream);
	int (*fill32)(uint64_t at, unsigned value, size_t count, void *stream);
	/* height rows of width elements, pitch bytes apart */
	int (*fill32_rows)(uint64_t at, size_t pitch, unsigned value,
			   size_t width, size_t height, void *stream);

	int (*stream_create)(void **stream, unsigned flags);
	int (*stream_destroy)(void *stream);
	int (*stream_synchronize)(void *stream);
	int (*stream_wait_value)(void *stream, uint64_t at, uint32_t value,
				 unsigned flags);
	int (*capture_begin)(void *stream, int mode);
	int (*capture_end)(void *stream, void **graph);
	int (*graph_instantiate)(void **exec, void *graph,
				 unsigned long long flags);
	int (*graph_upload)(void *exec, void *stream);
	int (*graph_launch)(void *exec, void *stream);
	int (*graph_exec_destroy)(void *exec);
	int (*graph_destroy)(void *graph);
	int (*event_create)(void **event, unsigned flags);
	int (*event_record)(void *event, void *stream);
	int (*event_synchronize)(void *event);
	int (*event_elapsed)(float *ms, void *from, void *to);
	int (*event_destroy)(void *event);

	int (*module_load)(void **module, const void *image);
	/* Optional. type: KF_CUDA_INPUT_PTX, with its last zero byte. What
	 * complete gives lives as long as the link. */
	int (*link_create)(unsigned options, int *option, void **value,
			   void **link);
	int (*link_add)(void *link, int type, void *data, size_t bytes,
			const char *name, unsigned options, int *option,
			void **value);
	int (*link_complete)(void *link, void **image, size_t *bytes);
	int (*link_destroy)(void *link);
	int (*module_unload)(void *module);
	int (*module_function)(void **function, void *module,
			       const char *name);
	int (*module_function_count)(unsigned *count, void *module);
	int (*module_functions)(void **function, unsigned count, void *module);
	int (*function_name)(const char **name, void *function);
	int (*function_attribute)(int *value, int attribute, void *function);
	int (*function_set)(void *function, int attribute, int value);
	int (*function_parameter)(void *function, size_t index, size_t *offset,
				  size_t *bytes);
	int (*launch)(const struct kf_cuda_launch *launch, void *function,
		      void **parameter, void **extra);
	int (*occupancy_blocks)(int *blocks, void *function, int threads,
				size_t shared_bytes);
	int (*occupancy_clusters)(int *clusters, void *function,
				  const struct kf_cuda_launch *launch);
	int (*tensor_map)(void *map, int dtype, uint32_t rank, void *data,
			  const uint64_t *dim, const uint64_t *stride,
			  const uint32_t *box, const uint32_t *element_stride,
			  int interleave, int swizzle, int l2_promotion,
			  int oob_fill);
	/* What profilers that are told to wait go by; NULL: not there. */
	int (*profiler_start)(void);
	int (*profiler_stop)(void);
};

/* Opens the library and initialises it, whatever CUDA_VISIBLE_DEVICES says:
 * with the device of this number (in the order of the PCI bus) alone, which is
 * then the process's device 0; or with every device of the machine, in that
 * order. The process's variables are changed. The driver looks once in a
 * process's life: who has opened one device opens no other. KF_E_UNAVAIL with
 * the reason. */
#define KF_CUDA_EVERY_DEVICE (-1)
KF_MUST_CHECK enum kf_code kf_cuda_api_open(struct kf_cuda_api *api,
					    int device, struct kf_err *err);
/* "ILLEGAL_ADDRESS (700)"; returns out. */
const char *kf_cuda_result_name(const struct kf_cuda_api *api, int result,
				char out[96]);
/* Records "cannot WHAT: RESULT" for trouble of ours; KF_OK for result 0. */
enum kf_code kf_cuda_check(const struct kf_cuda_api *api, int result,
			   const char *what, struct kf_err *err);

/* --- the run-time compiler ------------------------------------------------ */

struct kf_nvrtc {
	void *library, *builtins;	/* builtins: NULL if it is found elsewhere */
	char *path;		/* owned; of the library's file */
	int (*version)(int *major, int *minor);
	int (*arch_count)(int *count);
	int (*archs)(int *arch);
	int (*create)(void **program, const char *source, const char *name,
		      int header_count, const char *const *header,
		      const char *const *header_name);
	int (*destroy)(void **program);
	int (*compile)(void *program, int option_count,
		       const char *const *option);
	int (*log_bytes)(void *program, size_t *bytes);
	int (*log)(void *program, char *log);
	int (*cubin_bytes)(void *program, size_t *bytes);
	int (*cubin)(void *program, char *cubin);
	int (*ptx_bytes)(void *program, size_t *bytes);
	int (*ptx)(void *program, char *ptx);
	const char *(*error)(int result);
};
KF_MUST_CHECK enum kf_code kf_nvrtc_open(struct kf_nvrtc *nvrtc,
					 struct kf_err *err);
void kf_nvrtc_release(struct kf_nvrtc *nvrtc);

#endif
