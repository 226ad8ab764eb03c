/*
 * Large inputs are made where they are needed: the base comes once, and then
 * for each call a column and a row (problem/case.h makes the same bits).
 */
#include "platform/cuda/cuda.h"

#define ELEMENT		sizeof(float)
#define COLUMN_BYTES	(KF_SUMS_CHUNK * ELEMENT)
#define BASE_GRAIN	256u

static uint64_t numel_of(const struct kf_device *dev, uint32_t input)
{
	return dev->tensors.bytes.in_bytes[input] / ELEMENT;
}

static bool is_made(const struct kf_device *dev, uint32_t input)
{
	return dev->shared.made && input < dev->tensors.bytes.in_count &&
		dev->shared.made[input] &&
		dev->tensors.in[input] != UINT64_MAX;
}

/* --- room ----------------------------------------------------------------- */

/* Columns and rows: of the largest input. */
enum kf_code kf_cuda_fresh_room(struct kf_device *dev, struct kf_err *err)
{
	size_t count = dev->tensors.bytes.in_count;
	uint64_t bytes = 0, most = 0;
	enum kf_code code;

	dev->base_of = kf_alloc((count + 1) * sizeof(dev->base_of[0]));
	for (uint32_t i = 0; i < count; i++) {
		if (!is_made(dev, i))
			continue;
		dev->base_of[i] = bytes;
		bytes += (dev->tensors.bytes.in_bytes[i] + BASE_GRAIN - 1) /
			BASE_GRAIN * BASE_GRAIN;
		if (kf_sums_chunks(numel_of(dev, i)) > most)
			most = kf_sums_chunks(numel_of(dev, i));
	}
	code = kf_cuda_arena_alloc(dev, KF_TWOPART_BASE, bytes, err);
	dev->column_bytes = COLUMN_BYTES + most * ELEMENT;
	return code ? code : kf_cuda_room(dev, &dev->column_at,
					  dev->column_bytes,
					  "for what inputs are made of", err);
}

int kf_cuda_forget_bases(struct kf_device *dev)
{
	const struct kf_cuda_api *api = &dev->api;
	int result;

	dev->base.count = 0;
	if (!dev->arena[KF_TWOPART_BASE])
		return 0;
	result = api->fill8(dev->arena[KF_TWOPART_BASE], 0,
			    dev->arena_bytes[KF_TWOPART_BASE], dev->stream);
	if (!result)
		result = api->fill8(dev->arena[KF_TWOPART_INPUTS], 0,
				    dev->tensors.weights_from, dev->stream);
	return result;
}

/* Waits: the next part may take this one's place. */
enum kf_code kf_cuda_base(struct kf_device *dev, uint32_t input,
			  uint64_t offset, const void *data, uint64_t bytes,
			  struct kf_err *err)
{
	const struct kf_cuda_api *api = &dev->api;
	uint64_t whole = is_made(dev, input) ?
		dev->tensors.bytes.in_bytes[input] : 0;
	int result;

	if (!whole || offset > whole || whole - offset < bytes ||
	    dev->base.count)
		return kf_fail(err, KF_E_INPUT, "a part of what no input is "
			       "made of");
	result = api->copy_to_device(dev->arena[KF_TWOPART_BASE] +
				     dev->base_of[input] + offset, data, bytes,
				     dev->stream);
	if (!result)
		result = api->stream_synchronize(dev->stream);
	return kf_cuda_check(api, result, "copy to the device", err);
}

/* --- what was asked, kept ------------------------------------------------- */

static void forget(struct kf_device *dev)
{
	for (size_t i = 0; i < dev->made_count; i++) {
		free((void *)(uintptr_t)dev->made[i].column);
		free((void *)(uintptr_t)dev->made[i].row);
	}
	free(dev->made);
	dev->made = NULL;
	dev->made_count = 0;
}

static const float *copy_of(const float *from, size_t count)
{
	float *copy = kf_alloc((count + 1) * sizeof(copy[0]));

	memcpy(copy, from, count * sizeof(copy[0]));
	return copy;
}

/* Ours: what was asked is gone when a change is looked for. */
static void keep(struct kf_device *dev, const struct kf_made *made,
		 size_t count)
{
	forget(dev);
	dev->made = kf_alloc((count + 1) * sizeof(dev->made[0]));
	dev->made_count = count;
	for (size_t i = 0; i < count; i++) {
		struct kf_made *m = &dev->made[i];

		*m = made[i];
		if (!m->column)
			continue;
		m->column = copy_of(m->column, KF_SUMS_CHUNK);
		m->row = copy_of(m->row, (size_t)kf_sums_chunks(
				 numel_of(dev, m->input)));
	}
}

/* --- making --------------------------------------------------------------- */

static int make_one(struct kf_device *dev, void *kernel,
		    const struct kf_made *m)
{
	const struct kf_cuda_api *api = &dev->api;
	uint64_t from = dev->arena[KF_TWOPART_BASE] + dev->base_of[m->input];
	uint64_t to = dev->arena[KF_TWOPART_INPUTS] +
		dev->tensors.in[m->input];
	uint64_t numel = numel_of(dev, m->input);
	uint64_t chunks = kf_sums_chunks(numel);
	uint64_t column = m->column ? dev->column_at : 0;
	uint64_t row = dev->column_at + COLUMN_BYTES;
	double shift = m->shift;
	uint64_t tail = m->tail, tail_from = m->tail_from;
	struct kf_cuda_launch launch = {
		.grid = { (unsigned)chunks, 1, 1 },
		.block = { KF_CUDA_FRESH_THREADS, 1, 1 },
		.stream = dev->stream,
	};
	void *parameter[] = { &from, &to, &numel, &column, &row, &shift, &tail,
			      &tail_from };
	int result = 0;

	if (!chunks)
		return 0;
	if (column)
		result = api->copy_to_device(column, m->column, COLUMN_BYTES,
					     dev->stream);
	if (!result && column)
		result = api->copy_to_device(row, m->row, chunks * ELEMENT,
					     dev->stream);
	if (!result)
		result = api->launch(&launch, kernel, parameter, NULL);
	return result ? result : api->stream_synchronize(dev->stream);
}

/* The kernel is loaded for this alone, as that of sums is (sums.c). */
int kf_cuda_make_again(struct kf_device *dev)
{
	const struct kf_cuda_api *api = &dev->api;
	void *module = NULL, *kernel = NULL;
	int result = 0;

	if (dev->made_count)
		result = kf_cuda_code_load(api, &dev->fresh_code,
					   kf_cuda_fresh_ptx, &module);
	if (!result && module)
		result = api->module_function(&kernel, module, "kf_fresh");
	for (size_t i = 0; i < dev->made_count && !result; i++)
		result = make_one(dev, kernel, &dev->made[i]);
	if (module)
		api->module_unload(module);
	/* Nobody's but ours, as signs are. */
	if (!result && dev->made_count)
		result = api->fill8(dev->column_at, 0, dev->column_bytes,
				    dev->stream);
	return result ? result : api->stream_synchronize(dev->stream);
}

static size_t count_made(const struct kf_device *dev)
{
	size_t count = 0;

	for (uint32_t i = 0; i < dev->tensors.bytes.in_count; i++)
		count += is_made(dev, i);
	return count;
}

enum kf_code kf_cuda_make(struct kf_device *dev, const struct kf_made *made,
			  size_t count, struct kf_err *err)
{
	enum kf_code code = kf_cuda_usable(dev, err);

	for (size_t i = 0; i < count && !code; i++)
		if (!is_made(dev, made[i].input) ||
		    (i && made[i].input <= made[i - 1].input))
			code = kf_fail(err, KF_E_INPUT, "an input that is not "
				       "made here");
	if (!code && count != count_made(dev))
		code = kf_fail(err, KF_E_INPUT, "not all inputs that are made "
			       "here");
	if (!code && !dev->base.count)
		code = kf_cuda_digest_take(dev, KF_TWOPART_BASE, &dev->base,
					   err);
	if (code)
		return code;
	keep(dev, made, count);
	return kf_cuda_check(&dev->api, kf_cuda_make_again(dev),
			     "make inputs on the device", err);
}

/* --- close ---------------------------------------------------------------- */

void kf_cuda_fresh_release(struct kf_device *dev)
{
	if (dev->column_at)
		dev->api.memory_free(dev->column_at);
	forget(dev);
	free(dev->base_of);
	dev->base_of = NULL;
}
