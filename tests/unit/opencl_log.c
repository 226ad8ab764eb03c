/* Compilers' logs, as PoCL and NVIDIA's OpenCL (580.159.04) write them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants those first */
#include <cmocka.h>

#include "platform/opencl/opencl.h"

static void test_messages_begin_with_their_place(void **state)
{
	static const struct { const char *text, *want; } rows[] = {
		{ "", "" },
		{ "\n\nerror: kernels.cl:3:25: no x\n",
		  "kernels.cl:3:25: error: no x\n" },
		{ "kernels.cl:3:25: error: no x",
		  "kernels.cl:3:25: error: no x\n" },
		{ "error: no place", "error: no place\n" },
		{ "2 warnings generated for A device.\nwarning: f.cl:1:2: y\n",
		  "f.cl:1:2: warning: y\n" },
		{ "ERROR: <kernel>:4:25: error: no x\n f(x)\n   ^\n",
		  "kernels.cl:3:25: error: no x\n f(x)\n   ^\n" },
		{ "<kernel>:12:3: warning: y\n",
		  "kernels.cl:11:3: warning: y\n" },
		{ "<kernel>:1:1: error: y\n", "<kernel>:1:1: error: y\n" },
		{ "<kernel>:: y\nwhat follows <kernel>:4: z\n",
		  "<kernel>:: y\nwhat follows <kernel>:4: z\n" },
		{ "(): Warning: Function f is a kernel, so overriding noinline "
		  "attribute. The function may be inlined when called.\nz\n",
		  "z\n" },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct kf_buf log = { .max = 4096 };

		kf_opencl_add_log(rows[i].text, "A device", &log);
		assert_string_equal(kf_buf_str(&log), rows[i].want);
		kf_buf_release(&log);
	}
}

static void test_a_kernel_without_parameters_is_explained(void **state)
{
	static const char text[] = "ptxas application ptx input, line 27; "
		"fatal   : Parsing error near '}': syntax error\n"
		"ptxas fatal   : Ptx assembly aborted due to errors\n";
	struct kf_buf log = { .max = 4096 };

	(void)state;
	kf_opencl_add_log(text, "A device", &log);
	assert_memory_equal(kf_buf_str(&log), text, sizeof(text) - 1);
	assert_non_null(strstr(kf_buf_str(&log), "kernels.cl: note: "));
	assert_non_null(strstr(kf_buf_str(&log), "no parameters"));
	kf_buf_release(&log);
}

int main(void)
{
	static const struct CMUnitTest cases[] = {
		cmocka_unit_test(test_messages_begin_with_their_place),
		cmocka_unit_test(test_a_kernel_without_parameters_is_explained),
	};

	return cmocka_run_group_tests_name("opencl_log", cases, NULL, NULL);
}
