/* Does a device still compute? A kernel whose every number is known. */
#include "platform/opencl/opencl.h"

#include "platform/canary.h"

#define ITEMS	4096u
#define FACTOR	2654435761u
#define ADDED	12345u

static const char source[] =
"__kernel void canary(__global uint *y, uint factor, uint added)\n"
"{\n"
"	y[get_global_id(0)] = (uint)get_global_id(0) * factor + added;\n"
"}\n";

struct bird {
	struct ocl_api cl;
	struct ocl_device *device;
	struct ocl_context *context;
	struct ocl_queue *queue;
	struct ocl_program *program;
	struct ocl_kernel *kernel;
	struct ocl_mem *memory;
};

/* The process ends soon, so nothing is given back. */
static int32_t hatch(struct bird *b)
{
	const struct ocl_api *cl = &b->cl;
	const char *text = source;
	int32_t e = 0;

	b->context = cl->clCreateContext(NULL, 1, &b->device, NULL, NULL, &e);
	if (!e)
		b->queue = cl->clCreateCommandQueue(b->context, b->device, 0,
						    &e);
	if (!e)
		b->memory = cl->clCreateBuffer(b->context, CL_MEM_READ_WRITE,
					       ITEMS * sizeof(uint32_t), NULL,
					       &e);
	if (!e)
		b->program = cl->clCreateProgramWithSource(b->context, 1,
							   &text, NULL, &e);
	if (!e)
		e = cl->clBuildProgram(b->program, 1, &b->device, "", NULL,
				       NULL);
	if (!e)
		b->kernel = cl->clCreateKernel(b->program, "canary", &e);
	return e;
}

static int32_t run(struct bird *b, uint32_t *got)
{
	const struct ocl_api *cl = &b->cl;
	const uint32_t factor = FACTOR, added = ADDED;
	const size_t items = ITEMS;
	int32_t e = cl->clSetKernelArg(b->kernel, 0, sizeof(b->memory),
				       &b->memory);

	if (!e)
		e = cl->clSetKernelArg(b->kernel, 1, sizeof(factor), &factor);
	if (!e)
		e = cl->clSetKernelArg(b->kernel, 2, sizeof(added), &added);
	if (!e)
		e = cl->clEnqueueNDRangeKernel(b->queue, b->kernel, 1, NULL,
					       &items, NULL, 0, NULL, NULL);
	return e ? e : cl->clEnqueueReadBuffer(b->queue, b->memory, 1, 0,
					       ITEMS * sizeof(got[0]), got, 0,
					       NULL, NULL);
}

static enum kf_code sing(const char *device_id, struct kf_err *err)
{
	struct bird b = { .device = NULL };
	uint32_t got[ITEMS] = { 0 };
	enum kf_code code = kf_ocl_open(&b.cl, err);
	int32_t e = 0;

	if (!code)
		code = kf_ocl_device(&b.cl, device_id, &b.device, err);
	if (code)
		return code;
	e = hatch(&b);
	if (!e)
		e = run(&b, got);
	if (e)
		return kf_ocl_trouble("run a small program of kforge's own", e,
				      err);
	for (uint32_t i = 0; i < ITEMS; i++)
		if (got[i] != i * FACTOR + ADDED)
			return kf_fail(err, KF_E_UNAVAIL, "a kernel of "
				       "kforge's own gave a wrong result on "
				       "it");
	return KF_OK;
}

enum kf_code kf_opencl_canary(const char *device_id, uint64_t timeout_ns,
			      struct kf_err *err)
{
	return kf_canary_run(sing, device_id, timeout_ns, err);
}
