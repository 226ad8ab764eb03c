/*
 * Programs with host code of their own: program.cu, compiled by nvcc, loaded
 * into this process and called with pointers to device memory and a stream.
 * What it launches nobody has looked at before.
 */
#include "platform/cuda/cuda.h"

#include "platform/drivers.h"
#include "platform/host/host.h"

static enum kf_code free_load(struct kf_device *dev, const char *path,
			       char refused[256], struct kf_err *err)
{
	enum kf_code code;

	if (dev->loaded || !dev->attached)
		return kf_fail(err, KF_E_INPUT, dev->loaded ?
			       "a program is loaded already" :
			       "the device has no memory yet");
	code = kf_cuda_arena_alloc(dev, KF_TWOPART_SCRATCH, 0, err);
	if (code)
		return code;
	kf_program_load(path, &dev->own, refused);
	dev->loaded = !refused[0];
	return KF_OK;
}

/* --- memory that programs ask for ----------------------------------------- */

/* NULL beyond the limit, as the contract has it. */
static uint64_t take(struct kf_device *dev, size_t bytes)
{
	uint64_t address = 0;

	if (bytes > dev->memory_max - dev->free_bytes ||
	    dev->api.memory_alloc(&address, bytes ? bytes : 1))
		return 0;
	dev->free_bytes += bytes;
	return address;
}

static void *pointer(uint64_t address)
{
	return (void *)(uintptr_t)address;
}

static void *give_temp(struct kf_call *call, size_t bytes)
{
	struct kf_device *dev = call->owner;
	uint64_t address;

	if (dev->temp_count == KF_CUDA_FREE_BLOCKS)
		return NULL;
	address = take(dev, bytes);
	if (address &&
	    dev->api.fill8(address, KF_TWOPART_PATTERN, bytes, dev->stream)) {
		dev->api.memory_free(address);
		return NULL;
	}
	if (address)
		dev->temp[dev->temp_count++] = (struct kf_cuda_block) {
			address, bytes,
		};
	return pointer(address);
}

static void *give_keep(struct kf_call *call, int slot, size_t bytes)
{
	struct kf_device *dev = call->owner;
	struct kf_cuda_block *kept;

	if (slot < 0 || slot >= KF_CUDA_FREE_SLOTS)
		return NULL;
	kept = &dev->slot[slot];
	if (!kept->at && dev->preparing) {
		kept->at = take(dev, bytes);
		kept->bytes = bytes;
		if (kept->at)
			dev->api.fill8(kept->at, 0, bytes, dev->stream);
	}
	return bytes <= kept->bytes ? pointer(kept->at) : NULL;
}

static void give_back(struct kf_device *dev, struct kf_cuda_block *block)
{
	if (block->at) {
		dev->api.memory_free(block->at);
		dev->free_bytes -= block->bytes;
	}
	*block = (struct kf_cuda_block) { 0 };
}

static void free_tidy(struct kf_device *dev)
{
	while (dev->temp_count)
		give_back(dev, &dev->temp[--dev->temp_count]);
}

/* --- calls ---------------------------------------------------------------- */

/* The tensors as the device sees them; caller frees. */
static struct kf_tensor *on_device(const struct kf_device *dev,
				   const struct kf_tensor *from, int32_t count,
				   const void *shared, enum kf_twopart_arena to)
{
	struct kf_tensor *list = kf_alloc((size_t)count * sizeof(list[0]));

	for (int32_t i = 0; i < count; i++) {
		list[i] = from[i];
		if (from[i].data)
			list[i].data = pointer(dev->arena[to] +
				(uint64_t)((const char *)from[i].data -
					   (const char *)shared));
	}
	return list;
}

/* The stream that it is given has ended, and whatever else it began: the
 * context waits for all of its streams. */
static enum kf_code wait_for_all(struct kf_device *dev, const char *name,
				 struct kf_err *err)
{
	const struct kf_cuda_api *api = &dev->api;
	int result = api->stream_synchronize(dev->stream);

	if (!result)
		result = api->context_synchronize();
	if (!result)
		return KF_OK;
	dev->failed = true;
	if (!kf_cuda_blame(result)->running)
		return kf_cuda_check(api, result, "run the program", err);
	snprintf(dev->fault, sizeof(dev->fault), "a kernel of %s %s", name,
		 kf_cuda_blame(result)->running);
	return KF_OK;
}

static enum kf_code run(struct kf_device *dev, kf_program_fn *fn,
			const char *name, struct kf_call *call, int *rc,
			struct kf_err *err)
{
	const struct kf_shared_memory *m = &dev->shared;
	struct kf_call own = *call;
	struct kf_tensor *in = on_device(dev, call->in, call->in_count,
					 m->inputs, KF_TWOPART_INPUTS);
	struct kf_tensor *weight = on_device(dev, call->weight,
					     call->weight_count, m->inputs,
					     KF_TWOPART_INPUTS);
	struct kf_tensor *out = on_device(dev, call->out, call->out_count,
					  m->outputs, KF_TWOPART_OUTPUTS);
	enum kf_code code;

	own.in = in;
	own.weight = weight;
	own.out = out;
	own.queue = dev->stream;
	own.temp = give_temp;
	own.keep = give_keep;
	own.owner = dev;
	*rc = fn(&own);
	code = wait_for_all(dev, name, err);
	free(in);
	free(weight);
	free(out);
	return code;
}

static enum kf_code free_prepare(struct kf_device *dev, struct kf_call *call,
				  int *rc, struct kf_err *err)
{
	enum kf_code code = kf_cuda_usable(dev, err);

	if (!code)
		code = kf_cuda_bring_weights(dev, err);
	for (int i = 0; i < KF_CUDA_FREE_SLOTS; i++)
		give_back(dev, &dev->slot[i]);
	if (code || !dev->own.prepare)
		return code;
	dev->preparing = true;
	code = run(dev, dev->own.prepare, "kf_prepare", call, rc, err);
	dev->preparing = false;
	return code;
}

static enum kf_code free_forward(struct kf_device *dev, struct kf_call *call,
				  int *rc, struct kf_err *err)
{
	enum kf_code code = kf_cuda_usable(dev, err);

	bool told = dev->trace && dev->trace->watched;

	if (told && dev->api.profiler_start)
		(void)dev->api.profiler_start();
	if (dev->watch)
		kf_cuda_watch_forget(dev->watch);
	if (!code)
		code = run(dev, dev->own.forward, "kf_forward", call, rc, err);
	if (told && dev->api.profiler_stop)
		(void)dev->api.profiler_stop();
	if (!code && dev->watch)
		kf_cuda_watch_take(dev->watch, dev->trace);
	return code;
}

static void free_close(struct kf_device *dev)
{
	if (dev && dev->context) {
		free_tidy(dev);
		for (int i = 0; i < KF_CUDA_FREE_SLOTS; i++)
			give_back(dev, &dev->slot[i]);
	}
	if (dev) {
		kf_program_unload(&dev->own);
	}
	kf_cuda_close(dev);
}

/* Each kernel of every forward from here on, by NVIDIA's own tool; another one
 * that is around the process is told when a forward begins and ends. */
static void free_trace(struct kf_device *dev, struct kf_trace *trace)
{
	dev->trace = trace;
	if (!dev->watch && !trace->watched)
		dev->watch = kf_cuda_watch_begin("copy", "fill", trace->unseen);
}

const struct kf_driver kf_driver_cuda_free = {
	.abi = KF_DRIVER_ABI,
	.name = "cudafree",
	.in_process = true,
	.find = kf_cuda_find,
	.build = kf_host_build,
	.open = kf_cuda_open,
	.load = free_load,
	.prepare = free_prepare,
	.forward = free_forward,
	.close = free_close,
	.tidy = free_tidy,
	.attach = kf_cuda_attach,
	.upload = kf_cuda_upload,
	.fills_outputs = true,
	.download = kf_cuda_download,
	.fault = kf_cuda_fault,
	.trace = free_trace,
	.link_words = kf_cuda_link_words,
	.paths = kf_cuda_free_paths,
	.env = kf_cuda_env,
	.torch_device = "cuda",
	.torch_env = kf_cuda_torch_env,
	.canary = kf_cuda_canary,
	.clocks = &kf_cuda_clocks,
	.memory_free = kf_cuda_memory_free,
	.compiler_path = kf_cuda_compiler_path,
};
