/* evict.c - bytes leave the processor's caches, every core's: instructions that
 * any program may give write them back to memory line by line. */
#include "platform/host/host.h"

#if defined(__x86_64__)
#include <cpuid.h>

#define LINE_BYTES 64u
#define HAS_CLFLUSHOPT (1u << 23)

/* The later one does not wait for each line, and is ten times as fast. */
static bool has_clflushopt(void)
{
	unsigned a, b = 0, c, d;

	return __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & HAS_CLFLUSHOPT;
}

void kf_host_evict(const void *data, size_t bytes)
{
	const char *at = data;
	bool optimised = has_clflushopt();

	for (size_t i = 0; i < bytes; i += LINE_BYTES)
		if (optimised)
			__asm__ volatile("clflushopt %0" : : "m"(at[i])
					 : "memory");
		else
			__asm__ volatile("clflush %0" : : "m"(at[i])
					 : "memory");
	if (bytes)	/* the last line, where data begins amid one */
		__asm__ volatile("clflush %0" : : "m"(at[bytes - 1])
				 : "memory");
	__asm__ volatile("mfence" : : : "memory");
}

#elif defined(__aarch64__)

void kf_host_evict(const void *data, size_t bytes)
{
	const char *at = data;
	uint64_t type;
	size_t line_bytes;

	__asm__ volatile("mrs %0, ctr_el0" : "=r"(type));
	line_bytes = (size_t)4 << (type >> 16 & 15);
	for (size_t i = 0; i < bytes; i += line_bytes)
		__asm__ volatile("dc civac, %0" : : "r"(at + i) : "memory");
	if (bytes)
		__asm__ volatile("dc civac, %0" : : "r"(at + bytes - 1)
				 : "memory");
	__asm__ volatile("dsb ish" : : : "memory");
}

#endif
