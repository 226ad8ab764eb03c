/* device.h - an opened OpenCL device; for this folder alone. */
#ifndef KF_PLATFORM_OPENCL_DEVICE_H
#define KF_PLATFORM_OPENCL_DEVICE_H

#include "platform/opencl/opencl.h"

/* One operation, ready to be enqueued. */
struct ocl_step {
	enum kf_plan_op_kind kind;
	struct ocl_kernel *kernel;		/* owned; LAUNCH */
	size_t global[3], group[3];
	struct ocl_mem *to, *from;		/* FILL, COPY: arenas */
	size_t to_at, from_at, bytes, width;
	uint64_t value;
};

struct ocl_replay {
	const struct kf_plan *plan;
	struct ocl_step *step;			/* owned */
	size_t count;
	struct ocl_mem **part;			/* owned: sub-buffers */
	size_t part_count;
};

struct kf_device {
	struct ocl_api cl;
	struct ocl_device *device;
	struct ocl_context *context;
	struct ocl_queue *queue;
	char name[128], driver[128];
	struct kf_opencl_limits limits;
	uint64_t alloc_max;		/* bytes of one piece of memory */
	uint64_t flush_bytes;		/* to be written before a call; 0 on
					   processors, as other platforms do */
	uint64_t memory_max;

	bool attached;
	struct kf_shared_memory shared;
	struct kf_twopart_tensors tensors;
	struct ocl_mem *arena[KF_TWOPART_ARENAS], *flush;

	bool loaded;
	struct kf_twopart program;
	struct kf_twopart_layout layout;
	struct ocl_program *code;
	struct ocl_replay prepare, forward;

	unsigned char *kept;		/* owned: what kf_prepare left */
	unsigned char *bounce;		/* owned: KF_OCL_BOUNCE bytes */
	uint64_t took_ns;
	char fault[256];
};

#define KF_OCL_BOUNCE (4u << 20)

/* Makes an arena; KF_E_UNAVAIL with its name if the device cannot. */
KF_MUST_CHECK enum kf_code kf_opencl_arena(struct kf_device *dev,
		enum kf_twopart_arena arena, uint64_t bytes,
		struct kf_err *err);
void kf_opencl_unload(struct kf_device *dev);

#endif
