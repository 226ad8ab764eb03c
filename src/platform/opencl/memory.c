/* The device's memory: filled, copied, and looked at after a call. */
#include "platform/opencl/device.h"

/* --- to and from the device ----------------------------------------------- */

enum kf_code kf_opencl_write(struct kf_device *dev, enum kf_twopart_arena arena,
			     const void *from, uint64_t at, uint64_t bytes,
			     struct kf_err *err)
{
	int32_t e = 0;

	if (bytes)
		e = dev->cl.clEnqueueWriteBuffer(dev->queue, dev->arena[arena],
				0, (size_t)at, (size_t)bytes,
				(const char *)from + at, 0, NULL, NULL);
	return e ? kf_ocl_trouble("copy to the device", e, err) : KF_OK;
}

enum kf_code kf_opencl_read(struct kf_device *dev, enum kf_twopart_arena arena,
			    void *to, uint64_t at, uint64_t bytes,
			    struct kf_err *err)
{
	int32_t e = 0;

	if (bytes)
		e = dev->cl.clEnqueueReadBuffer(dev->queue, dev->arena[arena],
				1, (size_t)at, (size_t)bytes, to, 0, NULL,
				NULL);
	return e ? kf_ocl_trouble("copy from the device", e, err) : KF_OK;
}

/* With words of 16 bits; from odd places, or so many bytes, only with such as
 * have both bytes alike. */
static int32_t fill(struct kf_device *dev, struct ocl_mem *mem, unsigned word,
		    uint64_t at, uint64_t bytes)
{
	unsigned char pattern[16];
	const size_t step = at % sizeof(pattern) || bytes % sizeof(pattern)
			    ? 1 : sizeof(pattern);

	for (size_t i = 0; i < sizeof(pattern); i++)
		pattern[i] = (unsigned char)(word >> i % 2 * 8);
	if (!bytes)
		return 0;
	return dev->cl.clEnqueueFillBuffer(dev->queue, mem, pattern, step,
					   (size_t)at, (size_t)bytes, 0, NULL,
					   NULL);
}

/* Guards everywhere, and the blocks of the program's within them. Arenas are
 * multiples of the alignment. */
static enum kf_code fill_blocks(struct kf_device *dev,
				enum kf_twopart_arena arena,
				const struct kf_twopart_blocks *blocks,
				unsigned word, struct kf_err *err)
{
	struct ocl_mem *mem = dev->arena[arena];
	int32_t e = fill(dev, mem, KF_TWOPART_GUARD_PATTERN, 0,
			 dev->layout.arena_bytes[arena]);

	for (size_t i = 0; i < blocks->count && !e; i++)
		e = fill(dev, mem, word, blocks->block[i].offset,
			 blocks->block[i].bytes);
	return e ? kf_ocl_trouble("fill memory", e, err) : KF_OK;
}

enum kf_code kf_opencl_poison(struct kf_device *dev,
			      const struct kf_twopart_blocks *blocks,
			      struct kf_err *err)
{
	return fill_blocks(dev, KF_TWOPART_SCRATCH, blocks, KF_TWOPART_PATTERN |
			   KF_TWOPART_PATTERN << 8, err);
}

/* A larger buffer than the caches, written: no call finds its data there. */
enum kf_code kf_opencl_flush(struct kf_device *dev, struct kf_err *err)
{
	int32_t e = 0;

	if (!dev->flush_bytes)
		return KF_OK;
	if (!dev->flush)
		dev->flush = dev->cl.clCreateBuffer(dev->context,
				CL_MEM_READ_WRITE, (size_t)dev->flush_bytes,
				NULL, &e);
	if (dev->flush)
		e = fill(dev, dev->flush, 0, 0, dev->flush_bytes);
	return e ? kf_ocl_trouble("flush the caches", e, err) : KF_OK;
}

enum kf_code kf_opencl_finish(struct kf_device *dev, struct kf_err *err)
{
	int32_t e = dev->cl.clFinish(dev->queue);

	return e ? kf_ocl_trouble("copy to the device", e, err) : KF_OK;
}

/* --- what was written where nothing may be -------------------------------- */

enum kf_code kf_opencl_check_guards(struct kf_device *dev,
				    enum kf_twopart_arena arena,
				    const struct kf_twopart_blocks *blocks,
				    struct kf_err *err)
{
	enum kf_code code = KF_OK;

	for (size_t i = 0; i < blocks->count && !code && !dev->fault[0]; i++) {
		const struct kf_twopart_block *b = &blocks->block[i];
		uint64_t from = b->offset + b->bytes;
		uint64_t len = b->guard_end - from, at;

		code = kf_opencl_read(dev, arena, dev->bounce, from, len, err);
		at = code ? len : kf_twopart_guard_changed(dev->bounce,
							   from, len);
		if (at < len)
			kf_twopart_guard_words(arena, blocks, i, at,
					       dev->fault);
	}
	return code;
}

/* Compares what the device has with what it should have, piece by piece. */
enum kf_code kf_opencl_first_change(struct kf_device *dev,
				    enum kf_twopart_arena arena,
				    const unsigned char *should, uint64_t bytes,
				    uint64_t *changed, struct kf_err *err)
{
	*changed = UINT64_MAX;
	for (uint64_t at = 0; at < bytes; at += KF_OCL_BOUNCE) {
		uint64_t left = bytes - at;
		size_t len = left < KF_OCL_BOUNCE ? (size_t)left
						  : KF_OCL_BOUNCE;
		enum kf_code code = kf_opencl_read(dev, arena, dev->bounce, at,
					       len, err);

		if (code)
			return code;
		if (memcmp(dev->bounce, should + at, len) == 0)
			continue;
		*changed = at;
		while (dev->bounce[*changed - at] == should[*changed])
			++*changed;
		return KF_OK;
	}
	return KF_OK;
}

enum kf_code kf_opencl_check_kept(struct kf_device *dev, struct kf_err *err)
{
	const struct kf_twopart_blocks *kept = &dev->layout.kept;
	const struct kf_twopart_block *b = kept->block;
	uint64_t changed;
	enum kf_code code;

	if (!dev->kept)
		return KF_OK;
	code = kf_opencl_first_change(dev, KF_TWOPART_KEPT, dev->kept,
			    dev->layout.arena_bytes[KF_TWOPART_KEPT],
			    &changed, err);
	if (code || changed == UINT64_MAX)
		return code;
	while (changed >= b->guard_end)
		b++;
	if (changed >= b->offset + b->bytes)
		kf_twopart_guard_words(KF_TWOPART_KEPT, kept,
				       (size_t)(b - kept->block),
				       changed - b->offset - b->bytes,
				       dev->fault);
	else
		snprintf(dev->fault, sizeof(dev->fault), "a kernel of "
			 "kf_forward wrote to kf_keep %u, which it may only "
			 "read", b->index);
	return KF_OK;
}

/* --- what is kept --------------------------------------------------------- */

/* Before kf_prepare: kept memory is zero, with guards around it. */
enum kf_code kf_opencl_empty_kept(struct kf_device *dev, struct kf_err *err)
{
	return fill_blocks(dev, KF_TWOPART_KEPT, &dev->layout.kept, 0, err);
}

enum kf_code kf_opencl_remember_kept(struct kf_device *dev, struct kf_err *err)
{
	uint64_t bytes = dev->layout.arena_bytes[KF_TWOPART_KEPT];

	free(dev->kept);
	dev->kept = kf_alloc((size_t)bytes);
	return kf_opencl_read(dev, KF_TWOPART_KEPT, dev->kept, 0, bytes, err);
}
