/* Names that exports give, and what is read from compiled objects. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <elf.h>
#include <stdio.h>
#include <unistd.h>

#include "export/internal.h"

struct name { const char *from, *to; };

static void test_programs_are_named_for_headers_and_libraries(void **state)
{
	static const struct name rows[] = {
		{ "softmax", "softmax" },
		{ "1_Square_matrix multiplication_",
		  "op_1_square_matrix_multiplication" },
		{ "a.b--c", "a_b_c" }, { "_x_", "x" },
		{ "kf_x", "op_kf_x" }, { "Kforge", "op_kforge" },
		{ "\xc3\xa9", "op_program" }, { "", "op_program" },
		{ "lambda", "op_lambda" }, { "class", "op_class" },
		{ "math", "op_math" }, { "Time", "op_time" },
		{ "string", "op_string" }, { "stdio", "op_stdio" },
		{ "immintrin", "op_immintrin" }, { "m", "op_m" },
		{ "c", "op_c" }, { "pthread", "op_pthread" },
		{ "timer", "op_timer" }, { "name", "op_name" },
		{ "program", "op_program" }, { "example", "op_example" },
		{ "safetensors", "op_safetensors" },
		{ "math_2", "math_2" }, { "timers", "timers" },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		char *ident = kf_export_program_ident(rows[i].from);

		assert_string_equal(ident, rows[i].to);
		free(ident);
	}
}

static void test_tensors_are_named_for_arguments(void **state)
{
	static const struct name rows[] = {
		{ "x", "x" }, { "fc.weight", "fc_weight" },
		{ "layers.0.w", "layers_0_w" }, { "0.weight", "op_0_weight" },
		{ "kf_x", "op_kf_x" }, { "\xc3\xa9", "tensor" },
		{ "", "tensor_2" }, { "...", "tensor_3" },
		{ "int", "int_" }, { "Class", "class_" },
		{ "lambda", "lambda_" }, { "in", "in_" },
		{ "constexpr", "constexpr_" }, { "int64_t", "int64_t_" },
		{ "linux", "linux_" }, { "errno", "errno_" },
		{ "context", "context_" }, { "self", "self_" },
		{ "e", "e" }, { "printf", "printf" }, { "out", "out" },
		/* Those in use are told apart. */
		{ "a.b", "a_b" }, { "a_b", "a_b_2" }, { "a.b", "a_b_3" },
		{ "a_b_2", "a_b_2_2" },
	};
	json_t *taken = json_object();

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		char *ident = kf_export_tensor_ident(rows[i].from, taken);

		assert_string_equal(ident, rows[i].to);
		free(ident);
	}
	json_decref(taken);
}

/* --- objects -------------------------------------------------------------- */

static char *scratch_path(void)
{
	char *path = kf_strdup("/tmp/kforge-unit-XXXXXX");
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	return path;
}

/* Compiles a text with the compiler on PATH and reads the object. */
static void compile(const char *text, const char *path)
{
	const char *const argv[] = { "cc", "-O2", "-fopenmp", "-x", "c", "-c",
				     "-o", path, "-", NULL };
	struct kf_proc_spec spec = {
		.argv = argv,
		.stdin_bytes = text,
		.stdin_len = strlen(text),
		.timeout_ns = 60 * KF_NS_PER_S,
	};
	struct kf_proc_end end;

	assert_int_equal(kf_proc_run(&spec, NULL, NULL, &end, NULL), KF_OK);
	assert_int_equal(end.exit_code, 0);
}

static void test_an_object_tells_of_variables_and_allocations(void **state)
{
	static const struct {
		const char *text;
		bool openmp, prepares, shared;
		size_t allocations;
	} rows[] = {
		{ "static const int table[4] = { 1, 2, 3, 4 };"
		  "int kf_forward(int i) { return table[i & 3]; }",
		  false, false, false, 0 },
		{ "static int calls; int kf_forward(void) { return calls++; }",
		  false, false, true, 0 },
		{ "int seed = 7; int kf_prepare(void) { return seed++; }",
		  false, true, true, 0 },
		{ "static _Thread_local int calls;"
		  "int kf_forward(void) { return calls++; }",
		  false, false, false, 0 },
		{ "void *malloc(unsigned long n); void free(void *p); void *a;"
		  "int f(void) { a = malloc(8); free(a); return 0; }",
		  false, false, true, 2 },
		{ "void f(float *x) {\n#pragma omp parallel for\n"
		  "for (int i = 0; i < 99; i++) x[i] *= 2; }",
		  true, false, false, 0 },
	};
	char *path = scratch_path();

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct kf_object_facts facts;
		struct kf_err err = { 0 };

		compile(rows[i].text, path);
		assert_int_equal(kf_object_read(path, &facts, &err), KF_OK);
		assert_int_equal(facts.openmp, rows[i].openmp);
		assert_int_equal(facts.prepares, rows[i].prepares);
		assert_int_equal(facts.static_bytes > 0, rows[i].shared);
		assert_int_equal(facts.allocate_count, rows[i].allocations);
	}
	unlink(path);
	free(path);
}

/* Without waiting for the disk, unlike kf_file_write. */
static void put(const char *path, const void *bytes, size_t len)
{
	FILE *file = fopen(path, "wb");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, len, file), len);
	assert_int_equal(fclose(file), 0);
}

/* Nothing in an object is believed: every byte of its headers is changed in
 * turn, and it is cut at every length. The sanitizers watch. */
static void test_a_damaged_object_is_harmless(void **state)
{
	struct kf_buf bytes = { .max = 1u << 20 };
	char *path = scratch_path();
	struct kf_object_facts facts;
	size_t tables;

	(void)state;
	compile("static int n; void *malloc(unsigned long); void *f(void)"
		"{ n++; return malloc(8); }", path);
	assert_int_equal(kf_file_read(path, &bytes, NULL), KF_OK);
	tables = (size_t)((const Elf64_Ehdr *)(void *)bytes.data)->e_shoff;
	assert_true(tables < bytes.len);
	for (size_t i = 0; i < bytes.len; i++) {
		char was = bytes.data[i];

		if (i >= sizeof(Elf64_Ehdr) && i < tables)
			continue;
		bytes.data[i] = (char)~was;
		put(path, bytes.data, bytes.len);
		(void)!kf_object_read(path, &facts, NULL);
		bytes.data[i] = was;
	}
	for (size_t len = 0; len < bytes.len; len += 7) {
		put(path, bytes.data, len);
		assert_int_not_equal(kf_object_read(path, &facts, NULL), KF_OK);
	}
	kf_buf_release(&bytes);
	unlink(path);
	free(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_programs_are_named_for_headers_and_libraries),
		cmocka_unit_test(test_tensors_are_named_for_arguments),
		cmocka_unit_test(
			test_an_object_tells_of_variables_and_allocations),
		cmocka_unit_test(test_a_damaged_object_is_harmless),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
