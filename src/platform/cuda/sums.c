/*
 * Of large outputs the judge needs a few stretches and sums of all elements
 * (evaluate/digest.h): those are added up where the outputs are. The kernel for
 * it is loaded when the program's have ended, and signs are on the device only
 * then: whatever these wrote to or read, they had no part in it.
 */
#include "platform/cuda/cuda.h"

#define ELEMENT		sizeof(float)
#define SIGN_BYTES	((uint64_t)KF_SUMS * KF_SUMS_CHUNK)
#define CHUNK_BYTES	(KF_SUMS * sizeof(double))
#define THREADS		256u		/* eight chunks, one a warp */
#define WARP		32u

static uint64_t numel_of(const struct kf_device *dev, uint32_t output)
{
	return dev->tensors.bytes.out_bytes[output] / ELEMENT;
}

static bool is_whole(const struct kf_device *dev, const struct kf_sums *s)
{
	uint64_t numel;

	if (s->output >= dev->tensors.bytes.out_count ||
	    dev->tensors.out[s->output] == UINT64_MAX || s->window < 0)
		return false;
	numel = numel_of(dev, s->output);
	for (int64_t i = 0; i < s->window_count; i++)
		if (s->at[i] < 0 || (uint64_t)s->at[i] > numel ||
		    numel - (uint64_t)s->at[i] < (uint64_t)s->window)
			return false;
	return true;
}

/* --- stretches and guards ------------------------------------------------- */

static int bring(struct kf_device *dev, uint64_t from, uint64_t bytes)
{
	return dev->api.copy_to_host((char *)dev->shared.outputs + from,
				     dev->arena[KF_TWOPART_OUTPUTS] + from,
				     bytes, dev->stream);
}

static int bring_windows(struct kf_device *dev, const struct kf_sums *s)
{
	uint64_t start = dev->tensors.out[s->output];
	int result = 0;

	for (int64_t i = 0; i < s->window_count && !result; i++)
		result = bring(dev, start + (uint64_t)s->at[i] * ELEMENT,
			       (uint64_t)s->window * ELEMENT);
	return result;
}

/* --- sums ----------------------------------------------------------------- */

/* Signs, then sums: of the largest output. */
enum kf_code kf_cuda_sums_room(struct kf_device *dev, struct kf_err *err)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < dev->tensors.bytes.out_count; i++)
		if (kf_sums_chunks(numel_of(dev, i)) > most)
			most = kf_sums_chunks(numel_of(dev, i));
	dev->sums_bytes = SIGN_BYTES + most * CHUNK_BYTES;
	return kf_cuda_room(dev, &dev->sums_at, dev->sums_bytes,
			    "for the sums of outputs", err);
}

static int add_up(struct kf_device *dev, void *kernel, const struct kf_sums *s)
{
	const struct kf_cuda_api *api = &dev->api;
	uint64_t in = dev->arena[KF_TWOPART_OUTPUTS] +
		dev->tensors.out[s->output];
	uint64_t numel = numel_of(dev, s->output);
	uint64_t chunks = kf_sums_chunks(numel);
	uint64_t out = dev->sums_at + SIGN_BYTES;
	struct kf_cuda_launch launch = {
		.grid = { (unsigned)((chunks + THREADS / WARP - 1) /
				     (THREADS / WARP)), 1, 1 },
		.block = { THREADS, 1, 1 },
		.stream = dev->stream,
	};
	void *parameter[] = { &in, &numel, &dev->sums_at, &out };
	int result = api->copy_to_device(dev->sums_at, s->sign, SIGN_BYTES,
					 dev->stream);

	if (!chunks)
		return result;
	if (!result)
		result = api->launch(&launch, kernel, parameter, NULL);
	if (!result)
		result = api->copy_to_host(s->sum, out, chunks * CHUNK_BYTES,
					   dev->stream);
	return result ? result : api->stream_synchronize(dev->stream);
}

static int add_all_up(struct kf_device *dev, const struct kf_sums *sums,
		      size_t count)
{
	const struct kf_cuda_api *api = &dev->api;
	void *module = NULL, *kernel = NULL;
	int result = kf_cuda_code_load(api, &dev->sums_code, kf_cuda_sums_ptx,
				       &module);

	if (!result)
		result = api->module_function(&kernel, module, "kf_sums");
	for (size_t i = 0; i < count && !result; i++)
		result = add_up(dev, kernel, &sums[i]);
	if (module)
		api->module_unload(module);
	/* They are secret: a kernel may read what is not its own. */
	if (!result)
		result = api->fill8(dev->sums_at, 0, dev->sums_bytes,
				    dev->stream);
	return result ? result : api->stream_synchronize(dev->stream);
}

enum kf_code kf_cuda_sum(struct kf_device *dev, const struct kf_sums *sums,
			 size_t count, uint64_t *changed, struct kf_err *err)
{
	enum kf_code code = kf_cuda_usable(dev, err);
	int result;

	*changed = UINT64_MAX;
	for (size_t i = 0; i < count && !code; i++)
		if (!is_whole(dev, &sums[i]))
			code = kf_fail(err, KF_E_INPUT, "sums of what is no "
				       "output");
	if (!code && !dev->sums_at)
		code = kf_cuda_sums_room(dev, err);
	if (code)
		return code;
	result = kf_cuda_between_outputs(dev, bring);
	for (size_t i = 0; i < count && !result; i++)
		result = bring_windows(dev, &sums[i]);
	if (!result)
		result = add_all_up(dev, sums, count);
	code = kf_cuda_check(&dev->api, result, "add up what is on the device",
			     err);
	return code ? code : kf_cuda_look_after(dev, changed, err);
}
