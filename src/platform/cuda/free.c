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
	if (dev->loaded || !dev->attached)
		return kf_fail(err, KF_E_INPUT, dev->loaded ?
			       "a program is loaded already" :
			       "the device has no memory yet");
	kf_cuda_given_tidy(dev);
	kf_program_load(path, &dev->own, refused);
	dev->loaded = !refused[0];
	dev->api.refused = &dev->refused;
	return KF_OK;
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
			list[i].data = (void *)(uintptr_t)(dev->arena[to] +
				(uint64_t)((const char *)from[i].data -
					   (const char *)shared));
	}
	return list;
}

/* Trouble that was met on the way from or to a function of the program's: is
 * that its doing? A kernel of its own may come to light in any of our calls. */
static enum kf_code blame(struct kf_device *dev, const char *name,
			  enum kf_code trouble)
{
	const struct kf_cuda_blame *b = kf_cuda_blame(dev->refused);

	dev->refused = 0;
	if (!trouble || !dev->has_run || (!b->running && !b->host))
		return trouble;
	dev->failed = true;
	snprintf(dev->fault, sizeof(dev->fault), "%s%s %s",
		 b->running ? "a kernel of " : "", name,
		 b->running ? b->running : b->host);
	return KF_OK;
}

/* The stream that it is given has ended, and whatever else it began: the
 * context waits for all of its streams. */
static enum kf_code wait_for_all(struct kf_device *dev, struct kf_err *err)
{
	const struct kf_cuda_api *api = &dev->api;
	int result = api->stream_synchronize(dev->stream);

	if (!result)
		result = api->context_synchronize();
	if (result)
		dev->failed = true;
	return kf_cuda_check(api, result, "run the program", err);
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
	own.temp = kf_cuda_give_temp;
	own.keep = kf_cuda_give_keep;
	own.owner = dev;
	dev->has_run = true;
	*rc = fn(&own);
	code = blame(dev, name, wait_for_all(dev, err));
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
		code = blame(dev, "kf_forward",
			     kf_cuda_bring_weights(dev, err));
	if (code || dev->failed)
		return code;
	kf_cuda_given_prepare(dev);
	if (dev->own.prepare)
		code = run(dev, dev->own.prepare, "kf_prepare", call, rc, err);
	if (code || dev->failed)
		return code;
	return blame(dev, "kf_prepare", kf_cuda_given_seal(dev, err));
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

static enum kf_code free_upload(struct kf_device *dev, struct kf_err *err)
{
	return blame(dev, "kf_forward", kf_cuda_upload(dev, err));
}

static enum kf_code free_download(struct kf_device *dev, uint64_t *changed,
				  struct kf_err *err)
{
	enum kf_code code = kf_cuda_download(dev, changed, err);

	if (!code && !dev->failed)
		code = kf_cuda_given_look(dev, err);
	return blame(dev, "kf_forward", code);
}

static void free_close(struct kf_device *dev)
{
	if (dev && dev->context)
		kf_cuda_given_release(dev);
	if (dev)
		kf_program_unload(&dev->own);
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
	.find_one = kf_cuda_find_one,
	.build = kf_host_build,
	.open = kf_cuda_open,
	.load = free_load,
	.prepare = free_prepare,
	.forward = free_forward,
	.close = free_close,
	.tidy = kf_cuda_given_tidy,
	.attach = kf_cuda_attach,
	.upload = free_upload,
	.fills_outputs = true,
	.download = free_download,
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
