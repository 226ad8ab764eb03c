/*
 * The launch list again. Both lists are graphs, made when the module is loaded;
 * a call waits behind a gate until all of it is queued, so that the device's
 * clock sees the program alone and not the processor that feeds it.
 */
#include "platform/cuda/cuda.h"

/* Beyond it a call is queued with an open gate: the queue has an end, and what
 * takes as long as that to run hides its own queueing. */
#define GATE_OPS_MAX	512u

#define EMPTY_CALLS	16

uint64_t kf_cuda_address(const struct kf_device *dev,
			 const struct kf_cuda_list *list,
			 const struct kf_plan_place *place)
{
	const struct kf_twopart_place *p = &list->place[place->buffer];

	return dev->arena[p->arena] + p->offset + place->offset;
}

/* --- one operation -------------------------------------------------------- */

struct kf_cuda_launch kf_cuda_launch_of(const struct kf_device *dev,
					const struct kf_plan_op *op,
					struct kf_cuda_launch_attribute *a)
{
	struct kf_cuda_launch launch = {
		.shared_bytes = (unsigned)op->shared_bytes,
		.stream = dev->stream,
		.attribute = a,
	};

	for (int k = 0; k < 3; k++) {
		launch.grid[k] = (unsigned)op->grid[k];
		launch.block[k] = (unsigned)op->group[k];
	}
	memset(a, 0, 3 * sizeof(*a));
	if (op->cluster[0]) {
		struct kf_cuda_launch_attribute *c = &a[launch.attribute_count];

		c->id = KF_CUDA_LAUNCH_CLUSTER_DIMENSION;
		c->value.dim.x = (unsigned)op->cluster[0];
		c->value.dim.y = (unsigned)op->cluster[1];
		c->value.dim.z = (unsigned)op->cluster[2];
		launch.attribute_count++;
	}
	if (op->cooperative) {
		a[launch.attribute_count].id = KF_CUDA_LAUNCH_COOPERATIVE;
		a[launch.attribute_count++].value.flag = 1;
	}
	/* It allows, and does not demand: older devices begin in order. */
	if (op->dependent && dev->limits.clusters) {
		a[launch.attribute_count].id =
			KF_CUDA_LAUNCH_PROGRAMMATIC_STREAM_SERIALIZATION;
		a[launch.attribute_count++].value.flag = 1;
	}
	return launch;
}

/* NVIDIA's numbers of element types; signed ones are moved as unsigned. */
static const int map_dtype[] = {
	[KF_BOOL] = 0, [KF_U8] = 0, [KF_I8] = 0, [KF_I16] = 1, [KF_I32] = 3,
	[KF_I64] = 5, [KF_F16] = 6, [KF_F32] = 7, [KF_F64] = 8, [KF_BF16] = 9,
};

int kf_cuda_tensor_map(const struct kf_device *dev,
		       const struct kf_cuda_list *list,
		       const struct kf_plan_arg *arg, void *map)
{
	const struct kf_tensor_map *m = arg->map;
	uint64_t at = kf_cuda_address(dev, list, &arg->place);
	uint64_t dim[5], stride[5];
	uint32_t box[5], element[5];
	void *data;

	if (m->dtype <= KF_DTYPE_NONE ||
	    (size_t)m->dtype >= KF_COUNT(map_dtype) || m->rank < 1 ||
	    m->rank > 5)
		return KF_CUDA_INVALID_VALUE;
	for (int k = 0; k < m->rank; k++) {
		dim[k] = (uint64_t)m->dim[k];
		box[k] = (uint32_t)m->box[k];
		element[k] = m->element_stride[k] ?
			     (uint32_t)m->element_stride[k] : 1;
		if (k)
			stride[k - 1] = (uint64_t)m->stride[k];
	}
	memcpy(&data, &at, sizeof(data));
	return dev->api.tensor_map(map, map_dtype[m->dtype],
				   (uint32_t)m->rank, data, dim, stride, box,
				   element, m->interleave, m->swizzle,
				   m->l2_promotion, m->oob_fill);
}

/* What a kernel's parameters are read from while it is queued. */
struct parameters {
	_Alignas(KF_CUDA_TENSOR_MAP_ALIGNMENT)
	unsigned char map[KF_CUDA_MAPS_MAX][KF_CUDA_TENSOR_MAP_BYTES];
	uint64_t address[KF_PLAN_ARGS_MAX];
	void *at[KF_PLAN_ARGS_MAX];
	size_t maps;
};

static int gather(const struct kf_device *dev, const struct kf_cuda_list *list,
		  const struct kf_plan_op *op, struct parameters *p)
{
	p->maps = 0;
	for (size_t i = 0; i < op->arg_count; i++) {
		const struct kf_plan_arg *arg = &op->arg[i];
		int result = 0;

		switch (arg->kind) {
		case KF_ARG_BUFFER:
			p->address[i] = kf_cuda_address(dev, list,
							&arg->place);
			p->at[i] = &p->address[i];
			break;
		case KF_ARG_BYTES:
			p->at[i] = arg->data;
			break;
		case KF_ARG_TENSOR_MAP:
			if (p->maps == KF_CUDA_MAPS_MAX)
				return KF_CUDA_INVALID_VALUE;
			p->at[i] = p->map[p->maps++];
			result = kf_cuda_tensor_map(dev, list, arg, p->at[i]);
			break;
		default:
			p->at[i] = (void *)(uintptr_t)arg->value;
			break;
		}
		if (result)
			return result;
	}
	return 0;
}

static int issue_launch(struct kf_device *dev, const struct kf_cuda_list *list,
			size_t number)
{
	const struct kf_plan_op *op = &list->plan->op[number];
	struct kf_cuda_launch_attribute attribute[3];
	struct kf_cuda_launch launch = kf_cuda_launch_of(dev, op, attribute);
	struct parameters p;
	int result = gather(dev, list, op, &p);

	return result ? result : dev->api.launch(&launch,
						 list->function[number], p.at,
						 NULL);
}

/* Elements of 8 bytes are columns of 4 where their halves differ. */
static int issue_fill(struct kf_device *dev, const struct kf_cuda_list *list,
		      const struct kf_plan_op *op)
{
	const struct kf_cuda_api *api = &dev->api;
	uint64_t at = kf_cuda_address(dev, list, &op->to);
	size_t count = (size_t)(op->bytes / op->width);
	unsigned low = (unsigned)op->value, high = (unsigned)(op->value >> 32);
	int result;

	if (op->width == 1)
		return api->fill8(at, (unsigned char)low, count, dev->stream);
	if (op->width == 2)
		return api->fill16(at, (unsigned short)low, count,
				   dev->stream);
	if (op->width == 4)
		return api->fill32(at, low, count, dev->stream);
	if (low == high)
		return api->fill32(at, low, 2 * count, dev->stream);
	result = api->fill32_rows(at, 8, low, 1, count, dev->stream);
	return result ? result : api->fill32_rows(at + 4, 8, high, 1, count,
						  dev->stream);
}

int kf_cuda_issue(struct kf_device *dev, const struct kf_cuda_list *list,
		  size_t number)
{
	const struct kf_plan_op *op = &list->plan->op[number];

	if (op->kind == KF_PLAN_LAUNCH)
		return issue_launch(dev, list, number);
	if (!op->bytes)
		return 0;
	if (op->kind == KF_PLAN_FILL)
		return issue_fill(dev, list, op);
	return dev->api.copy(kf_cuda_address(dev, list, &op->to),
			     kf_cuda_address(dev, list, &op->from), op->bytes,
			     dev->stream);
}

/* --- all of them ---------------------------------------------------------- */

static int queue(struct kf_device *dev, const struct kf_cuda_list *list)
{
	int result = 0;

	if (kf_cuda_traced(dev, list))
		return kf_cuda_trace_queue(dev, list);
	if (list->exec && !kf_cuda_watched(dev, list))
		return dev->api.graph_launch(list->exec, dev->stream);
	for (size_t i = 0; i < list->plan->op_count && !result; i++)
		result = kf_cuda_issue(dev, list, i);
	return result;
}

/* A tool around the process waits for each launch to end before the next. */
static bool may_gate(const struct kf_device *dev,
		     const struct kf_cuda_list *list)
{
	const size_t each = kf_cuda_traced(dev, list) ? 2 : 1;

	return each * list->plan->op_count <= GATE_OPS_MAX &&
		!(dev->trace && dev->trace->watched);
}

/* Queues the call between two events; *begun_ns is when the device could begin
 * with it. The gate is opened in any case: what waits behind it could not be
 * let go of otherwise. */
static int queue_gated(struct kf_device *dev, const struct kf_cuda_list *list,
		       uint64_t *begun_ns)
{
	const struct kf_cuda_api *api = &dev->api;
	bool gated = may_gate(dev, list);
	int result = 0;

	dev->turn++;
	if (gated)
		result = api->stream_wait_value(dev->stream, dev->gate_at,
						dev->turn,
						KF_CUDA_WAIT_VALUE_GEQ);
	*begun_ns = kf_now_ns();
	if (!result)
		result = api->event_record(dev->start, dev->stream);
	if (!result)
		result = queue(dev, list);
	if (!result)
		result = api->event_record(dev->stop, dev->stream);
	if (gated)
		*begun_ns = kf_now_ns();
	__atomic_store_n(dev->gate, dev->turn, __ATOMIC_SEQ_CST);
	return result;
}

/* By the device's clock and by ours; a kernel may reach where the device's
 * stamps lie, and never ours. NVIDIA's result. */
static int time_call(struct kf_device *dev, const struct kf_cuda_list *list,
		     uint64_t *device_ns, uint64_t *host_ns)
{
	const struct kf_cuda_api *api = &dev->api;
	uint64_t begun_ns;
	float ms = 0;
	int result = queue_gated(dev, list, &begun_ns);

	if (!result)
		result = api->event_synchronize(dev->stop);
	*host_ns = kf_now_ns() - begun_ns;
	if (!result)
		result = api->event_elapsed(&ms, dev->start, dev->stop);
	*device_ns = (uint64_t)((double)ms * 1e6 + 0.5);
	return result;
}

enum kf_code kf_cuda_time_empty(struct kf_device *dev, struct kf_err *err)
{
	const struct kf_plan none = { .op_count = 0 };
	const struct kf_cuda_list empty = { .plan = &none };
	int result = 0;

	dev->empty_ns = UINT64_MAX;
	for (int i = 0; i < EMPTY_CALLS && !result; i++) {
		uint64_t device_ns, host_ns;

		result = time_call(dev, &empty, &device_ns, &host_ns);
		if (host_ns < dev->empty_ns)
			dev->empty_ns = host_ns;
	}
	return kf_cuda_check(&dev->api, result, "time an empty call", err);
}

static enum kf_code run(struct kf_device *dev, const struct kf_cuda_list *list,
			struct kf_err *err)
{
	uint64_t device_ns, host_ns;
	int result;

	dev->module_used = true;
	if (kf_cuda_watched(dev, list))
		kf_cuda_watch_forget(dev->watch);
	result = time_call(dev, list, &device_ns, &host_ns);
	if (!result) {
		dev->last_ns = device_ns;
		dev->last_host_ns = host_ns > dev->empty_ns ?
				    host_ns - dev->empty_ns : 0;
		if (kf_cuda_traced(dev, list))
			kf_cuda_trace_take(dev, list);
		if (kf_cuda_watched(dev, list))
			kf_cuda_watch_take(dev->watch, dev->trace);
		return KF_OK;
	}
	dev->failed = true;
	dev->last_ns = dev->last_host_ns = 0;
	if (kf_cuda_is_fault(dev, list->plan, result))
		return KF_OK;
	return kf_cuda_check(&dev->api, result, "run the program", err);
}

enum kf_code kf_cuda_usable(const struct kf_device *dev, struct kf_err *err)
{
	if (!dev->loaded)
		return kf_fail(err, KF_E_INPUT, "no program is loaded");
	if (dev->failed)
		return kf_fail(err, KF_E_INPUT, "the device has failed and can "
			       "only be closed");
	return KF_OK;
}

/* --- prepare -------------------------------------------------------------- */

enum kf_code kf_cuda_bring_weights(struct kf_device *dev, struct kf_err *err)
{
	const struct kf_cuda_api *api = &dev->api;
	const unsigned char *from = dev->shared.inputs;
	uint64_t at = dev->tensors.weights_from;
	uint64_t bytes = dev->shared.inputs_bytes - at;
	int result = 0;

	if (bytes)
		result = api->copy_to_device(dev->arena[KF_TWOPART_INPUTS] + at,
					     from + at, bytes, dev->stream);
	return kf_cuda_check(api, result, "copy weights to the device", err);
}

static enum kf_code fresh_module(struct kf_device *dev, struct kf_err *err)
{
	char refused[256] = "";
	enum kf_code code;

	if (!dev->module_used)
		return KF_OK;
	kf_cuda_module_unload(dev);
	code = kf_cuda_module_load(dev, refused, err);
	if (!code && refused[0])
		code = kf_fail(err, KF_E_UNAVAIL, "what was loaded once is "
			       "refused now: %s", refused);
	return code;
}

/* What kf_prepare did to memory that is not its own; then what it kept is as
 * kf_forward must leave it. */
static enum kf_code look_after_prepare(struct kf_device *dev,
				       struct kf_err *err)
{
	size_t chunk;
	enum kf_code code;

	code = kf_cuda_digest_compare(dev, KF_TWOPART_INPUTS, &dev->inputs,
				      &chunk, err);
	if (!code && chunk < dev->inputs.count)
		snprintf(dev->fault, sizeof(dev->fault), "a kernel of "
			 "kf_prepare wrote to weights, which it may only "
			 "read");
	if (!code)
		code = kf_cuda_guards_check(dev, KF_TWOPART_SCRATCH,
					    &dev->layout.prepare_temp, err);
	if (!code)
		code = kf_cuda_guards_check(dev, KF_TWOPART_KEPT,
					    &dev->layout.kept, err);
	if (dev->fault[0])
		dev->failed = true;
	if (code || dev->fault[0])
		return code;
	return kf_cuda_digest_take(dev, KF_TWOPART_KEPT, &dev->kept, err);
}

enum kf_code kf_cuda_prepare(struct kf_device *dev, struct kf_call *call,
			     int *rc, struct kf_err *err)
{
	enum kf_code code = kf_cuda_usable(dev, err);

	(void)call;
	*rc = 0;
	/* Those of the call before are none of this one's. */
	dev->last_ns = dev->last_host_ns = 0;
	if (!code)
		code = fresh_module(dev, err);
	if (!code)
		code = kf_cuda_check(&dev->api, kf_cuda_forget_bases(dev),
				     "fill device memory", err);
	if (!code)
		code = kf_cuda_bring_weights(dev, err);
	if (code || !dev->program.plans.has_prepare)
		return code;
	*rc = dev->prepare.plan->rc;
	code = kf_cuda_fill_scratch(dev, &dev->layout.prepare_temp, err);
	if (!code)
		code = kf_cuda_fill_kept(dev, err);
	if (!code)
		code = kf_cuda_digest_take(dev, KF_TWOPART_INPUTS,
					   &dev->inputs, err);
	if (!code)
		code = run(dev, &dev->prepare, err);
	if (code || dev->failed)
		return code;
	return look_after_prepare(dev, err);
}

enum kf_code kf_cuda_forward(struct kf_device *dev, struct kf_call *call,
			     int *rc, struct kf_err *err)
{
	enum kf_code code = kf_cuda_usable(dev, err);

	(void)call;
	*rc = 0;
	if (code)
		return code;
	*rc = dev->forward.plan->rc;
	return run(dev, &dev->forward, err);
}
