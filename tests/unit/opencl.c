/*
 * The parts of the OpenCL driver that need no device: the binary with what is
 * known of its kernels, which language is chosen, what is said of launches, and
 * what sandboxes show.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

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

/* --- the language --------------------------------------------------------- */

static struct ocl_named version_of(unsigned major)
{
	return (struct ocl_named) { major << 22, "OpenCL C" };
}

static void test_the_newest_language_that_is_told_is_chosen(void **state)
{
	static const struct {
		const char *device, *language;
		unsigned major[4];	/* the list of versions, 0 ends it */
		const char *chosen;
	} rows[] = {
		{ "OpenCL 3.0 PoCL", "OpenCL C 1.2 PoCL", { 1, 3 }, "3.0" },
		{ "OpenCL 3.0 CUDA", "OpenCL C 1.2 ", { 3, 1 }, "3.0" },
		{ "OpenCL 3.0 ", "OpenCL C 1.2 ", { 1, 2 }, "2.0" },
		{ "OpenCL 3.0 ", "OpenCL C 1.2 ", { 1 }, "1.2" },
		{ "OpenCL 3.0", "OpenCL C 3.0", { 0 }, "3.0" },
		{ "OpenCL 2.1 AMD", "OpenCL C 2.0 AMD", { 0 }, "2.0" },
		{ "OpenCL 2.1", "OpenCL C 2.0", { 1, 2, 3 }, "2.0" },
		{ "OpenCL 1.2 (Oclgrind 21.10)",
		  "OpenCL C 1.2 (Oclgrind 21.10)", { 1, 2, 3 }, "1.2" },
		{ "OpenCL 1.1", "OpenCL C 1.1", { 0 }, "1.2" },
		{ "OpenCL 31.0", "OpenCL C 31.0", { 3 }, "1.2" },
		{ "OpenCL 3.0", "OpenCL C", { 0 }, "1.2" },
		{ "", "", { 3 }, "1.2" },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct kf_opencl_told told = { .language = "" };

		snprintf(told.device, sizeof(told.device), "%s",
			 rows[i].device);
		snprintf(told.language, sizeof(told.language), "%s",
			 rows[i].language);
		for (size_t k = 0; k < 4 && rows[i].major[k]; k++)
			told.version[told.version_count++] =
				version_of(rows[i].major[k]);
		assert_string_equal(kf_opencl_language(&told), rows[i].chosen);
	}
}

/* A device may have them, and a language in which nobody can name them. */
static void test_sub_groups_are_those_of_the_language(void **state)
{
	static const struct {
		const char *language, *extensions, *feature;
		bool has;
	} rows[] = {
		{ "OpenCL C 2.0 ", "cl_khr_fp64 cl_khr_subgroups", "", true },
		{ "OpenCL C 3.0 ", "cl_khr_fp64", "__opencl_c_subgroups",
		  true },
		{ "OpenCL C 3.0 ", "cl_khr_fp64", "__opencl_c_images", false },
		{ "OpenCL C 1.2 ", "cl_khr_subgroups", "", false },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct kf_opencl_told told = { .feature_count = 1 };

		snprintf(told.language, sizeof(told.language), "%s",
			 rows[i].language);
		snprintf(told.extensions, sizeof(told.extensions), "%s",
			 rows[i].extensions);
		snprintf(told.feature[0].name, sizeof(told.feature[0].name),
			 "%s", rows[i].feature);
		assert_int_equal(kf_opencl_has_sub_groups(&told), rows[i].has);
	}
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

/* --- what sandboxes show -------------------------------------------------- */

/* Where others than PoCL's drivers are, the builder has all of /proc. */
struct shown { bool proc, vendors; };

static void look(void *arg, const char *path, bool writable)
{
	struct shown *shown = arg;

	(void)writable;
	shown->proc |= strcmp(path, "/proc") == 0;
	shown->vendors |= strcmp(path, getenv("OCL_ICD_VENDORS")) == 0;
}

static void test_drivers_but_pocl_get_what_they_need(void **state)
{
	/* In a folder of our own; of those with a '/' a file is made. */
	static const struct {
		const char *vendors, *file;
		bool proc;
	} rows[] = {
		{ "/folder", "/folder/nvidia.icd", true },
		{ "/folder", "/folder/pocl.icd", false },
		{ "/nvidia.icd", "/nvidia.icd", true },
		{ "/pocl.icd", "/pocl.icd", false },
		{ "/libnvidia-opencl.so.1", "/libnvidia-opencl.so.1", true },
		{ "libnvidia-opencl.so.1", NULL, true },
		{ "libpocl.so.2", NULL, false },
	};
	const struct kf_driver *driver = kf_driver_by_name("opencl");

	(void)state;
	unsetenv("OCL_ICD_FILENAMES");
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		char folder[] = "/tmp/kforge-pocl-XXXXXX";
		struct shown shown = { false, false };
		char *vendors, *file, *inner;

		assert_non_null(mkdtemp(folder));
		vendors = kf_format("%s%s", rows[i].file ? folder : "",
				    rows[i].vendors);
		file = kf_format("%s%s", folder,
				 rows[i].file ? rows[i].file : "");
		inner = kf_format("%s/folder", folder);
		assert_int_equal(kf_mkdir_p(inner, NULL), KF_OK);
		if (rows[i].file)
			assert_int_equal(kf_file_write(file, "x", 1, NULL),
					 KF_OK);
		setenv("OCL_ICD_VENDORS", vendors, 1);
		kf_driver_paths(driver, KF_DRIVER_BUILDER, look, &shown);
		assert_int_equal(shown.proc, rows[i].proc);
		assert_int_equal(shown.vendors, rows[i].file != NULL);
		assert_int_equal(kf_remove_tree(folder, NULL), KF_OK);
		free(inner);
		free(file);
		free(vendors);
	}
	unsetenv("OCL_ICD_VENDORS");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_binary_comes_back),
		cmocka_unit_test(test_spoilt_binaries_do_no_harm),
		cmocka_unit_test(
			test_the_newest_language_that_is_told_is_chosen),
		cmocka_unit_test(test_sub_groups_are_those_of_the_language),
		cmocka_unit_test(test_a_good_launch_is_taken),
		cmocka_unit_test(test_wrong_arguments_are_told),
		cmocka_unit_test(test_options_of_other_platforms_are_told),
		cmocka_unit_test(test_images_are_refused),
		cmocka_unit_test(test_sizes_beyond_limits_are_told),
		cmocka_unit_test(test_drivers_but_pocl_get_what_they_need),
	};

	return cmocka_run_group_tests_name("opencl", tests, NULL, NULL);
}
