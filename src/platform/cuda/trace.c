/*
 * What each operation of a call took, by NVIDIA's own records of it (watch.c)
 * where these are asked for, else by an event before the first and after each,
 * and no graph. An operation's time so holds the gap before it and an event's
 * own, about a microsecond. Profilers that wait to be told are told: they see
 * the program's own launches, and none of what kforge does between calls.
 */
#include "platform/cuda/cuda.h"

#include <math.h>

#define COPY "kf_copy"
#define FILL "kf_zero"

void kf_cuda_trace(struct kf_device *dev, struct kf_trace *trace)
{
	dev->trace = trace;
	if (trace->activity && !dev->watch)
		dev->watch = kf_cuda_watch_begin(COPY, FILL, trace->unseen);
}

bool kf_cuda_watched(const struct kf_device *dev,
		     const struct kf_cuda_list *list)
{
	return dev->watch && list == &dev->forward;
}

bool kf_cuda_traced(const struct kf_device *dev,
		    const struct kf_cuda_list *list)
{
	return dev->trace && !dev->trace->activity && list == &dev->forward &&
		list->plan->op_count <= KF_TRACE_OPS_MAX;
}

static int make_marks(struct kf_device *dev, size_t count)
{
	int result = 0;

	if (dev->mark_count < count)
		dev->mark = kf_realloc(dev->mark, count *
				       sizeof(dev->mark[0]));
	while (dev->mark_count < count && !result) {
		result = dev->api.event_create(&dev->mark[dev->mark_count], 0);
		dev->mark_count += !result;
	}
	return result;
}

int kf_cuda_trace_queue(struct kf_device *dev, const struct kf_cuda_list *list)
{
	const struct kf_cuda_api *api = &dev->api;
	size_t count = list->plan->op_count;
	int result = make_marks(dev, count + 1);

	if (api->profiler_start)
		(void)api->profiler_start();
	if (!result)
		result = api->event_record(dev->mark[0], dev->stream);
	for (size_t i = 0; i < count && !result; i++) {
		result = kf_cuda_issue(dev, list, i);
		if (!result)
			result = api->event_record(dev->mark[i + 1],
						   dev->stream);
	}
	return result;
}

static double attribute(const struct kf_device *dev, void *function, int which)
{
	int value = 0;

	return dev->api.function_attribute(&value, which, function) ?
		(double)NAN : value;
}

static double occupancy(const struct kf_device *dev,
			const struct kf_plan_op *planned, void *function)
{
	int64_t threads = planned->group[0] * planned->group[1] *
		planned->group[2];
	int blocks = 0, most = 0;

	if (threads <= 0 || threads > INT32_MAX ||
	    dev->api.occupancy_blocks(&blocks, function, (int)threads,
				      (size_t)planned->shared_bytes) ||
	    dev->api.device_attribute(&most,
				      KF_CUDA_MAX_THREADS_PER_MULTIPROCESSOR,
				      dev->device) || most <= 0)
		return (double)NAN;
	return (double)blocks * (double)threads / most;
}

static void of_launch(const struct kf_device *dev,
		      const struct kf_plan_op *planned, void *function,
		      struct kf_trace_op *op)
{
	op->groups = op->group_size = 1;
	for (int k = 0; k < 3; k++) {
		op->groups *= (double)planned->grid[k];
		op->group_size *= (double)planned->group[k];
	}
	op->registers = attribute(dev, function, KF_CUDA_FUNC_NUM_REGS);
	op->local_bytes = attribute(dev, function,
				    KF_CUDA_FUNC_LOCAL_SIZE_BYTES);
	op->shared_bytes = (double)planned->shared_bytes +
		attribute(dev, function, KF_CUDA_FUNC_SHARED_SIZE_BYTES);
	op->occupancy = occupancy(dev, planned, function);
}

/* Nanoseconds from the first mark; false if the device does not tell. */
static bool since(const struct kf_device *dev, size_t mark, uint64_t *ns)
{
	float ms = 0;

	if (mark && dev->api.event_elapsed(&ms, dev->mark[0], dev->mark[mark]))
		return false;
	*ns = (uint64_t)((double)ms * 1e6 + 0.5);
	return true;
}

void kf_cuda_trace_take(struct kf_device *dev, const struct kf_cuda_list *list)
{
	struct kf_trace *trace = dev->trace;

	if (dev->api.profiler_stop)
		(void)dev->api.profiler_stop();
	trace->count = list->plan->op_count;
	trace->op = kf_realloc(trace->op, (trace->count + 1) *
			       sizeof(trace->op[0]));
	for (size_t i = 0; i < trace->count; i++) {
		const struct kf_plan_op *planned = &list->plan->op[i];
		struct kf_trace_op *op = &trace->op[i];

		kf_trace_op_init(op, planned->kind == KF_PLAN_LAUNCH ?
				 planned->kernel :
				 planned->kind == KF_PLAN_FILL ? FILL : COPY);
		if (!since(dev, i, &op->start_ns) ||
		    !since(dev, i + 1, &op->end_ns))
			op->start_ns = op->end_ns = 0;
		if (planned->kind == KF_PLAN_LAUNCH)
			of_launch(dev, planned, list->function[i], op);
		else
			op->bytes = (double)planned->bytes;
	}
}

void kf_cuda_trace_close(struct kf_device *dev)
{
	for (size_t i = 0; i < dev->mark_count; i++)
		dev->api.event_destroy(dev->mark[i]);
	free(dev->mark);
	dev->mark = NULL;
	dev->mark_count = 0;
	kf_cuda_watch_end(dev->watch);
	dev->watch = NULL;
}
