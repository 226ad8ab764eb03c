/* From sources to a pack, and from a pack to plans. */
#include "platform/twopart.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "platform/apart.h"
#include "platform/host/host.h"

#define PACK_MAX	(64u << 20)	/* bytes, either kind of pack */
#define DEVICE_MAX	(32u << 20)	/* the kernels' binary */
#define PARAMETERS_MAX	(1u << 20)

/* --- build ---------------------------------------------------------------- */

/* What the compiling process is asked, and how its answer begins: the log
 * follows, then what it made. */
struct question {
	const struct kf_build_request *req;
	kf_twopart_compile_fn *compile;
};

struct answer {
	enum kf_code code;
	enum kf_build_end end;
	size_t log_bytes, device_bytes, parameters_bytes;
	char kernels[32];
	struct kf_err err;
};

static struct kf_twopart_made made_nothing(void)
{
	return (struct kf_twopart_made) { .device.max = DEVICE_MAX,
					  .parameters.max = PARAMETERS_MAX };
}

static void made_release(struct kf_twopart_made *made)
{
	kf_buf_release(&made->device);
	kf_buf_release(&made->parameters);
}

static void compile_here(void *arg, struct kf_buf *out)
{
	const struct question *asked = arg;
	struct kf_build build = { .log.max = KF_BUILD_LOG_BYTES };
	struct kf_twopart_made made = made_nothing();
	struct answer answer = { 0 };

	answer.code = asked->compile(asked->req, &made, &build, &answer.err);
	answer.end = build.end;
	memcpy(answer.kernels, build.kernels, sizeof(answer.kernels));
	answer.log_bytes = build.log.len;
	answer.device_bytes = made.device.len;
	answer.parameters_bytes = made.parameters.len;
	kf_buf_add(out, &answer, sizeof(answer));
	kf_buf_add(out, kf_buf_str(&build.log), build.log.len);
	kf_buf_add(out, kf_buf_str(&made.device), made.device.len);
	kf_buf_add(out, kf_buf_str(&made.parameters), made.parameters.len);
	kf_build_release(&build);
	made_release(&made);
}

/* The compiler did not come back: that is the program's doing. */
static void tell_end(const struct kf_apart_end *end, struct kf_build *out)
{
	out->end = end->timed_out ? KF_BUILD_TOO_SLOW
		 : end->signal == SIGKILL ? KF_BUILD_TOO_LARGE
					  : KF_BUILD_REFUSED;
	if (end->timed_out)
		kf_buf_puts(&out->log, "the compiler of the kernels took too "
			    "long and was stopped\n");
	else if (end->signal)
		kf_buf_printf(&out->log, "the compiler of the kernels was "
			      "ended by signal %d (%s)\n", end->signal,
			      strsignal(end->signal));
	else
		kf_buf_puts(&out->log, "the compiler of the kernels left "
			    "without a word\n");
}

static enum kf_code take_answer(const struct kf_apart_end *end,
				const struct kf_buf *result,
				struct kf_twopart_made *made,
				struct kf_build *out, struct kf_err *err)
{
	const char *from = kf_buf_str(result);
	struct answer answer = { .code = KF_OK };

	if (result->len >= sizeof(answer))
		memcpy(&answer, from, sizeof(answer));
	if (result->len < sizeof(answer) ||
	    answer.log_bytes > KF_BUILD_LOG_BYTES ||
	    answer.device_bytes > DEVICE_MAX ||
	    answer.parameters_bytes > PARAMETERS_MAX ||
	    result->len != sizeof(answer) + answer.log_bytes +
			   answer.device_bytes + answer.parameters_bytes) {
		tell_end(end, out);
		return KF_OK;
	}
	if (answer.code)
		return kf_fail(err, answer.code, "%.1023s", answer.err.text);
	from += sizeof(answer);
	out->end = answer.end;
	memcpy(out->kernels, answer.kernels, sizeof(out->kernels));
	kf_utf8_clean(from, answer.log_bytes, &out->log);
	from += answer.log_bytes;
	kf_buf_add(&made->device, from, answer.device_bytes);
	kf_buf_add(&made->parameters, from + answer.device_bytes,
		   answer.parameters_bytes);
	return KF_OK;
}

/* Both at once: the kernels in a process of their own, so that a compiler that
 * crashes or hangs can be told of, and host.c by the platform's command. */
static enum kf_code compile_both(const struct kf_build_request *req,
				 const struct kf_build_request *host_req,
				 kf_twopart_compile_fn *compile,
				 struct kf_build *host,
				 struct kf_twopart_made *made,
				 struct kf_build *out, struct kf_err *err)
{
	struct question asked = { req, compile };
	struct kf_buf result = { .max = sizeof(struct answer) +
				 KF_BUILD_LOG_BYTES + DEVICE_MAX +
				 PARAMETERS_MAX };
	uint64_t end_ns = kf_now_ns() + req->timeout_ns, now_ns;
	struct kf_apart apart;
	struct kf_apart_end end;
	enum kf_code code, host_code;

	code = kf_apart_start(compile_here, &asked, result.max, &apart, err);
	if (code)
		return code;
	host_code = kf_host_build(host_req, host, err);
	now_ns = host_code ? end_ns : kf_now_ns();
	code = kf_apart_finish(&apart, now_ns < end_ns ? end_ns - now_ns : 0,
			       &result, &end, host_code ? NULL : err);
	if (host_code)
		code = host_code;
	else if (!code)
		code = take_answer(&end, &result, made, out, err);
	kf_buf_release(&result);
	return code;
}

static enum kf_code write_pack(const struct kf_build_request *req,
			       const char *host_path,
			       const struct kf_twopart_made *made,
			       struct kf_err *err)
{
	struct kf_buf host = { .max = PACK_MAX };
	enum kf_code code = kf_file_read(host_path, &host, err);
	const struct kf_pack_part part[] = {
		{ "host", host.data, host.len },
		{ "device", made->device.data, made->device.len },
		{ "parameters", made->parameters.data, made->parameters.len },
	};

	if (!code)
		code = kf_pack_write(req->output_path, part, KF_COUNT(part) -
				     !made->parameters.len, err);
	kf_buf_release(&host);
	return code;
}

static enum kf_code remove_file(const char *path, struct kf_err *err)
{
	if (unlink(path) && errno != ENOENT)
		return kf_fail_errno(err, "cannot remove %s", path);
	return KF_OK;
}

enum kf_code kf_twopart_build(const struct kf_build_request *req,
			      kf_twopart_compile_fn *compile,
			      struct kf_build *out, struct kf_err *err)
{
	char *host_path = kf_format("%s" KF_BUILD_HOST_SUFFIX,
				    req->output_path);
	struct kf_build host = { .log.max = KF_BUILD_LOG_BYTES };
	struct kf_build_request host_req = *req;
	struct kf_twopart_made made = made_nothing();
	uint64_t start_ns = kf_now_ns();
	enum kf_code code, removed;

	host_req.output_path = host_path;
	code = compile_both(req, &host_req, compile, &host, &made, out, err);
	kf_buf_add(&out->log, kf_buf_str(&host.log), host.log.len);
	if (out->end == KF_BUILD_DONE)
		out->end = host.end;
	if (!code && out->end == KF_BUILD_DONE)
		code = write_pack(req, host_path, &made, err);
	if (code)
		out->end = KF_BUILD_NONE;
	removed = remove_file(host_path, code ? NULL : err);
	if (!removed && out->end != KF_BUILD_DONE)
		removed = remove_file(req->output_path, code ? NULL : err);
	out->took_ns = kf_now_ns() - start_ns;
	kf_build_release(&host);
	made_release(&made);
	free(host_path);
	return code ? code : removed;
}

/* --- load ----------------------------------------------------------------- */

static void find_mistake(const struct kf_plans *plans, char refused[256])
{
	const struct kf_plan *list[] = { &plans->prepare, &plans->forward };

	for (size_t i = 0; i < KF_COUNT(list) && !refused[0]; i++)
		if (list[i]->mistake[0])
			snprintf(refused, 256, "%s", list[i]->mistake);
}

enum kf_code kf_twopart_read(const char *path, struct kf_twopart *out,
			     char refused[256], struct kf_err *err)
{
	const struct kf_pack_part *plans;
	struct kf_err why = { 0 };
	enum kf_code code;

	*out = (struct kf_twopart) { 0 };
	refused[0] = '\0';
	code = kf_pack_read(path, PACK_MAX, &out->pack, &why);
	if (code == KF_E_INPUT)
		return kf_fail(err, KF_E_IO, "what was built is no pack");
	if (code)
		return kf_fail(err, code, "%s", why.text);
	out->device = kf_pack_find(&out->pack, "device");
	out->parameters = kf_pack_find(&out->pack, "parameters");
	plans = kf_pack_find(&out->pack, "plans");
	if (!out->device || !plans)
		return kf_fail(err, KF_E_IO, "what was built has no part "
			       "\"%s\"", out->device ? "plans" : "device");
	if (kf_plans_read(plans->data, plans->len, &out->plans, &why))
		return kf_fail(err, KF_E_IO, "what was built has plans that "
			       "cannot be read: %.255s", why.text);
	find_mistake(&out->plans, refused);
	return KF_OK;
}

void kf_twopart_release(struct kf_twopart *t)
{
	kf_plans_release(&t->plans);
	kf_pack_release(&t->pack);
	*t = (struct kf_twopart) { 0 };
}
