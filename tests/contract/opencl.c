/*
 * The OpenCL driver, driven directly with plans made by hand: builds, values,
 * and what is seen of writes to memory that is not the program's.
 */
#include "opencl_world.h"

/* --- find, build ---------------------------------------------------------- */

static void test_card_tells_what_a_writer_must_know(void **state)
{
	static const char *const words[] = {
		"device: ", "language: OpenCL C ", "compute units: ",
		"local memory", "work-items", "double (", "half (", "sub-groups (", "KF_BUF_AT",
		"global memory: ", "preferred vector width",
		"measured memory bandwidth", "measured float32",
	};
	struct fixture *f = *state;
	struct kf_device_info info[KF_OCL_DEVICES_MAX];
	const struct kf_device_info *its = info;
	struct kf_err err = { 0 };
	size_t count = 0;

	if (kf_driver_find(f->driver, info, KF_COUNT(info), f->info.id, &count,
			   &err))
		fail_msg("%s", err.text);
	assert_true(count > 0);
	assert_string_equal(info[0].id, "opencl:0");
	while (strcmp(its->id, f->info.id) != 0)
		its++;
	assert_true(its->memory_bytes > 0);
	for (size_t i = 0; i < KF_COUNT(words); i++)
		if (!strstr(kf_buf_str(&its->card), words[i]))
			fail_msg("no %s in: %s", words[i],
				 kf_buf_str(&its->card));
	for (size_t i = 0; i < count; i++)
		kf_device_info_release(&info[i]);
}

static void test_errors_name_file_and_line(void **state)
{
	static const char broken[] = "\n\n__kernel void f(void) { x = 1; }\n";
	static const char broken_host[] = "int kf_forward(void) { return y; }";
	static const struct {
		const char *kernels, *host, *words[2];
	} rows[] = {
		{ broken, host_c, { "kernels.cl:3:", "error: " } },
		{ kernels, broken_host, { "host.c:1:", "error: " } },
		{ broken, broken_host, { "kernels.cl:3:", "host.c:1:" } },
		{ "int f(void) { return 1; }\n", host_c,
		  { "kernels.cl: error: ", "__kernel" } },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct kf_build got;
		const char *first, *second;

		unlink(f->output);
		assert_int_equal(build(f, rows[i].kernels, rows[i].host, &got),
				 KF_BUILD_REFUSED);
		first = strstr(kf_buf_str(&got.log), rows[i].words[0]);
		second = strstr(kf_buf_str(&got.log), rows[i].words[1]);
		if (!first || !second || first > second ||
		    strstr(kf_buf_str(&got.log), f->info.name))
			fail_msg("%s", kf_buf_str(&got.log));
		assert_int_not_equal(access(f->output, F_OK), 0);
		kf_build_release(&got);
	}
}

/* NVIDIA's compiler makes text of it that its own assembler refuses. */
static void test_a_kernel_without_parameters_is_built_or_explained(void **state)
{
	static const char none[] = "__kernel void f(void) { }\n";
	struct fixture *f = *state;
	struct kf_build got;

	unlink(f->output);
	if (build(f, none, host_c, &got) != KF_BUILD_DONE &&
	    !strstr(kf_buf_str(&got.log), "kernels.cl: note: "))
		fail_msg("%s", kf_buf_str(&got.log));
	kf_build_release(&got);
}

/* A GPU has so little constant memory that its compiler may refuse it first. */
static void test_a_large_binary_is_the_programs_doing(void **state)
{
	static const char large[] = "__constant int table[9 << 20] = { 1 };\n"
		"__kernel void f(__global int *y) { y[0] = table[y[1]]; }\n";
	struct fixture *f = *state;
	struct kf_build got;

	unlink(f->output);
	if (build(f, large, host_c, &got) != KF_BUILD_REFUSED ||
	    f->info.in_process) {
		assert_int_equal(got.end, KF_BUILD_TOO_LARGE);
		assert_non_null(strstr(kf_buf_str(&got.log),
				       "error: too large: "));
	}
	assert_int_not_equal(access(f->output, F_OK), 0);
	kf_build_release(&got);
}

static void test_both_parts_are_in_the_pack(void **state)
{
	struct fixture *f = *state;
	const struct kf_pack_part *host = kf_pack_find(&f->built, "host");
	const struct kf_pack_part *device = kf_pack_find(&f->built, "device");

	assert_non_null(host);
	assert_non_null(device);
	assert_memory_equal(host->data, "\177ELF", 4);
	assert_non_null(memmem(device->data, device->len, "axpb", 4));
}

/* --- values --------------------------------------------------------------- */

static void test_values_are_right_for_each_call(void **state)
{
	const struct fixture *f = *state;
	struct program p = { .dev = NULL };
	struct kf_plan *plan = &p.plans.forward;

	launch_axpb(plan, x_of(plan), y_of(plan));
	load(f, &p);
	prepare(f, &p);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < COUNT; i++)
			p.data.x[i] = (float)(i * (round + 1));
		assert_good(f, &p, forward(f, &p));
		for (int i = 0; i < COUNT; i++)
			assert_true(at(&p, i) ==
				    2 * (float)(i * (round + 1)) + 1);
		assert_true(f->driver->device_ns(p.dev) > 0);
	}
	/* Nothing is done here, so it takes no time, whatever was before. */
	prepare(f, &p);
	assert_true(f->driver->device_ns(p.dev) == 0);
	release(f, &p);
}

static void test_arguments_of_every_kind(void **state)
{
	const struct fixture *f = *state;
	const struct { float a; int32_t b; } pair = { 0.5f, 6 };
	struct program p = { .dev = NULL };
	struct kf_plan *plan = &p.plans.forward;
	const uint32_t x = x_of(plan), y = y_of(plan);
	struct kf_plan_op *op;

	op = plan_launch(plan, "reverse", 10, 100);
	plan_arg_buffer(op, x, 0);
	plan_arg_buffer(op, y, 0);
	plan_arg(op, KF_ARG_LOCAL, 100 * sizeof(float));
	op = plan_launch(plan, "add", COUNT / 8, 8);
	plan_arg_buffer(op, y, 0);
	plan_arg_bytes(op, &pair, sizeof(pair));
	plan_arg_int(plan_launch(plan, "nothing", 3, 5), 1, 4);
	load(f, &p);
	prepare(f, &p);
	assert_good(f, &p, forward(f, &p));
	for (int i = 0; i < COUNT; i++)
		assert_true(at(&p, i) ==
			    p.data.x[i / 100 * 100 + 99 - i % 100] + 3);
	release(f, &p);
}

static void test_three_dimensions(void **state)
{
	const struct fixture *f = *state;
	struct program p = { .dev = NULL };
	struct kf_plan *plan = &p.plans.forward;
	struct kf_plan_op *op = plan_launch(plan, "place", 2, 5);
	int32_t got;

	plan_arg_buffer(op, y_of(plan), 0);
	op->grid[1] = 3;
	op->group[1] = 2;
	op->grid[2] = 4;
	load(f, &p);
	prepare(f, &p);
	assert_true(forward(f, &p) == UINT64_MAX);
	for (int z = 0; z < 4; z++)
		for (int y = 0; y < 6; y++)
			for (int x = 0; x < 10; x++) {
				memcpy(&got, &p.data.y[(z * 6 + y) * 10 + x],
				       sizeof(got));
				assert_int_equal(got, 100 * z + 10 * (y % 2) +
						      x);
			}
	release(f, &p);
}

static void test_offsets_fills_and_copies(void **state)
{
	enum { HALF = 512 };	/* floats; 2048 bytes suit every device */
	const struct fixture *f = *state;
	struct program p = { .dev = NULL };
	struct kf_plan *plan = &p.plans.forward;
	const uint32_t x = x_of(plan), y = y_of(plan);
	struct kf_plan_op *op;

	plan_fill(plan, y, 0, 0x40400000, 4, COUNT);	/* 3.0f */
	plan_copy(plan, y, 0, x, 40, 4 * 10);
	op = plan_launch(plan, "axpb", 4, (COUNT - HALF) / 4);
	plan_arg_buffer(op, x, HALF * sizeof(float));
	plan_arg_buffer(op, y, HALF * sizeof(float));
	plan_arg_f32(op, 1);
	plan_arg_f32(op, -1);
	plan_arg_int(op, COUNT - HALF, 8);
	load(f, &p);
	prepare(f, &p);
	assert_good(f, &p, forward(f, &p));
	for (int i = 0; i < COUNT; i++)
		assert_true(at(&p, i) == (i < 10 ? p.data.x[i + 10] :
					  i < HALF ? 3 : p.data.x[i] - 1));
	release(f, &p);
}

static void test_scratch_begins_as_rubbish(void **state)
{
	const struct fixture *f = *state;
	struct program p = { .dev = NULL };
	struct kf_plan *plan = &p.plans.forward;
	const uint32_t x = x_of(plan), y = y_of(plan);
	const uint32_t s = plan_buffer(plan, KF_PLAN_TEMP, 0, BYTES);
	const uint32_t t = plan_buffer(plan, KF_PLAN_TEMP, 1, BYTES);

	launch_axpb(plan, x, s);
	launch_axpb(plan, s, y);
	plan_copy(plan, y, 0, t, 0, 16);
	plan_fill(plan, t, 0, 0, 1, BYTES);
	load(f, &p);
	prepare(f, &p);
	for (int round = 0; round < 2; round++) {
		assert_good(f, &p, forward(f, &p));
		for (int i = 0; i < 16; i++)
			assert_int_equal(p.data.outputs[PAGE + (size_t)i],
					 0xff);
		for (int i = 4; i < COUNT; i++)
			assert_true(at(&p, i) == 4 * p.data.x[i] + 3);
	}
	release(f, &p);
}

static void test_kept_memory_lasts(void **state)
{
	const struct fixture *f = *state;
	struct program p = { .plans.has_prepare = true };
	struct kf_plan *before = &p.plans.prepare, *plan = &p.plans.forward;

	/* keep 3 = 2 w + 1; y = 2 keep 3 + 1 */
	launch_axpb(before, plan_buffer(before, KF_PLAN_WEIGHT, 0, BYTES),
		    plan_buffer(before, KF_PLAN_KEEP, 3, BYTES));
	launch_axpb(plan, plan_buffer(plan, KF_PLAN_KEEP, 3, BYTES),
		    y_of(plan));
	load(f, &p);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < COUNT; i++)
			p.data.w[i] = (float)(i + round);
		prepare(f, &p);
		for (int k = 0; k < 2; k++) {
			assert_good(f, &p, forward(f, &p));
			for (int i = 0; i < COUNT; i++)
				assert_true(at(&p, i) ==
					    4 * (float)(i + round) + 3);
		}
	}
	release(f, &p);
}

static void test_kept_memory_begins_as_zero(void **state)
{
	const struct fixture *f = *state;
	struct program p = { .plans.has_prepare = true };
	struct kf_plan *before = &p.plans.prepare, *plan = &p.plans.forward;

	launch_put(before, plan_buffer(before, KF_PLAN_KEEP, 0, BYTES), 1,
		   0x3f800000);
	launch_axpb(plan, plan_buffer(plan, KF_PLAN_KEEP, 0, BYTES),
		    y_of(plan));
	load(f, &p);
	for (int round = 0; round < 2; round++) {
		prepare(f, &p);
		assert_good(f, &p, forward(f, &p));
		for (int i = 0; i < COUNT; i++)
			assert_true(at(&p, i) == (i == 1 ? 3 : 1));
	}
	release(f, &p);
}

static void test_many_launches_run_in_order(void **state)
{
	const struct fixture *f = *state;
	const int counts[] = { 100, 600 };

	for (size_t k = 0; k < KF_COUNT(counts); k++) {
		struct program p = { .dev = NULL };
		struct kf_plan *plan = &p.plans.forward;
		const uint32_t y = y_of(plan);
		int32_t got[3];

		for (int i = 0; i < counts[k]; i++)
			launch_put(plan, y, i % 3, i);
		load(f, &p);
		prepare(f, &p);
		assert_good(f, &p, forward(f, &p));
		memcpy(got, p.data.y, sizeof(got));
		for (int i = 0; i < 3; i++)
			assert_true(got[i] >= counts[k] - 3 &&
				    got[i] % 3 == i);
		release(f, &p);
	}
}

static void test_a_plan_may_be_empty_and_say_no(void **state)
{
	const struct fixture *f = *state;
	struct program p = { .plans.forward.rc = 7 };
	struct kf_call call;
	int rc = 0;

	load(f, &p);
	prepare(f, &p);
	call = call_of(&p.data);
	assert_int_equal(f->driver->upload(p.dev, NULL), KF_OK);
	assert_int_equal(kf_driver_forward(f->driver, p.dev, &call, &rc,
					   NULL), KF_OK);
	assert_int_equal(rc, 7);
	assert_null(f->driver->fault(p.dev));
	assert_true(f->driver->device_ns(p.dev) == 0);
	release(f, &p);
}

/* --- writes where nothing may be written ---------------------------------- */

static void test_changed_inputs_are_seen(void **state)
{
	const struct fixture *f = *state;

	for (int row = 0; row < 2; row++) {
		struct program p = { .dev = NULL };
		struct kf_plan *plan = &p.plans.forward;
		const uint32_t into = row ? plan_buffer(plan, KF_PLAN_WEIGHT, 0,
						   BYTES) : x_of(plan);

		launch_put(plan, into, 7, 0x12345678);
		load(f, &p);
		prepare(f, &p);
		assert_int_equal(forward(f, &p), 28 + (row ? PAGE : 0));
		assert_null(f->driver->fault(p.dev));
		release(f, &p);
	}
}

static void test_writes_past_an_output_reach_its_guard(void **state)
{
	const struct fixture *f = *state;
	struct program p = { .dev = NULL };
	struct kf_plan *plan = &p.plans.forward;
	const uint32_t y = y_of(plan);

	launch_put(plan, y, COUNT, 0);
	launch_put(plan, y, -1, 0);
	load(f, &p);
	prepare(f, &p);
	assert_true(forward(f, &p) == UINT64_MAX);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(p.data.outputs[PAGE + BYTES + (size_t)i], 0);
		assert_int_equal(p.data.outputs[PAGE - 4 + (size_t)i], 0);
	}
	release(f, &p);
}

static void test_writes_around_scratch_are_faults(void **state)
{
	/* A value of -1: what fresh scratch holds, a NaN. */
	static const struct {
		uint32_t into;
		int64_t at;
		int32_t value;
		const char *words;
	} rows[] = {
		{ 0, COUNT, 5, "wrote 0 bytes behind the end of kf_temp 0" },
		{ 0, COUNT, -1, "wrote 0 bytes behind the end of kf_temp 0" },
		{ 0, -1, 5, "in front of the first block of kf_temp" },
		{ 1, COUNT + 5, -1,
		  "wrote 20 bytes behind the end of kf_temp 1" },
	};
	const struct fixture *f = *state;

	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct program p = { .dev = NULL };
		struct kf_plan *plan = &p.plans.forward;

		plan_buffer(plan, KF_PLAN_TEMP, 0, BYTES);
		plan_buffer(plan, KF_PLAN_TEMP, 1, BYTES);
		launch_put(plan, rows[i].into, rows[i].at, rows[i].value);
		load(f, &p);
		prepare(f, &p);
		forward(f, &p);
		assert_fault(f, &p, rows[i].words);
		release(f, &p);
	}
}

static void test_kept_memory_is_only_read(void **state)
{
	static const struct { int64_t at; const char *words; } rows[] = {
		{ 3, "wrote to kf_keep 2, which it may only read" },
		{ COUNT, "wrote 0 bytes behind the end of kf_keep 2" },
	};
	const struct fixture *f = *state;

	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct program p = { .plans.has_prepare = true };
		struct kf_plan *before = &p.plans.prepare;
		struct kf_plan *plan = &p.plans.forward;

		launch_put(before, plan_buffer(before, KF_PLAN_KEEP, 2, BYTES),
			   0, 1);
		launch_put(plan, plan_buffer(plan, KF_PLAN_KEEP, 2, BYTES),
			   rows[i].at, 5);
		load(f, &p);
		prepare(f, &p);
		assert_null(f->driver->fault(p.dev));
		forward(f, &p);
		assert_fault(f, &p, rows[i].words);
		release(f, &p);
	}
}

#define CASE(name) { #name, test_##name, NULL, NULL, NULL }

int main(void)
{
	static const struct CMUnitTest cases[] = {
		CASE(card_tells_what_a_writer_must_know),
		CASE(errors_name_file_and_line),
		CASE(a_kernel_without_parameters_is_built_or_explained),
		CASE(a_large_binary_is_the_programs_doing),
		CASE(both_parts_are_in_the_pack),
		CASE(values_are_right_for_each_call),
		CASE(arguments_of_every_kind),
		CASE(three_dimensions),
		CASE(offsets_fills_and_copies),
		CASE(scratch_begins_as_rubbish),
		CASE(kept_memory_lasts),
		CASE(kept_memory_begins_as_zero),
		CASE(many_launches_run_in_order),
		CASE(a_plan_may_be_empty_and_say_no),
		CASE(changed_inputs_are_seen),
		CASE(writes_past_an_output_reach_its_guard),
		CASE(writes_around_scratch_are_faults),
		CASE(kept_memory_is_only_read),
	};

	return run_suite("opencl", cases, KF_COUNT(cases));
}
