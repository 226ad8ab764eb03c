/* Has this processor what the program was compiled for? Asks the processor
 * itself (x86) or the kernel (ARM), so that it does not depend on what the
 * compiler knows. Names are those of /proc/cpuinfo but for sse3 and lzcnt. */
#include "kforge_runtime.h"

#include <string.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>

enum { EAX, EBX, ECX, EDX };

/* Registers that the system must save, by the bits of XCR0. */
#define YMM	0x6u
#define ZMM	0xe6u
#define TILE	0x60006u

static const struct feature {
	const char *name;
	unsigned leaf, subleaf, reg, bit, state;
} features[] = {
	{ "sse3", 1, 0, ECX, 0, 0 },
	{ "pclmulqdq", 1, 0, ECX, 1, 0 },
	{ "ssse3", 1, 0, ECX, 9, 0 },
	{ "fma", 1, 0, ECX, 12, YMM },
	{ "sse4_1", 1, 0, ECX, 19, 0 },
	{ "sse4_2", 1, 0, ECX, 20, 0 },
	{ "movbe", 1, 0, ECX, 22, 0 },
	{ "popcnt", 1, 0, ECX, 23, 0 },
	{ "aes", 1, 0, ECX, 25, 0 },
	{ "avx", 1, 0, ECX, 28, YMM },
	{ "f16c", 1, 0, ECX, 29, YMM },
	{ "bmi1", 7, 0, EBX, 3, 0 },
	{ "avx2", 7, 0, EBX, 5, YMM },
	{ "bmi2", 7, 0, EBX, 8, 0 },
	{ "avx512f", 7, 0, EBX, 16, ZMM },
	{ "avx512dq", 7, 0, EBX, 17, ZMM },
	{ "adx", 7, 0, EBX, 19, 0 },
	{ "avx512ifma", 7, 0, EBX, 21, ZMM },
	{ "avx512cd", 7, 0, EBX, 28, ZMM },
	{ "sha_ni", 7, 0, EBX, 29, 0 },
	{ "avx512bw", 7, 0, EBX, 30, ZMM },
	{ "avx512vl", 7, 0, EBX, 31, ZMM },
	{ "avx512vbmi", 7, 0, ECX, 1, ZMM },
	{ "avx512_vbmi2", 7, 0, ECX, 6, ZMM },
	{ "gfni", 7, 0, ECX, 8, 0 },
	{ "vaes", 7, 0, ECX, 9, YMM },
	{ "vpclmulqdq", 7, 0, ECX, 10, YMM },
	{ "avx512_vnni", 7, 0, ECX, 11, ZMM },
	{ "avx512_bitalg", 7, 0, ECX, 12, ZMM },
	{ "avx512_vpopcntdq", 7, 0, ECX, 14, ZMM },
	{ "avx512_vp2intersect", 7, 0, EDX, 8, ZMM },
	{ "amx_bf16", 7, 0, EDX, 22, TILE },
	{ "avx512_fp16", 7, 0, EDX, 23, ZMM },
	{ "amx_tile", 7, 0, EDX, 24, TILE },
	{ "amx_int8", 7, 0, EDX, 25, TILE },
	{ "avx_vnni", 7, 1, EAX, 4, YMM },
	{ "avx512_bf16", 7, 1, EAX, 5, ZMM },
	{ "avx_ifma", 7, 1, EAX, 23, YMM },
	{ "avx_vnni_int8", 7, 1, EDX, 4, YMM },
	{ "avx_ne_convert", 7, 1, EDX, 5, YMM },
	{ "avx_vnni_int16", 7, 1, EDX, 10, YMM },
	{ "lzcnt", 0x80000001u, 0, ECX, 5, 0 },
	{ "sse4a", 0x80000001u, 0, ECX, 6, 0 },
	{ "xop", 0x80000001u, 0, ECX, 11, YMM },
	{ "fma4", 0x80000001u, 0, ECX, 16, YMM },
	{ "tbm", 0x80000001u, 0, ECX, 21, 0 },
};

/* What the system saves; 0 where it does not say. */
static unsigned saved_state(void)
{
	unsigned reg[4], low, high;

	if (!__get_cpuid(1, &reg[EAX], &reg[EBX], &reg[ECX], &reg[EDX]) ||
	    !(reg[ECX] >> 27 & 1))
		return 0;
	__asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	return low;
}

static int has(const struct feature *f)
{
	unsigned reg[4];

	if (!__get_cpuid_count(f->leaf, f->subleaf, &reg[EAX], &reg[EBX],
			       &reg[ECX], &reg[EDX]))
		return 0;
	return (reg[f->reg] >> f->bit & 1) &&
	       (saved_state() & f->state) == f->state;
}

#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>

/* Bits of AT_HWCAP (16) and AT_HWCAP2 (26), which the kernel never changes. */
static const struct feature {
	const char *name;
	unsigned long type;
	unsigned bit;
} features[] = {
	{ "aes", 16, 3 }, { "pmull", 16, 4 }, { "sha1", 16, 5 },
	{ "sha2", 16, 6 }, { "crc32", 16, 7 }, { "atomics", 16, 8 },
	{ "asimdhp", 16, 10 }, { "asimdrdm", 16, 12 }, { "jscvt", 16, 13 },
	{ "fcma", 16, 14 }, { "sha3", 16, 17 }, { "asimddp", 16, 20 },
	{ "sha512", 16, 21 }, { "sve", 16, 22 }, { "asimdfhm", 16, 23 },
	{ "sve2", 26, 1 }, { "sveaes", 26, 2 }, { "svebitperm", 26, 4 },
	{ "svesha3", 26, 5 }, { "frint", 26, 8 }, { "svei8mm", 26, 9 },
	{ "svef32mm", 26, 10 }, { "svef64mm", 26, 11 }, { "svebf16", 26, 12 },
	{ "i8mm", 26, 13 }, { "bf16", 26, 14 },
};

static int has(const struct feature *f)
{
	return (int)(getauxval(f->type) >> f->bit & 1);
}

#else
/* Nothing is known of others; nothing is in kforge_cpu_needs either. */
static const struct feature { const char *name; } features[] = { { "" } };

static int has(const struct feature *f)
{
	(void)f;
	return 0;
}
#endif

/* A word without a row is not there: better refused than a crash. */
static int has_word(const char *word, size_t len)
{
	size_t i;

	for (i = 0; i < sizeof(features) / sizeof(features[0]); i++)
		if (strncmp(features[i].name, word, len) == 0 &&
		    !features[i].name[len])
			return has(&features[i]);
	return 0;
}

int kforge_cpu_check(void)
{
	const char *at = kforge_cpu_needs;

	while (*at) {
		size_t len = strcspn(at, " ");

		if (len && !has_word(at, len))
			return KFORGE_E_CPU;
		at += len + (at[len] == ' ');
	}
	return KFORGE_OK;
}
