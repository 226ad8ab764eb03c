/*
 * Calls. Each waits behind a gate until all of it is enqueued, so that its time
 * is the device's and not that of who enqueues.
 */
#include "platform/opencl/device.h"

/* Behind a gate some drivers hold only so many operations, and would wait for
 * ever for room. */
#define GATE_STEPS	256u

#define EMPTY_CALLS	16
#define TINY_BYTES	256u

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
		return kf_ocl_trouble("run the program", number, err);
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

/* How it ended: what could not be enqueued, which of them, and what the wait
 * for all said. */
struct ended { int32_t enqueued, waited; size_t at; };

/* Returns what that took by our clock, from when the device could begin. */
static uint64_t run_gated(struct kf_device *dev, const struct ocl_replay *r,
			  struct ocl_event **event, struct ended *ended)
{
	const struct ocl_api *cl = &dev->cl;
	struct ocl_event *gate = NULL;
	uint64_t begun_ns;
	int32_t e;

	/* Without a gate it begins with the first that is enqueued. */
	if (r->count <= GATE_STEPS && !(dev->trace && dev->trace->watched))
		gate = cl->clCreateUserEvent(dev->context, &e);
	begun_ns = kf_now_ns();
	ended->enqueued = enqueue_all(dev, r, gate, event, &ended->at);
	cl->clFlush(dev->queue);
	if (gate) {
		begun_ns = kf_now_ns();
		cl->clSetUserEventStatus(gate, 0);
	}
	ended->waited = cl->clFinish(dev->queue);
	begun_ns = kf_now_ns() - begun_ns;
	if (gate)
		cl->clReleaseEvent(gate);
	return begun_ns;
}

static void release_events(struct kf_device *dev, struct ocl_event **event,
			   size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (event[i])
			dev->cl.clReleaseEvent(event[i]);
	free(event);
}

enum kf_code kf_opencl_time_empty(struct kf_device *dev, struct kf_err *err)
{
	int32_t e = 0;
	struct ocl_mem *tiny = dev->cl.clCreateBuffer(dev->context,
			CL_MEM_READ_WRITE, TINY_BYTES, NULL, &e);
	struct ocl_step step = { .kind = KF_PLAN_FILL, .to = tiny,
				 .bytes = TINY_BYTES, .width = 4 };
	const struct ocl_replay r = { .step = &step, .count = 1 };

	dev->empty_ns = UINT64_MAX;
	for (int i = 0; i < EMPTY_CALLS && tiny && !e; i++) {
		struct ocl_event **event = kf_alloc(sizeof(event[0]));
		struct ended ended;
		uint64_t took_ns = run_gated(dev, &r, event, &ended);

		e = ended.enqueued ? ended.enqueued : ended.waited;
		if (took_ns < dev->empty_ns)
			dev->empty_ns = took_ns;
		release_events(dev, event, 1);
	}
	if (tiny)
		dev->cl.clReleaseMemObject(tiny);
	return e ? kf_ocl_trouble("time an empty call", e, err) : KF_OK;
}

static enum kf_code replay(struct kf_device *dev, const struct ocl_replay *r,
			   struct kf_err *err)
{
	struct ocl_event **event = kf_alloc(r->count * sizeof(event[0]));
	struct ended ended;
	uint64_t host_ns = run_gated(dev, r, event, &ended);
	enum kf_code code;

	dev->host_ns = host_ns > dev->empty_ns ? host_ns - dev->empty_ns : 0;
	if (ended.enqueued)
		code = blame(dev, r, ended.at, ended.enqueued, err);
	else
		code = look_at_events(dev, r, event, r->count, err);
	if (!code && !dev->fault[0] && ended.waited)
		code = blame(dev, r, r->count ? r->count - 1 : 0,
			     ended.waited, err);
	take_time(dev, event, r->count);
	if (dev->trace && r == &dev->forward)
		kf_opencl_trace_take(dev, r, event);
	release_events(dev, event, r->count);
	return code;
}

/* --- the table's functions ------------------------------------------------ */

static enum kf_code not_ready(const struct kf_device *dev, struct kf_err *err)
{
	if (!dev->loaded)
		return kf_fail(err, KF_E_INPUT, "no program is loaded");
	if (dev->fault[0])
		return kf_fail(err, KF_E_INPUT, "the program did wrong before: "
			       "%s", dev->fault);
	return KF_OK;
}

/* Kept memory is zero, scratch is not. */
static enum kf_code before_prepare(struct kf_device *dev, struct kf_err *err)
{
	enum kf_code code = kf_opencl_empty_kept(dev, err);

	if (!code)
		code = kf_opencl_poison(dev, &dev->layout.prepare_temp, err);
	return code ? code : kf_opencl_finish(dev, err);
}

static enum kf_code after_prepare(struct kf_device *dev, struct kf_err *err)
{
	const struct kf_twopart_layout *l = &dev->layout;
	enum kf_code code;

	code = kf_opencl_check_guards(dev, KF_TWOPART_SCRATCH,
				      &l->prepare_temp, err);
	if (!code && !dev->fault[0])
		code = kf_opencl_check_guards(dev, KF_TWOPART_KEPT, &l->kept,
					      err);
	return code ? code : kf_opencl_remember_kept(dev, err);
}

enum kf_code kf_opencl_prepare(struct kf_device *dev, struct kf_call *call,
			       int *rc, struct kf_err *err)
{
	const struct kf_shared_memory *m = &dev->shared;
	const uint64_t from = dev->tensors.weights_from;
	const struct kf_plans *plans = &dev->program.plans;
	enum kf_code code = not_ready(dev, err);

	(void)call;		/* recorded long ago */
	dev->took_ns = dev->host_ns = 0;
	if (!code)
		code = kf_opencl_write(dev, KF_TWOPART_INPUTS, m->inputs, from,
				       m->inputs_bytes - from, err);
	if (!code)
		code = kf_opencl_finish(dev, err);
	if (code || !plans->has_prepare)
		return code;
	code = before_prepare(dev, err);
	if (!code)
		code = replay(dev, &dev->prepare, err);
	*rc = plans->prepare.rc;
	return code || dev->fault[0] ? code : after_prepare(dev, err);
}

enum kf_code kf_opencl_upload(struct kf_device *dev, struct kf_err *err)
{
	const struct kf_shared_memory *m = &dev->shared;
	enum kf_code code = not_ready(dev, err);

	if (!code)
		code = kf_opencl_write(dev, KF_TWOPART_INPUTS, m->inputs, 0,
				       dev->tensors.weights_from, err);
	if (!code)
		code = kf_opencl_write(dev, KF_TWOPART_OUTPUTS, m->outputs, 0,
				       m->outputs_bytes, err);
	if (!code)
		code = kf_opencl_poison(dev, &dev->layout.forward_temp, err);
	if (!code)
		code = kf_opencl_flush(dev, err);
	return code ? code : kf_opencl_finish(dev, err);
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
		code = kf_opencl_read(dev, KF_TWOPART_OUTPUTS, m->outputs, 0,
				      m->outputs_bytes, err);
	if (!code)
		code = kf_opencl_first_change(dev, KF_TWOPART_INPUTS, m->inputs,
					      m->inputs_bytes, changed, err);
	if (!code)
		code = kf_opencl_check_guards(dev, KF_TWOPART_SCRATCH,
					      &dev->layout.forward_temp, err);
	if (!code && !dev->fault[0])
		code = kf_opencl_check_kept(dev, err);
	return code;
}

uint64_t kf_opencl_device_ns(const struct kf_device *dev)
{
	return dev->took_ns;
}

uint64_t kf_opencl_host_ns(const struct kf_device *dev)
{
	return dev->host_ns;
}

const char *kf_opencl_fault(const struct kf_device *dev)
{
	return dev->fault[0] ? dev->fault : NULL;
}
