/*
 * kf_temp and kf_keep of programs with host code of their own. Scratch comes
 * from one block, the arena, which has grown to what the last call wanted: it
 * is laid out as that call asked for it, and upload fills it, so that a steady
 * program allocates and fills nothing in its time. What a call asks otherwise
 * gets a guard then; what it asks beyond it lies in blocks of its own, that go
 * when it has ended. Guards lie as those of a two-part program do.
 */
#include "platform/cuda/cuda.h"

static void give_back(struct kf_device *dev, struct kf_cuda_block *block)
{
	if (block->at)
		dev->api.memory_free(block->at);
	*block = (struct kf_cuda_block) { 0 };
}

/* May the program have so much more? As the contract has it. */
static bool may_have(const struct kf_device *dev, size_t bytes)
{
	return bytes <= dev->memory_max - dev->temp_bytes - dev->kept_bytes;
}

/* --- blocks --------------------------------------------------------------- */

/* Queued: a guard from an address on, which may be odd; NVIDIA's result. */
static int fill_guard(struct kf_device *dev, uint64_t from, uint64_t bytes)
{
	const struct kf_cuda_api *api = &dev->api;
	int result = 0;

	if (from % 2)
		result = api->fill8(from, KF_TWOPART_GUARD_PATTERN >> 8, 1,
				    dev->stream);
	return result ? result :
		api->fill16(from + from % 2, KF_TWOPART_GUARD_PATTERN,
			    (bytes - from % 2) / 2, dev->stream);
}

/* Value from head on, and guards around it: waited for, as the program may have
 * streams of its own. */
static int fill_block(struct kf_device *dev, const struct kf_cuda_block *block,
		      uint64_t head, uint64_t bytes, unsigned char value)
{
	const struct kf_cuda_api *api = &dev->api;
	int result = api->fill16(block->at, KF_TWOPART_GUARD_PATTERN,
				 block->bytes / 2, dev->stream);

	if (!result)
		result = api->fill8(block->at + head, value, bytes,
				    dev->stream);
	return result ? result : api->stream_synchronize(dev->stream);
}

/* A block of its own with w->bytes for the program, whose address is returned;
 * 0: there is no memory. The list gets it, and the guard before the first; it
 * counts places from the arena's beginning, and they may wrap. */
struct wanted {
	enum kf_twopart_arena arena;
	struct kf_twopart_blocks *list;
	uint64_t bytes;
	uint32_t index;
	unsigned char value;		/* what it holds */
};
static uint64_t give_alone(struct kf_device *dev, const struct wanted *w,
			   struct kf_cuda_block *out)
{
	uint64_t head = w->list->count ? 0 : KF_TWOPART_GUARD, from;
	struct kf_cuda_block block = {
		.bytes = head + kf_twopart_rounded(w->bytes + KF_TWOPART_GUARD,
						   KF_CUDA_ALIGNMENT),
	};

	if (dev->api.memory_alloc(&block.at, block.bytes))
		return 0;
	if (fill_block(dev, &block, head, w->bytes, w->value)) {
		give_back(dev, &block);
		return 0;
	}
	from = block.at - dev->arena[w->arena];
	if (head)
		kf_twopart_add_block(w->list, from, 0, 0, KF_CUDA_ALIGNMENT);
	kf_twopart_add_block(w->list, from + head, w->bytes, w->index,
			     KF_CUDA_ALIGNMENT);
	*out = block;
	return block.at + head;
}

static void drop_scratch(struct kf_device *dev)
{
	if (dev->arena[KF_TWOPART_SCRATCH])
		dev->api.memory_free(dev->arena[KF_TWOPART_SCRATCH]);
	dev->arena[KF_TWOPART_SCRATCH] = 0;
	dev->arena_bytes[KF_TWOPART_SCRATCH] = 0;
	dev->layout.forward_temp.count = 0;
}

/* Where memory is short the arena is given back for it, if this call has had
 * nothing of it. */
static uint64_t give_beside(struct kf_device *dev, const struct wanted *w,
			    struct kf_cuda_block *out)
{
	uint64_t at = give_alone(dev, w, out);

	if (at || dev->temp_count || !dev->arena[KF_TWOPART_SCRATCH])
		return at;
	drop_scratch(dev);
	return give_alone(dev, w, out);
}

/* --- scratch -------------------------------------------------------------- */

/* The next block is as it was in the last call: all is done. 0: it is not, and
 * what was laid out from there on is no more. */
static uint64_t give_as_before(struct kf_device *dev,
			       struct kf_twopart_blocks *list, uint64_t bytes)
{
	size_t next = dev->temp_count + 1;

	if (list->count > next && list->block[next].bytes == bytes)
		return dev->arena[KF_TWOPART_SCRATCH] +
			list->block[next].offset;
	if (list->count > next)
		list->count = next;
	return 0;
}

/* 0: it has no room. */
static uint64_t give_of_arena(struct kf_device *dev,
			      struct kf_twopart_blocks *list, uint64_t bytes)
{
	const uint64_t arena = dev->arena[KF_TWOPART_SCRATCH];
	const struct kf_twopart_block *b;
	uint64_t end;

	if (dev->preparing || dev->extra_count || !list->count)
		return 0;
	b = kf_twopart_add_block(list, kf_twopart_blocks_end(list), bytes,
				 (uint32_t)dev->temp_count, KF_CUDA_ALIGNMENT);
	end = b->offset + bytes;
	if (b->guard_end <= dev->arena_bytes[KF_TWOPART_SCRATCH] &&
	    !fill_guard(dev, arena + end, b->guard_end - end))
		return arena + b->offset;
	list->count--;
	return 0;
}

void *kf_cuda_give_temp(struct kf_call *call, size_t bytes)
{
	struct kf_device *dev = call->owner;
	struct kf_twopart_blocks *list = dev->preparing ?
		&dev->layout.prepare_temp : &dev->layout.forward_temp;
	struct wanted wanted = {
		KF_TWOPART_SCRATCH, list, bytes + !bytes,
		(uint32_t)dev->temp_count, KF_TWOPART_PATTERN,
	};
	uint64_t at;

	if (dev->temp_count == KF_CUDA_FREE_BLOCKS ||
	    !may_have(dev, wanted.bytes))
		return NULL;
	at = give_as_before(dev, list, wanted.bytes);
	if (!at)
		at = give_of_arena(dev, list, wanted.bytes);
	if (!at) {
		at = give_beside(dev, &wanted, &dev->extra[dev->extra_count]);
		dev->extra_count += at != 0;
	}
	if (at) {
		dev->temp_count++;
		dev->temp_bytes += wanted.bytes;
	}
	return (void *)(uintptr_t)at;
}

/* --- kept ----------------------------------------------------------------- */

static void make_slot(struct kf_device *dev, int slot, size_t bytes)
{
	struct kf_cuda_kept *kept = &dev->slot[slot];
	const struct wanted wanted = {
		KF_TWOPART_KEPT, &dev->layout.kept, bytes, (uint32_t)slot, 0,
	};

	if (!may_have(dev, bytes))
		return;
	kept->at = give_beside(dev, &wanted, &kept->block);
	if (!kept->at)
		return;
	kept->bytes = bytes;
	dev->kept_bytes += bytes;
}

void *kf_cuda_give_keep(struct kf_call *call, int slot, size_t bytes)
{
	struct kf_device *dev = call->owner;
	struct kf_cuda_kept *kept;

	if (slot < 0 || slot >= KF_CUDA_FREE_SLOTS)
		return NULL;
	kept = &dev->slot[slot];
	bytes += !bytes;
	if (!kept->at && dev->preparing)
		make_slot(dev, slot, bytes);
	return bytes <= kept->bytes ? (void *)(uintptr_t)kept->at : NULL;
}

/* --- calls ---------------------------------------------------------------- */

static void end_call(struct kf_device *dev)
{
	while (dev->extra_count)
		give_back(dev, &dev->extra[--dev->extra_count]);
	dev->temp_count = 0;
	dev->temp_bytes = 0;
}

/* As the last call asked; the guard before all others is there in any case. */
static struct kf_twopart_blocks laid_out(const struct kf_device *dev)
{
	const struct kf_twopart_blocks *last = &dev->layout.forward_temp;
	struct kf_twopart_blocks next = { 0 };

	for (size_t i = 0; i <= dev->temp_count; i++)
		kf_twopart_add_block(&next, kf_twopart_blocks_end(&next),
				     i ? last->block[i].bytes : 0,
				     i ? last->block[i].index : 0,
				     KF_CUDA_ALIGNMENT);
	return next;
}

/* Where there is no memory for it, the next call asks for it itself. */
void kf_cuda_given_tidy(struct kf_device *dev)
{
	struct kf_twopart_blocks *list = &dev->layout.forward_temp, next;
	uint64_t bytes;

	if (!dev->temp_count && dev->arena[KF_TWOPART_SCRATCH])
		return;
	next = laid_out(dev);
	bytes = kf_twopart_blocks_end(&next);
	end_call(dev);
	if (bytes > dev->arena_bytes[KF_TWOPART_SCRATCH]) {
		drop_scratch(dev);
		if (kf_cuda_arena_alloc(dev, KF_TWOPART_SCRATCH, bytes, NULL)) {
			drop_scratch(dev);
			next.count = 0;
		}
	}
	free(list->block);
	*list = next;
}

static void drop_kept(struct kf_device *dev)
{
	for (int i = 0; i < KF_CUDA_FREE_SLOTS; i++) {
		give_back(dev, &dev->slot[i].block);
		free(dev->slot[i].digest.want);
		dev->slot[i] = (struct kf_cuda_kept) { 0 };
	}
	dev->kept_bytes = 0;
	dev->layout.kept.count = 0;
}

void kf_cuda_given_prepare(struct kf_device *dev)
{
	kf_cuda_given_tidy(dev);
	drop_kept(dev);
	dev->layout.prepare_temp.count = 0;
	dev->preparing = true;
}

/* All of a slot, with its guards. */
static enum kf_code take_digests(struct kf_device *dev, struct kf_err *err)
{
	enum kf_code code = KF_OK;

	for (int i = 0; i < KF_CUDA_FREE_SLOTS && !code; i++) {
		struct kf_cuda_kept *kept = &dev->slot[i];

		if (!kept->at)
			continue;
		code = kf_cuda_digest_room(dev, kept->block.bytes, err);
		if (!code)
			code = kf_cuda_block_digest_take(dev, &kept->block,
							 &kept->digest, err);
	}
	return code;
}

enum kf_code kf_cuda_given_seal(struct kf_device *dev, struct kf_err *err)
{
	enum kf_code code = kf_cuda_guards_check(dev, KF_TWOPART_SCRATCH,
						 &dev->layout.prepare_temp,
						 err);

	if (!code)
		code = kf_cuda_guards_check(dev, KF_TWOPART_KEPT,
					    &dev->layout.kept, err);
	end_call(dev);
	dev->preparing = false;
	if (dev->fault[0])
		dev->failed = true;
	return code || dev->fault[0] ? code : take_digests(dev, err);
}

enum kf_code kf_cuda_given_look(struct kf_device *dev, struct kf_err *err)
{
	enum kf_code code = kf_cuda_guards_check(dev, KF_TWOPART_KEPT,
						 &dev->layout.kept, err);

	for (int i = 0; i < KF_CUDA_FREE_SLOTS && !code; i++) {
		const struct kf_cuda_kept *kept = &dev->slot[i];
		size_t chunk;

		if (!kept->at || dev->fault[0])
			continue;
		code = kf_cuda_block_digest_compare(dev, &kept->block,
						    &kept->digest, &chunk, err);
		if (!code && chunk < kept->digest.count)
			snprintf(dev->fault, sizeof(dev->fault), "a kernel of "
				 "kf_forward wrote to memory that kf_prepare "
				 "keeps, which it may only read");
	}
	if (dev->fault[0])
		dev->failed = true;
	return code;
}

void kf_cuda_given_release(struct kf_device *dev)
{
	end_call(dev);
	drop_kept(dev);
}
