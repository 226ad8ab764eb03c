/* A program loaded: its module, its two lists, each operation checked. */
#include "platform/cuda/cuda.h"

#define NAMES_MAX	64u	/* kernels that a sentence may name */

/* --- kernels -------------------------------------------------------------- */

/* "axpb, scale": the kernels that there are. */
static void name_kernels(const struct kf_device *dev, struct kf_buf *out)
{
	void *function[NAMES_MAX];
	unsigned count = 0;

	if (dev->api.module_function_count(&count, dev->module) || !count ||
	    count > NAMES_MAX ||
	    dev->api.module_functions(function, count, dev->module))
		return;
	for (unsigned i = 0; i < count && out->len < 100; i++) {
		const char *name = NULL;

		if (dev->api.function_name(&name, function[i]) == 0 && name)
			kf_buf_printf(out, "%s%.48s", out->len ? ", " : "",
				      name);
	}
}

static bool find_kernel(const struct kf_device *dev, const char *name,
			void **function, char why[256])
{
	struct kf_buf names = { .max = 160 };

	if (dev->api.module_function(function, dev->module, name) == 0)
		return true;
	name_kernels(dev, &names);
	if (names.len)
		snprintf(why, 256, "kernels.cu has no such kernel; it has %s",
			 kf_buf_str(&names));
	else
		snprintf(why, 256, "kernels.cu has no such kernel: declare it "
			 "extern \"C\" __global__");
	kf_buf_release(&names);
	return false;
}

/* --- operations ----------------------------------------------------------- */

static bool check_maps(struct kf_device *dev, const struct kf_cuda_list *list,
		       const struct kf_plan_op *op, char why[256])
{
	_Alignas(KF_CUDA_TENSOR_MAP_ALIGNMENT)
	unsigned char map[KF_CUDA_TENSOR_MAP_BYTES];

	for (size_t i = 0; i < op->arg_count; i++) {
		if (op->arg[i].kind != KF_ARG_TENSOR_MAP)
			continue;
		if (kf_cuda_tensor_map(dev, list, &op->arg[i], map) == 0)
			continue;
		snprintf(why, 256, "the tensor map of argument %zu is refused: "
			 "its data and strides must be multiples of 16 bytes, "
			 "boxes at most 256 elements and their rows multiples "
			 "of 16 bytes no longer than the swizzle", i + 1);
		return false;
	}
	return true;
}

static bool check_op(struct kf_device *dev, struct kf_cuda_list *list,
		     size_t number, char why[256])
{
	const struct kf_plan_op *op = &list->plan->op[number];

	if (op->kind != KF_PLAN_LAUNCH)
		return true;
	return find_kernel(dev, op->kernel, &list->function[number], why) &&
	       kf_cuda_launch_check(dev, op, list->function[number], why) &&
	       check_maps(dev, list, op, why);
}

/* "call 3 of kf_forward, a launch of axpb: WHY" */
static void refuse(const struct kf_device *dev, const struct kf_cuda_list *list,
		   size_t number, const char *why, char refused[256])
{
	struct kf_buf text = { .max = 255 };

	kf_plan_op_name(&list->plan->op[number], number,
			list == &dev->prepare, &text);
	kf_buf_printf(&text, ": %s", why);
	snprintf(refused, 256, "%s", kf_buf_str(&text));
	kf_buf_release(&text);
}

/* --- lists ---------------------------------------------------------------- */

/* Whose fault it is that the list cannot become a graph. number is the
 * operation that could not be queued, op_count if it was all of them. */
static enum kf_code blame(const struct kf_device *dev,
			  const struct kf_cuda_list *list, size_t number,
			  int result, char refused[256], struct kf_err *err)
{
	bool one = number < list->plan->op_count;
	char name[96], why[160];

	/* Sizes and places of fills and copies were checked by us. */
	if (!kf_cuda_blame(result)->making ||
	    (one && list->plan->op[number].kind != KF_PLAN_LAUNCH))
		return kf_cuda_check(&dev->api, result, "make a graph", err);
	snprintf(why, sizeof(why), "the device refuses it: %s",
		 kf_cuda_result_name(&dev->api, result, name));
	if (one)
		refuse(dev, list, number, why, refused);
	else
		snprintf(refused, 256, "what %s launches: %s",
			 list == &dev->prepare ? "kf_prepare" : "kf_forward",
			 why);
	return KF_OK;
}

/* Everything is queued once, for a graph. What the device refuses after all
 * checks is told in its own words. */
static enum kf_code make_graph(struct kf_device *dev, struct kf_cuda_list *list,
			       char refused[256], struct kf_err *err)
{
	const struct kf_cuda_api *api = &dev->api;
	const char *what = "begin a graph";
	void *graph = NULL;
	size_t i = 0;
	int queued = 0, made = 0, result;

	result = api->capture_begin(dev->stream, KF_CUDA_CAPTURE_THREAD_LOCAL);
	if (result)
		return kf_cuda_check(api, result, what, err);
	while (i < list->plan->op_count && !queued)
		queued = kf_cuda_issue(dev, list, i++);
	what = "end a graph";
	result = api->capture_end(dev->stream, &graph);
	if (!queued && !result)
		made = api->graph_instantiate(&list->exec, graph, 0);
	if (!queued && !result && !made) {
		what = "bring a graph to the device";
		result = api->graph_upload(list->exec, dev->stream);
	}
	if (graph)
		api->graph_destroy(graph);
	if (queued || made)
		return blame(dev, list, queued ? i - 1 : i,
			     queued ? queued : made, refused, err);
	return kf_cuda_check(api, result, what, err);
}

static enum kf_code make_list(struct kf_device *dev, struct kf_cuda_list *list,
			      char refused[256], struct kf_err *err)
{
	char why[256];

	list->function = kf_alloc(list->plan->op_count *
				  sizeof(list->function[0]));
	for (size_t i = 0; i < list->plan->op_count; i++)
		if (!check_op(dev, list, i, why)) {
			refuse(dev, list, i, why, refused);
			return KF_OK;
		}
	if (!list->plan->op_count)
		return KF_OK;
	return make_graph(dev, list, refused, err);
}

static void list_release(struct kf_device *dev, struct kf_cuda_list *list)
{
	if (list->exec)
		dev->api.graph_exec_destroy(list->exec);
	free(list->function);
	list->exec = NULL;
	list->function = NULL;
}

/* --- module --------------------------------------------------------------- */

void kf_cuda_module_unload(struct kf_device *dev)
{
	list_release(dev, &dev->prepare);
	list_release(dev, &dev->forward);
	if (dev->module)
		dev->api.module_unload(dev->module);
	dev->module = NULL;
}

enum kf_code kf_cuda_module_load(struct kf_device *dev, char refused[256],
				 struct kf_err *err)
{
	int result = dev->api.module_load(&dev->module, dev->image);
	enum kf_code code = KF_OK;

	dev->module_used = false;
	if (result)
		return kf_cuda_check(&dev->api, result, "load the module",
				     err);
	dev->prepare.plan = &dev->program.plans.prepare;
	dev->prepare.place = dev->layout.prepare;
	dev->forward.plan = &dev->program.plans.forward;
	dev->forward.place = dev->layout.forward;
	if (dev->program.plans.has_prepare)
		code = make_list(dev, &dev->prepare, refused, err);
	if (!code && !refused[0])
		code = make_list(dev, &dev->forward, refused, err);
	return code;
}

/* The card may have less than the program asks for: refused then says so.
 * What does not fit for others' sake is told when it is allocated. */
static enum kf_code check_room(struct kf_device *dev, char refused[256],
			       struct kf_err *err)
{
	const struct kf_cuda_api *api = &dev->api;
	char name[96] = "the device";
	size_t total = 0;
	enum kf_code code = kf_cuda_check(api,
			api->device_memory(&total, dev->device),
			"read the size of the device's memory", err);
	const struct kf_twopart_room room = {
		.device = name, .bytes = total, .ours_bytes = dev->flush_bytes +
			dev->sums_bytes,
	};

	if (code)
		return code;
	api->device_name(name, sizeof(name), dev->device);
	dev->short_of_memory = !kf_twopart_fits(&dev->layout, &room, refused);
	return KF_OK;
}

bool kf_cuda_short_of_memory(const struct kf_device *dev)
{
	return dev->short_of_memory;
}

static enum kf_code load_program(struct kf_device *dev, char refused[256],
				 struct kf_err *err)
{
	const struct kf_pack_part *code_part = dev->program.device;
	enum kf_code code;

	if (!kf_twopart_lay_out(&dev->program.plans, &dev->tensors,
				KF_CUDA_ALIGNMENT, dev->memory_max,
				&dev->layout, refused))
		return KF_OK;
	code = check_room(dev, refused, err);
	if (code || refused[0])
		return code;
	code = kf_cuda_arena_alloc(dev, KF_TWOPART_SCRATCH,
				   dev->layout.arena_bytes[KF_TWOPART_SCRATCH],
				   err);
	if (!code)
		code = kf_cuda_arena_alloc(dev, KF_TWOPART_KEPT,
				dev->layout.arena_bytes[KF_TWOPART_KEPT], err);
	if (code)
		return code;
	/* The interface takes an image without its length: a text must end. */
	dev->image = kf_alloc(code_part->len + 1);
	memcpy(dev->image, code_part->data, code_part->len);
	return kf_cuda_module_load(dev, refused, err);
}

enum kf_code kf_cuda_load(struct kf_device *dev, const char *artefact_path,
			  char refused[256], struct kf_err *err)
{
	enum kf_code code;

	if (dev->image)
		return kf_fail(err, KF_E_INPUT, "a program is loaded already; "
			       "open the device again for the next");
	kf_twopart_release(&dev->program);
	code = kf_twopart_read(artefact_path, &dev->program, refused, err);
	if (code || refused[0])
		return code;
	if (!dev->attached)
		return kf_fail(err, KF_E_INPUT,
			       "the device has no tensors yet");
	code = load_program(dev, refused, err);
	if (!code && !refused[0])
		code = kf_cuda_time_empty(dev, err);
	dev->loaded = !code && !refused[0];
	return code;
}
