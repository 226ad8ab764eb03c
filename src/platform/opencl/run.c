/*
 * Memory, calls, and what went wrong in them. Each call waits behind a gate
 * until all of it is enqueued, so that its time is the device's and not that of
 * who enqueues.
 */
#include "platform/opencl/device.h"

/* Behind a gate some drivers hold only so many operations, and would wait for
 * ever for room. */
#define GATE_STEPS	256u
#define FLUSH_MAX	(UINT64_C(512) << 20)

static enum kf_code trouble(const char *what, int32_t number,
			    struct kf_err *err)
{
	char text[64];

	return kf_fail(err, KF_E_UNAVAIL, "OpenCL cannot %s: %s", what,
		       kf_ocl_error(number, text));
}

/* --- open, attach, close -------------------------------------------------- */

static void ask_limits(struct kf_device *dev)
{
	const struct ocl_api *cl = &dev->cl;
	struct kf_opencl_limits *l = &dev->limits;
	size_t group[3] = { 0, 0, 0 };
	uint64_t type = kf_ocl_number(cl, dev->device, CL_DEVICE_TYPE, 8);

	kf_ocl_text(cl, dev->device, CL_DEVICE_NAME, dev->name,
		    sizeof(dev->name));
	kf_ocl_text(cl, dev->device, CL_DRIVER_VERSION, dev->driver,
		    sizeof(dev->driver));
	l->group_size = kf_ocl_number(cl, dev->device,
				      CL_DEVICE_MAX_WORK_GROUP_SIZE,
				      sizeof(size_t));
	if (!cl->clGetDeviceInfo(dev->device, CL_DEVICE_MAX_WORK_ITEM_SIZES,
				 sizeof(group), group, NULL))
		for (int i = 0; i < 3; i++)
			l->group[i] = group[i];
	l->local_bytes = kf_ocl_number(cl, dev->device,
				       CL_DEVICE_LOCAL_MEM_SIZE, 8);
	l->alignment = kf_ocl_number(cl, dev->device,
				     CL_DEVICE_MEM_BASE_ADDR_ALIGN, 4) / 8;
	if (!l->alignment)
		l->alignment = 1;
	dev->alloc_max = kf_ocl_number(cl, dev->device,
				       CL_DEVICE_MAX_MEM_ALLOC_SIZE, 8);
	if (!(type & CL_DEVICE_TYPE_CPU))
		dev->flush_bytes = 2 * kf_ocl_number(cl, dev->device,
				CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, 8);
	if (dev->flush_bytes > FLUSH_MAX)
		dev->flush_bytes = FLUSH_MAX;
}

static enum kf_code make_queue(struct kf_device *dev, struct kf_err *err)
{
	int32_t e = 0;

	dev->context = dev->cl.clCreateContext(NULL, 1, &dev->device, NULL,
					       NULL, &e);
	if (dev->context)
		dev->queue = dev->cl.clCreateCommandQueue(dev->context,
				dev->device, CL_QUEUE_PROFILING_ENABLE, &e);
	return dev->queue ? KF_OK : trouble("use the device", e, err);
}

enum kf_code kf_opencl_open(const char *device_id, uint64_t memory_max,
			    struct kf_device **out, struct kf_err *err)
{
	struct kf_device *dev = kf_alloc(sizeof(*dev));
	enum kf_code code;

	dev->memory_max = memory_max;
	code = kf_ocl_open(&dev->cl, err);
	if (!code)
		code = kf_ocl_device(&dev->cl, device_id, &dev->device, err);
	if (!code)
		code = make_queue(dev, err);
	if (code) {
		kf_opencl_close(dev);
		return code;
	}
	ask_limits(dev);
	dev->bounce = kf_alloc(KF_OCL_BOUNCE);
	*out = dev;
	return KF_OK;
}

enum kf_code kf_opencl_arena(struct kf_device *dev,
			     enum kf_twopart_arena arena, uint64_t bytes,
			     struct kf_err *err)
{
	static const char *const names[] = {
		[KF_TWOPART_INPUTS] = "inputs and weights",
		[KF_TWOPART_OUTPUTS] = "outputs",
		[KF_TWOPART_SCRATCH] = "scratch",
		[KF_TWOPART_KEPT] = "what is kept",
	};
	char text[64];
	int32_t e = 0;

	if (!bytes)
		return KF_OK;
	if (bytes > dev->alloc_max)
		return kf_fail(err, KF_E_LIMIT, "%s of %llu bytes are more "
			       "than the %llu that %s gives in one piece; "
			       "choose a smaller --size", names[arena],
			       (unsigned long long)bytes,
			       (unsigned long long)dev->alloc_max, dev->name);
	dev->arena[arena] = dev->cl.clCreateBuffer(dev->context,
			CL_MEM_READ_WRITE, (size_t)bytes, NULL, &e);
	if (dev->arena[arena])
		return KF_OK;
	return kf_fail(err, KF_E_UNAVAIL, "%s has no %llu bytes for %s: %s",
		       dev->name, (unsigned long long)bytes, names[arena],
		       kf_ocl_error(e, text));
}

enum kf_code kf_opencl_attach(struct kf_device *dev,
			      const struct kf_shared_memory *m,
			      const struct kf_call *tensors,
			      struct kf_err *err)
{
	enum kf_code code;

	if (dev->attached)
		return kf_fail(err, KF_E_INPUT, "tensors are attached already");
	dev->attached = true;
	dev->shared = *m;
	code = kf_twopart_find_tensors(m, tensors, dev->limits.alignment,
				       &dev->tensors, err);
	if (!code)
		code = kf_opencl_arena(dev, KF_TWOPART_INPUTS,
				       m->inputs_bytes, err);
	if (!code)
		code = kf_opencl_arena(dev, KF_TWOPART_OUTPUTS,
				       m->outputs_bytes, err);
	return code;
}

void kf_opencl_close(struct kf_device *dev)
{
	if (!dev)
		return;
	if (dev->queue)
		dev->cl.clFinish(dev->queue);
	kf_opencl_unload(dev);
	for (int i = 0; i < KF_TWOPART_ARENAS; i++)
		if (dev->arena[i])
			dev->cl.clReleaseMemObject(dev->arena[i]);
	if (dev->flush)
		dev->cl.clReleaseMemObject(dev->flush);
	if (dev->queue)
		dev->cl.clReleaseCommandQueue(dev->queue);
	if (dev->context)
		dev->cl.clReleaseContext(dev->context);
	kf_twopart_tensors_release(&dev->tensors);
	free(dev->bounce);
	free(dev->kept);
	free(dev);
}

/* --- memory --------------------------------------------------------------- */

static enum kf_code write_arena(struct kf_device *dev,
				enum kf_twopart_arena arena, const void *from,
				uint64_t at, uint64_t bytes,
				struct kf_err *err)
{
	int32_t e = 0;

	if (bytes)
		e = dev->cl.clEnqueueWriteBuffer(dev->queue, dev->arena[arena],
				0, (size_t)at, (size_t)bytes,
				(const char *)from + at, 0, NULL, NULL);
	return e ? trouble("copy to the device", e, err) : KF_OK;
}

/* Waits for it. */
static enum kf_code read_arena(struct kf_device *dev,
			       enum kf_twopart_arena arena, void *to,
			       uint64_t at, uint64_t bytes, struct kf_err *err)
{
	int32_t e = 0;

	if (bytes)
		e = dev->cl.clEnqueueReadBuffer(dev->queue, dev->arena[arena],
				1, (size_t)at, (size_t)bytes, to, 0, NULL,
				NULL);
	return e ? trouble("copy from the device", e, err) : KF_OK;
}

static int32_t fill(struct kf_device *dev, struct ocl_mem *mem, int byte,
		    uint64_t at, uint64_t bytes)
{
	unsigned char pattern[16];
	const size_t step = at % sizeof(pattern) || bytes % sizeof(pattern)
			    ? 1 : sizeof(pattern);

	memset(pattern, byte, sizeof(pattern));
	if (!bytes)
		return 0;
	return dev->cl.clEnqueueFillBuffer(dev->queue, mem, pattern, step,
					   (size_t)at, (size_t)bytes, 0, NULL,
					   NULL);
}

static enum kf_code poison(struct kf_device *dev, enum kf_twopart_arena arena,
			   struct kf_err *err)
{
	int32_t e = fill(dev, dev->arena[arena], KF_TWOPART_PATTERN, 0,
			 dev->layout.arena_bytes[arena]);

	return e ? trouble("fill scratch", e, err) : KF_OK;
}

/* A larger buffer than the caches, written: no call finds its data there. */
static enum kf_code flush_caches(struct kf_device *dev, struct kf_err *err)
{
	int32_t e = 0;

	if (!dev->flush_bytes)
		return KF_OK;
	if (!dev->flush)
		dev->flush = dev->cl.clCreateBuffer(dev->context,
				CL_MEM_READ_WRITE, (size_t)dev->flush_bytes,
				NULL, &e);
	if (dev->flush)
		e = fill(dev, dev->flush, 0, 0, dev->flush_bytes);
	return e ? trouble("flush the caches", e, err) : KF_OK;
}

static enum kf_code finish(struct kf_device *dev, struct kf_err *err)
{
	int32_t e = dev->cl.clFinish(dev->queue);

	return e ? trouble("copy to the device", e, err) : KF_OK;
}

/* --- a call --------------------------------------------------------------- */

static int32_t enqueue(struct kf_device *dev, const struct ocl_step *s,
		       struct ocl_event *gate, struct ocl_event **event)
{
	const struct ocl_api *cl = &dev->cl;
	struct ocl_event *const *wait = gate ? &gate : NULL;
	const uint32_t wait_count = gate ? 1 : 0;

	switch (s->kind) {
	case KF_PLAN_LAUNCH:
		return cl->clEnqueueNDRangeKernel(dev->queue, s->kernel, 3,
				NULL, s->global, s->group, wait_count, wait,
				event);
	case KF_PLAN_FILL:
		return cl->clEnqueueFillBuffer(dev->queue, s->to, &s->value,
				s->width, s->to_at, s->bytes, wait_count,
				wait, event);
	case KF_PLAN_COPY:
		return cl->clEnqueueCopyBuffer(dev->queue, s->from, s->to,
				s->from_at, s->to_at, s->bytes, wait_count,
				wait, event);
	}
	return 0;
}

/* What one operation did wrong; trouble of ours where the machine had too
 * little memory. */
static enum kf_code blame(struct kf_device *dev, const struct ocl_replay *r,
			  size_t step, int32_t number, struct kf_err *err)
{
	struct kf_buf name = { .max = 200 };
	char text[64];

	if (number == CL_OUT_OF_HOST_MEMORY ||
	    number == CL_MEM_OBJECT_ALLOCATION_FAILURE)
		return trouble("run the program", number, err);
	kf_plan_op_name(&r->plan->op[step], step, r == &dev->prepare, &name);
	snprintf(dev->fault, sizeof(dev->fault), "%.180s ended with %.60s",
		 kf_buf_str(&name), kf_ocl_error(number, text));
	kf_buf_release(&name);
	return KF_OK;
}

/* The first operation that ended badly; none: KF_OK and no fault. */
static enum kf_code look_at_events(struct kf_device *dev,
				   const struct ocl_replay *r,
				   struct ocl_event *const *event,
				   size_t count, struct kf_err *err)
{
	const struct ocl_api *cl = &dev->cl;

	for (size_t i = 0; i < count; i++) {
		int32_t status = 0;

		if (event[i] &&
		    !cl->clGetEventInfo(event[i],
				CL_EVENT_COMMAND_EXECUTION_STATUS,
				sizeof(status), &status, NULL) && status < 0)
			return blame(dev, r, i, status, err);
	}
	return KF_OK;
}

static void take_time(struct kf_device *dev, struct ocl_event *const *event,
		      size_t count)
{
	uint64_t start_ns = 0, end_ns = 0;

	dev->took_ns = 0;
	if (count && event[0] && event[count - 1] &&
	    !dev->cl.clGetEventProfilingInfo(event[0],
			CL_PROFILING_COMMAND_START, sizeof(start_ns),
			&start_ns, NULL) &&
	    !dev->cl.clGetEventProfilingInfo(event[count - 1],
			CL_PROFILING_COMMAND_END, sizeof(end_ns), &end_ns,
			NULL) && end_ns > start_ns)
		dev->took_ns = end_ns - start_ns;
}

/* Enqueues all; *at is the number of the operation that could not be. */
static int32_t enqueue_all(struct kf_device *dev, const struct ocl_replay *r,
			   struct ocl_event *gate, struct ocl_event **event,
			   size_t *at)
{
	int32_t e = 0;

	for (*at = 0; *at < r->count; ++*at) {
		e = enqueue(dev, &r->step[*at], gate, &event[*at]);
		if (e)
			return e;
		gate = NULL;	/* the queue is in order */
	}
	return 0;
}

static enum kf_code replay(struct kf_device *dev, const struct ocl_replay *r,
			   struct kf_err *err)
{
	const struct ocl_api *cl = &dev->cl;
	struct ocl_event **event = kf_alloc(r->count * sizeof(event[0]));
	struct ocl_event *gate = NULL;
	enum kf_code code = KF_OK;
	int32_t e = 0, ended;
	size_t at;

	if (r->count <= GATE_STEPS)
		gate = cl->clCreateUserEvent(dev->context, &e);
	e = enqueue_all(dev, r, gate, event, &at);
	cl->clFlush(dev->queue);
	if (gate)
		cl->clSetUserEventStatus(gate, 0);
	ended = cl->clFinish(dev->queue);
	if (e)
		code = blame(dev, r, at, e, err);
	else
		code = look_at_events(dev, r, event, r->count, err);
	if (!code && !dev->fault[0] && ended)
		code = blame(dev, r, r->count ? r->count - 1 : 0, ended, err);
	take_time(dev, event, r->count);
	for (size_t i = 0; i < r->count; i++)
		if (event[i])
			cl->clReleaseEvent(event[i]);
	if (gate)
		cl->clReleaseEvent(gate);
	free(event);
	return code;
}

/* --- what was written where nothing may be -------------------------------- */

static enum kf_code check_guards(struct kf_device *dev,
				 enum kf_twopart_arena arena,
				 const struct kf_twopart_blocks *blocks,
				 struct kf_err *err)
{
	enum kf_code code = KF_OK;

	for (size_t i = 0; i < blocks->count && !code && !dev->fault[0]; i++) {
		const struct kf_twopart_block *b = &blocks->block[i];
		uint64_t from = b->offset + b->bytes;
		uint64_t len = b->guard_end - from, at;

		code = read_arena(dev, arena, dev->bounce, from, len, err);
		at = code ? len : kf_twopart_guard_changed(dev->bounce, len);
		if (at < len)
			kf_twopart_guard_words(arena, blocks, i, at,
					       dev->fault);
	}
	return code;
}

/* Compares what the device has with what it should have, piece by piece. */
static enum kf_code first_change(struct kf_device *dev,
				 enum kf_twopart_arena arena,
				 const unsigned char *should, uint64_t bytes,
				 uint64_t *changed, struct kf_err *err)
{
	*changed = UINT64_MAX;
	for (uint64_t at = 0; at < bytes; at += KF_OCL_BOUNCE) {
		uint64_t left = bytes - at;
		size_t len = left < KF_OCL_BOUNCE ? (size_t)left
						  : KF_OCL_BOUNCE;
		enum kf_code code = read_arena(dev, arena, dev->bounce, at,
					       len, err);

		if (code)
			return code;
		if (memcmp(dev->bounce, should + at, len) == 0)
			continue;
		*changed = at;
		while (dev->bounce[*changed - at] == should[*changed])
			++*changed;
		return KF_OK;
	}
	return KF_OK;
}

static enum kf_code check_kept(struct kf_device *dev, struct kf_err *err)
{
	const struct kf_twopart_blocks *kept = &dev->layout.kept;
	const struct kf_twopart_block *b = kept->block;
	uint64_t changed;
	enum kf_code code;

	if (!dev->kept)
		return KF_OK;
	code = first_change(dev, KF_TWOPART_KEPT, dev->kept,
			    dev->layout.arena_bytes[KF_TWOPART_KEPT],
			    &changed, err);
	if (code || changed == UINT64_MAX)
		return code;
	while (changed >= b->guard_end)
		b++;
	if (changed >= b->offset + b->bytes)
		kf_twopart_guard_words(KF_TWOPART_KEPT, kept,
				       (size_t)(b - kept->block),
				       changed - b->offset - b->bytes,
				       dev->fault);
	else
		snprintf(dev->fault, sizeof(dev->fault), "a kernel of "
			 "kf_forward wrote to kf_keep %u, which it may only "
			 "read", b->index);
	return KF_OK;
}

/* --- the table's functions ------------------------------------------------ */

/* Before kf_prepare: kept memory is zero, with guards around it. */
static enum kf_code empty_kept(struct kf_device *dev, struct kf_err *err)
{
	const struct kf_twopart_blocks *kept = &dev->layout.kept;
	enum kf_code code = poison(dev, KF_TWOPART_KEPT, err);

	for (size_t i = 0; i < kept->count && !code; i++) {
		int32_t e = fill(dev, dev->arena[KF_TWOPART_KEPT], 0,
				 kept->block[i].offset, kept->block[i].bytes);

		if (e)
			code = trouble("clear kept memory", e, err);
	}
	return code;
}

static enum kf_code remember_kept(struct kf_device *dev, struct kf_err *err)
{
	uint64_t bytes = dev->layout.arena_bytes[KF_TWOPART_KEPT];

	free(dev->kept);
	dev->kept = kf_alloc((size_t)bytes);
	return read_arena(dev, KF_TWOPART_KEPT, dev->kept, 0, bytes, err);
}

static enum kf_code not_ready(const struct kf_device *dev, struct kf_err *err)
{
	if (!dev->loaded)
		return kf_fail(err, KF_E_INPUT, "no program is loaded");
	if (dev->fault[0])
		return kf_fail(err, KF_E_INPUT, "the program did wrong before: "
			       "%s", dev->fault);
	return KF_OK;
}

enum kf_code kf_opencl_prepare(struct kf_device *dev, struct kf_call *call,
			       int *rc, struct kf_err *err)
{
	const uint64_t from = dev->tensors.weights_from;
	const struct kf_plans *plans = &dev->program.plans;
	enum kf_code code = not_ready(dev, err);

	(void)call;		/* recorded long ago */
	if (!code)
		code = write_arena(dev, KF_TWOPART_INPUTS, dev->shared.inputs,
				   from, dev->shared.inputs_bytes - from, err);
	if (!code)
		code = finish(dev, err);
	if (code || !plans->has_prepare)
		return code;
	code = empty_kept(dev, err);
	if (!code)
		code = poison(dev, KF_TWOPART_SCRATCH, err);
	if (!code)
		code = finish(dev, err);
	if (!code)
		code = replay(dev, &dev->prepare, err);
	*rc = plans->prepare.rc;
	if (code || dev->fault[0])
		return code;
	code = check_guards(dev, KF_TWOPART_SCRATCH,
			    &dev->layout.prepare_temp, err);
	if (!code && !dev->fault[0])
		code = check_guards(dev, KF_TWOPART_KEPT, &dev->layout.kept,
				    err);
	return code ? code : remember_kept(dev, err);
}

enum kf_code kf_opencl_upload(struct kf_device *dev, struct kf_err *err)
{
	const struct kf_shared_memory *m = &dev->shared;
	enum kf_code code = not_ready(dev, err);

	if (!code)
		code = write_arena(dev, KF_TWOPART_INPUTS, m->inputs, 0,
				   dev->tensors.weights_from, err);
	if (!code)
		code = write_arena(dev, KF_TWOPART_OUTPUTS, m->outputs, 0,
				   m->outputs_bytes, err);
	if (!code)
		code = poison(dev, KF_TWOPART_SCRATCH, err);
	if (!code)
		code = flush_caches(dev, err);
	return code ? code : finish(dev, err);
}

enum kf_code kf_opencl_forward(struct kf_device *dev, struct kf_call *call,
			       int *rc, struct kf_err *err)
{
	enum kf_code code = not_ready(dev, err);

	(void)call;
	if (code)
		return code;
	*rc = dev->program.plans.forward.rc;
	return replay(dev, &dev->forward, err);
}

enum kf_code kf_opencl_download(struct kf_device *dev, uint64_t *changed,
				struct kf_err *err)
{
	const struct kf_shared_memory *m = &dev->shared;
	enum kf_code code = not_ready(dev, err);

	*changed = UINT64_MAX;
	if (!code)
		code = read_arena(dev, KF_TWOPART_OUTPUTS, m->outputs, 0,
				  m->outputs_bytes, err);
	if (!code)
		code = first_change(dev, KF_TWOPART_INPUTS, m->inputs,
				    m->inputs_bytes, changed, err);
	if (!code)
		code = check_guards(dev, KF_TWOPART_SCRATCH,
				    &dev->layout.forward_temp, err);
	if (!code && !dev->fault[0])
		code = check_kept(dev, err);
	return code;
}

uint64_t kf_opencl_device_ns(const struct kf_device *dev)
{
	return dev->took_ns;
}

const char *kf_opencl_fault(const struct kf_device *dev)
{
	return dev->fault[0] ? dev->fault : NULL;
}
