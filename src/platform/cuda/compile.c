/* kernels.cu to device code, by NVRTC, for the device's own architecture. */
#include "platform/cuda/cuda.h"

#define SOURCE_MAX	(4u << 20)
#define CUBIN_MAX	(32u << 20)
#define PTX_MAX		(64u << 20)
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

/* One compilation. */
struct work {
	const struct kf_nvrtc *nvrtc;
	void *program;
	const char *source, *arch;
};

/* Headers of CUTLASS have functions that say nothing of where they run. Not for
 * other programs: nvcc, which compiles exports, has no such option. */
static bool lacks_spaces(const char *source)
{
	return strstr(source, "cute/") || strstr(source, "cutlass/");
}

/* arch: "sm_90a", or for its PTX "compute_90a". */
static void make_options(const struct work *w, const char *arch,
			 struct options *o)
{
	add_option(o, "--gpu-architecture=", arch);
	add_option(o, "-std=c++17", "");
	add_option(o, "-lineinfo", "");
	add_option(o, "--ptxas-options=-v", "");
	add_option(o, "--pre-include=", kf_cuda_header_name[0]);
	if (lacks_spaces(w->source))
		add_option(o, "-default-device", "");
	kf_cuda_header_folders(w->nvrtc->path, add_folder, o);
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

/* Of what was compiled; caller frees, NULL: there is none. */
static char *take_ptx(const struct work *w)
{
	size_t bytes = 0;
	char *ptx;

	if (w->nvrtc->ptx_bytes(w->program, &bytes) || !bytes ||
	    bytes > PTX_MAX)
		return NULL;
	ptx = kf_alloc(bytes + 1);
	if (w->nvrtc->ptx(w->program, ptx) == 0)
		return ptx;
	free(ptx);
	return NULL;
}

/* The code, and of the PTX that it was made from what the kernels take. */
static enum kf_code take_code(const struct work *w,
			      struct kf_twopart_made *made,
			      struct kf_build *out, struct kf_err *err)
{
	enum kf_code code = take_cubin(w->nvrtc, w->program, &made->device,
				       out, err);
	char *ptx = code ? NULL : take_ptx(w);

	if (ptx)
		kf_cuda_parameters(ptx, &made->parameters);
	free(ptx);
	return code;
}

/* --- refused -------------------------------------------------------------- */

/* The PTX of a program that compiles and is not assembled; caller frees, NULL:
 * there is none. */
static char *ptx_of(const struct work *w)
{
	const char *digits = w->arch + strcspn(w->arch, "0123456789");
	char *kind = kf_format("compute_%s", digits);
	struct options options = { .count = 0 };
	char *ptx = NULL;

	make_options(w, kind, &options);
	if (w->nvrtc->compile(w->program, options.count,
			      (const char *const *)options.option) == 0)
		ptx = take_ptx(w);
	options_release(&options);
	free(kind);
	return ptx;
}

/* When it is to be over. */
struct deadline { uint64_t start_ns, end_ns; };

static uint64_t left_of(const struct deadline *d)
{
	uint64_t now_ns = kf_now_ns();

	return now_ns < d->end_ns ? d->end_ns - now_ns : 0;
}

/* Only where there is time to compile once more, and for that. */
static bool may_ask(const struct deadline *d)
{
	return left_of(d) > 2 * (kf_now_ns() - d->start_ns);
}

static void ask_assembler(const struct work *w, const char *ptx,
			  const struct deadline *d, struct kf_buf *out)
{
	char *ptxas = kf_cuda_assembler_path(w->nvrtc->path);

	if (ptxas && left_of(d) / 2)
		kf_cuda_assemble(ptxas, w->arch, ptx, left_of(d) / 2, out);
	free(ptxas);
}

/* What an assembler says is told once, where it belongs, and first. */
static void replace_words(const struct kf_buf *told, struct kf_buf *log)
{
	struct kf_buf before = *log;
	const char *line = kf_buf_str(&before);

	*log = (struct kf_buf) { .max = before.max };
	kf_buf_add(log, kf_buf_str(told), told->len);
	while (*line) {
		size_t len = strcspn(line, "\n");

		len += line[len] == '\n';
		if (strncmp(line, "ptxas ", 6) != 0)
			kf_buf_add(log, line, len);
		line += len;
	}
	kf_buf_release(&before);
}

/* First, for of a long log only the beginning goes into a prompt. */
static void add_hint(const char *source, struct kf_buf *log)
{
	struct kf_buf before = *log;

	*log = (struct kf_buf) { .max = before.max };
	kf_cuda_hint(source, kf_buf_str(&before), log);
	kf_buf_add(log, kf_buf_str(&before), before.len);
	kf_buf_release(&before);
}

static void refuse(const struct work *w, const struct deadline *d,
		   struct kf_build *out)
{
	struct kf_buf told = { .max = KF_BUILD_LOG_BYTES };
	char *ptx = NULL;

	out->end = KF_BUILD_REFUSED;
	if (strstr(kf_buf_str(&out->log), "error:")) {
		add_hint(w->source, &out->log);
		return;		/* the compiler's own */
	}
	if (may_ask(d))
		ptx = ptx_of(w);
	if (ptx)
		kf_cuda_assembler_words(ptx, kf_buf_str(&out->log), &told);
	if (ptx && !told.len)
		ask_assembler(w, ptx, d, &told);
	if (told.len)
		replace_words(&told, &out->log);
	else
		kf_buf_puts(&out->log, "kernels.cu: error: the assembler "
			    "refuses a kernel: too much static shared memory "
			    "(see above; a launch can have more, as "
			    "shared_bytes), too few registers for it (fewer "
			    "threads in __launch_bounds__ leave it more), or "
			    "inline PTX for another device\n");
	kf_buf_release(&told);
	free(ptx);
}

/* --- compile -------------------------------------------------------------- */

static enum kf_code compile(const struct kf_nvrtc *nvrtc, const char *source,
			    const struct kf_build_request *req,
			    struct kf_twopart_made *made, struct kf_build *out,
			    struct kf_err *err)
{
	const struct deadline deadline = {
		kf_now_ns(), kf_now_ns() + req->timeout_ns,
	};
	struct work w = { .nvrtc = nvrtc, .source = source, .arch = req->arch };
	struct options options = { .count = 0 };
	enum kf_code code = KF_OK;
	bool spoken;
	int result;

	result = nvrtc->create(&w.program, source, "kernels.cu",
			       (int)kf_cuda_header_count, kf_cuda_header,
			       kf_cuda_header_name);
	if (result)
		return kf_fail(err, KF_E_UNAVAIL, "NVRTC does not start: %s",
			       nvrtc->error(result));
	make_options(&w, req->arch, &options);
	result = nvrtc->compile(w.program, options.count,
				(const char *const *)options.option);
	spoken = add_log(nvrtc, w.program, &out->log);
	if (!result)
		code = take_code(&w, made, out, err);
	else if (spoken)
		refuse(&w, &deadline, out);
	else
		code = kf_fail(err, KF_E_UNAVAIL, "NVRTC fails: %s",
			       nvrtc->error(result));
	nvrtc->destroy(&w.program);
	options_release(&options);
	return code;
}

/* Runs in a process of its own: NVRTC changes its thread's locale. */
static enum kf_code compile_kernels(const struct kf_build_request *req,
				    struct kf_twopart_made *made,
				    struct kf_build *out, struct kf_err *err)
{
	struct kf_buf source = { .max = SOURCE_MAX };
	struct kf_nvrtc nvrtc;
	enum kf_code code = kf_nvrtc_open(&nvrtc, err);

	if (!code)
		code = kf_file_read(req->source[0], &source, err);
	if (!code && !knows_arch(&nvrtc, req->arch))
		code = kf_fail(err, KF_E_UNAVAIL, "%s does not compile for "
			       "%s: install a newer CUDA toolkit", nvrtc.path,
			       req->arch);
	if (!code)
		code = compile(&nvrtc, kf_buf_str(&source), req, made, out,
			       err);
	kf_buf_release(&source);
	kf_nvrtc_release(&nvrtc);
	return code;
}

enum kf_code kf_cuda_build(const struct kf_build_request *req,
			   struct kf_build *out, struct kf_err *err)
{
	return kf_twopart_build(req, compile_kernels, out, err);
}
