/*
 * A two-part program's kernels and plans, loaded once and replayed when the
 * supervisor says so. No line of its host.c is here: what runs in this process
 * is our own, and what the driver says is believed. Reads as its running order:
 * map, open, attach, say hello, serve.
 */
#include "runner/runner.h"

/* What the driver knows of the last command, told with its answer. */
static enum kf_code tell(struct kf_serve *s, enum kf_code code)
{
	const char *fault = code ? NULL : kf_driver_fault(s->driver, s->device);

	s->reply->faulted = fault != NULL;
	if (fault)
		snprintf(s->reply->text, sizeof(s->reply->text), "%.511s",
			 fault);
	return code;
}

static void take_times(struct kf_serve *s)
{
	s->reply->device_ns = kf_driver_device_ns(s->driver, s->device);
	s->reply->host_ns = kf_driver_host_ns(s->driver, s->device);
}

static enum kf_code load(struct kf_serve *s, struct kf_err *err)
{
	enum kf_code code = kf_serve_load(s, err);

	s->reply->short_of_memory = kf_driver_short_of_memory(s->driver,
							      s->device);
	if (!code && s->trace_path && !s->reply->text[0])
		code = kf_serve_trace_begin(s, err);
	return code;
}

static enum kf_code prepare(struct kf_serve *s, struct kf_err *err)
{
	enum kf_code code = kf_serve_prepare(s, err);

	take_times(s);
	return tell(s, code);
}

static enum kf_code forward(struct kf_serve *s, struct kf_err *err)
{
	enum kf_code code = kf_serve_forward(s, err);

	if (!code && s->trace_path)
		code = kf_serve_trace_add(s, err);
	take_times(s);
	return tell(s, code);
}

static enum kf_code upload(struct kf_serve *s, struct kf_err *err)
{
	return tell(s, kf_driver_upload(s->driver, s->device, err));
}

static enum kf_code download(struct kf_serve *s, struct kf_err *err)
{
	uint64_t changed = UINT64_MAX;
	enum kf_code code = kf_driver_download(s->driver, s->device, &changed,
					       err);

	s->reply->changed = changed;
	return tell(s, code);
}

/* The supervisor wrote what is asked: our own side, and yet it is looked at. */
static bool fits(const struct kf_serve *s, const struct kf_host_sums *ask,
		 const struct kf_tensor *out)
{
	uint64_t chunks = kf_sums_chunks((uint64_t)kf_numel(out));
	uint64_t count = (uint64_t)ask->window_count;

	return ask->sign_at <= s->in_bytes &&
		s->in_bytes - ask->sign_at >= KF_SUMS * KF_SUMS_CHUNK &&
		ask->window_at <= s->in_bytes &&
		(s->in_bytes - ask->window_at) / sizeof(int64_t) >= count &&
		ask->sum_at <= s->out_bytes &&
		(s->out_bytes - ask->sum_at) / (KF_SUMS * sizeof(double)) >=
			chunks;
}

static enum kf_code sum(struct kf_serve *s, struct kf_err *err)
{
	const struct kf_host_request *r = s->tensors.request;
	const struct kf_host_sums *ask = (const struct kf_host_sums *)
		(const void *)(s->inputs + r->sums_at);
	struct kf_call call = kf_runner_call(&s->tensors, true);
	uint64_t changed = UINT64_MAX;
	struct kf_sums *sums;
	enum kf_code code = KF_OK;

	if (!r->sums_at || r->sums_at > s->in_bytes ||
	    (s->in_bytes - r->sums_at) / sizeof(*ask) < r->out_count)
		return kf_fail(err, KF_E_INPUT, "malformed command");
	sums = kf_alloc((r->out_count + 1) * sizeof(sums[0]));
	for (uint32_t i = 0; i < r->out_count && !code; i++) {
		if (!fits(s, &ask[i], &call.out[i]))
			code = kf_fail(err, KF_E_INPUT, "malformed command");
		else
			sums[i] = (struct kf_sums) {
				.output = i,
				.sign = (const int8_t *)s->inputs +
					ask[i].sign_at,
				.sum = (double *)(void *)(s->outputs +
							  ask[i].sum_at),
				.at = (const int64_t *)(const void *)
					(s->inputs + ask[i].window_at),
				.window_count = ask[i].window_count,
				.window = ask[i].window,
			};
	}
	if (!code)
		code = kf_driver_sum(s->driver, s->device, sums, r->out_count,
				     &changed, err);
	free(sums);
	s->reply->changed = changed;
	return tell(s, code);
}

static enum kf_code trace_call(struct kf_serve *s, struct kf_err *err)
{
	return tell(s, kf_serve_trace_call(s, err));
}

static enum kf_code tidy(struct kf_serve *s, struct kf_err *err)
{
	return tell(s, kf_serve_tidy(s, err));
}

static kf_serve_fn *const commands[KF_HOST_COMMANDS] = {
	[KF_HOST_PING] = kf_serve_nothing,
	[KF_HOST_LOAD] = load,
	[KF_HOST_PREPARE] = prepare,
	[KF_HOST_UPLOAD] = upload,
	[KF_HOST_FORWARD] = forward,
	[KF_HOST_DOWNLOAD] = download,
	[KF_HOST_TIDY] = tidy,
	[KF_HOST_TRACE] = trace_call,
	[KF_HOST_SUM] = sum,
};

static enum kf_code attach(struct kf_serve *s, struct kf_err *err)
{
	const struct kf_host_request *r = s->tensors.request;
	struct kf_shared_memory *memory = kf_alloc(sizeof(*memory));
	struct kf_call tensors = kf_runner_call(&s->tensors, true);

	/* It stays as long as the device is open: for ever. */
	*memory = (struct kf_shared_memory) {
		.inputs = s->inputs,
		.inputs_bytes = r->in_bytes,
		.outputs = s->outputs,
		.outputs_bytes = r->out_bytes,
		.pattern = &r->pattern,
		.summed = r->sums_at != 0,
	};
	return kf_driver_attach(s->driver, s->device, memory, &tensors, err);
}

enum kf_code kf_runner_device(int argc, const char *const *argv,
			      struct kf_err *err)
{
	struct kf_serve *s = kf_alloc(sizeof(*s));
	enum kf_code code = kf_serve_open(s, argc, argv, err);

	if (!code)
		code = attach(s, err);
	if (!code)
		code = kf_serve_hello(s, err);
	if (!code)
		code = kf_serve_ready(s, kf_serve_nothing, err);
	if (!code)
		code = kf_serve_loop(s, commands, err);
	if (!code)
		kf_driver_close(s->driver, s->device);
	return code;
}

/* A program with host code of its own, on the same device: its code shares the
 * process, and from READY on no other can be started. */
static enum kf_code lock_door(struct kf_serve *s, struct kf_err *err)
{
	s->loaded_before = kf_serve_loaded();
	return kf_runner_lock_door(err);
}

enum kf_code kf_runner_free(int argc, const char *const *argv,
			    struct kf_err *err)
{
	struct kf_serve *s = kf_alloc(sizeof(*s));
	enum kf_code code = kf_serve_open(s, argc, argv, err);

	if (!code)
		code = attach(s, err);
	if (!code)
		code = kf_serve_catch_faults(s, err);
	if (!code)
		code = kf_serve_hello(s, err);
	if (!code)
		code = kf_serve_ready(s, lock_door, err);
	if (!code)
		code = kf_serve_loop(s, commands, err);
	/* It was told to leave: a tool around it finishes its files when the
	 * process exits, as no other program of this kind may. */
	if (!code && s->trace.watched)
		exit(0);
	return code;
}
