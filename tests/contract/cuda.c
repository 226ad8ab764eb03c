/*
 * What a two-part program does on a CUDA device, by launch lists made by hand.
 * Every case runs on the stand-in (tests/standin/), which shows that calls come
 * in the right order with the right numbers, and on a real device where there
 * is one. KF_MUST_RUN=cuda makes its absence a failure.
 *
 * A case that leaves a device broken runs in a process of its own: this program
 * again, as "cuda --case NAME standin|device".
 */
#include "cuda_world.h"

#include <dlfcn.h>
#include <math.h>

#include "../standin/libcuda.h"
#include "platform/cuda/cuda.h"
#include "problem/case.h"

/* --- values --------------------------------------------------------------- */

static void test_values_are_right_with_fresh_data(void **state)
{
	struct world w;
	size_t wrong = 0, touched = 0;

	world_init(&w, *state);
	add_axpb(&w.plans.forward, IN, OUT, 2, 1);
	world_start(&w);
	for (int round = 0; round < 3; round++) {
		const unsigned char *all = w.memory.outputs;

		for (unsigned i = 0; i < COUNT; i++)
			inputs_of(&w)[i] = (float)i * 0.5f + (float)round;
		memset(w.memory.outputs, POISON, OUTPUTS_BYTES);
		world_call(&w);
		assert_true(kf_driver_device_ns(w.f->driver, w.dev) > 0);
		for (unsigned i = 0; i < COUNT; i++)
			wrong += outputs_of(&w)[i] != 2 * inputs_of(&w)[i] + 1;
		for (unsigned i = 0; i < OUTPUTS_BYTES; i++)
			touched += (i < OUTPUT_AT ||
				    i >= OUTPUT_AT + FLOATS_BYTES) &&
				   all[i] != POISON;
	}
	assert_int_equal(wrong, 0);
	assert_int_equal(touched, 0);
	world_release(&w);
}

static void forward_only(struct world *w)
{
	struct kf_call call = call_of(w);
	struct kf_err err = { 0 };
	int rc = -1;

	if (kf_driver_upload(w->f->driver, w->dev, &err) ||
	    kf_driver_forward(w->f->driver, w->dev, &call, &rc, &err))
		fail_msg("%s", err.text);
}

/* Outputs stay on the device, but for guards, what is asked for, and sums. */
static void test_sums_and_stretches_come_back(void **state)
{
	static int8_t sign[KF_SUMS * KF_SUMS_CHUNK];
	const int64_t at[] = { 5, 990 };
	double sum[KF_SUMS] = { 0 }, want[KF_SUMS] = { 0 };
	struct kf_sums sums = { 0, sign, sum, at, KF_COUNT(at), 10 };
	struct kf_rng rng = { 7 };
	struct kf_err err = { 0 };
	const unsigned char *all;
	struct world w;
	uint64_t changed = 0;

	for (size_t i = 0; i < sizeof(sign); i++)
		sign[i] = kf_rng_below(&rng, 2) ? 1 : -1;
	world_init(&w, *state);
	add_axpb(&w.plans.forward, IN, OUT, 2, 1);
	world_start(&w);
	forward_only(&w);
	memset(w.memory.outputs, 0x11, OUTPUTS_BYTES);
	if (kf_driver_sum(w.f->driver, w.dev, &sums, 1, &changed, &err))
		fail_msg("%s", err.text);
	assert_true(changed == UINT64_MAX);
	all = w.memory.outputs;
	for (unsigned i = 0; i < OUTPUTS_BYTES; i++)
		if (i < OUTPUT_AT || i >= OUTPUT_AT + FLOATS_BYTES)
			assert_int_equal(all[i], POISON);
	for (unsigned i = 0; i < COUNT; i++) {
		float y = 2 * inputs_of(&w)[i] + 1;
		bool asked = (i >= 5 && i < 15) || i >= 990;

		for (unsigned k = 0; k < KF_SUMS; k++)
			want[k] += (double)y * sign[k * KF_SUMS_CHUNK + i];
		if (asked)
			assert_true(outputs_of(&w)[i] == y);
		else
			assert_int_equal(all[OUTPUT_AT + 4 * i], 0x11);
	}
	for (unsigned k = 0; k < KF_SUMS; k++)
		assert_true(fabs(sum[k] - want[k]) < 1e-9);
	sums.window = 11;	/* beyond its end */
	assert_int_equal(kf_driver_sum(w.f->driver, w.dev, &sums, 1, &changed,
				       &err), KF_E_INPUT);
	sums.output = 1;
	assert_int_equal(kf_driver_sum(w.f->driver, w.dev, &sums, 1, &changed,
				       &err), KF_E_INPUT);
	world_release(&w);
}

/* A world whose input the device makes. */
static void there_init(struct world *w, struct fixture *f)
{
	static const bool there = true;

	world_init(w, f);
	w->memory.made = &there;
	w->memory.window = w->memory.inputs;
	w->memory.window_bytes = INPUTS_BYTES;
}

/* A call whose inputs the device makes; y is x then. */
static void call_made(struct world *w, const struct kf_made *made)
{
	struct kf_err err = { 0 };
	uint64_t changed = 0;

	/* Of no use there, and so not brought. */
	memset(inputs_of(w), 0xff, FLOATS_BYTES);
	if (kf_driver_make(w->f->driver, w->dev, made, 1, &err) ||
	    world_try(w, &changed, &err))
		fail_msg("%s", err.text);
	assert_null(kf_driver_fault(w->f->driver, w->dev));
	assert_true(changed == UINT64_MAX);
}

static void give_base(struct world *w, const float *base)
{
	struct kf_err err = { 0 };

	for (uint64_t at = 0; at < FLOATS_BYTES; at += 1600)
		if (kf_driver_base(w->f->driver, w->dev, 0, at,
				   (const char *)base + at, at + 1600 <
				   FLOATS_BYTES ? 1600 : FLOATS_BYTES - at,
				   &err))
			fail_msg("%s", err.text);
	assert_int_equal(kf_driver_base(w->f->driver, w->dev, 0,
					FLOATS_BYTES - 4, base, 8, &err),
			 KF_E_INPUT);
	assert_int_equal(kf_driver_base(w->f->driver, w->dev, 1, 0, base, 8,
					&err), KF_E_INPUT);
}

static void test_inputs_are_made_there(void **state)
{
	static float base[COUNT], column[KF_SUMS_CHUNK];
	const float row[] = { 0.9375f * 1024 };
	struct kf_made made = { 0, column, row, 0.1, 0, 0 };
	struct kf_err err = { 0 };
	struct world w;

	there_init(&w, *state);
	add_axpb(&w.plans.forward, IN, OUT, 1, 0);
	world_start(&w);
	for (unsigned i = 0; i < COUNT; i++)
		base[i] = (float)i * 0.37f - 99;
	for (unsigned i = 0; i < KF_SUMS_CHUNK; i++)
		column[i] = 0.875f + (float)(i % 512) / 4096;
	give_base(&w, base);
	call_made(&w, &made);
	for (unsigned i = 0; i < COUNT; i++)
		assert_true(outputs_of(&w)[i] == (float)((double)base[i] *
			    (double)column[i] * (double)row[0] - 0.1));
	made.tail = 7;
	made.tail_from = 5;
	call_made(&w, &made);
	for (unsigned i = 0; i < COUNT; i++) {
		float x = (float)((double)base[i] * (double)column[i] *
				  (double)row[0] - 0.1);

		assert_true(outputs_of(&w)[i] == (i % 7 < 5 ? x : 8 * x));
	}
	made = (struct kf_made) { .input = 0 };
	call_made(&w, &made);
	assert_memory_equal(outputs_of(&w), base, FLOATS_BYTES);
	/* It is as it was from the first call on; and all are to be made. */
	assert_int_equal(kf_driver_base(w.f->driver, w.dev, 0, 0, base, 8,
					&err), KF_E_INPUT);
	assert_int_equal(kf_driver_make(w.f->driver, w.dev, NULL, 0, &err),
			 KF_E_INPUT);
	world_release(&w);
}

/* Several chunks, the last not whole, and rows that end within them: the very
 * bytes that are made here. */
#define LONG_ROW	4099
#define LONG_COUNT	(3 * LONG_ROW)
#define LONG_BYTES	(LONG_COUNT * 4u)
#define LONG_WEIGHT_AT	(16u << 12)
#define LONG_INPUTS	(LONG_WEIGHT_AT + 4096u)
#define LONG_OUTPUTS	(LONG_WEIGHT_AT + 8192u)

static void long_world(struct world *w, struct fixture *f)
{
	static const bool there = true;

	world_init(w, f);
	munmap((void *)(uintptr_t)w->memory.inputs, INPUTS_BYTES);
	munmap(w->memory.outputs, OUTPUTS_BYTES);
	w->memory = (struct kf_shared_memory) {
		.inputs = shared_block(LONG_INPUTS),
		.inputs_bytes = LONG_INPUTS,
		.outputs = shared_block(LONG_OUTPUTS),
		.outputs_bytes = LONG_OUTPUTS,
		.made = &there,
	};
	w->in.data = (void *)(uintptr_t)w->memory.inputs;
	w->weight.data = (char *)w->in.data + LONG_WEIGHT_AT;
	w->out.data = (char *)w->memory.outputs + 4096;
	w->in.shape[0] = w->out.shape[0] = LONG_COUNT;
	w->plans.forward.buffer[IN].bytes = LONG_BYTES;
	w->plans.forward.buffer[OUT].bytes = LONG_BYTES;
	plan_copy(&w->plans.forward, OUT, 0, IN, 0, LONG_BYTES);
	world_start(w);
}

static void long_call(struct world *w, const char *kind, const float *base,
		      const struct kf_fresh *fresh)
{
	static float want[LONG_COUNT];
	struct kf_tensor_info info = { .dtype = KF_F32, .rank = 2,
		.shape = { 3, LONG_ROW }, .numel = LONG_COUNT,
		.bytes = LONG_BYTES };
	const struct kf_bundle bundle = { .in = &info, .in_count = 1 };
	const void *in[] = { base };
	struct kf_fresh copy = *fresh;
	const struct kf_case kase = { .kind = kind, .in = in, .fresh = &copy };
	struct kf_made made = { 0, fresh->column, fresh->row, fresh->shift,
				0, 0 };
	struct kf_err err = { 0 };
	int64_t row, from;
	uint64_t changed = 0;

	if (kf_case_tail(&bundle, &kase, 0, &row, &from)) {
		made.tail = (uint64_t)row;
		made.tail_from = (uint64_t)from;
	}
	assert_int_equal(made.tail > 0, strcmp(kind, "tail") == 0);
	kf_case_input(&bundle, &kase, 0, want);
	if (kf_driver_make(w->f->driver, w->dev, &made, 1, &err) ||
	    world_try(w, &changed, &err))
		fail_msg("%s", err.text);
	assert_true(changed == UINT64_MAX);
	assert_memory_equal(w->out.data, want, LONG_BYTES);
}

static void test_inputs_made_there_are_those_made_here(void **state)
{
	static float base[LONG_COUNT], column[KF_SUMS_CHUNK];
	float row[4];
	const struct kf_fresh fresh = { column, row, 0.03125 + 1e-9 };
	const struct kf_fresh as_is = { NULL, NULL, 0 };
	struct kf_rng rng = { 11 };
	struct kf_err err = { 0 };
	struct world w;

	for (size_t i = 0; i < LONG_COUNT; i++)
		base[i] = (float)kf_rng_below(&rng, 1u << 24) / 4096 - 2000;
	base[5] = 1e-42f;	/* subnormal, and nearly too large */
	base[6] = 3e38f;
	for (size_t i = 0; i < KF_SUMS_CHUNK; i++)
		column[i] = 0.875f + (float)kf_rng_below(&rng, 512) / 4096;
	for (size_t i = 0; i < KF_COUNT(row); i++)
		row[i] = 0.875f + (float)kf_rng_below(&rng, 512) / 4096;
	long_world(&w, *state);
	if (kf_driver_base(w.f->driver, w.dev, 0, 0, base, LONG_BYTES, &err))
		fail_msg("%s", err.text);
	long_call(&w, "stock", base, &fresh);
	long_call(&w, "tail", base, &fresh);
	long_call(&w, "declared", base, &as_is);
	munmap((void *)(uintptr_t)w.memory.inputs, LONG_INPUTS);
	munmap(w.memory.outputs, LONG_OUTPUTS);
	w.memory.inputs = shared_block(INPUTS_BYTES);
	w.memory.outputs = shared_block(OUTPUTS_BYTES);
	world_release(&w);
}

/* What runs in kf_prepare, whose time does not count, finds neither what inputs
 * are made of nor the last ones. */
static void test_prepare_finds_no_inputs(void **state)
{
	static float base[COUNT];
	static unsigned char inputs[INPUTS_BYTES], bases[FLOATS_BYTES];
	struct kf_made made = { .input = 0 };
	struct kf_err err = { 0 };
	struct world w;

	for (unsigned i = 0; i < COUNT; i++)
		base[i] = 3;
	there_init(&w, *state);
	add_axpb(&w.plans.forward, IN, OUT, 1, 0);
	world_start(&w);
	give_base(&w, base);
	call_made(&w, &made);
	if (world_prepare(&w, &err))
		fail_msg("%s", err.text);
	if (w.dev->api.copy_to_host(inputs, w.dev->arena[KF_TWOPART_INPUTS],
				    FLOATS_BYTES, w.dev->stream) ||
	    w.dev->api.copy_to_host(bases, w.dev->arena[KF_TWOPART_BASE],
				    FLOATS_BYTES, w.dev->stream) ||
	    w.dev->api.stream_synchronize(w.dev->stream))
		fail_msg("they cannot be read back");
	for (unsigned i = 0; i < FLOATS_BYTES; i++)
		assert_true(inputs[i] == 0 && bases[i] == 0);
	give_base(&w, base);
	call_made(&w, &made);
	assert_memory_equal(outputs_of(&w), base, FLOATS_BYTES);
	world_release(&w);
}

static void test_what_inputs_are_made_of_is_looked_after(void **state)
{
	static float base[COUNT];
	struct kf_made made = { .input = 0 };
	uint64_t changed = 0, at = 4 * 77 + 1;
	struct kf_err err = { 0 };
	struct world w;

	there_init(&w, *state);
	add_axpb(&w.plans.forward, IN, OUT, 1, 0);
	add_poke(&w.plans.forward, IN, (int64_t)at, 0x55);
	world_start(&w);
	give_base(&w, base);
	if (kf_driver_make(w.f->driver, w.dev, &made, 1, &err) ||
	    world_try(&w, &changed, &err))
		fail_msg("%s", err.text);
	assert_true(changed == at);
	/* As a kernel would that came upon it. */
	if (kf_driver_make(w.f->driver, w.dev, &made, 1, &err))
		fail_msg("%s", err.text);
	forward_only(&w);
	assert_int_equal(w.dev->api.fill8(w.dev->arena[KF_TWOPART_BASE] + 999,
					  1, 1, w.dev->stream), 0);
	assert_int_equal(kf_driver_download(w.f->driver, w.dev, &changed, &err),
			 KF_OK);
	assert_non_null(kf_driver_fault(w.f->driver, w.dev));
	assert_non_null(strstr(kf_driver_fault(w.f->driver, w.dev),
			       "wrote to memory that is not its own"));
	world_release(&w);
}

static void test_order_and_scratch(void **state)
{
	struct world w;
	uint32_t a, b;

	world_init(&w, *state);
	a = plan_buffer(&w.plans.forward, KF_PLAN_TEMP, 0, FLOATS_BYTES);
	b = plan_buffer(&w.plans.forward, KF_PLAN_TEMP, 1, FLOATS_BYTES);
	add_axpb(&w.plans.forward, IN, a, 3, 0);
	add_axpb(&w.plans.forward, a, b, 1, 5);
	plan_copy(&w.plans.forward, OUT, 0, b, 0, FLOATS_BYTES);
	plan_copy(&w.plans.forward, OUT, 4 * 7, a, 4 * 9, 8);
	world_start(&w);
	world_call(&w);
	for (unsigned i = 0; i < COUNT; i++) {
		float x = inputs_of(&w)[i];
		float want = i == 7 || i == 8 ? 3 * inputs_of(&w)[i + 2]
					      : 3 * x + 5;

		assert_true(outputs_of(&w)[i] == want);
	}
	world_release(&w);
}

static void test_scratch_is_poisoned_before_every_call(void **state)
{
	struct world w;
	uint32_t temp;

	world_init(&w, *state);
	temp = plan_buffer(&w.plans.forward, KF_PLAN_TEMP, 0, FLOATS_BYTES);
	plan_copy(&w.plans.forward, OUT, 0, temp, 0, FLOATS_BYTES);
	add_axpb(&w.plans.forward, IN, temp, 1, 0);
	world_start(&w);
	for (int round = 0; round < 2; round++) {
		world_call(&w);
		for (unsigned i = 0; i < FLOATS_BYTES; i++)
			assert_int_equal(((unsigned char *)outputs_of(&w))[i],
					 KF_TWOPART_PATTERN);
	}
	world_release(&w);
}

/* In turn by two patterns, an odd number of bytes, and with what shared memory
 * holds around them; 0: as they are there. */
static void test_outputs_are_filled_where_they_are(void **state)
{
	static const uint32_t patterns[] = { 0xfff1fff1u, 0x7a3c7a3cu, 0 };
	const size_t bytes = FLOATS_BYTES - 1;
	uint32_t pattern;
	struct world w;

	world_init(&w, *state);
	w.memory.pattern = &pattern;
	w.out.dtype = KF_U8;
	w.out.shape[0] = (int64_t)bytes;
	w.plans.forward.buffer[OUT].bytes = bytes;
	world_start(&w);
	assert_true(w.f->driver->fills_outputs);
	for (size_t k = 0; k < KF_COUNT(patterns); k++) {
		unsigned char *at = w.memory.outputs, word[sizeof(pattern)];

		pattern = patterns[k];
		memcpy(word, &pattern, sizeof(pattern));
		memset(at, POISON, OUTPUTS_BYTES);
		world_call(&w);
		for (size_t i = 0; i < OUTPUTS_BYTES; i++) {
			bool inside = i >= OUTPUT_AT && i < OUTPUT_AT + bytes;

			if (at[i] != (inside && pattern ?
				      word[(i - OUTPUT_AT) % 4] : POISON))
				fail_msg("pattern %zu, byte %zu", k, i);
		}
	}
	world_release(&w);
}

static void test_fills_of_every_width(void **state)
{
	static const struct { uint32_t width; uint64_t value; } rows[] = {
		{ 1, 0x11 }, { 2, 0x2233 }, { 4, 0x44556677 },
		{ 8, UINT64_C(0x8899aabbccddeeff) },
		{ 8, UINT64_C(0x0123456701234567) },
	};
	struct world w;

	world_init(&w, *state);
	for (size_t i = 0; i < KF_COUNT(rows); i++)
		plan_fill(&w.plans.forward, OUT, 64 * i, rows[i].value,
			  rows[i].width, 40 / rows[i].width);
	world_start(&w);
	world_call(&w);
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		const unsigned char *at = (unsigned char *)outputs_of(&w) +
					  64 * i;

		for (uint32_t k = 0; k < 40; k++)
			assert_int_equal(at[k], rows[i].value >>
					 (8 * (k % rows[i].width)) & 0xff);
		for (uint32_t k = 40; k < 64; k++)
			assert_int_equal(at[k], POISON);
	}
	world_release(&w);
}

static void test_a_struct_by_value(void **state)
{
	const struct { float a; int b; double c; } s = { 0.5f, 2, 0.25 };
	struct world w;
	struct kf_plan_op *op;

	world_init(&w, *state);
	op = plan_launch(&w.plans.forward, "by_value", 1, 32);
	plan_arg_bytes(op, &s, sizeof(s));
	plan_arg_buffer(op, OUT, 0);
	plan_arg_int(op, COUNT, 4);
	world_start(&w);
	world_call(&w);
	assert_true(outputs_of(&w)[0] == 2.75f);
	assert_true(outputs_of(&w)[COUNT - 1] == 2.75f);
	world_release(&w);
}

static void test_a_hundred_launches(void **state)
{
	struct world w;
	uint32_t temp;

	world_init(&w, *state);
	temp = plan_buffer(&w.plans.forward, KF_PLAN_TEMP, 0, FLOATS_BYTES);
	add_axpb(&w.plans.forward, IN, temp, 1, 0);
	for (int i = 0; i < 98; i++)
		add_axpb(&w.plans.forward, temp, temp, 1, 1);
	add_axpb(&w.plans.forward, temp, OUT, 1, 1);
	world_start(&w);
	world_call(&w);
	for (unsigned i = 0; i < COUNT; i++)
		assert_true(outputs_of(&w)[i] == inputs_of(&w)[i] + 99);
	world_release(&w);
}

static void test_a_list_without_operations(void **state)
{
	struct world w;

	world_init(&w, *state);
	world_start(&w);
	world_call(&w);
	assert_int_equal(((unsigned char *)outputs_of(&w))[0], POISON);
	world_release(&w);
}

/* --- prepare -------------------------------------------------------------- */

/* kf_prepare: kept = w + 1; kf_forward: out = in kept. Returns the number that
 * what is kept has in kf_forward. */
static uint32_t keep_program(struct world *w)
{
	struct kf_plan_op *op;
	uint32_t made, used;

	w->plans.has_prepare = true;
	made = plan_buffer(&w->plans.prepare, KF_PLAN_KEEP, 3, FLOATS_BYTES);
	used = plan_buffer(&w->plans.forward, KF_PLAN_KEEP, 3, FLOATS_BYTES);
	add_axpb(&w->plans.prepare, PREPARE_WEIGHT, made, 1, 1);
	op = plan_launch(&w->plans.forward, "multiply", 4, 256);
	plan_arg_buffer(op, IN, 0);
	plan_arg_buffer(op, used, 0);
	plan_arg_buffer(op, OUT, 0);
	plan_arg_int(op, COUNT, 8);
	return used;
}

static void test_kept_memory_follows_the_weights(void **state)
{
	struct world w;

	world_init(&w, *state);
	keep_program(&w);
	world_start(&w);
	for (int round = 0; round < 2; round++) {
		struct kf_err err = { 0 };

		for (unsigned i = 0; i < COUNT; i++)
			weights_of(&w)[i] = (float)(i % 5) + (float)round;
		if (world_prepare(&w, &err))
			fail_msg("%s", err.text);
		assert_null(kf_driver_fault(w.f->driver, w.dev));
		world_call(&w);
		world_call(&w);
		for (unsigned i = 0; i < COUNT; i++)
			assert_true(outputs_of(&w)[i] == inputs_of(&w)[i] *
				    (weights_of(&w)[i] + 1));
	}
	world_release(&w);
}

static void test_kept_memory_begins_with_zeros(void **state)
{
	struct world w;
	uint32_t kept;

	world_init(&w, *state);
	w.plans.has_prepare = true;
	plan_buffer(&w.plans.prepare, KF_PLAN_KEEP, 0, FLOATS_BYTES);
	kept = plan_buffer(&w.plans.forward, KF_PLAN_KEEP, 0, FLOATS_BYTES);
	plan_copy(&w.plans.forward, OUT, 0, kept, 0, FLOATS_BYTES);
	world_start(&w);
	world_call(&w);
	for (unsigned i = 0; i < COUNT; i++)
		assert_true(outputs_of(&w)[i] == 0);
	world_release(&w);
}

static void test_variables_begin_anew_with_prepare(void **state)
{
	struct world w;
	struct kf_plan_op *op;

	world_init(&w, *state);
	op = plan_launch(&w.plans.forward, "count", 1, 1);
	plan_arg_buffer(op, OUT, 0);
	world_start(&w);
	for (int round = 0; round < 2; round++) {
		assert_int_equal(world_prepare(&w, NULL), KF_OK);
		world_call(&w);
		assert_true(outputs_of(&w)[0] == 1);
	}
	world_release(&w);
}

/* --- what a program may not do, and is told ------------------------------- */

static void test_a_changed_input_is_found(void **state)
{
	struct world w;
	uint64_t changed;

	world_init(&w, *state);
	add_axpb(&w.plans.forward, IN, OUT, 1, 0);
	add_poke(&w.plans.forward, IN, 2001, 0x77);
	add_poke(&w.plans.forward, WEIGHT, 5, 0x77);
	world_start(&w);
	assert_int_equal(world_try(&w, &changed, NULL), KF_OK);
	assert_int_equal(changed, 2001);
	assert_null(kf_driver_fault(w.f->driver, w.dev));
	world_release(&w);
}

static void test_a_changed_weight_is_found(void **state)
{
	struct world w;
	uint64_t changed;

	world_init(&w, *state);
	add_poke(&w.plans.forward, WEIGHT, 3999, 0x77);
	world_start(&w);
	assert_int_equal(world_try(&w, &changed, NULL), KF_OK);
	assert_int_equal(changed, WEIGHT_AT + 3999);
	world_release(&w);
}

static void test_writes_around_an_output_come_back(void **state)
{
	struct world w;
	const unsigned char *all;

	world_init(&w, *state);
	all = w.memory.outputs;
	add_poke(&w.plans.forward, OUT, -1, 0x31);
	add_poke(&w.plans.forward, OUT, FLOATS_BYTES, 0x32);
	world_start(&w);
	world_call(&w);
	assert_int_equal(all[OUTPUT_AT - 1], 0x31);
	assert_int_equal(all[OUTPUT_AT - 2], POISON);
	assert_int_equal(all[OUTPUT_AT + FLOATS_BYTES], 0x32);
	world_release(&w);
}

static void expect_words(const struct world *w, const char *words)
{
	const char *fault = kf_driver_fault(w->f->driver, w->dev);

	if (!fault)
		fail_msg("no fault; expected: %s", words);
	if (!strstr(fault, words))
		fail_msg("%s, not: %s", fault, words);
}

/* The device must say this, and be good for nothing but to be closed. */
static void expect_fault(struct world *w, const char *words)
{
	uint64_t changed;

	assert_int_equal(world_try(w, &changed, NULL), KF_OK);
	expect_words(w, words);
	assert_int_equal(kf_driver_upload(w->f->driver, w->dev, NULL),
			 KF_E_INPUT);
	assert_int_equal(world_prepare(w, NULL), KF_E_INPUT);
}

static void test_writes_behind_scratch_are_a_fault(void **state)
{
	/* The last two: what a program copies that reads its fresh scratch. */
	static const struct {
		unsigned offset;
		int value;
		const char *words;
	} rows[] = {
		{ 17, 0x77, "wrote 17 bytes behind the end of kf_temp 1" },
		{ 0, KF_TWOPART_PATTERN, "wrote 0 bytes behind the end" },
		{ 1, KF_TWOPART_PATTERN, "wrote 1 bytes behind the end" },
	};

	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct world w;
		uint32_t temp;

		world_init(&w, *state);
		plan_buffer(&w.plans.forward, KF_PLAN_TEMP, 0, 100);
		temp = plan_buffer(&w.plans.forward, KF_PLAN_TEMP, 1,
				   FLOATS_BYTES);
		add_poke(&w.plans.forward, temp, FLOATS_BYTES +
			 rows[i].offset, rows[i].value);
		world_start(&w);
		expect_fault(&w, rows[i].words);
		world_release(&w);
	}
}

static void test_writes_to_kept_memory_are_a_fault(void **state)
{
	struct world w;
	uint32_t kept;

	world_init(&w, *state);
	kept = keep_program(&w);
	add_poke(&w.plans.forward, kept, 9, 0x77);
	world_start(&w);
	expect_fault(&w, "wrote to memory that kf_prepare keeps");
	world_release(&w);
}

static void test_prepare_may_not_write_to_weights(void **state)
{
	struct world w;
	struct kf_err err = { 0 };

	world_init(&w, *state);
	w.plans.has_prepare = true;
	add_poke(&w.plans.prepare, PREPARE_WEIGHT, 9, 0x77);
	if (world_load(&w, &err) || world_prepare(&w, &err))
		fail_msg("%s", err.text);
	expect_words(&w, "wrote to weights");
	world_release(&w);
}

static void test_prepare_may_not_write_behind_what_it_keeps(void **state)
{
	struct world w;
	struct kf_err err = { 0 };
	uint32_t kept;

	world_init(&w, *state);
	w.plans.has_prepare = true;
	kept = plan_buffer(&w.plans.prepare, KF_PLAN_KEEP, 2, 1000);
	add_poke(&w.plans.prepare, kept, 1000, 0x77);
	if (world_load(&w, &err) || world_prepare(&w, &err))
		fail_msg("%s", err.text);
	expect_words(&w, "kf_keep 2");
	world_release(&w);
}

/* --- refusals ------------------------------------------------------------- */

static void args_of_axpb(struct kf_plan_op *op, int count)
{
	if (count > 0)
		plan_arg_buffer(op, IN, 0);
	if (count > 1)
		plan_arg_buffer(op, OUT, 0);
	if (count > 2)
		plan_arg_f32(op, 1);
	if (count > 3)
		plan_arg_f32(op, 1);
	if (count > 4)
		plan_arg_int(op, COUNT, 8);
	if (count > 5)
		plan_arg_int(op, COUNT, 8);
}

static void unknown_kernel(struct kf_plan *p)
{
	plan_launch(p, "axbp", 1, 1);
}

static void too_few_arguments(struct kf_plan *p)
{
	args_of_axpb(plan_launch(p, "axpb", 1, 1), 4);
}

static void too_many_arguments(struct kf_plan *p)
{
	args_of_axpb(plan_launch(p, "axpb", 1, 1), 6);
}

static void narrow_argument(struct kf_plan *p)
{
	struct kf_plan_op *op = plan_launch(p, "axpb", 1, 1);

	args_of_axpb(op, 4);
	plan_arg_int(op, COUNT, 4);
}

static void local_argument(struct kf_plan *p)
{
	struct kf_plan_op *op = plan_launch(p, "axpb", 1, 1);

	args_of_axpb(op, 4);
	plan_arg(op, KF_ARG_LOCAL, 64);
}

static void large_group(struct kf_plan *p)
{
	plan_launch(p, "nothing", 1, 1025);
}

static void deep_group(struct kf_plan *p)
{
	plan_launch(p, "nothing", 1, 1)->group[2] = 65;
}

static void wide_group(struct kf_plan *p)
{
	plan_launch(p, "nothing", 1, 64)->group[1] = 32;
}

static void bounded_group(struct kf_plan *p)
{
	plan_launch(p, "bounded", 1, 128);
}

static void tall_grid(struct kf_plan *p)
{
	plan_launch(p, "nothing", 1, 1)->grid[1] = 65536;
}

static void much_shared(struct kf_plan *p)
{
	plan_launch(p, "static_shared", 1, 64)->shared_bytes = 230000;
}

static void odd_cluster(struct kf_plan *p)
{
	plan_cluster(plan_launch(p, "nothing", 5, 32), 2);
}

static void huge_cluster(struct kf_plan *p)
{
	plan_cluster(plan_launch(p, "nothing", 32, 32), 32);
}

static void many_cooperative(struct kf_plan *p)
{
	plan_launch(p, "nothing", 1000000, 1024)->cooperative = true;
}

static void crooked_map(struct kf_plan *p)
{
	const struct kf_tensor_map map = {
		.size = sizeof(map), .dtype = KF_F32, .rank = 2,
		.dim = { 8, 8 }, .stride = { 0, 36 }, .box = { 8, 8 },
	};
	struct kf_plan_op *op = plan_launch(p, "load_box", 1, 32);

	plan_arg_map(op, IN, 0, &map);
	plan_arg_buffer(op, OUT, 0);
}

static const struct {
	void (*add)(struct kf_plan *plan);
	const char *words;
} refusals[] = {
	{ unknown_kernel, "no such kernel; it has " },
	{ too_few_arguments, "has 5 parameters and gets 4 arguments" },
	{ too_many_arguments, "has 5 parameters and gets 6 arguments" },
	{ narrow_argument, "has 4 bytes and the kernel's parameter has 8" },
	{ local_argument, "KF_LOCAL" },
	{ large_group, "1025 threads in x, the most is 1024" },
	{ deep_group, "65 threads in z, the most is 64" },
	{ wide_group, "2048 threads, the most is 1024" },
	{ bounded_group, "this kernel can have 64" },
	{ tall_grid, "65536 groups in y, the most is 65535" },
	{ much_shared, "230000 bytes of shared memory and the kernel declares "
		       "4096 more" },
	{ odd_cluster, "no multiple of the cluster's 2" },
	{ huge_cluster, "the cluster has 32 groups, the most is 16" },
	{ many_cooperative, "and the grid has 1000000" },
	{ crooked_map, "tensor map of argument 1 is refused" },
};

static void test_refusals_help_the_writer(void **state)
{
	for (size_t i = 0; i < KF_COUNT(refusals); i++) {
		struct kf_err err = { 0 };
		struct world w;

		world_init(&w, *state);
		add_axpb(&w.plans.forward, IN, OUT, 1, 0);
		refusals[i].add(&w.plans.forward);
		if (world_load(&w, &err))
			fail_msg("%s: %s", refusals[i].words, err.text);
		if (!strstr(w.refused, refusals[i].words))
			fail_msg("\"%s\", not: %s", w.refused,
				 refusals[i].words);
		assert_non_null(strstr(w.refused, "call 2 of kf_forward"));
		/* Nothing of it can be run. */
		assert_int_equal(world_prepare(&w, NULL), KF_E_INPUT);
		world_release(&w);
	}
}

/* One argument of axpb(x, y, a, b, n), as wide as it is to be. */
static const struct {
	const char *parameters;
	unsigned number;
	enum kf_arg_kind kind;
	int64_t value;
	const char *words;		/* NULL: it is taken */
} kinds[] = {
	{ "none \naxpb iiffi\n", 3, KF_ARG_INT, 2, "argument 3: the kernel takes "
	  "a float (.f32 in PTX), and host.c passes KF_I32; pass KF_F32" },
	{ "axpb iiffi\n", 5, KF_ARG_FLOAT, 2, "argument 5: the kernel takes an "
	  "integer of 64 bits or a pointer, and host.c passes KF_F64; pass "
	  "KF_I64 or KF_BUF" },
	{ "axpb iiiii\n", 4, KF_ARG_FLOAT, 2, "takes an integer of 32 bits, "
	  "and host.c passes KF_F32; pass KF_I32" },
	{ "axpb ppffd\n", 5, KF_ARG_INT, 2, "takes a double (.f64 in PTX), and "
	  "host.c passes KF_I64; pass KF_F64" },
	{ "axpb ppffd\n", 5, KF_ARG_BUFFER, 0, "host.c passes KF_BUF; pass "
	  "KF_F64" },
	{ "axpb ppffi\n", 2, KF_ARG_INT, 2, "takes a pointer, and host.c "
	  "passes KF_I64; pass KF_BUF" },
	/* The same bytes: 0.0f, and no pointer. */
	{ "axpb ppffi\n", 3, KF_ARG_INT, 0, NULL },
	{ "axpb ppffi\n", 2, KF_ARG_INT, 0, NULL },
	/* An integer may be an address, and most compilers do not tell. */
	{ "axpb iiffi\n", 5, KF_ARG_BUFFER, 0, NULL },
	{ "axpb iiffi\n", 2, KF_ARG_INT, 2, NULL },
	{ "axpb iiffi\n", 3, KF_ARG_BYTES, 2, NULL },
	{ "axpb ?????\n", 3, KF_ARG_INT, 2, NULL },
	/* Not known for certain. */
	{ NULL, 3, KF_ARG_INT, 2, NULL },
	{ "axp iiffi\naxpby iiffi\n", 3, KF_ARG_INT, 2, NULL },
	{ "axpb iiffii\n", 3, KF_ARG_INT, 2, NULL },
	{ "axpb iiffi", 3, KF_ARG_INT, 2, NULL },
	{ "axpb\n\n \niiffi", 3, KF_ARG_INT, 2, NULL },
	{ "", 3, KF_ARG_INT, 2, NULL },
};

static void pass_as(struct kf_plan_arg *arg, enum kf_arg_kind kind,
		    int64_t value)
{
	float f32 = (float)value;
	double f64 = (double)value;

	arg->kind = kind;
	arg->place = (struct kf_plan_place) { IN, 0 };
	if (kind == KF_ARG_BYTES)
		arg->data = kf_alloc(arg->bytes);
	else if (kind != KF_ARG_FLOAT)
		memcpy(arg->value, &value, sizeof(value));
	else if (arg->bytes == sizeof(f32))
		memcpy(arg->value, &f32, sizeof(f32));
	else
		memcpy(arg->value, &f64, sizeof(f64));
}

static void test_numbers_of_another_kind_are_refused(void **state)
{
	for (size_t i = 0; i < KF_COUNT(kinds); i++) {
		struct kf_err err = { 0 };
		struct kf_plan_op *op;
		struct world w;

		world_init(&w, *state);
		w.parameters = kinds[i].parameters;
		op = plan_launch(&w.plans.forward, "axpb", 4, 256);
		args_of_axpb(op, 5);
		pass_as(&op->arg[kinds[i].number - 1], kinds[i].kind,
			kinds[i].value);
		if (world_load(&w, &err))
			fail_msg("row %zu: %s", i, err.text);
		if (kinds[i].words ? !strstr(w.refused, kinds[i].words)
				   : w.refused[0] != '\0')
			fail_msg("row %zu, \"%s\", not: %s", i, w.refused,
				 kinds[i].words ? kinds[i].words : "");
		world_release(&w);
	}
}

static void test_code_for_another_device_is_trouble_of_ours(void **state)
{
	static const char other[4096] = "\x7f" "ELF, but not of a device";
	struct fixture *f = *state;
	struct kf_buf whole = f->code;
	struct kf_err err = { 0 };
	struct world w;

	world_init(&w, f);
	/* As long as a header, which is read without knowing its length. */
	f->code = (struct kf_buf) { .max = sizeof(other) };
	kf_buf_add(&f->code, other, sizeof(other));
	assert_int_not_equal(world_load(&w, &err), KF_OK);
	assert_string_equal(w.refused, "");
	assert_non_null(strstr(err.text, "cannot load the module: "));
	kf_buf_release(&f->code);
	f->code = whole;
	world_release(&w);
}

static void test_rubbish_is_trouble_of_ours(void **state)
{
	struct fixture *f = *state;
	char *path = path_in(f, "rubbish");
	struct kf_device *dev = NULL;
	char refused[256];

	assert_int_equal(kf_file_write(path, "rubbish", 7, NULL), KF_OK);
	assert_int_equal(kf_driver_open(f->driver, f->info.id, MEMORY_MAX,
					&dev, NULL), KF_OK);
	assert_int_equal(kf_driver_load(f->driver, dev, path, refused, NULL),
			 KF_E_IO);
	assert_string_equal(refused, "");
	kf_driver_close(f->driver, dev);
	free(path);
}

static void test_more_scratch_than_allowed_is_refused(void **state)
{
	struct world w;
	struct kf_err err = { 0 };

	world_init(&w, *state);
	plan_buffer(&w.plans.forward, KF_PLAN_TEMP, 0, MEMORY_MAX + 1);
	if (world_load(&w, &err))
		fail_msg("%s", err.text);
	assert_true(w.refused[0]);
	world_release(&w);
}

/* In one piece, and in all. */
static void test_more_than_the_card_has_is_refused_as_memory(void **state)
{
	struct fixture *f = *state;
	const uint64_t half = f->info.memory_bytes / 2;
	const uint64_t temp[] = { 2 * half, half };

	for (size_t i = 0; i < KF_COUNT(temp); i++) {
		struct world w;
		struct kf_err err = { 0 };

		world_init(&w, f);
		w.memory_max = 8 * half;
		w.plans.has_prepare = true;
		plan_buffer(&w.plans.prepare, KF_PLAN_KEEP, 0, half);
		plan_buffer(&w.plans.forward, KF_PLAN_TEMP, 0, temp[i]);
		if (world_load(&w, &err))
			fail_msg("%s", err.text);
		assert_non_null(strstr(w.refused, "kf_temp and kf_keep ask "
				       "for "));
		assert_non_null(strstr(w.refused, f->info.name));
		assert_true(kf_driver_short_of_memory(f->driver, w.dev));
		world_release(&w);
	}
}

static void test_other_refusals_are_not_for_memory(void **state)
{
	struct world w;

	world_init(&w, *state);
	plan_launch(&w.plans.forward, "axbp", 1, 1);
	assert_int_equal(world_load(&w, NULL), KF_OK);
	assert_true(w.refused[0]);
	assert_false(kf_driver_short_of_memory(w.f->driver, w.dev));
	world_release(&w);
}

/* --- what only some devices have ------------------------------------------ */

static void test_large_shared_memory(void **state)
{
	struct world w;
	struct kf_plan_op *op;

	world_init(&w, *state);
	for (int n = 1024; n <= 50 * 1024; n += 49 * 1024) {
		op = plan_launch(&w.plans.forward, "shared", 1, 256);
		op->shared_bytes = 4 * n;
		plan_arg_buffer(op, OUT, n > 1024 ? 4 : 0);
		plan_arg_int(op, n, 4);
	}
	world_start(&w);
	world_call(&w);
	assert_true(outputs_of(&w)[0] == 1023);
	assert_true(outputs_of(&w)[1] == 50 * 1024 - 1);
	world_release(&w);
}

static void test_clusters(void **state)
{
	struct world w;
	struct kf_plan_op *op;

	world_init(&w, *state);
	op = plan_launch(&w.plans.forward, "cluster_rank", 32, 32);
	plan_cluster(op, 4);
	plan_arg_buffer(op, OUT, 0);
	plan_arg_int(op, COUNT, 4);
	world_start(&w);
	world_call(&w);
	for (unsigned i = 0; i < COUNT; i++)
		assert_true(outputs_of(&w)[i] == (float)(i / 32 % 4));
	world_release(&w);
}

static void test_barriers_of_the_grid(void **state)
{
	struct world w;
	struct kf_plan_op *op;
	uint32_t counter;

	world_init(&w, *state);
	counter = plan_buffer(&w.plans.forward, KF_PLAN_TEMP, 0, 4);
	plan_fill(&w.plans.forward, counter, 0, 0, 4, 1);
	op = plan_launch(&w.plans.forward, "grid_barrier", 8, 32);
	op->cooperative = true;
	plan_arg_buffer(op, counter, 0);
	plan_arg_buffer(op, OUT, 0);
	world_start(&w);
	world_call(&w);
	for (unsigned i = 0; i < 8; i++)
		assert_true(outputs_of(&w)[i] == 8);
	world_release(&w);
}

static void test_dependent_launches(void **state)
{
	struct world w;

	world_init(&w, *state);
	add_axpb(&w.plans.forward, IN, OUT, 1, 2);
	plan_launch(&w.plans.forward, "nothing", 1, 32)->dependent = true;
	world_start(&w);
	world_call(&w);
	assert_true(outputs_of(&w)[1] == inputs_of(&w)[1] + 2);
	world_release(&w);
}

static void test_tensor_maps(void **state)
{
	const struct kf_tensor_map map = {
		.size = sizeof(map), .dtype = KF_F32, .rank = 2,
		.dim = { 20, 50 }, .stride = { 0, 80 }, .box = { 8, 8 },
	};
	struct world w;
	struct kf_plan_op *op;

	world_init(&w, *state);
	op = plan_launch(&w.plans.forward, "load_box", 1, 32);
	plan_arg_map(op, IN, 0, &map);
	plan_arg_buffer(op, OUT, 0);
	world_start(&w);
	world_call(&w);
	for (unsigned i = 0; i < 64; i++)
		assert_true(outputs_of(&w)[i] ==
			    inputs_of(&w)[i / 8 * 20 + i % 8]);
	world_release(&w);
}

/* --- faults: each in a process of its own --------------------------------- */

static const struct { const char *kernel; uint32_t bytes; const char *words; }
faults[] = {
	{ "illegal", 8, "kernel illegal read or wrote memory" },
	{ "misaligned", 8, "(misaligned address)" },
	{ "asserts", 4, "assertion" },
	{ "traps", 4, "trapped" },
};

static void fault_case(struct fixture *f, size_t i)
{
	struct world w;
	struct kf_plan_op *op;

	world_init(&w, f);
	op = plan_launch(&w.plans.forward, faults[i].kernel, 1, 1);
	if (faults[i].bytes == 8)
		plan_arg_buffer(op, OUT, 0);
	else
		plan_arg_int(op, 1, 4);
	world_start(&w);
	expect_fault(&w, faults[i].words);
	world_release(&w);
}

/* Does not return. */
static void endless_case(struct fixture *f)
{
	struct world w;
	struct kf_plan_op *op;

	world_init(&w, f);
	op = plan_launch(&w.plans.forward, "endless", 1, 1);
	plan_arg_buffer(op, OUT, 0);
	world_start(&w);
	world_call(&w);
	world_release(&w);
}

static void run_case(const struct fixture *f, const char *name,
		     uint64_t timeout_ns, struct kf_proc_end *end,
		     struct kf_buf *words)
{
	const char *const argv[] = {
		"/proc/self/exe", "--case", name,
		f->standin ? "standin" : "device", NULL
	};
	struct kf_proc_spec spec = { .argv = argv, .timeout_ns = timeout_ns };
	struct kf_err err = { 0 };

	if (kf_proc_run(&spec, words, words, end, &err))
		fail_msg("%s", err.text);
}

static void test_faults_are_told(void **state)
{
	for (size_t i = 0; i < KF_COUNT(faults); i++) {
		struct kf_buf words = { .max = 4096 };
		struct kf_proc_end end;

		run_case(*state, faults[i].kernel, 60 * KF_NS_PER_S, &end,
			 &words);
		if (end.timed_out || end.signal || end.exit_code)
			fail_msg("%s: %s", faults[i].kernel,
				 kf_buf_str(&words));
		kf_buf_release(&words);
	}
}

/* Killing the process is what ends it; the device is as good as before. */
static void test_an_endless_kernel_is_killed_from_outside(void **state)
{
	struct kf_buf words = { .max = 4096 };
	struct kf_proc_end end;

	run_case(*state, "endless", 8 * KF_NS_PER_S, &end, &words);
	assert_true(end.timed_out);
	kf_buf_release(&words);
	test_values_are_right_with_fresh_data(state);
}

/* --- of the stand-in alone ------------------------------------------------ */

struct standin {
	standin_calls_fn *calls;
	standin_fail_fn *break_entry;
	standin_reset_fn *reset;
	standin_alive_fn *alive;
};

static struct standin standin_control(void)
{
	static const char *const name[] = {
		"standin_calls", "standin_fail", "standin_reset",
		"standin_alive",
	};
	struct standin s;
	void *symbol[KF_COUNT(name)];
	char *path = standin_path();
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	assert_non_null(library);
	for (size_t i = 0; i < KF_COUNT(name); i++) {
		symbol[i] = dlsym(library, name[i]);
		assert_non_null(symbol[i]);
	}
	memcpy(&s, symbol, sizeof(s));
	free(path);
	return s;
}

static void test_everything_is_given_back(void **state)
{
	struct standin s = standin_control();
	struct world w;
	unsigned before = s.alive();

	world_init(&w, *state);
	keep_program(&w);
	world_start(&w);
	world_call(&w);
	assert_int_equal(world_prepare(&w, NULL), KF_OK);
	world_call(&w);
	assert_true(s.alive() > before);
	world_release(&w);
	assert_int_equal(s.alive(), before);
}

/* Whatever fails, wherever: it is told, given back, and nobody's verdict. */
static void test_trouble_of_ours_is_no_verdict(void **state)
{
	static const struct { const char *entry; unsigned after; } rows[] = {
		{ "cuInit", 0 }, { "cuDeviceGet", 0 },
		{ "cuDevicePrimaryCtxRetain", 0 }, { "cuStreamCreate", 0 },
		{ "cuEventCreate", 0 }, { "cuEventCreate", 1 },
		{ "cuMemHostAlloc", 0 }, { "cuMemHostAlloc", 1 },
		{ "cuModuleLoadData", 0 }, { "cuModuleLoadData", 1 },
		{ "cuMemAlloc_v2", 0 }, { "cuMemAlloc_v2", 1 },
		{ "cuMemAlloc_v2", 2 }, { "cuMemAlloc_v2", 3 },
		{ "cuMemAlloc_v2", 4 }, { "cuMemAlloc_v2", 5 },
		{ "cuStreamBeginCapture_v2", 0 }, { "cuStreamEndCapture", 0 },
		{ "cuGraphInstantiateWithFlags", 0 }, { "cuGraphUpload", 0 },
		{ "cuMemcpyHtoDAsync_v2", 0 }, { "cuMemcpyHtoDAsync_v2", 1 },
		{ "cuStreamWaitValue32_v2", 0 }, { "cuEventRecord", 0 },
		{ "cuEventRecord", 1 }, { "cuGraphLaunch", 0 },
		{ "cuEventSynchronize", 0 }, { "cuEventElapsedTime", 0 },
		{ "cuMemcpyDtoHAsync_v2", 0 }, { "cuMemcpyDtoHAsync_v2", 1 },
		{ "cuMemcpyDtoHAsync_v2", 2 },
	};
	struct standin s = standin_control();

	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct kf_err err = { 0 };
		unsigned before = s.alive();
		uint64_t changed;
		struct world w;
		enum kf_code code;

		world_init(&w, *state);
		add_axpb(&w.plans.forward, IN, OUT, 1, 2);
		s.break_entry(rows[i].entry, rows[i].after, 2);
		code = world_load(&w, &err);
		if (!code)
			code = world_prepare(&w, &err);
		if (!code)
			code = world_try(&w, &changed, &err);
		if (!code || w.refused[0] || !err.text[0])
			fail_msg("%s after %u: code %d, refused \"%s\"",
				 rows[i].entry, rows[i].after, (int)code,
				 w.refused);
		s.reset();
		world_release(&w);
		if (s.alive() != before)
			fail_msg("%s after %u: %u left", rows[i].entry,
				 rows[i].after, s.alive() - before);
	}
}

/* What each result is, when a launch is put into a graph or a graph is made
 * (refused), and when the graph runs (a fault). */
static const struct { int result; bool refused, fault; } results[] = {
	{ KF_CUDA_INVALID_VALUE, true, false },
	{ KF_CUDA_OUT_OF_MEMORY, false, false },
	{ 3, false, false },			/* not initialised */
	{ 46, false, false },			/* device unavailable */
	{ KF_CUDA_NO_DEVICE, false, false },
	{ KF_CUDA_INVALID_IMAGE, false, false },
	{ 201, false, false },			/* invalid context */
	{ KF_CUDA_NO_BINARY_FOR_GPU, false, false },
	{ 214, false, false },			/* ECC, uncorrectable */
	{ 218, false, false },			/* invalid PTX */
	{ 220, false, false },			/* NVLink, uncorrectable */
	{ 222, false, false },			/* PTX of another version */
	{ 226, false, false },			/* contained hardware error */
	{ KF_CUDA_INVALID_SOURCE, false, false },
	{ 304, false, false },			/* operating system */
	{ 400, false, false },			/* invalid handle */
	{ KF_CUDA_NOT_FOUND, false, false },
	{ KF_CUDA_ILLEGAL_ADDRESS, false, true },
	{ KF_CUDA_LAUNCH_OUT_OF_RESOURCES, true, true },
	{ KF_CUDA_LAUNCH_TIMEOUT, false, true },
	{ 709, false, false },			/* context is destroyed */
	{ KF_CUDA_ASSERT, false, true },
	{ KF_CUDA_HARDWARE_STACK_ERROR, false, true },
	{ KF_CUDA_ILLEGAL_INSTRUCTION, false, true },
	{ KF_CUDA_MISALIGNED_ADDRESS, false, true },
	{ KF_CUDA_INVALID_ADDRESS_SPACE, false, true },
	{ KF_CUDA_INVALID_PC, false, true },
	{ KF_CUDA_LAUNCH_FAILED, false, true },
	{ KF_CUDA_COOPERATIVE_LAUNCH_TOO_LARGE, true, true },
	{ KF_CUDA_TENSOR_MEMORY_LEAK, false, true },
	{ 800, false, false },			/* not permitted */
	{ KF_CUDA_NOT_SUPPORTED, true, false },
	{ 802, false, false },			/* system not ready */
	{ 803, false, false },			/* driver of another version */
	{ 900, false, false },			/* capture unsupported */
	{ 901, false, false },			/* capture invalidated */
	{ 908, false, false },			/* capture, wrong thread */
	{ KF_CUDA_INVALID_CLUSTER_SIZE, true, false },
	{ 999, false, false },			/* unknown */
};

/* entry gives result: is the program refused, at fault, or is it our trouble?
 */
static void expect_blame(struct fixture *f, const char *entry, unsigned after,
			 int result, bool refused, bool fault)
{
	struct standin s = standin_control();
	struct kf_err err = { 0 };
	uint64_t changed;
	struct world w;
	enum kf_code code;
	bool blamed;

	world_init(&w, f);
	add_axpb(&w.plans.forward, IN, OUT, 1, 2);
	s.break_entry(entry, after, result);
	code = world_load(&w, &err);
	if (!code && !w.refused[0])
		code = world_prepare(&w, &err);
	if (!code && !w.refused[0])
		code = world_try(&w, &changed, &err);
	s.reset();
	blamed = w.dev && kf_driver_fault(f->driver, w.dev);
	if (!!w.refused[0] != refused || blamed != fault ||
	    !code != (refused || fault))
		fail_msg("%s gives %d: code %d, refused \"%s\", fault \"%s\"",
			 entry, result, (int)code, w.refused,
			 blamed ? kf_driver_fault(f->driver, w.dev) : "");
	world_release(&w);
}

static void test_each_result_has_its_culprit(void **state)
{
	for (size_t i = 0; i < KF_COUNT(results); i++) {
		const int result = results[i].result;

		expect_blame(*state, "cuLaunchKernelEx", 0, result,
			     results[i].refused, false);
		expect_blame(*state, "cuGraphInstantiateWithFlags", 0, result,
			     results[i].refused, false);
		/* 16 empty calls are timed before the program's. */
		expect_blame(*state, "cuEventSynchronize", 16, result, false,
			     results[i].fault);
		expect_blame(*state, "cuStreamBeginCapture_v2", 0, result,
			     false, false);
		/* The first is kforge's own kernels. */
		expect_blame(*state, "cuModuleLoadData", 1, result, false,
			     false);
	}
}

/* kforge has checked them: what is wrong with one is not the program's. */
static void test_a_copy_that_is_refused_is_trouble_of_ours(void **state)
{
	struct standin s = standin_control();
	struct kf_err err = { 0 };
	struct world w;

	world_init(&w, *state);
	plan_copy(&w.plans.forward, OUT, 0, IN, 0, FLOATS_BYTES);
	s.break_entry("cuMemcpyDtoDAsync_v2", 0, KF_CUDA_INVALID_VALUE);
	assert_int_not_equal(world_load(&w, &err), KF_OK);
	assert_string_equal(w.refused, "");
	assert_non_null(strstr(err.text, "cannot make a graph"));
	s.reset();
	world_release(&w);
}

/* The host's clock is out of a kernel's reach. */
static void test_a_forged_stamp_is_seen_by_the_host(void **state)
{
	uint64_t least_ns = UINT64_MAX;
	struct world w;

	world_init(&w, *state);
	plan_launch(&w.plans.forward, "forges", 1, 1);
	world_start(&w);
	for (int i = 0; i < 5; i++) {
		uint64_t device_ns;

		world_call(&w);
		device_ns = kf_driver_device_ns(w.f->driver, w.dev);
		if (device_ns < least_ns)
			least_ns = device_ns;
		assert_true(kf_driver_host_ns(w.f->driver, w.dev) > 3000000);
	}
	assert_true(least_ns < 1000000);
	world_release(&w);
}

static void add_line(void *arg, const char *variable)
{
	kf_buf_printf(arg, "%s\n", variable);
}

static void test_pytorch_is_shown_one_device(void **state)
{
	const struct fixture *f = *state;
	struct kf_buf env = { .max = 4096 };

	f->driver->torch_env("cuda:1", add_line, &env);
	assert_non_null(strstr(kf_buf_str(&env), "CUDA_VISIBLE_DEVICES=1\n"));
	assert_non_null(strstr(kf_buf_str(&env),
			       "CUDA_DEVICE_ORDER=PCI_BUS_ID\n"));
	assert_non_null(strstr(kf_buf_str(&env), "tests/standin\n"));
	kf_buf_clear(&env);
	f->driver->torch_env(NULL, add_line, &env);
	assert_non_null(strstr(kf_buf_str(&env), "CUDA_VISIBLE_DEVICES=0\n"));
	kf_buf_release(&env);
}

static void test_memory_that_cannot_be_pinned_is_copied(void **state)
{
	struct standin s = standin_control();
	struct world w;

	world_init(&w, *state);
	add_axpb(&w.plans.forward, IN, OUT, 1, 2);
	s.break_entry("cuMemHostRegister_v2", 0, 801);
	world_start(&w);
	world_call(&w);
	assert_true(outputs_of(&w)[3] == inputs_of(&w)[3] + 2);
	world_release(&w);
	s.reset();
}

/* Once for kf_prepare and kf_forward each; a call only launches. */
static void test_graphs_are_made_once(void **state)
{
	struct standin s = standin_control();
	unsigned made, launched;
	struct world w;

	world_init(&w, *state);
	keep_program(&w);
	world_start(&w);
	made = s.calls("cuGraphInstantiateWithFlags");
	launched = s.calls("cuGraphLaunch");
	for (int i = 0; i < 5; i++)
		world_call(&w);
	assert_int_equal(s.calls("cuGraphInstantiateWithFlags"), made);
	assert_int_equal(s.calls("cuGraphLaunch"), launched + 5);
	world_release(&w);
}

static void made_world(struct world *w, struct fixture *f, float *base)
{
	there_init(w, f);
	add_axpb(&w->plans.forward, IN, OUT, 1, 0);
	world_start(w);
	for (unsigned i = 0; i < COUNT; i++)
		base[i] = (float)i;
	give_base(w, base);
}

/* And loaded for each call, by a driver that cannot keep it as well. */
static void test_code_of_ours_is_assembled_once(void **state)
{
	static const char *const broken[] = {
		NULL, "cuLinkCreate_v2", "cuLinkAddData_v2", "cuLinkComplete",
	};
	const struct kf_made made = { .input = 0 };
	struct standin s = standin_control();
	static float base[COUNT];
	unsigned linked, loaded;
	struct world w;

	for (size_t k = 0; k < KF_COUNT(broken); k++) {
		made_world(&w, *state, base);
		if (broken[k])
			s.break_entry(broken[k], 0, 801);
		linked = s.calls("cuLinkComplete");
		loaded = s.calls("cuModuleLoadData");
		for (int i = 0; i < 3; i++) {
			call_made(&w, &made);
			assert_memory_equal(outputs_of(&w), base,
					    FLOATS_BYTES);
		}
		assert_int_equal(s.calls("cuLinkComplete") - linked,
				 k == 0 || k == 3);
		assert_int_equal(s.calls("cuModuleLoadData") - loaded, 3);
		world_release(&w);
		s.reset();
	}
}

/* What a program's host code would find that asks the driver itself. */
static void test_who_opens_a_device_sees_no_other(void **state)
{
	const struct fixture *f = *state;
	char *path = standin_path();
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	struct kf_device *dev;
	int (*count)(int *count), (*get)(int *device, int ordinal);
	int (*name)(char *name, int len, int device);
	void *symbol[3];
	char its[64];
	int found, device;

	assert_non_null(library);
	symbol[0] = dlsym(library, "cuDeviceGetCount");
	symbol[1] = dlsym(library, "cuDeviceGet");
	symbol[2] = dlsym(library, "cuDeviceGetName");
	memcpy(&count, &symbol[0], sizeof(count));
	memcpy(&get, &symbol[1], sizeof(get));
	memcpy(&name, &symbol[2], sizeof(name));
	assert_int_equal(kf_driver_open(f->driver, "cuda:1", MEMORY_MAX, &dev,
					NULL), KF_OK);
	assert_int_equal(count(&found), 0);
	assert_int_equal(found, 1);
	assert_int_equal(get(&device, 0), 0);
	assert_int_equal(name(its, sizeof(its), device), 0);
	assert_string_equal(its, "Stand-in 1");
	f->driver->close(dev);
	unsetenv("CUDA_VISIBLE_DEVICES");
	dlclose(library);
	free(path);
}

static void explicit_cluster(struct kf_plan *p)
{
	plan_launch(p, "explicit_cluster", 4, 32);
}

static void test_a_kernel_that_wants_clusters_says_so(void **state)
{
	struct world w;

	world_init(&w, *state);
	explicit_cluster(&w.plans.forward);
	assert_int_equal(world_load(&w, NULL), KF_OK);
	assert_non_null(strstr(w.refused, ".cluster"));
	world_release(&w);
}

/* --- both kinds of device ------------------------------------------------- */

static int setup(void **state)
{
	struct fixture *f = *state;

	use_standin(f->standin);
	return 0;
}

#define CASE(name) { #name, test_##name, setup, NULL, NULL }

static const struct CMUnitTest cases[] = {
	CASE(values_are_right_with_fresh_data),
	CASE(sums_and_stretches_come_back),
	CASE(inputs_are_made_there),
	CASE(inputs_made_there_are_those_made_here),
	CASE(prepare_finds_no_inputs),
	CASE(what_inputs_are_made_of_is_looked_after),
	CASE(order_and_scratch),
	CASE(scratch_is_poisoned_before_every_call),
	CASE(outputs_are_filled_where_they_are),
	CASE(fills_of_every_width),
	CASE(a_struct_by_value),
	CASE(a_hundred_launches),
	CASE(a_list_without_operations),
	CASE(kept_memory_follows_the_weights),
	CASE(kept_memory_begins_with_zeros),
	CASE(variables_begin_anew_with_prepare),
	CASE(a_changed_input_is_found),
	CASE(a_changed_weight_is_found),
	CASE(writes_around_an_output_come_back),
	CASE(writes_behind_scratch_are_a_fault),
	CASE(writes_to_kept_memory_are_a_fault),
	CASE(prepare_may_not_write_to_weights),
	CASE(prepare_may_not_write_behind_what_it_keeps),
	CASE(refusals_help_the_writer),
	CASE(numbers_of_another_kind_are_refused),
	CASE(code_for_another_device_is_trouble_of_ours),
	CASE(rubbish_is_trouble_of_ours),
	CASE(more_scratch_than_allowed_is_refused),
	CASE(more_than_the_card_has_is_refused_as_memory),
	CASE(other_refusals_are_not_for_memory),
	CASE(large_shared_memory),
	CASE(clusters),
	CASE(barriers_of_the_grid),
	CASE(dependent_launches),
	CASE(tensor_maps),
	CASE(faults_are_told),
};

static const struct CMUnitTest device_cases[] = {
	CASE(an_endless_kernel_is_killed_from_outside),
};

static const struct CMUnitTest standin_cases[] = {
	CASE(everything_is_given_back),
	CASE(trouble_of_ours_is_no_verdict),
	CASE(who_opens_a_device_sees_no_other),
	CASE(each_result_has_its_culprit),
	CASE(a_copy_that_is_refused_is_trouble_of_ours),
	CASE(a_forged_stamp_is_seen_by_the_host),
	CASE(pytorch_is_shown_one_device),
	CASE(memory_that_cannot_be_pinned_is_copied),
	CASE(graphs_are_made_once),
	CASE(code_of_ours_is_assembled_once),
	CASE(a_kernel_that_wants_clusters_says_so),
};

static void test_device_is_here(void **state)
{
	(void)state;
	if (getenv("KF_MUST_RUN") && strstr(getenv("KF_MUST_RUN"), "cuda"))
		fail_msg("KF_MUST_RUN asks for cuda: no device here");
	skip();
}

static void standin_code(struct fixture *f)
{
	static const char *const name[] = {
		"axpb", "multiply", "poke", "by_value", "cluster_rank",
		"grid_barrier", "shared", "load_box", "count", "nothing",
		"bounded", "explicit_cluster", "static_shared", "illegal",
		"asserts", "traps", "misaligned", "forges", "endless",
	};

	f->code.max = 4096;
	kf_buf_puts(&f->code, STANDIN_MAGIC);
	for (size_t i = 0; i < KF_COUNT(name); i++)
		kf_buf_printf(&f->code, "kernel %s\n", name[i]);
}

/* False: there is none. */
static bool fixture_init(struct fixture *f, bool standin)
{
	struct kf_err err = { 0 };
	struct kf_build build;
	size_t count = 0;

	*f = (struct fixture) { .driver = kf_driver_by_name("cuda"),
				.standin = standin };
	use_standin(standin);
	if (kf_driver_find(f->driver, &f->info, 1, NULL, &count, &err)) {
		fprintf(stderr, "# %s\n", err.text);
		return false;
	}
	if (!count || make_folder(f))
		return false;
	if (standin) {
		standin_code(f);
		return true;
	}
	if (build_files(f, "tests/data/cuda/kernels.cu",
			"tests/data/cuda/host.c", &build, &err) ||
	    build.end != KF_BUILD_DONE)
		fprintf(stderr, "# %s%s\n", err.text, kf_buf_str(&build.log));
	else
		take_code(f);
	kf_build_release(&build);
	return true;
}

static void fixture_release(struct fixture *f)
{
	kf_device_info_release(&f->info);
	kf_buf_release(&f->code);
	if (f->folder[0])
		kf_remove_tree(f->folder, NULL);
}

static int one_case(const char *name, bool standin)
{
	struct fixture f;

	if (!fixture_init(&f, standin))
		return 3;
	if (strcmp(name, "endless") == 0)
		endless_case(&f);
	for (size_t i = 0; i < KF_COUNT(faults); i++)
		if (strcmp(name, faults[i].kernel) == 0)
			fault_case(&f, i);
	fixture_release(&f);
	return 0;
}

static size_t add_cases(struct CMUnitTest *to, char (*names)[96],
			const struct CMUnitTest *from, size_t count,
			struct fixture *f)
{
	for (size_t i = 0; i < count; i++) {
		to[i] = from[i];
		snprintf(names[i], sizeof(names[i]), "%s: %s",
			 f->standin ? "stand-in" : "device", from[i].name);
		to[i].name = names[i];
		to[i].initial_state = f;
	}
	return count;
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest absent = CASE(device_is_here);
	struct CMUnitTest tests[2 * KF_COUNT(cases) + KF_COUNT(standin_cases) +
				KF_COUNT(device_cases)];
	char names[KF_COUNT(tests)][96];
	struct fixture standin, device;
	size_t count;
	int failed;

	if (argc == 4 && strcmp(argv[1], "--case") == 0)
		return one_case(argv[2], strcmp(argv[3], "standin") == 0);
	memset(tests, 0, sizeof(tests));
	if (!fixture_init(&standin, true))
		return 1;
	count = add_cases(tests, names, cases, KF_COUNT(cases), &standin);
	count += add_cases(tests + count, names + count, standin_cases,
			   KF_COUNT(standin_cases), &standin);
	if (fixture_init(&device, false)) {
		count += add_cases(tests + count, names + count, cases,
				   KF_COUNT(cases), &device);
		count += add_cases(tests + count, names + count, device_cases,
				   KF_COUNT(device_cases), &device);
	} else {
		count += add_cases(tests + count, names + count, &absent, 1,
				   &device);
	}
	/* The macro counts an array; ours is filled in part. */
	failed = _cmocka_run_group_tests("cuda", tests, count, NULL, NULL);
	fixture_release(&standin);
	fixture_release(&device);
	return failed;
}
