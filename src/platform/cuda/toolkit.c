/*
 * What NVRTC lacks beside nvcc: the headers of C and C++ that programs name out
 * of habit, the types and constants that nvcc's own header brings along, and
 * what to include instead of headers that it cannot compile. And the compiler's
 * words as other compilers put them.
 */
#include "platform/cuda/cuda.h"

#include <ctype.h>

/* Types as in the toolkit's own cuda/std/cstdint, so that both may be named. */
static const char prelude[] =
	"#pragma once\n"
	"using int8_t = signed char;\n"
	"using int16_t = signed short;\n"
	"using int32_t = signed int;\n"
	"using int64_t = signed long long;\n"
	"using uint8_t = unsigned char;\n"
	"using uint16_t = unsigned short;\n"
	"using uint32_t = unsigned int;\n"
	"using uint64_t = unsigned long long;\n"
	"using intptr_t = int64_t;\n"
	"using uintptr_t = uint64_t;\n"
	"#ifndef INFINITY\n"
	"#define INFINITY __int_as_float(0x7f800000)\n"
	"#endif\n"
	"#ifndef NAN\n"
	"#define NAN __int_as_float(0x7fffffff)\n"
	"#endif\n"
	"#ifndef M_PI\n"
	"#define M_E 2.7182818284590452354\n"
	"#define M_LOG2E 1.4426950408889634074\n"
	"#define M_LOG10E 0.43429448190325182765\n"
	"#define M_LN2 0.69314718055994530942\n"
	"#define M_LN10 2.30258509299404568402\n"
	"#define M_PI 3.14159265358979323846\n"
	"#define M_PI_2 1.57079632679489661923\n"
	"#define M_PI_4 0.78539816339744830962\n"
	"#define M_1_PI 0.31830988618379067154\n"
	"#define M_2_PI 0.63661977236758134308\n"
	"#define M_2_SQRTPI 1.12837916709551257390\n"
	"#define M_SQRT2 1.41421356237309504880\n"
	"#define M_SQRT1_2 0.70710678118654752440\n"
	"#endif\n"
	"#ifndef FLT_MAX\n"
	"#define FLT_MAX 3.402823466e+38F\n"
	"#define FLT_MIN 1.175494351e-38F\n"
	"#define FLT_EPSILON 1.192092896e-07F\n"
	"#define DBL_MAX 1.7976931348623157e+308\n"
	"#define DBL_MIN 2.2250738585072014e-308\n"
	"#define DBL_EPSILON 2.2204460492503131e-16\n"
	"#endif\n"
	"#ifndef INT_MAX\n"
	"#define INT_MAX 2147483647\n"
	"#define INT_MIN (-INT_MAX - 1)\n"
	"#define UINT_MAX 4294967295u\n"
	"#define LLONG_MAX 9223372036854775807ll\n"
	"#define LLONG_MIN (-LLONG_MAX - 1)\n"
	"#define ULLONG_MAX 18446744073709551615ull\n"
	"#endif\n"
	"#ifndef INT32_MAX\n"
	"#define INT32_MAX INT_MAX\n"
	"#define INT32_MIN INT_MIN\n"
	"#define UINT32_MAX UINT_MAX\n"
	"#define INT64_MAX LLONG_MAX\n"
	"#define INT64_MIN LLONG_MIN\n"
	"#define UINT64_MAX ULLONG_MAX\n"
	"#endif\n";

/* The toolkit's own declares functions of the host, which NVRTC refuses. */
static const char tensor_map[] =
	"#pragma once\n"
	"struct alignas(64) CUtensorMap { unsigned long long opaque[16]; };\n";

/* All there is to them is in the prelude, or in NVRTC itself. */
static const char nothing[] = "#pragma once\n";

const char *const kf_cuda_header_name[] = {
	"kforge_prelude.h", "cuda.h",
	"stdint.h", "cstdint", "stddef.h", "cstddef", "stdlib.h", "cstdlib",
	"stdio.h", "cstdio", "string.h", "cstring", "math.h", "cmath",
	"float.h", "cfloat", "limits.h", "climits", "assert.h", "cassert",
	"stdbool.h",
};
const char *const kf_cuda_header[] = {
	prelude, tensor_map,
	nothing, nothing, nothing, nothing, nothing, nothing,
	nothing, nothing, nothing, nothing, nothing, nothing,
	nothing, nothing, nothing, nothing, nothing, nothing,
	nothing,
};
const size_t kf_cuda_header_count = KF_COUNT(kf_cuda_header);
_Static_assert(KF_COUNT(kf_cuda_header) == KF_COUNT(kf_cuda_header_name),
	       "a text for each name");

/* --- what to include instead ---------------------------------------------- */

/* Of these the toolkit has its own, for the device. */
static const char *const standard[] = {
	"array", "atomic", "bit", "complex", "functional", "iterator", "limits",
	"numeric", "optional", "ratio", "span", "tuple", "type_traits",
	"utility", "variant",
};

/* Headers that begin so, and what the log has of errors that come from them;
 * NULL: that there is no such file. */
static const struct { const char *header, *told, *words; } instead[] = {
	{ "cub/cub.cuh", "/cub/", "has functions of the host, which NVRTC does "
	  "not compile: include what is used of <cub/block/...> and "
	  "<cub/warp/...>, such as <cub/block/block_reduce.cuh>" },
	{ "cub/device/", "/cub/", "is for code of the host; for kernels there "
	  "are <cub/block/...> and <cub/warp/...>" },
	{ "thrust/", "/thrust/", "is for code of the host; for kernels there "
	  "are <cub/block/...>, <cub/warp/...> and <cuda/std/...>" },
	{ "algorithm", NULL, "is not there: min, max and abs of numbers are "
	  "built in" },
	{ "cute/", NULL, "is a part of CUTLASS, which is not found here: "
	  "CUTLASS_PATH says where it is" },
	{ "cutlass/", NULL, "is a part of CUTLASS, which is not found here: "
	  "CUTLASS_PATH says where it is" },
};

/* Of `#include <NAME>` or "NAME" the name; caller frees, NULL: no such line. */
static char *included(const char *line)
{
	static const char include[] = "include", blanks[] = " \t";
	const char *at = line + strspn(line, blanks);

	if (*at != '#')
		return NULL;
	at += 1 + strspn(at + 1, blanks);
	if (strncmp(at, include, strlen(include)) != 0)
		return NULL;
	at += strlen(include);
	at += strspn(at, blanks);
	if (*at != '<' && *at != '"')
		return NULL;
	return kf_strndup(at + 1, strcspn(at + 1, ">\"\n"));
}

static bool is_absent(const char *name, const char *log)
{
	char *words = kf_format("cannot open source file \"%s\"", name);
	bool absent = strstr(log, words) != NULL;

	free(words);
	return absent;
}

/* Returns whether there is one. */
static bool add_hint(const char *name, unsigned line, const char *log,
		     struct kf_buf *out)
{
	bool absent = is_absent(name, log);

	for (size_t i = 0; i < KF_COUNT(standard) && absent; i++)
		if (strcmp(standard[i], name) == 0) {
			kf_buf_printf(out, "kernels.cu:%u: error: <%s> is the "
				      "host's; for kernels there is "
				      "<cuda/std/%s>, with cuda::std:: for "
				      "std::\n", line, name, name);
			return true;
		}
	for (size_t i = 0; i < KF_COUNT(instead); i++)
		if (strncmp(instead[i].header, name,
			    strlen(instead[i].header)) == 0 &&
		    (instead[i].told ? strstr(log, instead[i].told) != NULL
				     : absent)) {
			kf_buf_printf(out, "kernels.cu:%u: error: <%.80s> "
				      "%s\n", line, name, instead[i].words);
			return true;
		}
	return false;
}

void kf_cuda_hint(const char *source, const char *log, struct kf_buf *out)
{
	bool found = false;

	for (unsigned line = 1; *source && !found; line++) {
		char *name = included(source);

		found = name && add_hint(name, line, log, out);
		free(name);
		source += strcspn(source, "\n");
		source += *source == '\n';
	}
}

/* --- the compiler's words ------------------------------------------------- */

struct kernel { char name[128]; unsigned stack, stores, loads; };

static const char *after(const char *line, size_t len, const char *what)
{
	const char *at = memmem(line, len, what, strlen(what));

	return at ? at + strlen(what) : NULL;
}

/* The number in front of `what`, 0 if there is none. */
static unsigned number_before(const char *line, size_t len, const char *what)
{
	const char *at = memmem(line, len, what, strlen(what));
	unsigned value = 0, scale = 1;

	while (at && at > line && isdigit((unsigned char)at[-1]) &&
	       scale < 1000000000) {
		value += scale * (unsigned)(*--at - '0');
		scale *= 10;
	}
	return value;
}

static void set_name(struct kernel *k, const char *from, size_t len)
{
	size_t n = 0;

	while (n < len && n + 1 < sizeof(k->name) && from[n] != '\'' &&
	       from[n] != '\n')
		n++;
	*k = (struct kernel) { 0 };
	memcpy(k->name, from, n);
}

/* ptxas tells of a kernel in three lines; one of ours says it. */
static void of_ptxas(const char *line, size_t len, struct kernel *k,
		     struct kf_buf *out)
{
	const char *name = after(line, len, "Compiling entry function '");

	if (name) {
		set_name(k, name, len - (size_t)(name - line));
		return;
	}
	if (after(line, len, "bytes stack frame")) {
		k->stack = number_before(line, len, " bytes stack frame");
		k->stores = number_before(line, len, " bytes spill stores");
		k->loads = number_before(line, len, " bytes spill loads");
		return;
	}
	if (!after(line, len, ": Used ") || !k->name[0])
		return;
	kf_buf_printf(out, "kernel %s: %u registers, %u bytes of static shared "
		      "memory, %u bytes of stack", k->name,
		      number_before(line, len, " registers"),
		      number_before(line, len, " bytes smem"), k->stack);
	if (k->stores || k->loads)
		kf_buf_printf(out, ", spills %u bytes and reads back %u",
			      k->stores, k->loads);
	kf_buf_puts(out, "\n");
	k->name[0] = '\0';
}

/* "kernels.cu(3): error: ..." has its number as other compilers do. */
static void of_compiler(const char *line, size_t len, struct kf_buf *out)
{
	const char *open = memchr(line, '(', len);
	const char *shut = open ? memchr(open, ')', len - (size_t)(open - line))
				: NULL;
	const char *digit = open ? open + 1 : NULL;

	while (digit && shut && digit < shut &&
	       isdigit((unsigned char)*digit))
		digit++;
	if (open && open > line && line[0] != ' ' && shut && digit == shut &&
	    shut > open + 1 && shut[1] == ':') {
		kf_buf_add(out, line, (size_t)(open - line));
		kf_buf_puts(out, ":");
		kf_buf_add(out, open + 1, (size_t)(shut - open - 1));
		len -= (size_t)(shut + 1 - line);
		line = shut + 1;
	}
	kf_buf_add(out, line, len);
	kf_buf_puts(out, "\n");
}

void kf_cuda_log(const char *log, struct kf_buf *out)
{
	struct kernel kernel = { 0 };

	while (*log) {
		size_t len = strcspn(log, "\n");

		if (len >= 5 && memcmp(log, "ptxas", 5) == 0 &&
		    !after(log, len, "error") && !after(log, len, "warning"))
			of_ptxas(log, len, &kernel, out);
		else if (len)
			of_compiler(log, len, out);
		log += len + (log[len] == '\n');
	}
}
