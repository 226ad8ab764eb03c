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

/* Does so much lie in memory of all bytes? The supervisor wrote what is asked:
 * our own side, and yet it is looked at. */
static bool lies_in(uint64_t all, uint64_t at, uint64_t count, uint64_t each)
{
	return at <= all && (all - at) / each >= count;
}

static bool fits(const struct kf_serve *s, const struct kf_host_sums *ask,
		 const struct kf_tensor *out)
{
	uint64_t chunks = kf_sums_chunks((uint64_t)kf_numel(out));

	return lies_in(s->in_bytes, ask->sign_at, KF_SUMS * KF_SUMS_CHUNK, 1) &&
		lies_in(s->in_bytes, ask->window_at,
			(uint64_t)ask->window_count, sizeof(int64_t)) &&
		lies_in(s->out_bytes, ask->sum_at, chunks,
			KF_SUMS * sizeof(double));
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

	if (!r->sums_at ||
	    !lies_in(s->in_bytes, r->sums_at, r->out_count, sizeof(*ask)))
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

/* --- inputs that are made there ------------------------------------------- */

/* made_at's list, or NULL. */
static const struct kf_host_made *made_list(const struct kf_serve *s)
{
	const struct kf_host_request *r = s->tensors.request;

	if (!r->made_at || !lies_in(s->in_bytes, r->made_at, r->in_count,
				    sizeof(struct kf_host_made)))
		return NULL;
	return (const struct kf_host_made *)(const void *)
		(s->inputs + r->made_at);
}

static enum kf_code base(struct kf_serve *s, struct kf_err *err)
{
	const struct kf_host_request *r = s->tensors.request;

	if (!made_list(s) || r->base_bytes > r->window_bytes ||
	    !lies_in(s->in_bytes, r->window_at, r->base_bytes, 1))
		return kf_fail(err, KF_E_INPUT, "malformed command");
	return tell(s, kf_driver_base(s->driver, s->device, r->base_input,
				      r->base_offset, s->inputs + r->window_at,
				      r->base_bytes, err));
}

/* What is to be made of input i; false: that is malformed. */
static bool made_of(const struct kf_serve *s, const struct kf_host_made *ask,
		    const struct kf_tensor *in, uint32_t i,
		    struct kf_made *out)
{
	uint64_t chunks = kf_sums_chunks((uint64_t)kf_numel(in));

	*out = (struct kf_made) {
		.input = i, .shift = ask->shift, .tail = ask->tail,
		.tail_from = ask->tail_from,
	};
	if (ask->as_is)
		return true;
	out->column = (const float *)(const void *)(s->inputs +
						    ask->column_at);
	out->row = (const float *)(const void *)(s->inputs + ask->row_at);
	return lies_in(s->in_bytes, ask->column_at, KF_SUMS_CHUNK,
		       sizeof(float)) &&
		lies_in(s->in_bytes, ask->row_at, chunks, sizeof(float));
}

static enum kf_code make(struct kf_serve *s, struct kf_err *err)
{
	uint32_t in_count = s->tensors.request->in_count;
	const struct kf_host_made *ask = made_list(s);
	struct kf_call call = kf_runner_call(&s->tensors, true);
	struct kf_made *made;
	enum kf_code code = KF_OK;
	size_t count = 0;

	if (!ask)
		return kf_fail(err, KF_E_INPUT, "malformed command");
	made = kf_alloc((in_count + 1) * sizeof(made[0]));
	for (uint32_t i = 0; i < in_count && !code; i++)
		if (!ask[i].there)
			continue;
		else if (made_of(s, &ask[i], &call.in[i], i, &made[count]))
			count++;
		else
			code = kf_fail(err, KF_E_INPUT, "malformed command");
	if (!code)
		code = kf_driver_make(s->driver, s->device, made, count, err);
	free(made);
	return code ? code : upload(s, err);
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
	[KF_HOST_BASE] = base,
	[KF_HOST_MAKE] = make,
};

/* Which inputs are made there; NULL: none. */
static const bool *made_there(const struct kf_serve *s)
{
	const struct kf_host_made *list = made_list(s);
	uint32_t count = s->tensors.request->in_count;
	bool *made = list ? kf_alloc(count * sizeof(made[0])) : NULL;

	for (uint32_t i = 0; made && i < count; i++)
		made[i] = list[i].there != 0;
	return made;
}

static enum kf_code attach(struct kf_serve *s, struct kf_err *err)
{
	const struct kf_host_request *r = s->tensors.request;
	struct kf_shared_memory *memory = kf_alloc(sizeof(*memory));
	struct kf_call tensors = kf_runner_call(&s->tensors, true);

	if (r->made_at && (!made_list(s) ||
			   !lies_in(s->in_bytes, r->window_at,
				    r->window_bytes, 1)))
		return kf_fail(err, KF_E_INPUT, "malformed request");
	/* It stays as long as the device is open: for ever. */
	*memory = (struct kf_shared_memory) {
		.inputs = s->inputs,
		.inputs_bytes = r->in_bytes,
		.outputs = s->outputs,
		.outputs_bytes = r->out_bytes,
		.pattern = &r->pattern,
		.summed = r->sums_at != 0,
		.made = made_there(s),
		.window = s->inputs + r->window_at,
		.window_bytes = r->window_bytes,
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
