/* Arenas in the device's memory: patterns, guards and digests. */
#include "platform/cuda/cuda.h"

#define GRAIN	16u		/* what a digest reads at once */

static size_t chunks_of(uint64_t bytes)
{
	return (size_t)(kf_twopart_rounded(bytes, KF_CUDA_DIGEST_CHUNK) /
			KF_CUDA_DIGEST_CHUNK);
}

static enum kf_code no_room(struct kf_device *dev, uint64_t bytes,
			    struct kf_err *err)
{
	size_t free_bytes = 0, total = 0;

	dev->api.memory_info(&free_bytes, &total);
	return kf_fail(err, KF_E_LIMIT, "the device has no room for %llu MiB: "
		       "%zu MiB of %zu are free",
		       (unsigned long long)(bytes >> 20), free_bytes >> 20,
		       total >> 20);
}

enum kf_code kf_cuda_digest_room(struct kf_device *dev, uint64_t bytes,
				 struct kf_err *err)
{
	const struct kf_cuda_api *api = &dev->api;
	size_t count = chunks_of(bytes);

	if (count <= dev->digest_room)
		return KF_OK;
	if (dev->digest_at)
		api->memory_free(dev->digest_at);
	dev->digest_at = 0;
	dev->digest_room = 0;
	if (api->memory_alloc(&dev->digest_at, count * sizeof(uint64_t)))
		return no_room(dev, count * sizeof(uint64_t), err);
	dev->digest_room = count;
	return KF_OK;
}

enum kf_code kf_cuda_arena_alloc(struct kf_device *dev,
				 enum kf_twopart_arena arena, uint64_t bytes,
				 struct kf_err *err)
{
	const struct kf_cuda_api *api = &dev->api;
	uint64_t whole = kf_twopart_rounded(bytes ? bytes : 1, GRAIN);
	int result = api->memory_alloc(&dev->arena[arena], whole);

	if (result) {
		dev->arena[arena] = 0;
		if (result == KF_CUDA_OUT_OF_MEMORY)
			return no_room(dev, whole, err);
		return kf_cuda_check(api, result, "allocate device memory",
				     err);
	}
	dev->arena_bytes[arena] = whole;
	if (whole > bytes)
		result = api->fill8(dev->arena[arena] + bytes, 0, whole - bytes,
				    dev->stream);
	if (result)
		return kf_cuda_check(api, result, "fill device memory", err);
	return kf_cuda_digest_room(dev, whole, err);
}

enum kf_code kf_cuda_room(struct kf_device *dev, uint64_t *at, uint64_t bytes,
			  const char *what, struct kf_err *err)
{
	if (!dev->api.memory_alloc(at, bytes))
		return KF_OK;
	*at = 0;
	return kf_fail(err, KF_E_LIMIT, "the device has no room %s", what);
}

/* Guards everywhere, and the blocks of the program's within them. */
static int fill_blocks(struct kf_device *dev, enum kf_twopart_arena arena,
		       const struct kf_twopart_blocks *blocks,
		       unsigned char value)
{
	const struct kf_cuda_api *api = &dev->api;
	uint64_t at = dev->arena[arena];
	int result;

	if (!at)	/* given.c: there was no memory for it */
		return 0;
	result = api->fill16(at, KF_TWOPART_GUARD_PATTERN,
			     dev->arena_bytes[arena] / 2, dev->stream);
	for (size_t i = 0; i < blocks->count && !result; i++)
		if (blocks->block[i].bytes)
			result = api->fill8(at + blocks->block[i].offset,
					    value, blocks->block[i].bytes,
					    dev->stream);
	return result;
}

enum kf_code kf_cuda_fill_scratch(struct kf_device *dev,
				  const struct kf_twopart_blocks *blocks,
				  struct kf_err *err)
{
	return kf_cuda_check(&dev->api, fill_blocks(dev, KF_TWOPART_SCRATCH,
						    blocks,
						    KF_TWOPART_PATTERN),
			     "fill scratch memory", err);
}

enum kf_code kf_cuda_fill_kept(struct kf_device *dev, struct kf_err *err)
{
	return kf_cuda_check(&dev->api, fill_blocks(dev, KF_TWOPART_KEPT,
						    &dev->layout.kept, 0),
			     "fill kept memory", err);
}

/* --- digests -------------------------------------------------------------- */

/* The host's part of the result is pageable memory; that costs a copy within
 * the driver, of 32 KiB for each GiB. */
static int read_digests(struct kf_device *dev, const struct kf_cuda_block *of,
			uint64_t *out, size_t count)
{
	const struct kf_cuda_api *api = &dev->api;
	struct kf_cuda_launch launch = {
		.grid = { (unsigned)count, 1, 1 },
		.block = { KF_CUDA_DIGEST_THREADS, 1, 1 },
		.stream = dev->stream,
	};
	uint64_t at = of->at, words = of->bytes / GRAIN;
	void *parameter[] = { &at, &words, &dev->digest_at };
	int result;

	result = api->fill8(dev->digest_at, 0, count * sizeof(out[0]),
			    dev->stream);
	if (!result)
		result = api->launch(&launch, dev->digest, parameter, NULL);
	if (!result)
		result = api->copy_to_host(out, dev->digest_at,
					   count * sizeof(out[0]),
					   dev->stream);
	return result ? result : api->stream_synchronize(dev->stream);
}

static struct kf_cuda_block all_of(const struct kf_device *dev,
				   enum kf_twopart_arena arena)
{
	return (struct kf_cuda_block) {
		dev->arena[arena], dev->arena_bytes[arena],
	};
}

enum kf_code kf_cuda_block_digest_take(struct kf_device *dev,
				       const struct kf_cuda_block *of,
				       struct kf_cuda_digest *digest,
				       struct kf_err *err)
{
	size_t count = chunks_of(of->bytes);

	if (digest->count != count) {
		free(digest->want);
		digest->want = kf_alloc(count * sizeof(digest->want[0]));
		digest->count = count;
	}
	return kf_cuda_check(&dev->api,
			     read_digests(dev, of, digest->want, count),
			     "read back what a program is given", err);
}

enum kf_code kf_cuda_block_digest_compare(struct kf_device *dev,
					  const struct kf_cuda_block *of,
					  const struct kf_cuda_digest *digest,
					  size_t *chunk, struct kf_err *err)
{
	uint64_t *now = kf_alloc(digest->count * sizeof(now[0]));
	int result = read_digests(dev, of, now, digest->count);

	*chunk = 0;
	while (*chunk < digest->count && now[*chunk] == digest->want[*chunk])
		(*chunk)++;
	free(now);
	return kf_cuda_check(&dev->api, result,
			     "read back what a program was given", err);
}

enum kf_code kf_cuda_digest_take(struct kf_device *dev,
				 enum kf_twopart_arena arena,
				 struct kf_cuda_digest *digest,
				 struct kf_err *err)
{
	const struct kf_cuda_block of = all_of(dev, arena);

	return kf_cuda_block_digest_take(dev, &of, digest, err);
}

enum kf_code kf_cuda_digest_compare(struct kf_device *dev,
				    enum kf_twopart_arena arena,
				    const struct kf_cuda_digest *digest,
				    size_t *chunk, struct kf_err *err)
{
	const struct kf_cuda_block of = all_of(dev, arena);

	return kf_cuda_block_digest_compare(dev, &of, digest, chunk, err);
}

/* --- guards --------------------------------------------------------------- */

struct guards {
	enum kf_twopart_arena arena;
	const struct kf_twopart_blocks *blocks;
	size_t next;			/* the first not looked at yet */
};

static uint64_t guard_bytes(const struct kf_twopart_block *b)
{
	return b->guard_end - b->offset - b->bytes;
}

/* Brings as many guards as there is room for; *end is behind the last. */
static int bring(struct kf_device *dev, const struct guards *g, size_t *end)
{
	size_t used = 0;
	int result = 0;

	for (*end = g->next; *end < g->blocks->count && !result; (*end)++) {
		const struct kf_twopart_block *b = &g->blocks->block[*end];
		uint64_t from = dev->arena[g->arena] + b->offset + b->bytes;

		if (guard_bytes(b) > KF_CUDA_STAGING_BYTES - used)
			break;
		result = dev->api.copy_to_host(dev->staging + used, from,
					       guard_bytes(b), dev->stream);
		used += guard_bytes(b);
	}
	return result ? result : dev->api.stream_synchronize(dev->stream);
}

static void look(struct kf_device *dev, const struct guards *g, size_t end)
{
	const unsigned char *at = dev->staging;

	for (size_t i = g->next; i < end && !dev->fault[0]; i++) {
		const struct kf_twopart_block *b = &g->blocks->block[i];
		uint64_t len = guard_bytes(b);
		uint64_t changed = kf_twopart_guard_changed(at, b->offset +
							    b->bytes, len);

		if (changed < len)
			kf_twopart_guard_words(g->arena, g->blocks, i, changed,
					       dev->fault);
		at += len;
	}
}

enum kf_code kf_cuda_guards_check(struct kf_device *dev,
				  enum kf_twopart_arena arena,
				  const struct kf_twopart_blocks *blocks,
				  struct kf_err *err)
{
	struct guards g = { arena, blocks, 0 };

	while (g.next < blocks->count && !dev->fault[0]) {
		size_t end;
		int result = bring(dev, &g, &end);

		if (result)
			return kf_cuda_check(&dev->api, result,
					     "read back guards", err);
		look(dev, &g, end);
		g.next = end;
	}
	return KF_OK;
}
