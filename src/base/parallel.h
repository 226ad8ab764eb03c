/*
 * parallel.h - one loop on all processors that this process may use.
 *
 * The threads begin and end within the call, so that there is one thread again
 * when a child process is made. work is called once for each i < count, in any
 * order, at the same time.
 */
#ifndef KF_BASE_PARALLEL_H
#define KF_BASE_PARALLEL_H

#include "base/base.h"

void kf_parallel(size_t count, void (*work)(void *arg, size_t i), void *arg);

/* The same for elements 0 to count, so many of them at a time as part says (at
 * last fewer): first to end. */
void kf_parallel_parts(int64_t count, int64_t part,
		       void (*work)(void *arg, int64_t first, int64_t end),
		       void *arg);
/* The least number that look gives for any part, or -1: it gives -1 for a part
 * in which it finds nothing. */
int64_t kf_parallel_least(int64_t count, int64_t part,
			  int64_t (*look)(void *arg, int64_t first,
					  int64_t end), void *arg);

/* memcpy, memcmp == 0, and the pattern again and again from the start of data;
 * on several processors where it is worth it. */
void kf_parallel_copy(void *to, const void *from, size_t bytes);
bool kf_parallel_same(const void *a, const void *b, size_t bytes);
void kf_parallel_fill(void *data, size_t bytes, uint32_t pattern);

/* Pages of a mapping, on several processors where there are many: data begins
 * on one. make: they are there and in our tables, for writing too if that is
 * so; else each is cleared, or found, when it is first used. forget: they leave
 * our tables, which is most of the work of unmapping them. */
void kf_parallel_make_pages(void *data, size_t bytes, bool writable);
void kf_parallel_forget_pages(void *data, size_t bytes);

#endif
