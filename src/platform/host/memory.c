/*
 * kf_temp and kf_keep. Scratch comes from one block that has grown to what the
 * last call wanted, so that a steady program allocates nothing in its time.
 * What is kept lies in pages of its own, which are read-only while kf_forward
 * runs: a result cannot be hidden there by accident.
 */
#include "platform/host/host.h"

#include <sys/mman.h>

#define ALIGNMENT	256u
#define PAGE		4096u
#define EXTRA_MAX	4096u	/* blocks beside the pool in one call */
/* NaN in every floating-point type and neither 0 nor 1 as a bool. */
#define PATTERN		0xff

static size_t rounded(size_t bytes, size_t to)
{
	return (bytes + to - 1) / to * to;
}

static bool block_map(struct kf_host_memory *m, size_t bytes,
		      struct kf_host_block *block)
{
	void *data;

	if (bytes > m->max_bytes - m->held_bytes)
		return false;
	data = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (data == MAP_FAILED)
		return false;
	*block = (struct kf_host_block) { data, bytes };
	m->held_bytes += bytes;
	return true;
}

static void block_unmap(struct kf_host_memory *m, struct kf_host_block *block)
{
	if (!block->data)
		return;
	munmap(block->data, block->bytes);
	m->held_bytes -= block->bytes;
	*block = (struct kf_host_block) { 0 };
}

void *kf_host_memory_temp(struct kf_host_memory *m, size_t bytes)
{
	struct kf_host_block *extra;
	unsigned char *data;
	size_t take;

	if (bytes > m->max_bytes)
		return NULL;
	take = rounded(bytes ? bytes : 1, ALIGNMENT);
	m->wanted_bytes += take;
	if (take <= m->scratch.bytes - m->scratch_used) {
		data = m->scratch.data + m->scratch_used;
		m->scratch_used += take;
		return data;
	}
	if (m->extra_count == EXTRA_MAX)
		return NULL;
	extra = &m->extra[m->extra_count];
	if (!block_map(m, rounded(take, PAGE), extra))
		return NULL;
	m->extra_count++;
	memset(extra->data, PATTERN, extra->bytes);
	return extra->data;
}

void *kf_host_memory_keep(struct kf_host_memory *m, int slot, size_t bytes)
{
	struct kf_host_block *block;

	if (slot < 0 || slot >= KF_HOST_SLOTS || bytes > m->max_bytes)
		return NULL;
	block = &m->kept[slot];
	if (!block->data && m->preparing &&
	    !block_map(m, rounded(bytes ? bytes : 1, PAGE), block))
		return NULL;
	return bytes <= block->bytes ? block->data : NULL;
}

void kf_host_memory_prepare(struct kf_host_memory *m)
{
	for (int i = 0; i < KF_HOST_SLOTS; i++)
		block_unmap(m, &m->kept[i]);
	m->preparing = true;
}

void kf_host_memory_seal(struct kf_host_memory *m)
{
	m->preparing = false;
	for (int i = 0; i < KF_HOST_SLOTS; i++)
		if (m->kept[i].data)
			mprotect(m->kept[i].data, m->kept[i].bytes, PROT_READ);
}

void kf_host_memory_tidy(struct kf_host_memory *m)
{
	size_t wanted = rounded(m->wanted_bytes, PAGE);

	for (size_t i = 0; i < m->extra_count; i++)
		block_unmap(m, &m->extra[i]);
	if (!m->extra)
		m->extra = kf_alloc(EXTRA_MAX * sizeof(m->extra[0]));
	if (wanted > m->scratch.bytes) {
		block_unmap(m, &m->scratch);
		if (block_map(m, wanted, &m->scratch))
			m->scratch_used = m->scratch.bytes;
	}
	if (m->scratch_used)
		memset(m->scratch.data, PATTERN, m->scratch_used);
	m->extra_count = 0;
	m->scratch_used = 0;
	m->wanted_bytes = 0;
}

bool kf_host_memory_kept_at(const struct kf_host_memory *m,
			    const void *address)
{
	uintptr_t at = (uintptr_t)address;

	for (int i = 0; i < KF_HOST_SLOTS; i++) {
		uintptr_t start = (uintptr_t)m->kept[i].data;

		if (start && at >= start && at - start < m->kept[i].bytes)
			return true;
	}
	return false;
}

void kf_host_memory_release(struct kf_host_memory *m)
{
	kf_host_memory_tidy(m);
	block_unmap(m, &m->scratch);
	for (int i = 0; i < KF_HOST_SLOTS; i++)
		block_unmap(m, &m->kept[i]);
	free(m->extra);
	*m = (struct kf_host_memory) { 0 };
}
