/*
 * The parts of the OpenCL driver that need no device: the binary with what is
 * known of its kernels, and what is said of launches.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "platform/opencl/opencl.h"

/* --- the binary ----------------------------------------------------------- */

static struct kf_opencl_parameter parameter[] = {
	{ CL_KERNEL_ARG_ADDRESS_GLOBAL, "float*", "x" },
	{ CL_KERNEL_ARG_ADDRESS_PRIVATE, "ulong", "n" },
	{ CL_KERNEL_ARG_ADDRESS_LOCAL, "int*", "l" },
	{ CL_KERNEL_ARG_ADDRESS_PRIVATE, "struct pair", "p" },
	{ CL_KERNEL_ARG_ADDRESS_GLOBAL, "image2d_t", "image" },
};
static struct kf_opencl_kernel kernel[] = {
	{ "f", parameter, 4 }, { "with_image", &parameter[4], 1 },
	{ "empty", NULL, 0 },
};
static const struct kf_opencl_binary binary = {
	"a device", "1.2", kernel, KF_COUNT(kernel),
	(const unsigned char *)"bytes", 5
};

static void test_a_binary_comes_back(void **state)
{
	struct kf_buf bytes = { .max = 4096 };
	struct kf_opencl_binary got;

	(void)state;
	kf_opencl_binary_write(&binary, &bytes);
	assert_true(kf_opencl_binary_read(bytes.data, bytes.len, &got));
	assert_string_equal(got.device, "a device");
	assert_string_equal(got.driver, "1.2");
	assert_int_equal(got.kernel_count, 3);
	assert_non_null(kf_opencl_kernel_find(&got, "empty"));
	assert_null(kf_opencl_kernel_find(&got, "g"));
	for (size_t i = 0; i < 4; i++) {
		const struct kf_opencl_parameter *p =
			&kf_opencl_kernel_find(&got, "f")->parameter[i];

		assert_int_equal(p->where, parameter[i].where);
		assert_string_equal(p->type, parameter[i].type);
		assert_string_equal(p->name, parameter[i].name);
	}
	assert_int_equal(got.len, 5);
	assert_memory_equal(got.bytes, "bytes", 5);
	kf_opencl_binary_release(&got);
	kf_buf_release(&bytes);
}

/* Any byte may be wrong, or missing: it is read or refused, and no more. */
static void test_spoilt_binaries_do_no_harm(void **state)
{
	struct kf_buf bytes = { .max = 4096 };
	struct kf_opencl_binary got;

	(void)state;
	kf_opencl_binary_write(&binary, &bytes);
	for (size_t len = 0; len < bytes.len; len++) {
		assert_false(kf_opencl_binary_read(bytes.data, len, &got));
		kf_opencl_binary_release(&got);
	}
	for (size_t i = 0; i < bytes.len; i++) {
		bytes.data[i] = (char)~bytes.data[i];
		kf_opencl_binary_read(bytes.data, bytes.len, &got);
		kf_opencl_binary_release(&got);
		bytes.data[i] = (char)~bytes.data[i];
	}
	kf_buf_release(&bytes);
}

/* --- launches ------------------------------------------------------------- */

static const struct kf_opencl_limits limits = {
	.group_size = 256, .group = { 256, 128, 64 }, .local_bytes = 1024,
	.alignment = 128,
};

/* A launch of f that is right. */
struct sample { struct kf_plan_op op; struct kf_plan_arg arg[4]; };

static void make_sample(struct sample *s)
{
	*s = (struct sample) {
		.op = { .kind = KF_PLAN_LAUNCH, .grid = { 1, 1, 1 },
			.group = { 64, 1, 1 }, .arg = s->arg,
			.arg_count = 4 },
		.arg = {
			{ .kind = KF_ARG_BUFFER, .bytes = 8,
			  .place.offset = 256 },
			{ .kind = KF_ARG_INT, .bytes = 8 },
			{ .kind = KF_ARG_LOCAL, .bytes = 512 },
			{ .kind = KF_ARG_BYTES, .bytes = 24 },
		},
	};
}

static void test_a_good_launch_is_taken(void **state)
{
	const struct kf_opencl_needs needs = { .local_bytes = 512 };
	struct sample s;
	char why[256];

	(void)state;
	make_sample(&s);
	assert_true(kf_opencl_check_launch(&s.op, &kernel[0], &limits, why));
	assert_true(kf_opencl_check_sizes(&s.op, &limits, &needs, why));
	s.op.arg_count = 0;
	assert_true(kf_opencl_check_launch(&s.op, &kernel[2], &limits, why));
}

static void test_wrong_arguments_are_told(void **state)
{
	static const struct {
		size_t argument;
		struct kf_plan_arg arg;
		const char *words;
	} rows[] = {
		{ 0, { .kind = KF_ARG_LOCAL, .bytes = 4 },
		  "argument 1 is float* x in the kernel: pass KF_BUF, not "
		  "KF_LOCAL" },
		{ 0, { .kind = KF_ARG_BUFFER, .bytes = 8,
		       .place.offset = 64 },
		  "argument 1 begins 64 bytes into its memory, which must be "
		  "a multiple of 128 here; pass KF_BUF and the offset as a "
		  "number" },
		{ 1, { .kind = KF_ARG_INT, .bytes = 2 },
		  "argument 2 is ulong n in the kernel: pass KF_I64, not "
		  "KF_I16" },
		{ 1, { .kind = KF_ARG_FLOAT, .bytes = 8 },
		  "argument 2 is ulong n in the kernel: pass KF_I64, not "
		  "KF_F64" },
		{ 1, { .kind = KF_ARG_BYTES, .bytes = 8 },
		  "argument 2 is ulong n in the kernel: pass KF_I64, not "
		  "KF_BYTES" },
		{ 2, { .kind = KF_ARG_BUFFER, .bytes = 8 },
		  "argument 3 is int* l in the kernel: pass KF_LOCAL, not "
		  "KF_BUF" },
		{ 3, { .kind = KF_ARG_BUFFER, .bytes = 8 },
		  "argument 4 is struct pair p in the kernel: pass a value "
		  "(KF_BYTES for a struct or a vector), not KF_BUF" },
		{ 3, { .kind = KF_ARG_TENSOR_MAP },
		  "argument 4 is a tensor map, which OpenCL does not have; "
		  "pass KF_BUF and sizes" },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct sample s;
		char why[256] = "";

		make_sample(&s);
		s.arg[rows[i].argument] = rows[i].arg;
		assert_false(kf_opencl_check_launch(&s.op, &kernel[0],
						    &limits, why));
		assert_string_equal(why, rows[i].words);
	}
}

static void test_options_of_other_platforms_are_told(void **state)
{
	static const struct {
		struct kf_plan_op op;
		const char *words;
	} rows[] = {
		{ { .cluster = { 2, 1, 1 } }, "OpenCL has no clusters" },
		{ { .cooperative = true },
		  "OpenCL has no cooperative launches; use one launch for "
		  "each step" },
		{ { .dependent = true },
		  "OpenCL has no dependent launches" },
		{ { .shared_bytes = 96 },
		  "OpenCL kernels get local memory through a __local pointer: "
		  "pass KF_LOCAL(96) for it, and 0 as shared_bytes" },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		char why[256] = "";

		assert_false(kf_opencl_check_launch(&rows[i].op, &kernel[2],
						    &limits, why));
		assert_string_equal(why, rows[i].words);
	}
}

static void test_images_are_refused(void **state)
{
	struct sample s;
	char why[256];

	(void)state;
	make_sample(&s);
	s.op.arg_count = 1;
	assert_false(kf_opencl_check_launch(&s.op, &kernel[1], &limits, why));
	assert_non_null(strstr(why, "images are not supported"));
}

static void test_sizes_beyond_limits_are_told(void **state)
{
	static const struct {
		int64_t group[3];
		struct kf_opencl_needs needs;
		const char *words;
	} rows[] = {
		{ { 257, 1, 1 }, { .group_size = 0 },
		  "a group of 257 along x is more than the 256" },
		{ { 1, 1, 65 }, { .group_size = 0 },
		  "a group of 65 along z is more than the 64" },
		{ { 64, 8, 1 }, { .group_size = 0 },
		  "a group of 512 work-items is more than the 256 that the "
		  "device can have" },
		{ { INT64_C(1) << 31, INT64_C(1) << 31, INT64_C(1) << 31 },
		  { .group_size = 0 }, "a group of 2147483648 along x" },
		{ { 64, 2, 1 }, { .group_size = 100 },
		  "a group of 128 work-items is more than the 100 that this "
		  "kernel can have on this device" },
		{ { 8, 4, 1 }, { .group = { 4, 8, 1 } },
		  "a group of (8, 4, 1), but the kernel says "
		  "reqd_work_group_size(4, 8, 1)" },
		{ { 64, 1, 1 }, { .local_bytes = 513 },
		  "1025 bytes of local memory are more than the 1024" },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct sample s;
		char why[256] = "";

		make_sample(&s);
		memcpy(s.op.group, rows[i].group, sizeof(s.op.group));
		assert_false(kf_opencl_check_sizes(&s.op, &limits,
						   &rows[i].needs, why));
		if (!strstr(why, rows[i].words))
			fail_msg("'%s' is not in: %s", rows[i].words, why);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_binary_comes_back),
		cmocka_unit_test(test_spoilt_binaries_do_no_harm),
		cmocka_unit_test(test_a_good_launch_is_taken),
		cmocka_unit_test(test_wrong_arguments_are_told),
		cmocka_unit_test(test_options_of_other_platforms_are_told),
		cmocka_unit_test(test_images_are_refused),
		cmocka_unit_test(test_sizes_beyond_limits_are_told),
	};

	return cmocka_run_group_tests_name("opencl", tests, NULL, NULL);
}
