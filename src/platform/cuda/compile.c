/* kernels.cu to device code, by NVRTC, for the device's own architecture. */
#include "platform/cuda/cuda.h"

#define SOURCE_MAX	(4u << 20)
#define CUBIN_MAX	(32u << 20)
#define OPTIONS_MAX	24
#define ARCHS_MAX	128

struct options {
	char *option[OPTIONS_MAX];	/* owned */
	int count;
};

static void add_option(struct options *o, const char *prefix, const char *value)
{
	if (o->count < OPTIONS_MAX)
		o->option[o->count++] = kf_format("%s%s", prefix, value);
}

static void options_release(struct options *o)
{
	for (int i = 0; i < o->count; i++)
		free(o->option[i]);
	o->count = 0;
}

static void add_folder(void *arg, const char *folder)
{
	add_option(arg, "--include-path=", folder);
}

static void make_options(const struct kf_nvrtc *nvrtc, const char *arch,
			 struct options *o)
{
	add_option(o, "--gpu-architecture=", arch);
	add_option(o, "-std=c++17", "");
	add_option(o, "-lineinfo", "");
	add_option(o, "--ptxas-options=-v", "");
	add_option(o, "--pre-include=", kf_cuda_header_name[0]);
	kf_cuda_header_folders(nvrtc->path, add_folder, o);
}

/* NVRTC's list has 90 for sm_90 and sm_90a alike. */
static bool knows_arch(const struct kf_nvrtc *nvrtc, const char *arch)
{
	int archs[ARCHS_MAX], count = 0, wanted = 0;

	for (const char *at = arch; *at; at++)
		if (*at >= '0' && *at <= '9' && wanted < 10000)
			wanted = 10 * wanted + (*at - '0');
	if (nvrtc->arch_count(&count) || count > ARCHS_MAX ||
	    nvrtc->archs(archs))
		return true;	/* let the compiler say it */
	for (int i = 0; i < count; i++)
		if (archs[i] == wanted)
			return true;
	return false;
}

/* Returns whether the compiler said anything. */
static bool add_log(const struct kf_nvrtc *nvrtc, void *program,
		    struct kf_buf *out)
{
	size_t bytes = 0;
	char *log;

	if (nvrtc->log_bytes(program, &bytes))
		return false;
	log = kf_alloc(bytes + 1);
	nvrtc->log(program, log);
	kf_cuda_log(log, out);
	free(log);
	return out->len > 0;
}

static enum kf_code take_cubin(const struct kf_nvrtc *nvrtc, void *program,
			       struct kf_buf *device, struct kf_build *out,
			       struct kf_err *err)
{
	size_t bytes = 0;
	char *cubin;

	if (nvrtc->cubin_bytes(program, &bytes) || !bytes)
		return kf_fail(err, KF_E_UNAVAIL,
			       "NVRTC gives no device code");
	if (bytes > CUBIN_MAX) {
		kf_buf_printf(&out->log, "kernels.cu: error: its code has %zu "
			      "bytes, the most is %u\n", bytes, CUBIN_MAX);
		out->end = KF_BUILD_TOO_LARGE;
		return KF_OK;
	}
	cubin = kf_alloc(bytes);
	if (nvrtc->cubin(program, cubin) == 0) {
		kf_buf_add(device, cubin, bytes);
		out->end = KF_BUILD_DONE;
	}
	free(cubin);
	if (out->end != KF_BUILD_DONE)
		return kf_fail(err, KF_E_UNAVAIL,
			       "NVRTC does not hand over the device code");
	return KF_OK;
}

/* NVRTC keeps to itself what its assembler finds wrong. */
static void refuse(struct kf_build *out)
{
	out->end = KF_BUILD_REFUSED;
	if (!strstr(kf_buf_str(&out->log), "error"))
		kf_buf_puts(&out->log, "kernels.cu: error: the assembler "
			    "refuses a kernel: too much static shared memory "
			    "(see above; a launch can have more, as "
			    "shared_bytes), or inline PTX for another "
			    "device\n");
}

static enum kf_code compile(const struct kf_nvrtc *nvrtc, const char *source,
			    const struct options *options,
			    struct kf_buf *device, struct kf_build *out,
			    struct kf_err *err)
{
	void *program = NULL;
	enum kf_code code = KF_OK;
	bool spoken;
	int result;

	result = nvrtc->create(&program, source, "kernels.cu",
			       (int)kf_cuda_header_count, kf_cuda_header,
			       kf_cuda_header_name);
	if (result)
		return kf_fail(err, KF_E_UNAVAIL, "NVRTC does not start: %s",
			       nvrtc->error(result));
	result = nvrtc->compile(program, options->count,
				(const char *const *)options->option);
	spoken = add_log(nvrtc, program, &out->log);
	if (!result)
		code = take_cubin(nvrtc, program, device, out, err);
	else if (spoken)
		refuse(out);
	else
		code = kf_fail(err, KF_E_UNAVAIL, "NVRTC fails: %s",
			       nvrtc->error(result));
	nvrtc->destroy(&program);
	return code;
}

/* Runs in a process of its own: NVRTC changes its thread's locale. */
static enum kf_code compile_kernels(const struct kf_build_request *req,
				    struct kf_buf *device, struct kf_build *out,
				    struct kf_err *err)
{
	struct kf_buf source = { .max = SOURCE_MAX };
	struct options options = { .count = 0 };
	struct kf_nvrtc nvrtc;
	enum kf_code code = kf_nvrtc_open(&nvrtc, err);

	if (!code)
		code = kf_file_read(req->source[0], &source, err);
	if (!code && !knows_arch(&nvrtc, req->arch))
		code = kf_fail(err, KF_E_UNAVAIL, "%s does not compile for "
			       "%s: install a newer CUDA toolkit", nvrtc.path,
			       req->arch);
	if (!code) {
		make_options(&nvrtc, req->arch, &options);
		code = compile(&nvrtc, kf_buf_str(&source), &options, device,
			       out, err);
	}
	options_release(&options);
	kf_buf_release(&source);
	kf_nvrtc_release(&nvrtc);
	return code;
}

enum kf_code kf_cuda_build(const struct kf_build_request *req,
			   struct kf_build *out, struct kf_err *err)
{
	return kf_twopart_build(req, compile_kernels, out, err);
}
