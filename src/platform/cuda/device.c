/* A device: opened, given the shared memory, filled and read for each call. */
#include "platform/cuda/cuda.h"

#include <limits.h>

#define PREFIX		"cuda:"
#define TENSOR_GRAIN	16u	/* what vector loads and tensor maps want */

/* --- open ----------------------------------------------------------------- */

static enum kf_code no_device(const char *device_id, struct kf_err *err)
{
	return kf_fail(err, KF_E_UNAVAIL, "no device %s here; see `kforge "
		       "platforms`", device_id);
}

/* CUDA has this device alone in this process: a program that asks it for
 * another finds none, and the driver gets ready for no other. */
static enum kf_code open_alone(struct kf_device *dev, const char *device_id,
			       struct kf_err *err)
{
	size_t prefix = sizeof(PREFIX) - 1;
	uint64_t number;
	enum kf_code code;

	if (strncmp(device_id, PREFIX, prefix) != 0 ||
	    !kf_parse_u64(device_id + prefix, &number) || number > INT_MAX)
		return no_device(device_id, err);
	code = kf_cuda_api_open(&dev->api, (int)number, err);
	if (dev->api.absent && dev->api.library)
		return no_device(device_id, err);
	return code ? code :
		kf_cuda_check(&dev->api, dev->api.device_get(&dev->device, 0),
			      "use the device", err);
}

static enum kf_code read_limits(struct kf_device *dev, struct kf_err *err)
{
	struct kf_cuda_limits *l = &dev->limits;
	const struct { int *to; int which; } rows[] = {
		{ &l->threads, KF_CUDA_MAX_THREADS_PER_BLOCK },
		{ &l->block[0], KF_CUDA_MAX_BLOCK_DIM_X },
		{ &l->block[1], KF_CUDA_MAX_BLOCK_DIM_X + 1 },
		{ &l->block[2], KF_CUDA_MAX_BLOCK_DIM_X + 2 },
		{ &l->grid[0], KF_CUDA_MAX_GRID_DIM_X },
		{ &l->grid[1], KF_CUDA_MAX_GRID_DIM_X + 1 },
		{ &l->grid[2], KF_CUDA_MAX_GRID_DIM_X + 2 },
		{ &l->units, KF_CUDA_MULTIPROCESSOR_COUNT },
		{ &l->shared_bytes,
		  KF_CUDA_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN },
		{ &l->l2_bytes, KF_CUDA_L2_CACHE_SIZE },
		{ &l->cooperative, KF_CUDA_COOPERATIVE_LAUNCH },
		{ &l->clusters, KF_CUDA_CLUSTER_LAUNCH },
		{ &l->tensor_maps, KF_CUDA_TENSOR_MAP_ACCESS_SUPPORTED },
		{ &l->read_only, KF_CUDA_READ_ONLY_HOST_REGISTER_SUPPORTED },
	};
	int result = 0;

	for (size_t i = 0; i < KF_COUNT(rows) && !result; i++)
		result = dev->api.device_attribute(rows[i].to, rows[i].which,
						   dev->device);
	return kf_cuda_check(&dev->api, result, "read the device's limits",
			     err);
}

/* Host memory that the device reaches: the gate, and room for small copies. */
static int make_pinned(struct kf_device *dev)
{
	const struct kf_cuda_api *api = &dev->api;
	void *gate = NULL, *staging = NULL;
	int result;

	result = api->host_alloc(&gate, sizeof(*dev->gate),
				 KF_CUDA_HOST_ALLOC_DEVICE_MAP);
	if (result)
		return result;
	dev->gate = gate;
	*dev->gate = 0;
	result = api->host_address(&dev->gate_at, gate, 0);
	if (result)
		return result;
	result = api->host_alloc(&staging, KF_CUDA_STAGING_BYTES, 0);
	if (!result)
		dev->staging = staging;
	return result;
}

static enum kf_code make_parts(struct kf_device *dev, struct kf_err *err)
{
	const struct kf_cuda_api *api = &dev->api;
	const char *what = "make a context on the device";
	int result;

	result = api->context_retain(&dev->context, dev->device);
	if (!result)
		result = api->context_set(dev->context);
	if (result)
		return kf_cuda_check(api, result, what, err);
	what = "make a stream";
	result = api->stream_create(&dev->stream, KF_CUDA_STREAM_NON_BLOCKING);
	if (!result)
		result = api->event_create(&dev->start, 0);
	if (!result)
		result = api->event_create(&dev->stop, 0);
	if (result)
		return kf_cuda_check(api, result, what, err);
	what = "have memory of the host that the device reaches";
	result = make_pinned(dev);
	if (result)
		return kf_cuda_check(api, result, what, err);
	what = "assemble kforge's own kernels";
	result = api->module_load(&dev->tools, kf_cuda_digest_ptx);
	if (!result)
		result = api->module_function(&dev->digest, dev->tools,
					      "kf_digest");
	return kf_cuda_check(api, result, what, err);
}

enum kf_code kf_cuda_open(const char *device_id, uint64_t memory_max,
			  struct kf_device **out, struct kf_err *err)
{
	struct kf_device *dev = kf_alloc(sizeof(*dev));
	enum kf_code code;

	dev->memory_max = memory_max;
	code = open_alone(dev, device_id, err);
	if (!code)
		code = read_limits(dev, err);
	if (!code)
		code = make_parts(dev, err);
	if (code) {
		kf_cuda_close(dev);
		dev = NULL;
	}
	*out = dev;
	return code;
}

/* --- attach --------------------------------------------------------------- */

/* Pinned memory is copied from eight times as fast; where it cannot be pinned
 * it is copied all the same. */
static void pin(struct kf_device *dev)
{
	const struct kf_shared_memory *m = &dev->shared;
	void *inputs = (void *)(uintptr_t)m->inputs;
	uint64_t in_bytes = m->made ? m->window_bytes : m->inputs_bytes;
	unsigned flags = KF_CUDA_REGISTER_PORTABLE |
			 KF_CUDA_REGISTER_READ_ONLY;

	if (m->made)	/* most of inputs is never touched */
		inputs = (void *)(uintptr_t)m->window;
	if (in_bytes && dev->limits.read_only &&
	    !dev->api.host_register(inputs, (size_t)in_bytes, flags))
		dev->registered_in = inputs;
	if (m->outputs_bytes && !m->summed)
		dev->registered_out = !dev->api.host_register(m->outputs,
				(size_t)m->outputs_bytes,
				KF_CUDA_REGISTER_PORTABLE);
}

enum kf_code kf_cuda_attach(struct kf_device *dev,
			    const struct kf_shared_memory *m,
			    const struct kf_call *tensors, struct kf_err *err)
{
	enum kf_code code;

	if (dev->attached)
		return kf_fail(err, KF_E_INPUT, "the device has its memory");
	dev->shared = *m;
	code = kf_twopart_find_tensors(m, tensors, TENSOR_GRAIN, &dev->tensors,
				       err);
	if (!code)
		code = kf_cuda_arena_alloc(dev, KF_TWOPART_INPUTS,
					   m->inputs_bytes, err);
	if (!code)
		code = kf_cuda_arena_alloc(dev, KF_TWOPART_OUTPUTS,
					   m->outputs_bytes, err);
	if (code)
		return code;
	/* Twice the cache, so that nothing of a call before is left in it. */
	dev->flush_bytes = 2 * (uint64_t)dev->limits.l2_bytes;
	if (dev->flush_bytes)
		code = kf_cuda_room(dev, &dev->flush, dev->flush_bytes,
				    "left to flush its cache", err);
	if (!code && m->summed)
		code = kf_cuda_sums_room(dev, err);
	if (!code && m->made)
		code = kf_cuda_fresh_room(dev, err);
	if (code)
		return code;
	pin(dev);
	dev->attached = true;
	return KF_OK;
}

/* --- upload and download -------------------------------------------------- */

static int flush_cache(struct kf_device *dev)
{
	int result = dev->api.reset_persisting_l2();

	/* Devices that have no such lines refuse. */
	(void)result;
	if (!dev->flush)
		return 0;
	return dev->api.fill8(dev->flush, (unsigned char)dev->turn,
			      dev->flush_bytes, dev->stream);
}

static int fill(struct kf_device *dev, uint64_t offset, uint64_t bytes,
		uint32_t pattern)
{
	const struct kf_cuda_api *api = &dev->api;
	uint64_t at = dev->arena[KF_TWOPART_OUTPUTS] + offset;
	int result = 0;

	if (bytes / 2)
		result = api->fill16(at, (unsigned short)pattern, bytes / 2,
				     dev->stream);
	if (!result && bytes % 2)
		result = api->fill8(at + bytes - 1, (unsigned char)pattern, 1,
				    dev->stream);
	return result;
}

static int send(struct kf_device *dev, uint64_t from, uint64_t bytes)
{
	return dev->api.copy_to_device(dev->arena[KF_TWOPART_OUTPUTS] + from,
				       (char *)dev->shared.outputs + from,
				       bytes, dev->stream);
}

static int send_inputs(struct kf_device *dev, uint64_t from, uint64_t bytes)
{
	return dev->api.copy_to_device(dev->arena[KF_TWOPART_INPUTS] + from,
				       (const char *)dev->shared.inputs + from,
				       bytes, dev->stream);
}

/* What is left alone lies in order. */
struct alone {
	const uint64_t *at, *bytes;	/* [count]; UINT64_MAX: there is none */
	const bool *which;		/* [count]; NULL: all */
	size_t count;
	uint64_t end;			/* where all of it ends */
};

static int between(struct kf_device *dev, const struct alone *alone,
		   int (*move)(struct kf_device *dev, uint64_t from,
			       uint64_t bytes))
{
	uint64_t done = 0;
	int result = 0;

	for (size_t i = 0; i < alone->count && !result; i++) {
		if (alone->at[i] == UINT64_MAX ||
		    (alone->which && !alone->which[i]))
			continue;
		if (alone->at[i] > done)
			result = move(dev, done, alone->at[i] - done);
		done = alone->at[i] + alone->bytes[i];
	}
	return result || done >= alone->end ? result :
		move(dev, done, alone->end - done);
}

int kf_cuda_between_outputs(struct kf_device *dev,
			    int (*move)(struct kf_device *dev, uint64_t from,
					uint64_t bytes))
{
	const struct kf_twopart_tensors *t = &dev->tensors;
	const struct alone alone = {
		t->out, t->bytes.out_bytes, NULL, t->bytes.out_count,
		dev->shared.outputs_bytes,
	};

	return between(dev, &alone, move);
}

int kf_cuda_between_made(struct kf_device *dev,
			 int (*move)(struct kf_device *dev, uint64_t from,
				     uint64_t bytes))
{
	const struct kf_twopart_tensors *t = &dev->tensors;
	const struct alone alone = {
		t->in, t->bytes.in_bytes, dev->shared.made,
		dev->shared.made ? t->bytes.in_count : 0, t->weights_from,
	};

	return between(dev, &alone, move);
}

/* What lies between outputs is sent in any case. */
static int set_outputs(struct kf_device *dev)
{
	const struct kf_shared_memory *m = &dev->shared;
	const struct kf_twopart_tensors *t = &dev->tensors;
	uint32_t pattern = m->pattern ? *m->pattern : 0;
	int result;

	if (!pattern)
		return m->outputs_bytes ? send(dev, 0, m->outputs_bytes) : 0;
	result = kf_cuda_between_outputs(dev, send);
	for (uint32_t i = 0; i < t->bytes.out_count && !result; i++)
		if (t->out[i] != UINT64_MAX)
			result = fill(dev, t->out[i], t->bytes.out_bytes[i],
				      pattern);
	return result;
}

/* The digest comes before the flush, for it reads all inputs. */
enum kf_code kf_cuda_upload(struct kf_device *dev, struct kf_err *err)
{
	const struct kf_cuda_api *api = &dev->api;
	enum kf_code code = kf_cuda_usable(dev, err);
	int result;

	if (code)
		return code;
	result = kf_cuda_between_made(dev, send_inputs);
	if (!result)
		result = set_outputs(dev);
	code = kf_cuda_check(api, result, "copy to the device", err);
	if (!code)
		code = kf_cuda_fill_scratch(dev, &dev->layout.forward_temp,
					    err);
	if (!code)
		code = kf_cuda_digest_take(dev, KF_TWOPART_INPUTS,
					   &dev->inputs, err);
	if (code)
		return code;
	result = flush_cache(dev);
	if (!result)
		result = api->stream_synchronize(dev->stream);
	return kf_cuda_check(api, result, "flush the device's cache", err);
}

static enum kf_code send_again(struct kf_device *dev, struct kf_err *err)
{
	int result = kf_cuda_between_made(dev, send_inputs);
	enum kf_code code;

	if (!result)
		result = kf_cuda_make_again(dev);
	code = kf_cuda_check(&dev->api, result, "copy to the device", err);
	return code ? code : kf_cuda_bring_weights(dev, err);
}

static enum kf_code bring_inputs(struct kf_device *dev, uint64_t from,
				 uint64_t len, unsigned char *to,
				 struct kf_err *err)
{
	const struct kf_cuda_api *api = &dev->api;
	int result = api->copy_to_host(to, dev->arena[KF_TWOPART_INPUTS] + from,
				       len, dev->stream);

	if (!result)
		result = api->stream_synchronize(dev->stream);
	return kf_cuda_check(api, result, "read back inputs", err);
}

/* Where in a chunk the inputs first differ from what was uploaded. */
static enum kf_code find_change(struct kf_device *dev, size_t chunk,
				uint64_t *changed, struct kf_err *err)
{
	unsigned char *now = dev->staging, *sent = now + KF_CUDA_DIGEST_CHUNK;
	uint64_t from = (uint64_t)chunk * KF_CUDA_DIGEST_CHUNK, len, i = 0;
	enum kf_code code;

	len = dev->shared.inputs_bytes - from;
	if (len > KF_CUDA_DIGEST_CHUNK)
		len = KF_CUDA_DIGEST_CHUNK;
	code = bring_inputs(dev, from, len, now, err);
	if (!code)
		code = send_again(dev, err);
	if (!code)
		code = bring_inputs(dev, from, len, sent, err);
	while (!code && i < len && now[i] == sent[i])
		i++;
	*changed = i < len ? from + i : from;
	return code;
}

static enum kf_code check_arena(struct kf_device *dev,
				enum kf_twopart_arena arena,
				const struct kf_cuda_digest *digest,
				const char *what, struct kf_err *err)
{
	size_t chunk;
	enum kf_code code;

	if (!digest->count)
		return KF_OK;
	code = kf_cuda_digest_compare(dev, arena, digest, &chunk, err);
	if (!code && chunk < digest->count)
		snprintf(dev->fault, sizeof(dev->fault), "a kernel of "
			 "kf_forward wrote to %s", what);
	return code;
}

/* What inputs are made of first: find_change makes them again. */
static enum kf_code check_given(struct kf_device *dev, uint64_t *changed,
				struct kf_err *err)
{
	size_t chunk;
	enum kf_code code = check_arena(dev, KF_TWOPART_BASE, &dev->base,
					"memory that is not its own", err);

	if (code || dev->fault[0])
		return code;
	code = kf_cuda_digest_compare(dev, KF_TWOPART_INPUTS, &dev->inputs,
				      &chunk, err);
	if (!code && chunk < dev->inputs.count)
		code = find_change(dev, chunk, changed, err);
	if (!code)
		code = check_arena(dev, KF_TWOPART_KEPT, &dev->kept,
				   "memory that kf_prepare keeps, which it may "
				   "only read", err);
	return code;
}

enum kf_code kf_cuda_look_after(struct kf_device *dev, uint64_t *changed,
				struct kf_err *err)
{
	enum kf_code code = check_given(dev, changed, err);

	if (!code)
		code = kf_cuda_guards_check(dev, KF_TWOPART_SCRATCH,
					    &dev->layout.forward_temp, err);
	if (dev->fault[0])
		dev->failed = true;
	return code;
}

enum kf_code kf_cuda_download(struct kf_device *dev, uint64_t *changed,
			      struct kf_err *err)
{
	const struct kf_cuda_api *api = &dev->api;
	const struct kf_shared_memory *m = &dev->shared;
	enum kf_code code = kf_cuda_usable(dev, err);
	int result = 0;

	*changed = UINT64_MAX;
	if (code)
		return code;
	if (m->outputs_bytes)
		result = api->copy_to_host(m->outputs,
					   dev->arena[KF_TWOPART_OUTPUTS],
					   m->outputs_bytes, dev->stream);
	code = kf_cuda_check(api, result, "copy from the device", err);
	return code ? code : kf_cuda_look_after(dev, changed, err);
}

uint64_t kf_cuda_device_ns(const struct kf_device *dev)
{
	return dev->last_ns;
}

uint64_t kf_cuda_host_ns(const struct kf_device *dev)
{
	return dev->last_host_ns;
}

/* --- close ---------------------------------------------------------------- */

static void give_back(struct kf_device *dev)
{
	const struct kf_cuda_api *api = &dev->api;

	for (size_t i = 0; i < KF_TWOPART_ARENAS; i++)
		if (dev->arena[i])
			api->memory_free(dev->arena[i]);
	if (dev->flush)
		api->memory_free(dev->flush);
	if (dev->digest_at)
		api->memory_free(dev->digest_at);
	if (dev->sums_at)
		api->memory_free(dev->sums_at);
	kf_cuda_fresh_release(dev);
	kf_cuda_code_release(api, &dev->fresh_code);
	kf_cuda_code_release(api, &dev->sums_code);
	if (dev->registered_in)
		api->host_unregister(dev->registered_in);
	if (dev->registered_out)
		api->host_unregister(dev->shared.outputs);
	if (dev->gate)
		api->host_free(dev->gate);
	if (dev->staging)
		api->host_free(dev->staging);
	if (dev->tools)
		api->module_unload(dev->tools);
	if (dev->start)
		api->event_destroy(dev->start);
	if (dev->stop)
		api->event_destroy(dev->stop);
	kf_cuda_trace_close(dev);
	if (dev->stream)
		api->stream_destroy(dev->stream);
}

/* After a fault every call fails; the context goes all the same. The library
 * stays open: it has threads of its own. */
void kf_cuda_close(struct kf_device *dev)
{
	if (!dev)
		return;
	if (dev->context) {
		kf_cuda_module_unload(dev);
		give_back(dev);
		dev->api.context_set(NULL);
		dev->api.context_release(dev->device);
	}
	free(dev->inputs.want);
	free(dev->kept.want);
	free(dev->base.want);
	free(dev->image);
	kf_twopart_tensors_release(&dev->tensors);
	kf_twopart_layout_release(&dev->layout);
	kf_twopart_release(&dev->program);
	free(dev);
}
