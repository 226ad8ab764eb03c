/*
 * Building for CUDA devices, and finding them. Building needs NVRTC and no
 * device; without NVRTC (set CUDA_HOME to where it is) these cases are skipped,
 * and fail with KF_MUST_RUN=cuda or nvrtc. Finding is tried on the stand-in.
 */
#include "cuda_world.h"

#include <sys/stat.h>

#include "platform/cuda/cuda.h"

#define SOURCE_BYTES 4096

struct builder {
	struct fixture f;
	char kernels[128], host[128];
	bool can_build;
};

static const char good_kernels[] =
	"extern \"C\" __global__ void axpb(const float *x, float *y, float a,\n"
	"	float b, long long n)\n"
	"{\n"
	"	long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;\n"
	"	if (i < n)\n"
	"		y[i] = a * x[i] + b;\n"
	"}\n";
static const char good_host[] =
	"#include <kforge/launch.h>\n"
	"int kf_forward(struct kf_call *c) { return c->in_count; }\n";

/* --- helpers ------------------------------------------------------------ */

static void write_text(const char *path, const char *text)
{
	struct kf_err err = { 0 };

	if (kf_file_write_scratch(path, text, strlen(text), &err))
		fail_msg("%s", err.text);
}

static enum kf_code build_text(struct builder *b, const char *kernels,
			       const char *host, struct kf_build *out,
			       struct kf_err *err)
{
	write_text(b->kernels, kernels);
	write_text(b->host, host);
	return build_files(&b->f, b->kernels, b->host, out, err);
}

static bool lacks_nvrtc(struct builder *b)
{
	const char *must = getenv("KF_MUST_RUN");

	if (!b->can_build && must &&
	    (strstr(must, "cuda") || strstr(must, "nvrtc")))
		fail_msg("KF_MUST_RUN asks for %s: no NVRTC here", must);
	return !b->can_build;
}

#define NEEDS_NVRTC(b) \
	do { \
		if (lacks_nvrtc(b)) { \
			skip(); \
			return; \
		} \
	} while (0)

static void expect_build(struct builder *b, const char *kernels,
			 const char *host, enum kf_build_end end,
			 const char *const *words)
{
	struct kf_err err = { 0 };
	struct kf_build build;
	const char *at;

	if (build_text(b, kernels, host, &build, &err))
		fail_msg("%s", err.text);
	if (build.end != end)
		fail_msg("end %d: %s", (int)build.end,
			 kf_buf_str(&build.log));
	/* In this order. */
	at = kf_buf_str(&build.log);
	for (; *words; words++) {
		const char *found = strstr(at, *words);

		if (!found)
			fail_msg("no \"%s\" in: %s", *words, at);
		at = found + 1;
	}
	kf_build_release(&build);
}

/* --- build -------------------------------------------------------------- */

static void test_good_sources_become_a_pack(void **state)
{
	struct builder *b = *state;
	static const char *const words[] = { "kernel axpb: ", " registers",
					     NULL };
	char *path = path_in(&b->f, "program.pack");
	struct kf_pack pack = { 0 };
	const struct kf_pack_part *part[2];

	NEEDS_NVRTC(b);
	expect_build(b, good_kernels, good_host, KF_BUILD_DONE, words);
	assert_int_equal(kf_pack_read(path, 64u << 20, &pack, NULL), KF_OK);
	part[0] = kf_pack_find(&pack, "host");
	part[1] = kf_pack_find(&pack, "device");
	for (size_t i = 0; i < KF_COUNT(part); i++) {
		assert_non_null(part[i]);
		assert_true(part[i]->len > 64);
		assert_memory_equal(part[i]->data, "\x7f" "ELF", 4);
	}
	kf_pack_release(&pack);
	free(path);
}

/* Of the device's architecture and no other: sm_80 code is other code. */
static void test_code_is_for_the_device(void **state)
{
	static const char *const arch[] = { "sm_80", "sm_90a" };
	struct builder *b = *state;
	static const char *const words[] = { NULL };
	char hash[2][KF_HASH_HEX];

	NEEDS_NVRTC(b);
	for (size_t i = 0; i < KF_COUNT(arch); i++) {
		snprintf(b->f.info.arch, sizeof(b->f.info.arch), "%s",
			 arch[i]);
		expect_build(b, good_kernels, good_host, KF_BUILD_DONE, words);
		take_code(&b->f);
		kf_hash_hex(b->f.code.data, b->f.code.len, hash[i]);
	}
	assert_string_not_equal(hash[0], hash[1]);
	/* Instructions that only Hopper has. */
	expect_build(b, "extern \"C\" __global__ void k() { asm volatile("
		     "\"wgmma.fence.sync.aligned;\"); }\n", good_host,
		     KF_BUILD_DONE, words);
}

static void test_unknown_architecture_is_our_trouble(void **state)
{
	struct builder *b = *state;
	struct kf_err err = { 0 };
	struct kf_build build;

	NEEDS_NVRTC(b);
	snprintf(b->f.info.arch, sizeof(b->f.info.arch), "sm_20");
	assert_int_equal(build_text(b, good_kernels, good_host, &build, &err),
			 KF_E_UNAVAIL);
	assert_non_null(strstr(err.text, "sm_20"));
	kf_build_release(&build);
	b->f.info.arch[0] = '\0';
}

static void test_errors_have_names_and_lines(void **state)
{
	static const struct {
		const char *kernels, *host, *words[4];
	} rows[] = {
		{ "extern \"C\" __global__ void k(float *y)\n{\n\ty[0] = z;\n"
		  "}\n", good_host,
		  { "kernels.cu:3: error: identifier \"z\" is undefined",
		    "y[0] = z;" } },
		{ good_kernels, "int kf_forward(void) { return x; }\n",
		  { "host.c:1:", "error:" } },
		{ "oh dear\n", "int kf_forward(void) { return x; }\n",
		  { "kernels.cu:1: error:", "host.c:1:", "error:" } },
		/* nvcc would not compile it either. */
		{ "float f(float x) { return 2 * x; }\n"
		  "extern \"C\" __global__ void k(float *y)\n{\n"
		  "y[0] = f(y[1]); }\n", good_host,
		  { "kernels.cu:1: error: A function without execution space "
		    "annotations" } },
		{ "#include <vector>\n", good_host,
		  { "kernels.cu:1: ", "error: cannot open source file "
		    "\"vector\"" } },
		{ "#include <cuda_fp16.h>\n#include <limits>\n", good_host,
		  { "kernels.cu:2: error: <limits> is the host's; for kernels "
		    "there is <cuda/std/limits>, with cuda::std:: for std::\n",
		    "kernels.cu:2: ", "cannot open source file" } },
		{ "\n# include <cub/cub.cuh>\n", good_host,
		  { "kernels.cu:2: error: <cub/cub.cuh> has functions of the "
		    "host, which NVRTC does not compile: include what is used "
		    "of <cub/block/...>", "error: " } },
		{ "#include <thrust/device_vector.h>\n", good_host,
		  { "kernels.cu:1: error: <thrust/device_vector.h> is for code "
		    "of the host; for kernels there are ", "error: " } },
		{ "extern \"C\" __global__ void k() {\n"
		  "__shared__ float s[80000]; s[threadIdx.x] = clock();\n"
		  "__syncthreads(); if (s[5] == 3) __trap(); }\n", good_host,
		  { "kernels.cu: error: the assembler",
		    "a launch can have more, as shared_bytes" } },
		{ "__device__ __forceinline__ void bad() {\n"
		  "asm volatile(\"tcgen05.fence::after_thread_sync;\"); }\n"
		  "extern \"C\" __global__ void k() {\n"
		  "bad(); }\n", good_host,
		  { "kernels.cu:2: error: the assembler: Instruction "
		    "'tcgen05.fence' not supported on .target 'sm_90a' "
		    "[tcgen05.fence::after_thread_sync;]" } },
	};
	struct builder *b = *state;

	NEEDS_NVRTC(b);
	for (size_t i = 0; i < KF_COUNT(rows); i++)
		expect_build(b, rows[i].kernels, rows[i].host,
			     KF_BUILD_REFUSED, rows[i].words);
}

/* What a writer takes for granted from nvcc. */
static void test_headers_and_constants_are_there(void **state)
{
	static const char *const words[] = { "kernel k: ", NULL };
	struct builder *b = *state;

	NEEDS_NVRTC(b);
	expect_build(b, "extern \"C\" __global__ void k(float *y) {\n"
		     "int64_t a = INT_MAX; uint32_t c = 3; size_t n = 2;\n"
		     "y[0] = INFINITY + FLT_MAX + M_PI + a + c + n + NAN;\n"
		     "assert(y[1] == 0); printf(\"%d\", 1); }\n", good_host,
		     KF_BUILD_DONE, words);
	expect_build(b, "#include <stdint.h>\n#include <cstdint>\n"
		     "#include <math.h>\n#include <cmath>\n#include <float.h>\n"
		     "#include <limits.h>\n#include <cuda_runtime.h>\n"
		     "#include <cuda.h>\n#include <cuda_fp16.h>\n"
		     "#include <cuda_bf16.h>\n#include <mma.h>\n"
		     "extern \"C\" __global__ void k(\n"
		     "const __grid_constant__ CUtensorMap m, __half *y) {\n"
		     "y[0] = __float2half(FLT_MAX); }\n", good_host,
		     KF_BUILD_DONE, words);
	expect_build(b, "#include <cuda/std/cstdint>\n#include <climits>\n"
		     "#include <cub/block/block_reduce.cuh>\n"
		     "#include <cooperative_groups.h>\n"
		     "extern \"C\" __global__ void k(int64_t *y) {\n"
		     "using R = cub::BlockReduce<int, 128>;\n"
		     "__shared__ typename R::TempStorage t;\n"
		     "int s = R(t).Sum((int)y[threadIdx.x]);\n"
		     "cooperative_groups::this_grid().sync();\n"
		     "if (threadIdx.x == 0) y[0] = s + INT_MAX; }\n", good_host,
		     KF_BUILD_DONE, words);
}

static void test_spills_are_told(void **state)
{
	static const char *const words[] = { "kernel k: ", "bytes of stack",
					     ", spills ", NULL };
	struct builder *b = *state;

	NEEDS_NVRTC(b);
	expect_build(b, "extern \"C\" __global__ void\n"
		     "__launch_bounds__(1024, 2) k(float *y) {\n"
		     "float a[96];\n"
		     "for (int i = 0; i < 96; i++) a[i] = y[i * 1024];\n"
		     "__syncthreads();\n"
		     "for (int r = 0; r < 9; r++)\n"
		     "for (int i = 0; i < 96; i++)\n"
		     "a[i] = a[i] * a[(i + 7) % 96] + a[(i + 31) % 96];\n"
		     "for (int i = 0; i < 96; i++) y[i * 1024] = a[i]; }\n",
		     good_host, KF_BUILD_DONE, words);
}

static void test_a_missing_compiler_is_our_trouble(void **state)
{
	struct builder *b = *state;
	struct kf_err err = { 0 };
	struct kf_build build;

	setenv("KFORGE_NVRTC", "/nowhere/libnvrtc.so.13", 1);
	assert_int_equal(build_text(b, good_kernels, good_host, &build, &err),
			 KF_E_UNAVAIL);
	assert_non_null(strstr(err.text, "NVRTC"));
	kf_build_release(&build);
	unsetenv("KFORGE_NVRTC");
}

/* --- where headers lie ---------------------------------------------------- */

struct seen { const char *part; bool found, writable; };

static void note_path(void *arg, const char *path, bool writable)
{
	struct seen *seen = arg;

	if (strstr(path, seen->part)) {
		seen->found = true;
		seen->writable = writable;
	}
}

static void add_line(void *arg, const char *line)
{
	kf_buf_printf(arg, "%s\n", line);
}

/* NULL unless there is a line that begins with folder and ends so. */
static const char *line_of(const struct kf_buf *lines, const char *folder,
			   const char *end)
{
	char *line = kf_format("%s%s\n", folder, end);
	const char *found = strstr(kf_buf_str(lines), line);

	free(line);
	return found;
}

static void write_below(const char *folder, const char *path, const char *text)
{
	char *whole = kf_path_join(folder, path), *slash;

	slash = strrchr(whole, '/');
	*slash = '\0';
	assert_int_equal(kf_mkdir_p(whole, NULL), KF_OK);
	*slash = '/';
	write_text(whole, text);
	free(whole);
}

/* NULL: not set. What it was before is the caller's. */
static char *swap_variable(const char *name, const char *value)
{
	const char *before = getenv(name);
	char *was = before ? kf_strdup(before) : NULL;

	if (value)
		setenv(name, value, 1);
	else
		unsetenv(name);
	return was;
}

/* Its libraries lie below lib/TRIPLE, its headers where all do. */
static void test_a_distributions_headers_are_found(void **state)
{
	struct builder *b = *state;
	char *system = path_in(&b->f, "usr");
	char *nvrtc = kf_path_join(system, "lib/x86_64-linux-gnu/libnvrtc.so");
	char *ptxas = kf_path_join(system, "bin/ptxas"), *found;
	struct kf_buf lines = { .max = 4096 };

	write_below(system, "lib/x86_64-linux-gnu/libnvrtc.so", "");
	write_below(system, "include/mma.h", "");
	write_below(system, "bin/ptxas", "");
	assert_int_equal(chmod(ptxas, 0755), 0);
	kf_cuda_header_folders(nvrtc, add_line, &lines);
	assert_non_null(line_of(&lines, system, "/include"));
	found = kf_cuda_assembler_path(nvrtc);
	assert_string_equal(found, ptxas);
	kf_buf_release(&lines);
	free(found);
	free(ptxas);
	free(nvrtc);
	free(system);
}

static const char with_cute[] =
	"#include <cute/tensor.hpp>\n"
	"extern \"C\" __global__ void k(float *y) {\n"
	"auto t = cute::make_tensor(cute::make_gmem_ptr(y),\n"
	"	cute::make_shape(cute::Int<4>{}, cute::Int<8>{}));\n"
	"t(threadIdx.x, 5) = cute::size(t); }\n";

/* Like CuTe in that its functions say nothing of where they run. */
static const char like_cute[] =
	"#pragma once\nnamespace cute {\n"
	"template <int n> struct Int {};\n"
	"struct tensor { float *p; float &operator()(int i, int k)\n"
	"{ return p[4 * k + i]; } };\n"
	"inline float *make_gmem_ptr(float *p) { return p; }\n"
	"template <int m, int n> int make_shape(Int<m>, Int<n>)\n"
	"{ return m * n; }\n"
	"inline tensor make_tensor(float *p, int) { return { p }; }\n"
	"inline float size(tensor) { return 32; }\n}\n";

static void test_cutlass_is_where_its_variable_says(void **state)
{
	static const char *const words[] = { "kernel k: ", NULL };
	static const char *const below[] = { "cutlass", "cutlass/include" };
	struct builder *b = *state;
	char *was;

	NEEDS_NVRTC(b);
	was = swap_variable("CUTLASS_PATH", NULL);
	write_below(b->f.folder, "cutlass/include/cute/tensor.hpp", like_cute);
	for (size_t i = 0; i < KF_COUNT(below); i++) {
		struct seen seen = { "cutlass/include", false, false };
		char *folder = path_in(&b->f, below[i]);

		free(swap_variable("CUTLASS_PATH", folder));
		expect_build(b, with_cute, good_host, KF_BUILD_DONE, words);
		kf_driver_paths(b->f.driver, KF_DRIVER_BUILDER, note_path,
				&seen);
		assert_true(seen.found && !seen.writable);
		free(folder);
	}
	free(swap_variable("CUTLASS_PATH", was));
	free(was);
}

/* As the Python package has them. */
static void test_cutlass_is_found_beside_python(void **state)
{
	struct builder *b = *state;
	struct kf_buf lines = { .max = 4096 };
	char *named = swap_variable("CUTLASS_PATH", NULL);
	char *was = swap_variable("VIRTUAL_ENV", b->f.folder);
	char *folder = path_in(&b->f, "lib/python3.11/site-packages/"
			       "cutlass_library/source");

	write_below(folder, "include/cutlass/cutlass.h", "");
	kf_cuda_header_folders("/nowhere/lib64/libnvrtc.so", add_line, &lines);
	assert_non_null(line_of(&lines, folder, "/include"));
	free(swap_variable("VIRTUAL_ENV", was));
	free(swap_variable("CUTLASS_PATH", named));
	kf_buf_release(&lines);
	free(folder);
	free(was);
	free(named);
}

static void note_cute(void *arg, const char *folder)
{
	char *path = kf_path_join(folder, "cute/tensor.hpp");

	*(bool *)arg |= kf_path_exists(path);
	free(path);
}

static void test_cute_compiles(void **state)
{
	static const char *const words[] = { "kernel k: ", NULL };
	struct builder *b = *state;
	bool found = false;

	NEEDS_NVRTC(b);
	kf_cuda_header_folders("/nowhere/lib64/libnvrtc.so", note_cute, &found);
	if (!found) {
		print_message("# no CUTLASS here: set CUTLASS_PATH\n");
		skip();
	}
	expect_build(b, with_cute, good_host, KF_BUILD_DONE, words);
}

/* --- the log ------------------------------------------------------------ */

static void test_the_log_reads_like_other_compilers(void **state)
{
	static const struct { const char *log, *want; } rows[] = {
		{ "", "" },
		{ "kernels.cu(12): error: no\n  f(x);\n    ^\n\n1 error\n",
		  "kernels.cu:12: error: no\n  f(x);\n    ^\n1 error\n" },
		{ "  y(3): in a line of source\n",
		  "  y(3): in a line of source\n" },
		{ "f(x): not a line's number\n",
		  "f(x): not a line's number\n" },
		{ "(4): nothing in front\n", "(4): nothing in front\n" },
		{ "a.cuh(4", "a.cuh(4\n" },
		{ "ptxas info    : Compiling entry function 'k' for 'sm_90a'\n"
		  "ptxas         .     8 bytes stack frame, 16 bytes spill "
		  "stores, 24 bytes spill loads\n"
		  "ptxas info    : Used 32 registers, used 1 barriers, "
		  "400 bytes smem\nptxas info    : Compile time = 1 ms\n",
		  "kernel k: 32 registers, 400 bytes of static shared memory, "
		  "8 bytes of stack, spills 16 bytes and reads back 24\n" },
		{ "ptxas info    : Used 32 registers\n", "" },
		{ "ptxas error   : Entry function 'k' uses too much\n",
		  "ptxas error   : Entry function 'k' uses too much\n" },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct kf_buf out = { .max = SOURCE_BYTES };

		kf_cuda_log(rows[i].log, &out);
		assert_string_equal(kf_buf_str(&out), rows[i].want);
		kf_buf_release(&out);
	}
}

static void test_what_to_include_instead(void **state)
{
	static const char absent[] = "k.cu:2: catastrophic error: cannot open "
		"source file \"type_traits\"\n";
	static const char no_cute[] = "cannot open source file \"cute/a.hpp\"";
	static const char in_cub[] = "/x/cub/device/y.cuh:3: error: host\n";
	static const struct { const char *source, *log, *want; } rows[] = {
		{ "", "", "" },
		{ "#include <type_traits>", absent, "kernels.cu:1: error: "
		  "<type_traits> is the host's; for kernels there is "
		  "<cuda/std/type_traits>" },
		{ "int x;\n \t# \tinclude\t\"type_traits\"\n", absent,
		  "kernels.cu:2: error: <type_traits>" },
		{ "#include <cute/a.hpp>\n", no_cute, "kernels.cu:1: error: "
		  "<cute/a.hpp> is a part of CUTLASS, which is not found here: "
		  "CUTLASS_PATH" },
		{ "#include <cub/block/block_scan.cuh>\n"
		  "#include <cub/device/device_scan.cuh>\n", in_cub,
		  "kernels.cu:2: error: <cub/device/device_scan.cuh> is for " },
		/* It is not to blame, or is not included. */
		{ "#include <type_traits>\n", in_cub, "" },
		{ "#include <cub/cub.cuh>\n", absent, "" },
		{ "#include <cuda/std/type_traits>\n", absent, "" },
		{ "// #include <type_traits>\n", absent, "" },
		{ "#include", absent, "" }, { "#include <", absent, "" },
		{ "#include type_traits\n", absent, "" },
		{ "#include <thrust/tuple.h>\n", in_cub, "" },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct kf_buf out = { .max = SOURCE_BYTES };
		const char *line;

		kf_cuda_hint(rows[i].source, rows[i].log, &out);
		line = kf_buf_str(&out);
		if (strncmp(line, rows[i].want, strlen(rows[i].want)) != 0 ||
		    !rows[i].want[0] != !out.len)
			fail_msg("row %zu: %s", i, line);
		assert_true(!out.len || strchr(line, '\n')[1] == '\0');
		kf_buf_release(&out);
	}
}

static void test_an_assembler_speaks_of_the_source(void **state)
{
	static const char ptx[] =
		".version 9.0\n.target sm_90a\n.visible .entry k(\n)\n{\n"
		"\t.loc\t1 7 3\n\tmov.u32 %r1, 4;\n"
		"\t.loc\t2 90 1, function_name $L__info_string0, inlined_at 1 "
		"8 2\n\tadd.f128 \t%f1, %f2;\n}\n"
		"\t.file\t1 \"/x/kernels.cu\"\n\t.file\t2 \"/x/mma.h\"\n";
	static const struct { const char *words, *want; } rows[] = {
		{ "", "" },
		{ "ptxas info    : Used 32 registers, line 7\n", "" },
		{ "ptxas fatal   : Ptx assembly aborted due to errors\n", "" },
		{ "gcc error   : no\n", "" },
		{ "ptxas /tmp/x, line 7; error   : Bad move\n",
		  "kernels.cu:7: error: the assembler: Bad move "
		  "[mov.u32 %r1, 4;]\n" },
		/* Of a header: the instruction alone. */
		{ "ptxas application ptx input, line 9; error   : Bad add\n",
		  "kernels.cu: error: the assembler: Bad add "
		  "[add.f128 \t%f1, %f2;]\n" },
		{ "ptxas fatal   : Insufficient registers at line 7 in k\n",
		  "kernels.cu:7: error: the assembler: Insufficient registers "
		  "at line 7 in k [mov.u32 %r1, 4;]\n" },
		{ "ptxas x, line 700; error   : Nowhere\n",
		  "kernels.cu: error: the assembler: Nowhere\n" },
		{ "ptxas x, line 1; error   : Before all\n",
		  "kernels.cu: error: the assembler: Before all "
		  "[.version 9.0]\n" },
		{ "ptxas x, line 0; error   : None",
		  "kernels.cu: error: the assembler: None\n" },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct kf_buf out = { .max = SOURCE_BYTES };

		kf_cuda_assembler_words(ptx, rows[i].words, &out);
		assert_string_equal(kf_buf_str(&out), rows[i].want);
		kf_buf_release(&out);
	}
}

/* --- parameters --------------------------------------------------------- */

static void test_kernels_parameters_are_read_from_ptx(void **state)
{
	static const struct { const char *ptx, *want; } rows[] = {
		{ "", "" },
		{ ".visible .entry none()\n{\n", "none \n" },
		{ ".visible .entry none(\n\n)\n.maxntid 1\n{\n", "none \n" },
		{ "\t// .globl k\n.visible .entry k(\n"
		  "\t.param .u64 k_param_0,\n\t.param .f32 k_param_1,\n"
		  "\t.param .f64 k_param_2,\n\t.param .u32 k_param_3\n)\n",
		  "k ifdi\n" },
		{ ".weak .entry _Z1kf(.param .f32 a) .entry b(.param .s64 c)",
		  "_Z1kf f\nb i\n" },
		{ ".entry k(\n\t.param .u64 .ptr .global .align 4 a,\n"
		  "\t.param .align 8 .b8 b[8],\n\t.param .u8 c,\n"
		  "\t.param .align 2 .b8 d[2],\n\t.param .b32 e,\n"
		  "\t.param .u16 f,\n\t.param .f16 g\n)", "k p??????\n" },
		/* No kernels, or not whole. */
		{ ".visible .func (.param .b32 r) f(.param .f32 a)", "" },
		{ ".entry", "" }, { ".entry k", "" }, { ".entry (", "" },
		{ ".entry k(.param .f32 a", "" }, { ".entryk(.param .f32 a)",
						    "" },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct kf_buf out = { .max = SOURCE_BYTES };

		kf_cuda_parameters(rows[i].ptx, &out);
		assert_string_equal(kf_buf_str(&out), rows[i].want);
		kf_buf_release(&out);
	}
}

static const char kinds_kernels[] =
	"#include <cuda_fp16.h>\n"
	"struct one { float a; }; struct two { float a; int b; };\n"
	"enum word { FEW, MANY }; enum class byte : unsigned char { LOW };\n"
	"extern \"C\" __global__ void k(int i, unsigned u, float f, double d,\n"
	"	word e, byte e8, bool t, char c, short s, one s1, two s2,\n"
	"	__half h, __half2 h2, float4 f4) { }\n"
	"extern \"C\" __global__ void p(float *p, const void *q, long long n,\n"
	"	void (*f)(int)) { }\n";

static void test_a_pack_tells_what_kernels_take(void **state)
{
	static const char *const words[] = { NULL };
	struct builder *b = *state;
	char *path = path_in(&b->f, "program.pack");
	const struct kf_pack_part *part;
	struct kf_pack pack = { 0 };

	NEEDS_NVRTC(b);
	expect_build(b, kinds_kernels, good_host, KF_BUILD_DONE, words);
	assert_int_equal(kf_pack_read(path, 64u << 20, &pack, NULL), KF_OK);
	part = kf_pack_find(&pack, "parameters");
	assert_non_null(part);
	assert_non_null(memmem(part->data, part->len, "k iifdi?????????\n",
			       17));
	/* PTX may tell which are pointers. */
	assert_true(memmem(part->data, part->len, "p iiii\n", 7) ||
		    memmem(part->data, part->len, "p ppii\n", 7));
	kf_pack_release(&pack);
	free(path);
}

/* --- find --------------------------------------------------------------- */

static size_t find_all(const struct builder *b, struct kf_device_info *info,
		       size_t max, const char *measure)
{
	struct kf_err err = { 0 };
	size_t count = 0;

	if (kf_driver_find(b->f.driver, info, max, measure, &count, &err))
		fail_msg("%s", err.text);
	return count;
}

static void test_devices_are_described(void **state)
{
	static const char *const words[] = {
		"device: Stand-in 1, sm_90a, compute capability 9.0\n",
		"multiprocessors (SMs): 4 at 1.98 GHz\n",
		"memory: 1 GiB, 3.35 TB/s in theory\n", "L2 cache: 1 MiB\n",
		"shared memory: 227 KiB for a block at most",
		"registers of an SM: 65536", "driver: CUDA 13.0", "compiler: ",
	};
	struct builder *b = *state;
	struct kf_device_info info[4];

	use_standin(true);
	unsetenv("CUDA_VISIBLE_DEVICES");
	assert_int_equal(find_all(b, info, 4, "cuda:1"), 2);
	assert_string_equal(info[0].id, "cuda:0");
	assert_string_equal(info[1].id, "cuda:1");
	assert_string_equal(info[1].name, "Stand-in 1");
	assert_string_equal(info[1].arch, "sm_90a");
	assert_int_equal(info[1].units, 4);
	assert_true(info[1].ceiling.bytes_per_s > 0);
	assert_true(info[0].ceiling.bytes_per_s == 0);
	for (size_t i = 0; i < KF_COUNT(words); i++)
		if (!strstr(kf_buf_str(&info[1].card), words[i]))
			fail_msg("no \"%s\" in: %s", words[i],
				 kf_buf_str(&info[1].card));
	for (size_t i = 0; i < 2; i++)
		kf_device_info_release(&info[i]);
	/* There is room for one. */
	assert_int_equal(find_all(b, info, 1, NULL), 1);
	kf_device_info_release(&info[0]);
	use_standin(false);
}

/* The user's choice holds; what a device is called does not depend on it. */
static void test_hidden_devices_stay_hidden(void **state)
{
	static const struct { const char *visible; size_t count;
			      const char *first; } rows[] = {
		{ "1", 1, "cuda:1" }, { "0,1", 2, "cuda:0" }, { "", 0, NULL },
		{ "GPU-a1a1a1a1", 1, "cuda:1" }, { "7", 0, NULL },
		{ "1,GPU-a0a0", 2, "cuda:0" },
	};
	struct builder *b = *state;

	use_standin(true);
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct kf_device_info info[4];
		size_t count;

		setenv("CUDA_VISIBLE_DEVICES", rows[i].visible, 1);
		count = find_all(b, info, 4, NULL);
		assert_int_equal(count, rows[i].count);
		if (count)
			assert_string_equal(info[0].id, rows[i].first);
		while (count)
			kf_device_info_release(&info[--count]);
	}
	unsetenv("CUDA_VISIBLE_DEVICES");
	use_standin(false);
}

/* Nobody waits for the others; what it is called is the same. */
static void test_one_device_is_found_alone(void **state)
{
	static const struct { const char *visible; int64_t number;
			      const char *id; } rows[] = {
		{ NULL, KF_DEVICE_FIRST, "cuda:0" }, { NULL, 1, "cuda:1" },
		{ NULL, 2, NULL }, { NULL, INT64_MAX, NULL },
		{ "1", KF_DEVICE_FIRST, "cuda:1" }, { "1", 1, "cuda:1" },
		{ "1,0", KF_DEVICE_FIRST, "cuda:0" }, { "0,1", 1, "cuda:1" },
		{ "1", 0, NULL }, { "01", 1, NULL },
		{ "01", KF_DEVICE_FIRST, NULL }, { "", KF_DEVICE_FIRST, NULL },
		{ "", 0, NULL }, { "7", KF_DEVICE_FIRST, NULL },
		/* Which those are the driver alone knows. */
		{ "GPU-a1a1a1a1", KF_DEVICE_FIRST, NULL },
		{ "0,GPU-a1a1a1a1", KF_DEVICE_FIRST, NULL },
		{ "0,GPU-a1a1a1a1", 1, NULL },
	};
	struct builder *b = *state;

	use_standin(true);
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct kf_device_info info, all[4];
		struct kf_err err = { 0 };
		size_t count, same = 0;
		bool there;

		unsetenv("CUDA_VISIBLE_DEVICES");
		if (rows[i].visible)
			setenv("CUDA_VISIBLE_DEVICES", rows[i].visible, 1);
		count = find_all(b, all, 4, NULL);
		if (kf_driver_find_one(b->f.driver, rows[i].number, &info,
				       &there, &err))
			fail_msg("row %zu: %s", i, err.text);
		if (there != (rows[i].id != NULL))
			fail_msg("row %zu: %d", i, there);
		if (there && rows[i].number == KF_DEVICE_FIRST)
			assert_string_equal(all[0].id, rows[i].id);
		for (size_t k = 0; k < count; k++) {
			if (there && strcmp(all[k].id, rows[i].id) == 0) {
				same++;
				assert_string_equal(info.id, all[k].id);
				assert_string_equal(info.name, all[k].name);
				assert_string_equal(info.hardware,
						    all[k].hardware);
				assert_string_equal(kf_buf_str(&info.card),
						    kf_buf_str(&all[k].card));
			}
			kf_device_info_release(&all[k]);
		}
		assert_int_equal(same, there);
		kf_device_info_release(&info);
	}
	unsetenv("CUDA_VISIBLE_DEVICES");
	setenv("KFORGE_CUDA_DRIVER", "/nowhere/libcuda.so.1", 1);
	for (int64_t number = KF_DEVICE_FIRST; number < 1; number++) {
		struct kf_device_info info;
		bool there;

		assert_int_equal(kf_driver_find_one(b->f.driver, number, &info,
						    &there, NULL), KF_OK);
		assert_false(there);
		kf_device_info_release(&info);
	}
	use_standin(false);
}

static void test_no_driver_is_no_device(void **state)
{
	struct builder *b = *state;
	struct kf_device_info info[1];
	struct kf_device *dev = NULL;
	struct kf_err err = { 0 };

	setenv("KFORGE_CUDA_DRIVER", "/nowhere/libcuda.so.1", 1);
	assert_int_equal(find_all(b, info, 1, NULL), 0);
	assert_int_equal(kf_driver_open(b->f.driver, "cuda:0", MEMORY_MAX,
					&dev, &err), KF_E_UNAVAIL);
	assert_null(dev);
	assert_non_null(strstr(err.text, "no CUDA driver"));
	use_standin(true);
	assert_int_equal(kf_driver_open(b->f.driver, "cuda:2", MEMORY_MAX,
					&dev, &err), KF_E_UNAVAIL);
	assert_non_null(strstr(err.text, "no device cuda:2 here"));
	unsetenv("CUDA_VISIBLE_DEVICES");	/* open has set it */
	use_standin(false);
}

/* Whoever has a driver that does not work wants to know why. */
static void test_a_broken_driver_is_told(void **state)
{
	struct builder *b = *state;
	struct kf_device_info info[1];
	struct kf_err err = { 0 };
	size_t count = 0;

	setenv("KFORGE_CUDA_DRIVER", "libm.so.6", 1);
	assert_int_equal(kf_driver_find(b->f.driver, info, 1, NULL, &count,
					&err), KF_E_UNAVAIL);
	assert_non_null(strstr(err.text, "has no cuInit: install a driver"));
	assert_int_equal(count, 0);
	use_standin(false);
}

/* --- what sandboxes show -------------------------------------------------- */

static void test_the_runner_is_shown_the_driver(void **state)
{
	struct builder *b = *state;
	struct seen seen = { "standin/libcuda.so.1", false, false };

	use_standin(true);
	kf_driver_paths(b->f.driver, KF_DRIVER_RUNNER, note_path, &seen);
	assert_true(seen.found);
	assert_false(seen.writable);
	use_standin(false);
}

static void test_the_loaders_first_choice_is_ours(void **state)
{
	struct builder *b = *state;
	struct seen seen = { "standin/libcuda.so.1", false, false };
	char *path = standin_path(), *folder = kf_strdup(path), *list;
	struct kf_device_info info[1];

	*strrchr(folder, '/') = '\0';
	list = kf_format("/nowhere::%s", folder);
	setenv("LD_LIBRARY_PATH", list, 1);
	kf_driver_paths(b->f.driver, KF_DRIVER_RUNNER, note_path, &seen);
	assert_true(seen.found);
	assert_int_equal(find_all(b, info, 1, NULL), 1);
	kf_device_info_release(info);
	unsetenv("LD_LIBRARY_PATH");
	free(list);
	free(folder);
	free(path);
}

static void test_the_builder_is_shown_the_toolkit(void **state)
{
	struct builder *b = *state;
	struct seen seen[] = { { "/lib", false, false },
			       { "/include", false, false } };

	NEEDS_NVRTC(b);
	for (size_t i = 0; i < KF_COUNT(seen); i++) {
		kf_driver_paths(b->f.driver, KF_DRIVER_BUILDER, note_path,
				&seen[i]);
		assert_true(seen[i].found);
		assert_false(seen[i].writable);
	}
}

static void test_a_modules_builder_is_shown_nvcc(void **state)
{
	struct builder *b = *state;
	const struct kf_driver *driver = kf_driver_by_name("pytorchcuda");
	char *home = kf_format("%s/toolkit", b->f.folder);
	char *bin = kf_path_join(home, "bin");
	char *part = kf_path_join(home, "nvvm");
	char *nvcc = kf_path_join(bin, "nvcc");
	char *line = kf_format("CUDA_HOME=%s\n", home);
	struct seen seen[] = { { home, false, false }, { home, false, false } };
	struct kf_buf env = { .max = 4096 };

	assert_int_equal(kf_mkdir_p(bin, NULL), KF_OK);
	assert_int_equal(kf_mkdir_p(part, NULL), KF_OK);
	assert_int_equal(kf_file_write_scratch(nvcc, "", 0, NULL), KF_OK);
	setenv("CUDA_HOME", home, 1);
	kf_driver_paths(driver, KF_DRIVER_BUILDER, note_path, &seen[0]);
	kf_driver_paths(driver, KF_DRIVER_RUNNER, note_path, &seen[1]);
	assert_true(seen[0].found && !seen[0].writable);
	assert_false(seen[1].found);
	driver->torch_env("cuda:0", add_line, &env);
	assert_non_null(strstr(kf_buf_str(&env), line));
	unsetenv("CUDA_HOME");
	kf_buf_release(&env);
	free(line);
	free(nvcc);
	free(part);
	free(bin);
	free(home);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good_sources_become_a_pack),
		cmocka_unit_test(test_code_is_for_the_device),
		cmocka_unit_test(test_unknown_architecture_is_our_trouble),
		cmocka_unit_test(test_errors_have_names_and_lines),
		cmocka_unit_test(test_headers_and_constants_are_there),
		cmocka_unit_test(test_spills_are_told),
		cmocka_unit_test(test_a_missing_compiler_is_our_trouble),
		cmocka_unit_test(test_a_distributions_headers_are_found),
		cmocka_unit_test(test_cutlass_is_where_its_variable_says),
		cmocka_unit_test(test_cutlass_is_found_beside_python),
		cmocka_unit_test(test_cute_compiles),
		cmocka_unit_test(test_the_log_reads_like_other_compilers),
		cmocka_unit_test(test_what_to_include_instead),
		cmocka_unit_test(test_an_assembler_speaks_of_the_source),
		cmocka_unit_test(test_kernels_parameters_are_read_from_ptx),
		cmocka_unit_test(test_a_pack_tells_what_kernels_take),
		cmocka_unit_test(test_devices_are_described),
		cmocka_unit_test(test_hidden_devices_stay_hidden),
		cmocka_unit_test(test_one_device_is_found_alone),
		cmocka_unit_test(test_no_driver_is_no_device),
		cmocka_unit_test(test_a_broken_driver_is_told),
		cmocka_unit_test(test_the_runner_is_shown_the_driver),
		cmocka_unit_test(test_the_loaders_first_choice_is_ours),
		cmocka_unit_test(test_the_builder_is_shown_the_toolkit),
		cmocka_unit_test(test_a_modules_builder_is_shown_nvcc),
	};
	struct builder b = { .f.driver = kf_driver_by_name("cuda") };
	struct CMUnitTest with_state[KF_COUNT(tests)];
	struct seen seen = { "/", false, false };
	int failed;

	if (make_folder(&b.f))
		return 1;
	snprintf(b.kernels, sizeof(b.kernels), "%s/kernels.cu", b.f.folder);
	snprintf(b.host, sizeof(b.host), "%s/host.c", b.f.folder);
	/* The library itself is opened in children alone. */
	kf_driver_paths(b.f.driver, KF_DRIVER_BUILDER, note_path, &seen);
	b.can_build = seen.found;
	memcpy(with_state, tests, sizeof(tests));
	for (size_t i = 0; i < KF_COUNT(tests); i++)
		with_state[i].initial_state = &b;
	failed = cmocka_run_group_tests_name("cuda_build", with_state, NULL,
					     NULL);
	kf_buf_release(&b.f.code);
	kf_remove_tree(b.f.folder, NULL);
	return failed;
}
