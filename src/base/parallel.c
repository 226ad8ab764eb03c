#include "base/parallel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

#ifndef MADV_POPULATE_WRITE	/* Linux 5.14 */
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

#define THREADS_MAX 64
#define PART_BYTES ((size_t)8 << 20)	/* smaller ones are not worth a thread */
#define PATTERN_STEP ((size_t)1 << 16)
#define PAGES_BYTES ((size_t)32 << 20)	/* for one thread */

struct loop {
	void (*work)(void *arg, size_t i);
	void *arg;
	size_t count;
	atomic_size_t next;
};

static void *run(void *arg)
{
	struct loop *loop = arg;
	size_t i;

	while ((i = atomic_fetch_add(&loop->next, 1)) < loop->count)
		loop->work(loop->arg, i);
	return NULL;
}

void kf_parallel(size_t count, void (*work)(void *arg, size_t i), void *arg)
{
	struct loop loop = { .work = work, .arg = arg, .count = count };
	size_t threads = count < 2 ? 1 : kf_processors(), started = 0;
	pthread_t thread[THREADS_MAX];

	threads = threads < THREADS_MAX ? threads : THREADS_MAX;
	threads = threads < count ? threads : count;
	/* Where no more threads can be had, fewer do all of it. */
	while (started + 1 < threads &&
	       pthread_create(&thread[started], NULL, run, &loop) == 0)
		started++;
	run(&loop);
	for (size_t i = 0; i < started; i++)
		pthread_join(thread[i], NULL);
}

/* --- parts ---------------------------------------------------------------- */

struct parts {
	int64_t count, part;
	void (*work)(void *arg, int64_t first, int64_t end);
	int64_t (*look)(void *arg, int64_t first, int64_t end);
	void *arg;
	atomic_llong least;	/* that look gave */
};

static void take_least(struct parts *p, int64_t found)
{
	long long before = atomic_load(&p->least);

	while (found >= 0 && found < before &&
	       !atomic_compare_exchange_weak(&p->least, &before, found))
		;
}

static void run_part(void *arg, size_t i)
{
	struct parts *p = arg;
	int64_t first = (int64_t)i * p->part, left = p->count - first;
	int64_t end = first + (left < p->part ? left : p->part);

	if (p->look)
		take_least(p, p->look(p->arg, first, end));
	else
		p->work(p->arg, first, end);
}

static size_t number_of(const struct parts *p)
{
	return (size_t)(p->count / p->part + (p->count % p->part != 0));
}

void kf_parallel_parts(int64_t count, int64_t part,
		       void (*work)(void *arg, int64_t first, int64_t end),
		       void *arg)
{
	struct parts p = { .count = count, .part = part, .work = work,
			   .arg = arg };

	kf_parallel(number_of(&p), run_part, &p);
}

int64_t kf_parallel_least(int64_t count, int64_t part,
			  int64_t (*look)(void *arg, int64_t first,
					  int64_t end), void *arg)
{
	struct parts p = { .count = count, .part = part, .look = look,
			   .arg = arg };

	atomic_init(&p.least, INT64_MAX);
	kf_parallel(number_of(&p), run_part, &p);
	return p.least < INT64_MAX ? p.least : -1;
}

/* --- bytes ---------------------------------------------------------------- */

struct bytes {
	unsigned char *to;
	const unsigned char *from;
	size_t bytes;
	uint32_t pattern;
	atomic_bool differs;
};

static size_t parts_of(size_t bytes)
{
	return (bytes + PART_BYTES - 1) / PART_BYTES;
}

static size_t part_bytes(const struct bytes *b, size_t part)
{
	size_t left = b->bytes - part * PART_BYTES;

	return left < PART_BYTES ? left : PART_BYTES;
}

static void copy_part(void *arg, size_t part)
{
	const struct bytes *b = arg;

	memcpy(b->to + part * PART_BYTES, b->from + part * PART_BYTES,
	       part_bytes(b, part));
}

void kf_parallel_copy(void *to, const void *from, size_t bytes)
{
	struct bytes b = { .to = to, .from = from, .bytes = bytes };

	kf_parallel(parts_of(bytes), copy_part, &b);
}

static void compare_part(void *arg, size_t part)
{
	struct bytes *b = arg;

	if (!atomic_load(&b->differs) &&
	    memcmp(b->to + part * PART_BYTES, b->from + part * PART_BYTES,
		   part_bytes(b, part)) != 0)
		atomic_store(&b->differs, true);
}

bool kf_parallel_same(const void *one, const void *two, size_t bytes)
{
	struct bytes b = { .to = (unsigned char *)one, .from = two,
			   .bytes = bytes };

	kf_parallel(parts_of(bytes), compare_part, &b);
	return !atomic_load(&b.differs);
}

static void fill_part(void *arg, size_t part)
{
	const struct bytes *b = arg;
	unsigned char *data = b->to + part * PART_BYTES;
	size_t bytes = part_bytes(b, part);
	size_t done = bytes < sizeof(b->pattern) ? bytes : sizeof(b->pattern);

	memcpy(data, &b->pattern, done);
	while (done < bytes) {
		size_t more = done < bytes - done ? done : bytes - done;

		/* Doubling: the copies are as fast as memory. */
		if (more > PATTERN_STEP)
			more = PATTERN_STEP;
		memcpy(data + done, data, more);
		done += more;
	}
}

void kf_parallel_fill(void *data, size_t bytes, uint32_t pattern)
{
	struct bytes b = { .to = data, .bytes = bytes, .pattern = pattern };

	kf_parallel(parts_of(bytes), fill_part, &b);
}

/* --- pages ---------------------------------------------------------------- */

struct pages {
	unsigned char *data;
	size_t bytes;
	bool writable;
};

static size_t pages_bytes(const struct pages *p, size_t part)
{
	size_t left = p->bytes - part * PAGES_BYTES;

	return left < PAGES_BYTES ? left : PAGES_BYTES;
}

/* Older kernels must see them touched; nothing reads them meanwhile. */
static void touch(volatile unsigned char *data, size_t bytes, bool writable)
{
	const size_t page = 4096;

	for (size_t at = 0; at < bytes; at += page) {
		unsigned char byte = data[at];

		if (writable)
			data[at] = byte;
	}
}

static void make_pages(void *arg, size_t part)
{
	const struct pages *p = arg;
	unsigned char *data = p->data + part * PAGES_BYTES;
	size_t bytes = pages_bytes(p, part);

	if (madvise(data, bytes, p->writable ? MADV_POPULATE_WRITE :
		    MADV_POPULATE_READ))
		touch(data, bytes, p->writable);
}

static void forget_pages(void *arg, size_t part)
{
	const struct pages *p = arg;

	(void)madvise(p->data + part * PAGES_BYTES, pages_bytes(p, part),
		      MADV_DONTNEED);
}

static void each_part(void *data, size_t bytes, bool writable,
		      void (*work)(void *arg, size_t part))
{
	struct pages p = { data, bytes, writable };

	kf_parallel((bytes + PAGES_BYTES - 1) / PAGES_BYTES, work, &p);
}

void kf_parallel_make_pages(void *data, size_t bytes, bool writable)
{
	each_part(data, bytes, writable, make_pages);
}

void kf_parallel_forget_pages(void *data, size_t bytes)
{
	each_part(data, bytes, true, forget_pages);
}
