/* What the OpenCL driver refuses when it loads a program, or before. */
#include "opencl_world.h"

struct refusal {
	void (*change)(struct kf_plan *plan, struct kf_plan_op *op);
	const char *words;
};

static void change_kernel(struct kf_plan *plan, struct kf_plan_op *op)
{
	(void)plan;
	op->kernel[0] = 'q';
}

static void change_count(struct kf_plan *plan, struct kf_plan_op *op)
{
	(void)plan;
	op->arg_count--;
}

static void change_width(struct kf_plan *plan, struct kf_plan_op *op)
{
	(void)plan;
	op->arg[4].bytes = 4;
}

static void change_offset(struct kf_plan *plan, struct kf_plan_op *op)
{
	(void)plan;
	op->arg[0].place.offset = 4;
}

static void change_group(struct kf_plan *plan, struct kf_plan_op *op)
{
	(void)plan;
	op->group[0] = 1 << 20;
}

static void change_shared(struct kf_plan *plan, struct kf_plan_op *op)
{
	(void)plan;
	op->shared_bytes = 1024;
}

static void add_fixed(struct kf_plan *plan, struct kf_plan_op *op)
{
	(void)op;
	plan_arg_buffer(plan_launch(plan, "fixed", 1, 16), 1, 0);
}

static void add_local(struct kf_plan *plan, struct kf_plan_op *op)
{
	(void)op;
	op = plan_launch(plan, "reverse", 1, 8);
	plan_arg_buffer(op, 0, 0);
	plan_arg_buffer(op, 1, 0);
	plan_arg(op, KF_ARG_LOCAL, 1u << 30);
}

static void add_struct(struct kf_plan *plan, struct kf_plan_op *op)
{
	const float four[4] = { 1, 2, 3, 4 };

	(void)op;
	op = plan_launch(plan, "wide", 1, 1);
	plan_arg_buffer(op, 1, 0);
	plan_arg_bytes(op, four, 8);
}

static void change_bytes(struct kf_plan *plan, struct kf_plan_op *op)
{
	(void)op;
	plan->buffer[0].bytes += 4;
}

static void change_scratch(struct kf_plan *plan, struct kf_plan_op *op)
{
	(void)op;
	plan_buffer(plan, KF_PLAN_TEMP, 0, MEMORY + 1);
}

static void change_mistake(struct kf_plan *plan, struct kf_plan_op *op)
{
	(void)op;
	snprintf(plan->mistake, sizeof(plan->mistake), "host.c did wrong");
}

static const struct refusal refusals[] = {
	{ change_kernel, "a launch of qxpb: kernels.cl has no such kernel; it "
	  "has " },
	{ change_kernel, "axpb" },
	{ change_kernel, "wide" },
	{ change_count, "the kernel has 5 parameters, and 4 arguments are" },
	{ change_width, "argument 5 is long n in the kernel: pass KF_I64, "
	  "not KF_I32" },
	{ change_offset, "argument 1 begins 4 bytes into its memory" },
	{ change_group, "a group of 1048576" },
	{ change_shared, "pass KF_LOCAL(1024)" },
	{ add_fixed, "reqd_work_group_size(8, 2, 1)" },
	{ add_local, "bytes of local memory are more than" },
	{ add_struct, "argument 2 has 8 bytes" },
	{ change_bytes, "input 0 has 4000 bytes, not 4004" },
	{ change_scratch, "kf_temp" },
	{ change_mistake, "host.c did wrong" },
};

static void test_what_cannot_be_launched_is_refused(void **state)
{
	const struct fixture *f = *state;
	const struct kf_pack_part *device = kf_pack_find(&f->built, "device");

	for (size_t i = 0; i < KF_COUNT(refusals); i++) {
		struct program p = { .dev = NULL };
		struct kf_plan *plan = &p.plans.forward;
		const uint32_t x = x_of(plan), y = y_of(plan);
		char refused[256];

		launch_axpb(plan, x, y);
		refusals[i].change(plan, &plan->op[0]);
		load_with(f, &p, device->data, device->len, refused);
		if (!strstr(refused, refusals[i].words))
			fail_msg("row %zu: '%s' is not in: %s", i,
				 refusals[i].words, refused);
		release(f, &p);
	}
}

/* Trouble of ours, whose sentence has words, and no refusal. */
static void expect_trouble(const struct fixture *f, const void *device,
			   size_t len, const char *words)
{
	struct program p = { .dev = NULL };
	struct kf_err err = { 0 };
	char refused[256];

	assert_int_not_equal(try_load(f, &p, device, len, refused, &err),
			     KF_OK);
	assert_string_equal(refused, "");
	if (!strstr(err.text, words))
		fail_msg("'%s' is not in: %s", words, err.text);
	release(f, &p);
}

/* Loads the device's part with one byte changed, the first behind needle. */
static void load_spoilt(const struct fixture *f, const char *needle,
			const char *words)
{
	const struct kf_pack_part *device = kf_pack_find(&f->built, "device");
	unsigned char *copy = kf_alloc(device->len), *found;

	memcpy(copy, device->data, device->len);
	found = memmem(copy, device->len, needle, strlen(needle));
	assert_non_null(found);
	found[0] ^= 1;
	expect_trouble(f, copy, device->len, words);
	free(copy);
}

static void test_other_binaries_are_trouble_of_ours(void **state)
{
	const struct fixture *f = *state;
	const struct kf_pack_part *device = kf_pack_find(&f->built, "device");

	load_spoilt(f, f->info.name, "the kernels were built for ");
	load_spoilt(f, f->info.name, "build them again");
	load_spoilt(f, "kforge-opencl", "is none of OpenCL");
	for (size_t len = 0; len < device->len; len += 1 + len / 4)
		expect_trouble(f, device->data, len, "");
}

static void test_order_of_calls_is_kept(void **state)
{
	const struct fixture *f = *state;
	struct program p = { .dev = NULL };
	struct kf_plan *plan = &p.plans.forward;
	struct kf_device *dev = NULL;
	struct kf_err err = { 0 };
	struct kf_call call;
	uint64_t changed;
	char refused[256];

	launch_axpb(plan, x_of(plan), y_of(plan));
	load(f, &p);
	call = call_of(&p.data);
	assert_int_equal(kf_driver_load(f->driver, p.dev, f->output, refused,
					&err), KF_E_INPUT);
	assert_int_equal(f->driver->attach(p.dev, &p.data.shared, &call,
					   &err), KF_E_INPUT);
	assert_int_equal(kf_driver_open(f->driver, f->info.id, MEMORY, &dev,
					&err), KF_OK);
	assert_int_equal(f->driver->upload(dev, &err), KF_E_INPUT);
	assert_int_equal(f->driver->download(dev, &changed, &err),
			 KF_E_INPUT);
	assert_int_equal(kf_driver_load(f->driver, dev, f->output, refused,
					&err), KF_E_INPUT);
	kf_driver_close(f->driver, dev);
	release(f, &p);
}

static void test_strange_tensors_are_refused(void **state)
{
	const struct fixture *f = *state;

	for (int row = 0; row < 3; row++) {
		struct data d;
		struct kf_device *dev = NULL;
		struct kf_call call;
		struct kf_err err = { 0 };

		data_init(&d);
		call = call_of(&d);
		if (row == 0)
			d.in.shape[0] = 3 * COUNT;
		else if (row == 1)
			d.in.data = d.x + 1;
		else
			d.shared.inputs_bytes = UINT64_C(1) << 45;
		assert_int_equal(kf_driver_open(f->driver, f->info.id, MEMORY,
						&dev, NULL), KF_OK);
		assert_int_equal(f->driver->attach(dev, &d.shared, &call,
						   &err),
				 row == 0 ? KF_E_INPUT :
				 row == 1 ? KF_E_UNAVAIL : KF_E_LIMIT);
		assert_true(err.text[0]);
		kf_driver_close(f->driver, dev);
		free(d.inputs);
		free(d.outputs);
	}
}

#define CASE(name) { #name, test_##name, NULL, NULL, NULL }

int main(void)
{
	static const struct CMUnitTest cases[] = {
		CASE(what_cannot_be_launched_is_refused),
		CASE(other_binaries_are_trouble_of_ours),
		CASE(order_of_calls_is_kept),
		CASE(strange_tensors_are_refused),
	};

	return run_suite("opencl_refused", cases, KF_COUNT(cases));
}
