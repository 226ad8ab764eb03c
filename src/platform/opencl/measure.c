/* What a device was measured to do: two kernels of our own, best of several. */
#include "platform/opencl/opencl.h"

#define ROUNDS		5u
#define ITEMS		(1u << 22)	/* of the copy */
#define PASSES		4u		/* 16 bytes each */
#define STEPS		512u		/* of the chains */
#define CHAINS		8u
#define FMA_ITEMS	(1u << 12)	/* doubled until it takes long enough */
#define FMA_ITEMS_MAX	(1u << 24)
#define FMA_NS		(3 * KF_NS_PER_MS)
#define GROUP		64u

/* V is the vector type, of the width that the device prefers, LANE what takes
 * one number of it. Independent chains hide the latency of a multiply-add. */
static const char source[] =
"__kernel void copy(__global const float4 *from, __global float4 *to)\n"
"{\n"
"	size_t n = get_global_size(0), i = get_global_id(0);\n"
"	for (int k = 0; k < 4; k++)\n"
"		to[i + k * n] = from[i + k * n];\n"
"}\n"
"__kernel void chains(__global float *out, float a, float b)\n"
"{\n"
"	V c0 = 0, c1 = 1, c2 = 2, c3 = 3, c4 = 4, c5 = 5, c6 = 6, c7 = 7;\n"
"	for (int k = 0; k < 512; k++) {\n"
"		c0 = fma(c0, a, b); c1 = fma(c1, a, b);\n"
"		c2 = fma(c2, a, b); c3 = fma(c3, a, b);\n"
"		c4 = fma(c4, a, b); c5 = fma(c5, a, b);\n"
"		c6 = fma(c6, a, b); c7 = fma(c7, a, b);\n"
"	}\n"
"	c0 = c0 + c1 + c2 + c3 + c4 + c5 + c6 + c7;\n"
"	out[get_global_id(0)] = c0 LANE;\n"
"}\n";

struct bench {
	const struct ocl_api *cl;
	struct ocl_device *device;
	struct ocl_context *context;
	struct ocl_queue *queue;
	struct ocl_program *program;
	struct ocl_mem *from, *to;
	unsigned width;
};

/* Pages that were never written would be read from one page of zeros. */
static bool touch(const struct bench *b, size_t bytes)
{
	const struct ocl_api *cl = b->cl;
	const float one = 1;

	return !cl->clEnqueueFillBuffer(b->queue, b->from, &one, sizeof(one),
					0, bytes, 0, NULL, NULL) &&
	       !cl->clEnqueueFillBuffer(b->queue, b->to, &one, sizeof(one),
					0, bytes, 0, NULL, NULL) &&
	       !cl->clFinish(b->queue);
}

static bool set_up(struct bench *b)
{
	const struct ocl_api *cl = b->cl;
	const char *text = source;
	const size_t bytes = (size_t)ITEMS * PASSES * 16;
	char options[128];
	int32_t e;

	b->width = (unsigned)kf_ocl_number(cl, b->device,
			CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT, 4);
	if (b->width != 2 && b->width != 4 && b->width != 8 && b->width != 16)
		b->width = 1;
	if (b->width == 1)
		snprintf(options, sizeof(options), "-cl-std=CL1.2 -DV=float "
			 "-DLANE=");
	else
		snprintf(options, sizeof(options), "-cl-std=CL1.2 -DV=float%u "
			 "-DLANE=.s0", b->width);
	b->context = cl->clCreateContext(NULL, 1, &b->device, NULL, NULL, &e);
	if (!b->context)
		return false;
	b->queue = cl->clCreateCommandQueue(b->context, b->device,
					    CL_QUEUE_PROFILING_ENABLE, &e);
	b->program = cl->clCreateProgramWithSource(b->context, 1, &text, NULL,
						   &e);
	b->from = cl->clCreateBuffer(b->context, CL_MEM_READ_WRITE, bytes,
				     NULL, &e);
	b->to = cl->clCreateBuffer(b->context, CL_MEM_READ_WRITE, bytes, NULL,
				   &e);
	return b->queue && b->program && b->from && b->to &&
	       !cl->clBuildProgram(b->program, 1, &b->device, options, NULL,
				   NULL) && touch(b, bytes);
}

static void tear_down(struct bench *b)
{
	const struct ocl_api *cl = b->cl;

	if (b->to)
		cl->clReleaseMemObject(b->to);
	if (b->from)
		cl->clReleaseMemObject(b->from);
	if (b->program)
		cl->clReleaseProgram(b->program);
	if (b->queue)
		cl->clReleaseCommandQueue(b->queue);
	if (b->context)
		cl->clReleaseContext(b->context);
}

/* Nanoseconds of one run; 0 if it failed. */
static uint64_t run_once(const struct bench *b, struct ocl_kernel *kernel,
			 size_t items)
{
	const struct ocl_api *cl = b->cl;
	const size_t group = GROUP;
	uint64_t start_ns = 0, end_ns = 0;
	struct ocl_event *event;

	if (cl->clEnqueueNDRangeKernel(b->queue, kernel, 1, NULL, &items,
				       &group, 0, NULL, &event))
		return 0;
	if (cl->clFinish(b->queue) ||
	    cl->clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START,
					sizeof(start_ns), &start_ns, NULL) ||
	    cl->clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END,
					sizeof(end_ns), &end_ns, NULL))
		end_ns = start_ns = 0;
	cl->clReleaseEvent(event);
	return end_ns - start_ns;
}

/* How much per second; work is what one run does. */
static double best_rate(const struct bench *b, struct ocl_kernel *kernel,
			size_t items, double work)
{
	uint64_t best_ns = 0;

	for (unsigned i = 0; i < ROUNDS; i++) {
		uint64_t took_ns = run_once(b, kernel, items);

		if (took_ns && (!best_ns || took_ns < best_ns))
			best_ns = took_ns;
	}
	return best_ns ? work / ((double)best_ns * 1e-9) : 0;
}

static double measure_copy(const struct bench *b)
{
	const struct ocl_api *cl = b->cl;
	int32_t e;
	struct ocl_kernel *kernel = cl->clCreateKernel(b->program, "copy", &e);
	double rate = 0;

	if (!kernel)
		return 0;
	if (!cl->clSetKernelArg(kernel, 0, sizeof(b->from), &b->from) &&
	    !cl->clSetKernelArg(kernel, 1, sizeof(b->to), &b->to))
		rate = best_rate(b, kernel, ITEMS,
				 2.0 * 16 * (double)ITEMS * PASSES);
	cl->clReleaseKernel(kernel);
	return rate;
}

static double measure_flops(const struct bench *b)
{
	const float a = 0.999f, c = 1e-3f;
	const struct ocl_api *cl = b->cl;
	int32_t e;
	struct ocl_kernel *kernel = cl->clCreateKernel(b->program, "chains",
						       &e);
	const double each = 2.0 * CHAINS * STEPS * b->width;
	size_t items = FMA_ITEMS;
	double rate = 0;

	if (!kernel)
		return 0;
	if (!cl->clSetKernelArg(kernel, 0, sizeof(b->to), &b->to) &&
	    !cl->clSetKernelArg(kernel, 1, sizeof(a), &a) &&
	    !cl->clSetKernelArg(kernel, 2, sizeof(c), &c)) {
		run_once(b, kernel, items);
		while (items < FMA_ITEMS_MAX &&
		       run_once(b, kernel, items) < FMA_NS)
			items *= 2;
		rate = best_rate(b, kernel, items, each * (double)items);
	}
	cl->clReleaseKernel(kernel);
	return rate;
}

void kf_opencl_measure(const struct ocl_api *cl, struct ocl_device *device,
		       struct kf_opencl_measured *out)
{
	struct bench b = { .cl = cl, .device = device };

	*out = (struct kf_opencl_measured) { 0, 0 };
	if (set_up(&b)) {
		out->copy_bytes_per_s = measure_copy(&b);
		out->flops = measure_flops(&b);
	}
	tear_down(&b);
}
