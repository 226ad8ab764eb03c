/*
 * opencl.h - the driver for OpenCL devices: two-part programs whose kernels
 * are OpenCL C.
 *
 *	api.c       OpenCL's loader, its devices and its numbers
 *	find.c      what the devices are (the hardware cards)
 *	measure.c   what they were measured to do
 *	language.c  which OpenCL C it compiles
 *	compile.c   kernels to a binary, for the pack
 *	log.c       what the compiler says, as other compilers say it
 *	binary.c    that binary with what is known of its kernels, as bytes
 *	check.c     is a launch one that its kernel and the device can do?
 *	load.c      plans to OpenCL objects
 *	device.c    open, attach, close
 *	memory.c    memory, and what was written where nothing may be
 *	run.c       calls, and what went wrong in them
 *	sanitize.c  the words of a simulator that checks kernels
 *	canary.c    does a device still compute?
 *	opencl.c    the table
 */
#ifndef KF_PLATFORM_OPENCL_H
#define KF_PLATFORM_OPENCL_H

#include <kforge/driver.h>

#include "platform/opencl/api.h"
#include "platform/twopart.h"

enum kf_code kf_opencl_find(struct kf_device_info *info, size_t max,
			    const char *measure, size_t *count,
			    struct kf_err *err);
enum kf_code kf_opencl_build(const struct kf_build_request *req,
			     struct kf_build *out, struct kf_err *err);
enum kf_code kf_opencl_open(const char *device_id, uint64_t memory_max,
			    struct kf_device **out, struct kf_err *err);
enum kf_code kf_opencl_attach(struct kf_device *dev,
			      const struct kf_shared_memory *m,
			      const struct kf_call *tensors,
			      struct kf_err *err);
enum kf_code kf_opencl_load(struct kf_device *dev, const char *artefact_path,
			    char refused[256], struct kf_err *err);
enum kf_code kf_opencl_prepare(struct kf_device *dev, struct kf_call *call,
			       int *rc, struct kf_err *err);
enum kf_code kf_opencl_upload(struct kf_device *dev, struct kf_err *err);
enum kf_code kf_opencl_forward(struct kf_device *dev, struct kf_call *call,
			       int *rc, struct kf_err *err);
enum kf_code kf_opencl_download(struct kf_device *dev, uint64_t *changed,
				struct kf_err *err);
uint64_t kf_opencl_device_ns(const struct kf_device *dev);
uint64_t kf_opencl_host_ns(const struct kf_device *dev);
const char *kf_opencl_fault(const struct kf_device *dev);
bool kf_opencl_short_of_memory(const struct kf_device *dev);
/* canary.c */
enum kf_code kf_opencl_canary(const char *device_id, uint64_t timeout_ns,
			      struct kf_err *err);
void kf_opencl_trace(struct kf_device *dev, struct kf_trace *trace);
void kf_opencl_close(struct kf_device *dev);

/* sanitize.c */
extern const struct kf_sanitizer kf_opencl_sanitizer[];

/* Ceilings of a device; 0: not measured. */
struct kf_opencl_measured { double copy_bytes_per_s, flops; };
void kf_opencl_measure(const struct ocl_api *cl, struct ocl_device *device,
		       struct kf_opencl_measured *out);

/* --- language.c ----------------------------------------------------------- */

/* What a device tells of the OpenCL C that it compiles; untold: "" and 0. */
struct kf_opencl_told {
	char device[160];		/* "OpenCL 3.0 words" */
	char language[160];		/* "OpenCL C 1.2 words" */
	char extensions[8192];
	struct ocl_named version[16];
	size_t version_count;
	struct ocl_named feature[64];
	size_t feature_count;
};
void kf_opencl_ask(const struct ocl_api *cl, struct ocl_device *device,
		   struct kf_opencl_told *out);
/* "3.0", "2.0" or "1.2", as -cl-std=CL has it: the newest that it says it
 * compiles, 1.2 if it says nothing. */
const char *kf_opencl_language(const struct kf_opencl_told *told);
/* feature: NULL where there is none of that meaning. */
bool kf_opencl_has(const struct kf_opencl_told *told, const char *extension,
		   const char *feature);
/* In the language of kf_opencl_language(), for 1.2 has none. */
bool kf_opencl_has_sub_groups(const struct kf_opencl_told *told);

/* --- binary.c ------------------------------------------------------------- */

/* An argument of a kernel, as its source has it. */
struct kf_opencl_parameter {
	uint32_t where;		/* CL_KERNEL_ARG_ADDRESS_... */
	char type[64];		/* "float", "uint*" */
	char name[64];
};

struct kf_opencl_kernel {
	char name[256];
	struct kf_opencl_parameter *parameter;	/* owned */
	size_t parameter_count;
};

/* The part "device" of a pack. */
struct kf_opencl_binary {
	char device[128], driver[128];	/* what it was built for */
	struct kf_opencl_kernel *kernel;	/* owned */
	size_t kernel_count;
	const unsigned char *bytes;	/* borrowed */
	size_t len;
};
void kf_opencl_binary_write(const struct kf_opencl_binary *binary,
			    struct kf_buf *out);
/* False unless well-formed. out->bytes lies in part. */
bool kf_opencl_binary_read(const void *part, size_t len,
			   struct kf_opencl_binary *out);
void kf_opencl_binary_release(struct kf_opencl_binary *binary);

/* The build log of kernels.cl, whose text began with one #line, by a compiler
 * for the device of that name (CL_DEVICE_NAME): messages begin with file, line
 * and column; what tells of the machine alone is left out. */
void kf_opencl_add_log(const char *text, const char *device,
		       struct kf_buf *log);
/* NULL if there is none of that name. */
const struct kf_opencl_kernel *
kf_opencl_kernel_find(const struct kf_opencl_binary *binary, const char *name);

/* --- check.c -------------------------------------------------------------- */

/* What of a device limits launches. */
struct kf_opencl_limits {
	uint64_t group_size, group[3], local_bytes, alignment;
};

/* What of a kernel, once loaded, limits launches. */
struct kf_opencl_needs {
	uint64_t group_size;
	uint64_t group[3];		/* it must be just this; 0: any */
	uint64_t local_bytes;		/* without its arguments */
};

/* Its options and arguments; its sizes. False: why has words that follow the
 * operation's name and ": ". */
bool kf_opencl_check_launch(const struct kf_plan_op *op,
			    const struct kf_opencl_kernel *kernel,
			    const struct kf_opencl_limits *limits,
			    char why[256]);
bool kf_opencl_check_sizes(const struct kf_plan_op *op,
			   const struct kf_opencl_limits *limits,
			   const struct kf_opencl_needs *needs, char why[256]);

#endif
