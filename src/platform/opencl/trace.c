/* What each operation of a call took, by the events that it has in any case. */
#include "platform/opencl/device.h"

static uint64_t event_time(const struct kf_device *dev,
			   struct ocl_event *event, uint32_t which)
{
	uint64_t ns = 0;

	if (!event || dev->cl.clGetEventProfilingInfo(event, which, sizeof(ns),
						      &ns, NULL))
		return 0;
	return ns;
}

static double kernel_bytes(const struct kf_device *dev,
			   struct ocl_kernel *kernel, uint32_t which,
			   double unknown)
{
	uint64_t bytes = 0;

	if (dev->cl.clGetKernelWorkGroupInfo(kernel, dev->device, which,
					     sizeof(bytes), &bytes, NULL))
		return unknown;
	return (double)bytes;
}

static void of_launch(const struct kf_device *dev, const struct ocl_step *s,
		      struct kf_trace_op *op)
{
	op->groups = op->group_size = 1;
	for (int k = 0; k < 3; k++) {
		op->group_size *= (double)s->group[k];
		op->groups *= (double)s->global[k] / (double)s->group[k];
	}
	op->shared_bytes = kernel_bytes(dev, s->kernel,
					CL_KERNEL_LOCAL_MEM_SIZE,
					op->shared_bytes);
}

void kf_opencl_trace(struct kf_device *dev, struct kf_trace *trace)
{
	dev->trace = trace;
}

void kf_opencl_trace_take(struct kf_device *dev, const struct ocl_replay *r,
			  struct ocl_event *const *event)
{
	struct kf_trace *trace = dev->trace;

	trace->count = r->count > KF_TRACE_OPS_MAX ? 0 : r->count;
	trace->op = kf_realloc(trace->op, (trace->count + 1) *
			       sizeof(trace->op[0]));
	for (size_t i = 0; i < trace->count; i++) {
		const struct kf_plan_op *planned = &r->plan->op[i];
		struct kf_trace_op *op = &trace->op[i];
		bool launch = planned->kind == KF_PLAN_LAUNCH;

		kf_trace_op_init(op, launch ? planned->kernel :
				 planned->kind == KF_PLAN_FILL ? "kf_zero" :
				 "kf_copy");
		op->start_ns = event_time(dev, event[i],
					  CL_PROFILING_COMMAND_START);
		op->end_ns = event_time(dev, event[i],
					CL_PROFILING_COMMAND_END);
		if (launch)
			of_launch(dev, &r->step[i], op);
	}
}
