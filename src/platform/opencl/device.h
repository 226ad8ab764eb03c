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
	uint64_t memory_bytes;		/* of the device, in all */
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
	uint64_t took_ns;		/* by the device's clock */
	uint64_t host_ns;		/* by ours, without empty_ns */
	uint64_t empty_ns;		/* the least that a tiny call took */
	struct kf_trace *trace;		/* borrowed; NULL: nobody asks */
	char fault[256];
	bool short_of_memory;		/* load refused it for that */
};

#define KF_OCL_BOUNCE (4u << 20)

/* Makes an arena; KF_E_UNAVAIL with its name if the device cannot. */
KF_MUST_CHECK enum kf_code kf_opencl_arena(struct kf_device *dev,
		enum kf_twopart_arena arena, uint64_t bytes,
		struct kf_err *err);
void kf_opencl_unload(struct kf_device *dev);
/* run.c. What a call that does next to nothing takes by the host's clock, for
 * what follows. */
KF_MUST_CHECK enum kf_code kf_opencl_time_empty(struct kf_device *dev,
						struct kf_err *err);

/* --- memory.c: each KF_E_UNAVAIL if the device refuses -------------------- */

/* from is the arena's copy here; the part at `at` is enqueued to be written. */
KF_MUST_CHECK enum kf_code kf_opencl_write(struct kf_device *dev,
		enum kf_twopart_arena arena, const void *from, uint64_t at,
		uint64_t bytes, struct kf_err *err);
/* Waits for it; to is where that part goes. */
KF_MUST_CHECK enum kf_code kf_opencl_read(struct kf_device *dev,
		enum kf_twopart_arena arena, void *to, uint64_t at,
		uint64_t bytes, struct kf_err *err);
/* Scratch: these blocks get the pattern, the rest that of guards. */
KF_MUST_CHECK enum kf_code kf_opencl_poison(struct kf_device *dev,
		const struct kf_twopart_blocks *blocks, struct kf_err *err);
KF_MUST_CHECK enum kf_code kf_opencl_flush(struct kf_device *dev,
					   struct kf_err *err);
KF_MUST_CHECK enum kf_code kf_opencl_finish(struct kf_device *dev,
					    struct kf_err *err);
/* What a program wrote where it may not becomes dev->fault. */
KF_MUST_CHECK enum kf_code kf_opencl_check_guards(struct kf_device *dev,
		enum kf_twopart_arena arena,
		const struct kf_twopart_blocks *blocks, struct kf_err *err);
KF_MUST_CHECK enum kf_code kf_opencl_check_kept(struct kf_device *dev,
						struct kf_err *err);
/* Where the device's arena differs from what it should be; UINT64_MAX. */
KF_MUST_CHECK enum kf_code kf_opencl_first_change(struct kf_device *dev,
		enum kf_twopart_arena arena, const unsigned char *should,
		uint64_t bytes, uint64_t *changed, struct kf_err *err);
/* Around kf_prepare. */
KF_MUST_CHECK enum kf_code kf_opencl_empty_kept(struct kf_device *dev,
						struct kf_err *err);
KF_MUST_CHECK enum kf_code kf_opencl_remember_kept(struct kf_device *dev,
						   struct kf_err *err);


/* --- trace.c -------------------------------------------------------------- */
/* The operations of this call, which have ended, into dev->trace. */
void kf_opencl_trace_take(struct kf_device *dev, const struct ocl_replay *r,
			  struct ocl_event *const *event);

#endif
