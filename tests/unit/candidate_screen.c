/*
 * The screen of C: what makes a compiler read files of the machine is
 * refused, and everything else is left alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "candidate/c_facts.h"
#include "candidate/language.h"

struct row {
	const char *source;
	const char *why;	/* part of the sentence; NULL: nothing is wrong */
};

typedef bool screen_fn(const char *name, const char *text, size_t len,
		       char *why, size_t why_size);

static void check_by(screen_fn *screen, const struct row *rows, size_t count)
{
	size_t failed = 0;

	for (size_t i = 0; i < count; i++) {
		const char *source = rows[i].source, *want = rows[i].why;
		char why[400];
		bool good = screen("program.c", source, strlen(source), why,
				   sizeof(why));

		if (good == !want && (good ? !why[0] : !!strstr(why, want)))
			continue;
		print_error("'%s': '%s'\n", source, why);
		failed++;
	}
	assert_int_equal(failed, 0);
}

static void check_rows(const struct row *rows, size_t count)
{
	check_by(kf_c_screen, rows, count);
}

static void test_reading_the_machines_files_is_refused(void **state)
{
	static const struct row rows[] = {
		{ "#include \"/etc/passwd\"\n", "line 1: #include of the path" },
		{ "int x;\n#include </etc/shadow>", "line 2" },
		{ "#include \"../../secret.h\"", "path" },
		{ "#include <a/../../b.h>", "path" },
		{ "#include \"..\"", "path" },
		{ "#include \"C:\\keys.txt\"", "path" },
		{ "#include \"~/keys\"", "path" },
		{ " \t # /* x */ include /* y */ \"/etc/passwd\"", "path" },
		{ "#inc\\\nlude \"/etc/passwd\"", "path" },
		{ "#inc\\  \nlude \"/etc/passwd\"", "path" },
		{ "#\\\n\\\n include \"/etc/passwd\"\n", "path" },
		{ "%:include \"/etc/passwd\"", "path" },
		{ "?\?=include \"/etc/passwd\"", "path" },
		{ "/* a\n */ #include \"/etc/passwd\"", "line 2" },
		{ "#define F \"/etc/passwd\"\n#include F\n", "not a macro" },
		{ "#include_next <stdio.h>", "include_next" },
		{ "#import \"/etc/passwd\"", "#import" },
		{ "#embed \"/etc/passwd\"", "#embed" },
		{ "#if 0\n#include \"/etc/passwd\"\n#endif\n", "path" },
		{ "#if __has_include(\"/etc/passwd\")\n#endif", "__has_include" },
		{ "#if 1 && __has_include ( </srv/x> )\n#endif", "__has_include" },
		{ "#elif __has_embed(\"../x\")", "__has_embed" },
		{ "#line 1 \"/etc/passwd\"", "#line" },
		{ "# 1 \"/etc/passwd\"", "#line" },
		{ "#pragma GCC dependency \"/etc/passwd\"", "GCC dependency" },
		{ "#pragma GCC pch_preprocess \"x\"", "pch_preprocess" },
		{ "_Pragma(\"GCC dependency \\\"x\\\"\")", "GCC dependency" },
		{ "asm(\".incbin \\\"/etc/passwd\\\"\");", ".incbin" },
		{ "__asm__ volatile (\".section x\\n .INCBIN \\\"a\\\"\");", ".incbin" },
		{ "__asm(\".inc\" \"bin \\\"a\\\"\");", ".incbin" },
		{ "asm(\"\\x2eincbin \\\"a\\\"\");", ".incbin" },
		{ "asm(\"\\056include \\\"a\\\"\");", ".include" },
		{ "asm volatile (\"nop\" : : \"r\"(f(1)) : \"memory\");\nasm(\".include \\\"x\\\"\");", "line 2" },
		{ "asm(\".file \\\"/etc/passwd\\\"\");", ".file" },
		{ "#define A \".incbin \\\"x\\\"\"\nasm(A);", "macro" },
		{ "#define B(x) asm(x)\n#define A \".incbin 1\"\nB(A)", "macro" },
		{ "__attribute__((section(\".x\\n.incbin \\\"y\\\"\"))) int x;", ".incbin" },
	};

	(void)state;
	check_rows(rows, KF_COUNT(rows));
}

static void test_honest_programs_pass(void **state)
{
	static const struct row rows[] = {
		{ "#include <math.h>\n#include <kforge/program.h>\n#include \"helper.h\"\n", NULL },
		{ "#include <immintrin.h> // vectors\n#include <sys/types.h>\n", NULL },
		{ "#include <string.h> /* not \"../x\" */\n", NULL },
		{ "/* #include \"/etc/passwd\" */\nint x;\n", NULL },
		{ "// #include \"/etc/passwd\"\n", NULL },
		{ "const char *s = \"#include \\\"/etc/passwd\\\"\";\n", NULL },
		{ "const char *s = \".incbin and .include are words\";\n", NULL },
		{ "/* asm(\".incbin\") */ int asm_count;\n", NULL },
		{ "#define WORDS \".include\"\nconst char *s = WORDS;\n", NULL },
		{ "#if __has_include(<omp.h>)\n#include <omp.h>\n#endif\n", NULL },
		{ "#pragma omp parallel for\n#pragma GCC ivdep\n#pragma GCC optimize(\"O3\")\n", NULL },
		{ "_Pragma(\"omp simd\") for (;;);\n", NULL },
		{ "#line 12\n#line 3 \"program.y\"\n", NULL },
		{ "asm volatile(\"vfmadd231ps %1, %2, %0\" : \"+x\"(a) : \"x\"(b), \"x\"(c));\n", NULL },
		{ "__asm__ (\"pause\");\n", NULL },
		{ "__attribute__((target(\"avx2,fma\"))) static int f(void);\n", NULL },
		{ "#error \"don't use /../ here\"\n", NULL },
		{ "double d = 1./2..x;\n", NULL },
		{ "x ? \"a\" : \"/../b\";\n", NULL },
		{ "", NULL },
		{ "#", NULL },
		{ "#include", "needs a header" },
		{ "asm(", NULL },
		{ "asm", NULL },
		{ "_Pragma", NULL },
		{ "asm(\"\\", NULL },
		{ "\"\\", NULL },
		{ "/*", NULL },
	};

	(void)state;
	check_rows(rows, KF_COUNT(rows));
}

static void test_the_entry_is_seen_where_it_is_defined(void **state)
{
	static const struct {
		const char *source;
		enum kf_entry entry;
		bool whole;
	} rows[] = {
		{ "int kf_forward(void *c) { return 0; }", KF_ENTRY_DEFINED, true },
		{ "int\nkf_forward\n(\nvoid *c)\n{}", KF_ENTRY_DEFINED, true },
		{ "int kf_for\\\nward(void *c) {}", KF_ENTRY_DEFINED, true },
		{ "int kf_forward(void *c) <% %>", KF_ENTRY_DEFINED, true },
		{ "int kf_forward(int (*f)(void)) {}", KF_ENTRY_DEFINED, true },
		{ "struct s { int x; } y = { 1 };\nint kf_forward(void) {}", KF_ENTRY_DEFINED, true },
		{ "static int f(void) {}\nint kf_forward(void) {}", KF_ENTRY_DEFINED, true },
		{ "static int x;\nint kf_forward(void) {}", KF_ENTRY_DEFINED, true },
		{ "static int x = 1, kf_forward(void) {}", KF_ENTRY_STATIC, true },
		{ "#define NAME kf_forward\nint NAME(void *c) {}", KF_ENTRY_DEFINED, true },
		{ "#if 0\n#if 1\n#endif\nint kf_forward(void) {}\n#else\n#endif", KF_ENTRY_ABSENT, true },
		{ "#if 0 // off\nint kf_forward(void) {}\n#else\nint kf_forward(void) {}\n#endif", KF_ENTRY_DEFINED, true },
		{ "int kf_forward(void);", KF_ENTRY_DECLARED, true },
		{ "int (*p)(void) = kf_forward;", KF_ENTRY_MENTIONED, true },
		{ "int kf_forward2(void) {}", KF_ENTRY_ABSENT, true },
		{ "int f(void) { int kf_forward(void); }", KF_ENTRY_MENTIONED, true },
		{ "int kf_forward(void) {", KF_ENTRY_DEFINED, false },
		{ "int kf_forward(void) { } }", KF_ENTRY_DEFINED, false },
		{ "int kf_forward(void) { (; }", KF_ENTRY_DEFINED, false },
		{ "#endif\nint kf_forward(void) { }", KF_ENTRY_DEFINED, false },
		{ "int kf_forward(void) { } /* ", KF_ENTRY_DEFINED, false },
	};
	size_t failed = 0;

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct kf_facts facts;

		kf_c_facts(rows[i].source, strlen(rows[i].source),
			   "kf_forward", &facts);
		if (facts.entry == rows[i].entry &&
		    facts.whole == rows[i].whole)
			continue;
		print_error("'%s': entry %d, whole %d\n", rows[i].source,
			    (int)facts.entry, (int)facts.whole);
		failed++;
	}
	assert_int_equal(failed, 0);
}

static void test_a_host_part_includes_few_headers(void **state)
{
	static const struct row rows[] = {
		{ "#include <kforge/launch.h>\n#include <math.h>\n", NULL },
		{ "#include \"kforge/program.h\"\n#include <stdint.h>", NULL },
		{ "#include <cuda_runtime.h>\n", "cuda_runtime.h" },
		{ "int x;\n#include <CL/cl.h>", "line 2" },
		{ "#include <sys/mman.h>", "headers of standard C" },
		{ "#include <kforge/launch.h.h>", "not allowed" },
		{ "#include \"kernels.cl\"", "not allowed" },
		{ "#include \"/etc/passwd\"", "path" },
	};

	(void)state;
	check_by(kf_host_screen, rows, KF_COUNT(rows));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reading_the_machines_files_is_refused),
		cmocka_unit_test(test_honest_programs_pass),
		cmocka_unit_test(test_a_host_part_includes_few_headers),
		cmocka_unit_test(test_the_entry_is_seen_where_it_is_defined),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
