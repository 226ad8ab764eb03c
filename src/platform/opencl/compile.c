/* Kernels to the part "device" of a pack, by the device's own compiler. */
#include "platform/opencl/opencl.h"

#define SOURCE_MAX	(4u << 20)
#define KERNELS_MAX	1024u

/* One compilation; everything is NULL until it is there. */
struct compiler {
	struct ocl_api cl;
	struct ocl_device *device;
	struct ocl_context *context;
	struct ocl_program *program;
	struct kf_opencl_binary binary;
	unsigned char *bytes;		/* owned; what binary.bytes is */
};

/* All sources as one text; each says its name, which messages then have. */
static enum kf_code read_sources(const struct kf_build_request *req,
				 struct kf_buf *text, struct kf_err *err)
{
	enum kf_code code = KF_OK;

	for (size_t i = 0; i + 1 < req->source_count && !code; i++) {
		const char *slash = strrchr(req->source[i], '/');

		kf_buf_printf(text, "#line 1 \"%s\"\n",
			      slash ? slash + 1 : req->source[i]);
		code = kf_file_read(req->source[i], text, err);
		kf_buf_puts(text, "\n");
	}
	return code;
}

static enum kf_code make_program(struct compiler *c,
				 const struct kf_build_request *req,
				 struct kf_err *err)
{
	struct kf_buf text = { .max = SOURCE_MAX };
	enum kf_code code = read_sources(req, &text, err);
	const char *source = kf_buf_str(&text);
	int32_t e = 0;

	if (!code)
		code = kf_ocl_open(&c->cl, err);
	if (!code)
		code = kf_ocl_device(&c->cl, req->device_id, &c->device, err);
	if (code)
		goto out;
	c->context = c->cl.clCreateContext(NULL, 1, &c->device, NULL, NULL,
					   &e);
	if (c->context)
		c->program = c->cl.clCreateProgramWithSource(c->context, 1,
				&source, &text.len, &e);
	if (!c->program)
		code = kf_ocl_trouble("take the source", e, err);
out:
	kf_buf_release(&text);
	return code;
}

static void add_log(struct compiler *c, struct kf_buf *log)
{
	size_t bytes = 0;
	char *text;

	if (c->cl.clGetProgramBuildInfo(c->program, c->device,
					CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes))
		return;
	text = kf_alloc(bytes + 1);
	c->cl.clGetProgramBuildInfo(c->program, c->device,
				    CL_PROGRAM_BUILD_LOG, bytes, text, NULL);
	kf_opencl_add_log(text, c->binary.device, log);
	free(text);
}

/* --- kernels and the binary ----------------------------------------------- */

/* A text longer than its room is cut: then its type is one we do not know. */
static void argument_text(const struct ocl_api *cl, struct ocl_kernel *kernel,
			  uint32_t index, uint32_t what, char *text,
			  size_t size)
{
	char all[1024] = "";

	if (cl->clGetKernelArgInfo(kernel, index, what, sizeof(all), all,
				   NULL))
		all[0] = '\0';
	snprintf(text, size, "%.*s", (int)size - 1, all);
}

static int32_t describe_kernel(const struct ocl_api *cl,
			       struct ocl_kernel *kernel,
			       struct kf_opencl_kernel *out)
{
	uint32_t count = 0;
	int32_t e = cl->clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME,
					sizeof(out->name), out->name, NULL);

	if (!e)
		e = cl->clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS,
					sizeof(count), &count, NULL);
	if (e)
		return e;
	out->parameter = kf_alloc(count * sizeof(out->parameter[0]));
	out->parameter_count = count;
	for (uint32_t i = 0; i < count && !e; i++) {
		struct kf_opencl_parameter *p = &out->parameter[i];

		e = cl->clGetKernelArgInfo(kernel, i,
				CL_KERNEL_ARG_ADDRESS_QUALIFIER,
				sizeof(p->where), &p->where, NULL);
		argument_text(cl, kernel, i, CL_KERNEL_ARG_TYPE_NAME, p->type,
			      sizeof(p->type));
		argument_text(cl, kernel, i, CL_KERNEL_ARG_NAME, p->name,
			      sizeof(p->name));
	}
	return e;
}

static enum kf_code describe_kernels(struct compiler *c, struct kf_build *out,
				     struct kf_err *err)
{
	struct ocl_kernel **kernel = kf_alloc(KERNELS_MAX *
					      sizeof(kernel[0]));
	struct kf_opencl_binary *b = &c->binary;
	uint32_t count = 0;
	int32_t e;

	e = c->cl.clCreateKernelsInProgram(c->program, KERNELS_MAX, kernel,
					   &count);
	if (!count || count > KERNELS_MAX) {
		kf_buf_printf(&out->log, "kernels.cl: error: there must be 1 "
			      "to %u functions that are __kernel, and there "
			      "are %u\n", KERNELS_MAX, count);
		out->end = KF_BUILD_REFUSED;
		free(kernel);
		return KF_OK;
	}
	b->kernel = kf_alloc(count * sizeof(b->kernel[0]));
	for (uint32_t i = 0; i < count; i++) {
		if (!e)
			e = describe_kernel(&c->cl, kernel[i],
					    &b->kernel[i]);
		b->kernel_count = i + 1;
		c->cl.clReleaseKernel(kernel[i]);
	}
	free(kernel);
	return e ? kf_ocl_trouble("tell of the kernels", e, err) : KF_OK;
}

/* The program's doing: tables in it, or kernels without end. */
static enum kf_code too_large(const struct kf_buf *device, size_t bytes,
			      struct kf_build *out)
{
	kf_buf_printf(&out->log, "kernels.cl: error: too large: its binary has "
		      "%zu bytes, the most is %zu\n", bytes, device->max);
	out->end = KF_BUILD_TOO_LARGE;
	return KF_OK;
}

static enum kf_code take_binary(struct compiler *c, struct kf_buf *device,
				struct kf_build *out, struct kf_err *err)
{
	size_t bytes = 0;
	int32_t e = c->cl.clGetProgramInfo(c->program, CL_PROGRAM_BINARY_SIZES,
					   sizeof(bytes), &bytes, NULL);

	if (e || !bytes)
		return kf_ocl_trouble("give the kernels' binary", e, err);
	if (bytes > device->max)
		return too_large(device, bytes, out);
	c->bytes = kf_alloc(bytes);
	e = c->cl.clGetProgramInfo(c->program, CL_PROGRAM_BINARIES,
				   sizeof(c->bytes), &c->bytes, NULL);
	if (e)
		return kf_ocl_trouble("give the kernels' binary", e, err);
	c->binary.bytes = c->bytes;
	c->binary.len = bytes;
	kf_opencl_binary_write(&c->binary, device);
	/* What is told of the kernels comes on top. */
	return device->len < device->max ? KF_OK :
		too_large(device, bytes, out);
}

static void compiler_release(struct compiler *c)
{
	if (c->program)
		c->cl.clReleaseProgram(c->program);
	if (c->context)
		c->cl.clReleaseContext(c->context);
	kf_opencl_binary_release(&c->binary);
	free(c->bytes);
}

/* In the language that the device's card tells. */
static int32_t build_program(struct compiler *c, struct kf_build *out)
{
	struct kf_opencl_told *told = kf_alloc(sizeof(*told));
	char options[64];
	int32_t e;

	kf_opencl_ask(&c->cl, c->device, told);
	snprintf(options, sizeof(options), "-cl-std=CL%s -cl-kernel-arg-info",
		 kf_opencl_language(told));
	snprintf(out->kernels, sizeof(out->kernels), "OpenCL C %s",
		 kf_opencl_language(told));
	e = c->cl.clBuildProgram(c->program, 1, &c->device, options, NULL,
				 NULL);
	free(told);
	return e;
}

static enum kf_code compile(const struct kf_build_request *req,
			    struct kf_twopart_made *made, struct kf_build *out,
			    struct kf_err *err)
{
	struct compiler c = { .device = NULL };
	enum kf_code code = make_program(&c, req, err);
	int32_t e;

	if (code)
		goto out;
	kf_ocl_text(&c.cl, c.device, CL_DEVICE_NAME, c.binary.device,
		    sizeof(c.binary.device));
	kf_ocl_text(&c.cl, c.device, CL_DRIVER_VERSION, c.binary.driver,
		    sizeof(c.binary.driver));
	e = build_program(&c, out);
	add_log(&c, &out->log);
	if (e == CL_OUT_OF_HOST_MEMORY)
		out->end = KF_BUILD_TOO_LARGE;
	else if (e == CL_BUILD_PROGRAM_FAILURE)
		out->end = KF_BUILD_REFUSED;
	else if (e)
		code = kf_ocl_trouble("compile", e, err);
	if (e)
		goto out;
	code = describe_kernels(&c, out, err);
	if (!code && !out->end)
		code = take_binary(&c, &made->device, out, err);
	if (!code && !out->end)
		out->end = KF_BUILD_DONE;
out:
	compiler_release(&c);
	return code;
}

enum kf_code kf_opencl_build(const struct kf_build_request *req,
			     struct kf_build *out, struct kf_err *err)
{
	if (req->source_count < 2)
		return kf_fail(err, KF_E_INPUT, "the OpenCL driver needs "
			       "kernels and host.c");
	return kf_twopart_build(req, compile, out, err);
}
