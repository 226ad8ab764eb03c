/*
 * kf_temp and kf_keep. Scratch comes from one block that has grown to what the
 * last call wanted, so that a steady program allocates nothing in its time. A
 * guard lies before the first piece of a block and behind each, and begins at
 * its very last byte; between calls they are looked at.
 * What is kept lies in pages of its own, which are read-only while kf_forward
 * runs: a result cannot be hidden there by accident. The rest of its last page,
 * or a page more, is a guard that is looked at when kf_prepare has ended.
 */
#include "platform/host/host.h"

#include <sys/mman.h>

#define ALIGNMENT	256u
#define PAGE		4096u
#define EXTRA_MAX	4096u	/* blocks beside the pool in one call */
#define GIVEN_MAX	4096u	/* pieces with a guard in one call */
#define GUARD		ALIGNMENT	/* least bytes of one; most: twice */
/* NaN in every floating-point type and neither 0 nor 1 as a bool. */
#define PATTERN		0xff
/* Likewise, of 16 bits from each even address on; no NaN that is computed, and
 * no byte of the other. */
#define GUARD_LOW	0xfd
#define GUARD_HIGH	0x7f

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

/* --- guards --------------------------------------------------------------- */

/* What a guard that begins at this address holds. */
static const unsigned char *guard_at(const struct kf_host_memory *m,
				     const unsigned char *at)
{
	return m->guard + (uintptr_t)at % 2;
}

static void guards_begin(struct kf_host_memory *m)
{
	m->given = kf_alloc(GIVEN_MAX * sizeof(m->given[0]));
	for (size_t i = 0; i < sizeof(m->guard); i++)
		m->guard[i] = i % 2 ? GUARD_HIGH : GUARD_LOW;
}

/* A piece of take bytes with what is behind it; of no bytes: the guard that
 * stands before the others. */
static void *give(struct kf_host_memory *m, unsigned char *data, size_t bytes,
		  size_t take)
{
	if (m->given_count == GIVEN_MAX)
		return data;
	m->given[m->given_count++] = (struct kf_host_given) {
		data, bytes, take,
	};
	memcpy(data + bytes, guard_at(m, data + bytes), take - bytes);
	return data;
}

/* at: from the guard's beginning. */
static void say_fault(struct kf_host_memory *m, const struct kf_host_given *g,
		      size_t at)
{
	if (g->bytes)
		snprintf(m->fault, sizeof(m->fault), "it wrote %zu bytes "
			 "behind the end of scratch of %zu bytes that kf_temp "
			 "gave", at, g->bytes);
	else
		snprintf(m->fault, sizeof(m->fault), "it wrote in front of "
			 "scratch that kf_temp gave");
}

static void look_at_guards(struct kf_host_memory *m)
{
	for (size_t i = 0; i < m->given_count && !m->fault[0]; i++) {
		const struct kf_host_given *g = &m->given[i];
		const unsigned char *now = g->data + g->bytes;
		const unsigned char *before = guard_at(m, now);
		size_t len = g->guard_end - g->bytes, at = 0;

		if (memcmp(now, before, len) == 0)
			continue;
		while (now[at] == before[at])
			at++;
		say_fault(m, g, at);
	}
	m->given_count = 0;
}

/* --- scratch -------------------------------------------------------------- */

/* From the first block's beginning on; NULL: it has no room. */
static void *from_scratch(struct kf_host_memory *m, size_t bytes, size_t take)
{
	size_t head = m->scratch_used ? 0 : GUARD;
	unsigned char *data;

	if (take + head > m->scratch.bytes - m->scratch_used)
		return NULL;
	data = m->scratch.data + m->scratch_used;
	if (head)
		give(m, data, 0, head);
	m->scratch_used += head + take;
	return give(m, data + head, bytes, take);
}

/* At least a byte, so that no piece is taken for the guard before the first. */
void *kf_host_memory_temp(struct kf_host_memory *m, size_t bytes)
{
	struct kf_host_block *extra;
	size_t take;
	void *data;

	if (bytes > m->max_bytes)
		return NULL;
	bytes += !bytes;
	take = rounded(bytes, ALIGNMENT) + GUARD;
	m->wanted_bytes += take;
	data = from_scratch(m, bytes, take);
	if (data || m->extra_count == EXTRA_MAX)
		return data;
	extra = &m->extra[m->extra_count];
	if (!block_map(m, rounded(GUARD + take, PAGE), extra))
		return NULL;
	m->extra_count++;
	memset(extra->data, PATTERN, extra->bytes);
	give(m, extra->data, 0, GUARD);
	return give(m, extra->data + GUARD, bytes, take);
}

/* --- kept ----------------------------------------------------------------- */

/* What byte i of a block is that was not asked for; blocks begin at a page. */
static unsigned char kept_guard(size_t i)
{
	return i % 2 ? GUARD_HIGH : GUARD_LOW;
}

void *kf_host_memory_keep(struct kf_host_memory *m, int slot, size_t bytes)
{
	struct kf_host_block *block;

	if (slot < 0 || slot >= KF_HOST_SLOTS || bytes > m->max_bytes)
		return NULL;
	block = &m->kept[slot];
	if (!block->data && m->preparing) {
		if (!block_map(m, rounded(bytes + GUARD, PAGE), block))
			return NULL;
		m->kept_bytes[slot] = bytes;
		for (size_t i = bytes; i < block->bytes; i++)
			block->data[i] = kept_guard(i);
	}
	return bytes <= m->kept_bytes[slot] ? block->data : NULL;
}

static void look_at_kept(struct kf_host_memory *m, int slot)
{
	const struct kf_host_block *block = &m->kept[slot];
	size_t bytes = m->kept_bytes[slot];

	for (size_t i = bytes; i < block->bytes && !m->fault[0]; i++)
		if (block->data[i] != kept_guard(i))
			snprintf(m->fault, sizeof(m->fault), "it wrote %zu "
				 "bytes behind the end of memory of %zu bytes "
				 "that kf_keep gave", i - bytes, bytes);
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
	for (int i = 0; i < KF_HOST_SLOTS; i++) {
		if (!m->kept[i].data)
			continue;
		mprotect(m->kept[i].data, m->kept[i].bytes, PROT_READ);
		look_at_kept(m, i);
	}
}

void kf_host_memory_tidy(struct kf_host_memory *m)
{
	size_t wanted = m->wanted_bytes ?
		rounded(GUARD + m->wanted_bytes, PAGE) : 0;

	look_at_guards(m);
	for (size_t i = 0; i < m->extra_count; i++)
		block_unmap(m, &m->extra[i]);
	if (!m->extra)
		m->extra = kf_alloc(EXTRA_MAX * sizeof(m->extra[0]));
	if (!m->given)
		guards_begin(m);
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
	free(m->given);
	*m = (struct kf_host_memory) { 0 };
}
