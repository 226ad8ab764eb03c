/* What sanitizers say, read; and what becomes of a verdict. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "evaluate/evaluate.h"
#include "platform/drivers.h"

static const char out_of_bounds[] =
	"z[0] = 1\n\nInvalid write of size 4 at global memory address 0x30fbc\n"
	"\tKernel: axpby\n"
	"\tEntity: Global(1007,0,0) Local(239,0,0) Group(3,0,0)\n"
	"\t  store float %2, float addrspace(1)* %arrayidx3\n"
	"\tAt line 7 (column 8) of input.cl:\n\t  z[i] = 0;\n\n"
	"Invalid read of size 8 at global memory address 0x1\n\tKernel: b\n";
static const char race[] =
	"\nRead-write data race at local memory address 0x100000000000c\n"
	"\tKernel: reverse\n\n"
	"\tFirst entity:  Global(0,0,0) Local(0,0,0) Group(0,0,0)\n"
	"\t  %6 = load float\n\tAt line 5 (column 9) of input.cl:\n\t  x\n\n"
	"\tSecond entity: Global(3,0,0) Local(3,0,0) Group(0,0,0)\n"
	"\tAt line 4 (column 16) of input.cl:\n";
static const char memcheck[] =
	"========= COMPUTE-SANITIZER\n"
	"========= Invalid __global__ read of size 4 bytes\n"
	"=========     at axpb(const float *, float *)+0x90 in kernels.cu:7\n"
	"=========     by thread (255,0,0) in block (3,0,0)\n"
	"=========     Address 0x7f25c5400fbc is out of bounds\n"
	"========= ERROR SUMMARY: 1 error\n";
static const char racecheck[] =
	"========= COMPUTE-SANITIZER\n"
	"========= Error: Race reported between Write access at "
	"reverse(float *)+0x60 in kernels.cu:4\n"
	"=========     and Read access at reverse(float *)+0x90 in "
	"kernels.cu:5 [96 hazards]\n=========\n";
static const char clean[] =
	"z[0] = 1; largest difference 0\nthis agrees with the reference\n"
	"========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n";

struct row {
	const char *driver, *log;
	const char *what, *kernel, *thread, *address;
	unsigned line;
};

static void test_the_first_finding_is_read(void **state)
{
	static const struct row rows[] = {
		{ "opencl", out_of_bounds, "Invalid write of size 4 at global "
		  "memory address 0x30fbc", "axpby",
		  "Global(1007,0,0) Local(239,0,0) Group(3,0,0)", "0x30fbc",
		  7 },
		{ "opencl", race, "Read-write data race at local memory "
		  "address 0x100000000000c", "reverse",
		  "Global(0,0,0) Local(0,0,0) Group(0,0,0)",
		  "0x100000000000c", 5 },
		{ "cuda", memcheck, "Invalid __global__ read of size 4 bytes",
		  "axpb", "thread (255,0,0) in block (3,0,0)",
		  "0x7f25c5400fbc", 7 },
		{ "cuda", racecheck, "Error: Race reported between Write "
		  "access at reverse(float *)+0x60 in kernels.cu:4",
		  "reverse", "", "", 4 },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		const struct row *row = &rows[i];
		const struct kf_driver *d = kf_driver_by_name(row->driver);
		struct kf_found found;

		assert_true(d->sanitizer->read(row->log, &found));
		assert_string_equal(found.what, row->what);
		assert_string_equal(found.kernel, row->kernel);
		assert_string_equal(found.thread, row->thread);
		assert_string_equal(found.address, row->address);
		assert_int_equal(found.line, row->line);
	}
}

static void test_nothing_is_found_in_other_words(void **state)
{
	static const char *const drivers[] = { "opencl", "cuda" };

	(void)state;
	for (size_t i = 0; i < KF_COUNT(drivers); i++) {
		const struct kf_driver *d = kf_driver_by_name(drivers[i]);
		struct kf_found found;

		assert_false(d->sanitizer->read(clean, &found));
		assert_false(d->sanitizer->read("", &found));
		assert_string_equal(found.what, "");
	}
}

/* Words longer than their room are cut, and end. */
static void test_long_words_are_cut(void **state)
{
	struct kf_buf log = { .max = 4096 };
	struct kf_found found;

	(void)state;
	kf_buf_puts(&log, "Invalid ");
	for (int i = 0; i < 1000; i++)
		kf_buf_puts(&log, "x");
	assert_true(kf_driver_by_name("opencl")->sanitizer->read(
		kf_buf_str(&log), &found));
	assert_int_equal(strlen(found.what), sizeof(found.what) - 1);
	kf_buf_release(&log);
}

static void test_a_finding_is_a_runtime_error(void **state)
{
	struct kf_found found = { .what = "Invalid write of size 4",
				  .kernel = "axpby", .line = 7 };
	struct kf_verdict v = { .state = KF_CORRECT, .time_ns = 5.0,
				.text.max = 4096 };
	const json_t *told;

	(void)state;
	kf_verdict_sanitized(&v, NULL, NULL);
	assert_int_equal(v.state, KF_CORRECT);
	assert_true(json_is_false(json_object_get(v.evidence, "sanitizer")));
	kf_verdict_sanitized(&v, "oclgrind", &found);
	assert_int_equal(v.state, KF_RUNTIME_ERROR);
	assert_string_equal(v.reason, "sanitizer");
	assert_true(v.time_ns != v.time_ns);
	told = json_object_get(v.evidence, "sanitizer");
	assert_string_equal(kf_json_str(told, "kernel", ""), "axpby");
	assert_int_equal(kf_json_int(told, "line", 0), 7);
	assert_non_null(strstr(kf_buf_str(&v.text), "axpby, line 7"));
	assert_null(strstr(kf_buf_str(&v.text), "the verdict was"));
	/* Of a program that was wrong before, both are told. */
	v.state = KF_MISMATCH;
	snprintf(v.reason, sizeof(v.reason), "values");
	kf_verdict_sanitized(&v, "oclgrind", &found);
	assert_non_null(strstr(kf_buf_str(&v.text),
			       "the verdict was mismatch: values"));
	kf_verdict_release(&v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_first_finding_is_read),
		cmocka_unit_test(test_nothing_is_found_in_other_words),
		cmocka_unit_test(test_long_words_are_cut),
		cmocka_unit_test(test_a_finding_is_a_runtime_error),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
