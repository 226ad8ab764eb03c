/* Plans to OpenCL objects: all that can be refused is refused here. */
#include "platform/opencl/device.h"

#define TEMP_ALIGNMENT 256u	/* what program.h promises; powers of two all */

static void refuse(const struct kf_plan_op *op, size_t number, bool preparing,
		   const char *why, char refused[256])
{
	struct kf_buf text = { .max = 255 };

	kf_plan_op_name(op, number, preparing, &text);
	kf_buf_printf(&text, ": %s", why);
	snprintf(refused, 256, "%s", kf_buf_str(&text));
	kf_buf_release(&text);
}

/* --- one launch ----------------------------------------------------------- */

struct loader {
	struct kf_device *dev;
	const struct kf_opencl_binary *binary;
	const struct kf_twopart_place *place;	/* of the plan's buffers */
	struct ocl_replay *replay;
	struct ocl_mem **whole;		/* a buffer each, from its start on;
					   NULL until asked for */
};

static struct kf_opencl_needs needs_of(const struct kf_device *dev,
				       struct ocl_kernel *kernel)
{
	const struct ocl_api *cl = &dev->cl;
	struct kf_opencl_needs needs = { .group_size = 0 };
	size_t group[3] = { 0, 0, 0 }, size = 0;

	if (!cl->clGetKernelWorkGroupInfo(kernel, dev->device,
			CL_KERNEL_WORK_GROUP_SIZE, sizeof(size), &size, NULL))
		needs.group_size = size;
	if (!cl->clGetKernelWorkGroupInfo(kernel, dev->device,
			CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof(group),
			group, NULL))
		for (int i = 0; i < 3; i++)
			needs.group[i] = group[i];
	cl->clGetKernelWorkGroupInfo(kernel, dev->device,
			CL_KERNEL_LOCAL_MEM_SIZE, sizeof(needs.local_bytes),
			&needs.local_bytes, NULL);
	return needs;
}

/* The part of an arena from the argument's place to the end of its buffer. A
 * place at the end has none: its pointer is NULL. */
static int32_t find_part(struct loader *l, const struct kf_plan_arg *arg,
			 struct ocl_mem **out)
{
	const struct kf_twopart_place *place = &l->place[arg->place.buffer];
	const struct ocl_region region = {
		(size_t)(place->offset + arg->place.offset),
		(size_t)(place->bytes - arg->place.offset),
	};
	struct ocl_mem **known = &l->whole[arg->place.buffer];
	struct ocl_replay *r = l->replay;
	int32_t e = 0;

	*out = arg->place.offset ? NULL : *known;
	if (*out || !region.size)
		return 0;
	*out = l->dev->cl.clCreateSubBuffer(l->dev->arena[place->arena],
					    CL_MEM_READ_WRITE,
					    CL_BUFFER_CREATE_TYPE_REGION,
					    &region, &e);
	if (!*out)
		return e;
	r->part = kf_realloc(r->part, (r->part_count + 1) *
			     sizeof(r->part[0]));
	r->part[r->part_count++] = *out;
	if (!arg->place.offset)
		*known = *out;
	return 0;
}

static int32_t set_argument(struct loader *l, struct ocl_kernel *kernel,
			    uint32_t i, const struct kf_plan_arg *arg)
{
	const struct ocl_api *cl = &l->dev->cl;
	struct ocl_mem *part = NULL;
	int32_t e;

	switch (arg->kind) {
	case KF_ARG_BUFFER:
		e = find_part(l, arg, &part);
		return e ? e : cl->clSetKernelArg(kernel, i, sizeof(part),
						  part ? &part : NULL);
	case KF_ARG_LOCAL:
		return cl->clSetKernelArg(kernel, i, arg->bytes, NULL);
	case KF_ARG_BYTES:
		return cl->clSetKernelArg(kernel, i, arg->bytes, arg->data);
	default:
		return cl->clSetKernelArg(kernel, i, arg->bytes, arg->value);
	}
}

static enum kf_code set_arguments(struct loader *l, const struct kf_plan_op *op,
				  struct ocl_kernel *kernel, char why[256],
				  struct kf_err *err)
{
	char text[64];

	for (size_t i = 0; i < op->arg_count; i++) {
		int32_t e = set_argument(l, kernel, (uint32_t)i, &op->arg[i]);

		if (e == CL_OUT_OF_HOST_MEMORY || e == CL_OUT_OF_RESOURCES ||
		    e == CL_MEM_OBJECT_ALLOCATION_FAILURE)
			return kf_fail(err, KF_E_UNAVAIL, "OpenCL cannot set "
				       "an argument: %s",
				       kf_ocl_error(e, text));
		if (e == CL_INVALID_ARG_SIZE)
			snprintf(why, 256, "argument %zu has %u bytes, and "
				 "the kernel's parameter has another size",
				 i + 1, op->arg[i].bytes);
		else if (e)
			snprintf(why, 256, "argument %zu is refused: %s",
				 i + 1, kf_ocl_error(e, text));
		if (e)
			return KF_OK;
	}
	return KF_OK;
}

/* "axpb, scale": the kernels that there are. */
static void name_kernels(const struct kf_opencl_binary *binary, char why[256])
{
	struct kf_buf names = { .max = 160 };

	for (size_t i = 0; i < binary->kernel_count && names.len < 100; i++)
		kf_buf_printf(&names, "%s%.48s", i ? ", " : "",
			      binary->kernel[i].name);
	snprintf(why, 256, "kernels.cl has no such kernel; it has %s",
		 kf_buf_str(&names));
	kf_buf_release(&names);
}

static enum kf_code load_launch(struct loader *l, const struct kf_plan_op *op,
				struct ocl_step *step, char why[256],
				struct kf_err *err)
{
	const struct kf_device *dev = l->dev;
	const struct kf_opencl_kernel *kernel =
		kf_opencl_kernel_find(l->binary, op->kernel);
	struct kf_opencl_needs needs;
	int32_t e = 0;
	char text[64];

	if (!kernel) {
		name_kernels(l->binary, why);
		return KF_OK;
	}
	if (!kf_opencl_check_launch(op, kernel, &dev->limits, why))
		return KF_OK;
	step->kernel = dev->cl.clCreateKernel(dev->code, op->kernel, &e);
	if (!step->kernel)
		return kf_fail(err, KF_E_UNAVAIL, "OpenCL cannot make kernel "
			       "%s: %s", op->kernel, kf_ocl_error(e, text));
	needs = needs_of(dev, step->kernel);
	if (!kf_opencl_check_sizes(op, &dev->limits, &needs, why))
		return KF_OK;
	for (int i = 0; i < 3; i++) {
		step->group[i] = (size_t)op->group[i];
		step->global[i] = (size_t)(op->grid[i] * op->group[i]);
	}
	return set_arguments(l, op, step->kernel, why, err);
}

/* --- one plan ------------------------------------------------------------- */

static enum kf_code load_op(struct loader *l, const struct kf_plan_op *op,
			    struct ocl_step *step, char why[256],
			    struct kf_err *err)
{
	const struct kf_twopart_place *to, *from;

	step->kind = op->kind;
	if (op->kind == KF_PLAN_LAUNCH)
		return load_launch(l, op, step, why, err);
	to = &l->place[op->to.buffer];
	step->to = l->dev->arena[to->arena];
	step->to_at = (size_t)(to->offset + op->to.offset);
	step->bytes = (size_t)op->bytes;
	if (op->kind == KF_PLAN_COPY) {
		from = &l->place[op->from.buffer];
		step->from = l->dev->arena[from->arena];
		step->from_at = (size_t)(from->offset + op->from.offset);
	} else {
		step->value = op->value;
		step->width = op->width;
	}
	return KF_OK;
}

static enum kf_code load_plan(struct kf_device *dev,
			      const struct kf_opencl_binary *binary,
			      const struct kf_plan *plan, bool preparing,
			      char refused[256], struct kf_err *err)
{
	struct ocl_replay *r = preparing ? &dev->prepare : &dev->forward;
	struct loader l = {
		.dev = dev,
		.binary = binary,
		.place = preparing ? dev->layout.prepare
				   : dev->layout.forward,
		.replay = r,
		.whole = kf_alloc(plan->buffer_count * sizeof(l.whole[0])),
	};
	enum kf_code code = KF_OK;
	char why[256] = "";

	r->plan = plan;
	r->step = kf_alloc(plan->op_count * sizeof(r->step[0]));
	for (size_t i = 0; i < plan->op_count && !code && !why[0]; i++) {
		r->count = i + 1;
		code = load_op(&l, &plan->op[i], &r->step[i], why, err);
		if (why[0])
			refuse(&plan->op[i], i, preparing, why, refused);
	}
	free(l.whole);
	return code;
}

/* --- the program ---------------------------------------------------------- */

static enum kf_code make_code(struct kf_device *dev,
			      const struct kf_opencl_binary *binary,
			      char refused[256], struct kf_err *err)
{
	const struct ocl_api *cl = &dev->cl;
	int32_t status = 0, e = 0;
	char text[64];

	if (strcmp(binary->device, dev->name) != 0 ||
	    strcmp(binary->driver, dev->driver) != 0)
		return kf_fail(err, KF_E_UNAVAIL, "the kernels were built for "
			       "%.50s with driver %.24s, and this is %.50s "
			       "with driver %.24s; build them again",
			       binary->device, binary->driver, dev->name,
			       dev->driver);
	dev->code = cl->clCreateProgramWithBinary(dev->context, 1,
			&dev->device, &binary->len, &binary->bytes, &status,
			&e);
	if (dev->code && !e && !status)
		e = cl->clBuildProgram(dev->code, 1, &dev->device, "", NULL,
				       NULL);
	e = e ? e : status;
	/* Some devices compile only now. */
	if (e == CL_BUILD_PROGRAM_FAILURE)
		snprintf(refused, 256, "the kernels' binary is refused: %s",
			 kf_ocl_error(e, text));
	else if (e)
		return kf_fail(err, KF_E_UNAVAIL, "OpenCL cannot load the "
			       "kernels: %s", kf_ocl_error(e, text));
	return KF_OK;
}

static uint64_t bytes_of(const struct kf_twopart_blocks *blocks)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < blocks->count; i++)
		bytes += blocks->block[i].bytes;
	return bytes;
}

/* What is kept is held twice: once here, to see whether it was changed. */
static bool copies_fit(const struct kf_device *dev, char refused[256])
{
	const struct kf_twopart_layout *l = &dev->layout;
	uint64_t temp = bytes_of(&l->forward_temp), kept = bytes_of(&l->kept);

	if (bytes_of(&l->prepare_temp) > temp)
		temp = bytes_of(&l->prepare_temp);
	if (kept <= dev->memory_max / 2 && 2 * kept <= dev->memory_max - temp)
		return true;
	snprintf(refused, 256, "kf_keep asks for %llu MiB, which count twice "
		 "on this platform, and kf_temp for %llu; a program may use "
		 "%llu MiB in all: keep less", (unsigned long long)(kept >> 20),
		 (unsigned long long)(temp >> 20),
		 (unsigned long long)(dev->memory_max >> 20));
	return false;
}

static bool scratch_fits(struct kf_device *dev, char refused[256])
{
	const struct kf_twopart_room room = {
		.device = dev->name, .bytes = dev->memory_bytes,
		.ours_bytes = dev->flush_bytes, .piece_bytes = dev->alloc_max,
	};

	dev->short_of_memory = !kf_twopart_fits(&dev->layout, &room, refused) ||
			       !copies_fit(dev, refused);
	return !dev->short_of_memory;
}

bool kf_opencl_short_of_memory(const struct kf_device *dev)
{
	return dev->short_of_memory;
}

static enum kf_code load_parts(struct kf_device *dev, char refused[256],
			       struct kf_err *err)
{
	const struct kf_twopart *t = &dev->program;
	const uint64_t *bytes = dev->layout.arena_bytes;
	const uint64_t alignment = dev->limits.alignment > TEMP_ALIGNMENT
				   ? dev->limits.alignment : TEMP_ALIGNMENT;
	struct kf_opencl_binary binary;
	enum kf_code code = KF_OK;

	if (!kf_opencl_binary_read(t->device->data, t->device->len, &binary))
		code = kf_fail(err, KF_E_IO, "the kernels' binary is none of "
			       "OpenCL");
	else
		code = make_code(dev, &binary, refused, err);
	if (code || refused[0] ||
	    !kf_twopart_lay_out(&t->plans, &dev->tensors, alignment,
				dev->memory_max, &dev->layout, refused) ||
	    !scratch_fits(dev, refused))
		goto out;
	code = kf_opencl_arena(dev, KF_TWOPART_SCRATCH,
			       bytes[KF_TWOPART_SCRATCH], err);
	if (!code)
		code = kf_opencl_arena(dev, KF_TWOPART_KEPT,
				       bytes[KF_TWOPART_KEPT], err);
	if (!code && t->plans.has_prepare)
		code = load_plan(dev, &binary, &t->plans.prepare, true,
				 refused, err);
	if (!code && !refused[0])
		code = load_plan(dev, &binary, &t->plans.forward, false,
				 refused, err);
out:
	kf_opencl_binary_release(&binary);
	return code;
}

enum kf_code kf_opencl_load(struct kf_device *dev, const char *artefact_path,
			    char refused[256], struct kf_err *err)
{
	enum kf_code code;

	if (dev->program.device)
		return kf_fail(err, KF_E_INPUT,
			       "a program is loaded already; open the device "
			       "again for the next");
	code = kf_twopart_read(artefact_path, &dev->program, refused, err);
	if (code || refused[0])
		return code;
	if (!dev->attached)
		return kf_fail(err, KF_E_INPUT, "no tensors are attached");
	code = load_parts(dev, refused, err);
	if (!code && !refused[0])
		code = kf_opencl_time_empty(dev, err);
	dev->loaded = !code && !refused[0];
	return code;
}

static void replay_release(const struct ocl_api *cl, struct ocl_replay *r)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->step[i].kernel)
			cl->clReleaseKernel(r->step[i].kernel);
	for (size_t i = 0; i < r->part_count; i++)
		cl->clReleaseMemObject(r->part[i]);
	free(r->step);
	free(r->part);
	*r = (struct ocl_replay) { .plan = NULL };
}

void kf_opencl_unload(struct kf_device *dev)
{
	replay_release(&dev->cl, &dev->prepare);
	replay_release(&dev->cl, &dev->forward);
	if (dev->code)
		dev->cl.clReleaseProgram(dev->code);
	dev->code = NULL;
	kf_twopart_layout_release(&dev->layout);
	kf_twopart_release(&dev->program);
}
