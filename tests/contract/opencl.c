/*
 * The OpenCL driver, driven directly with plans made by hand: values, every
 * refusal, what is seen of writes to memory that is not the program's. Skipped
 * where OpenCL has no device; KF_MUST_RUN=opencl makes that a failure.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants those first */
#include <cmocka.h>
#include <kforge/driver.h>
#include <unistd.h>

#include "base/base.h"
#include "platform/pack.h"
#include "platform/plan.h"

#define COUNT	1000
#define BYTES	(COUNT * sizeof(float))
#define PAGE	4096u
#define MEMORY	(UINT64_C(64) << 20)
#define MARK	0xa5

static const char kernels[] =
"struct pair { float a; int b; };\n"
"__kernel void axpb(__global const float *x, __global float *y, float a,\n"
"		float b, long n)\n"
"{\n"
"	long i = get_global_id(0);\n"
"	if (i < n)\n"
"		y[i] = a * x[i] + b;\n"
"}\n"
"__kernel void add(__global float *y, struct pair p)\n"
"{\n"
"	y[get_global_id(0)] += p.a * p.b;\n"
"}\n"
"__kernel void reverse(__global const float *x, __global float *y,\n"
"		__local float *l)\n"
"{\n"
"	size_t i = get_local_id(0), n = get_local_size(0);\n"
"	size_t first = get_group_id(0) * n;\n"
"	l[i] = x[first + i];\n"
"	barrier(CLK_LOCAL_MEM_FENCE);\n"
"	y[first + i] = l[n - 1 - i];\n"
"}\n"
"__kernel void put(__global int *y, long at, int value)\n"
"{\n"
"	y[at] = value;\n"
"}\n"
"__kernel void place(__global int *y)\n"
"{\n"
"	size_t x = get_global_id(0), w = get_global_size(0);\n"
"	size_t r = get_global_id(1), h = get_global_size(1);\n"
"	y[(get_global_id(2) * h + r) * w + x] =\n"
"		100 * get_group_id(2) + 10 * get_local_id(1) + x;\n"
"}\n"
"__attribute__((reqd_work_group_size(8, 2, 1)))\n"
"__kernel void fixed(__global int *y) { y[0] = 1; }\n"
"__kernel void nothing(void) { }\n"
"__kernel void wide(__global float4 *y, float4 v) { y[0] = v; }\n";

static const char host_c[] =
"#include <kforge/launch.h>\n"
"int kf_forward(struct kf_call *c) { (void)c; return 0; }\n";

/* One device for all tests, and the kernels above as its binary. */
struct fixture {
	const struct kf_driver *driver;
	struct kf_device_info info;
	struct kf_pack built;
	char folder[64], kernels[128], host[128], output[128];
};

/* Inputs: x, then weight w; outputs: y between two guards. */
struct data {
	unsigned char *inputs, *outputs;
	float *x, *w, *y;
	struct kf_tensor in, weight, out;
	struct kf_shared_memory shared;
};

struct program {
	struct kf_plans plans;
	struct kf_device *dev;
	struct data data;
	uint64_t memory_max;
};

/* --- plans ---------------------------------------------------------------- */

static uint32_t buffer(struct kf_plan *p, enum kf_plan_memory memory,
		       uint32_t index, uint64_t bytes)
{
	p->buffer = kf_realloc(p->buffer, (p->buffer_count + 1) *
			       sizeof(p->buffer[0]));
	p->buffer[p->buffer_count] = (struct kf_plan_buffer) {
		memory, index, bytes
	};
	return (uint32_t)p->buffer_count++;
}

static struct kf_plan_op *operation(struct kf_plan *p,
				    enum kf_plan_op_kind kind)
{
	p->op = kf_realloc(p->op, (p->op_count + 1) * sizeof(p->op[0]));
	p->op[p->op_count] = (struct kf_plan_op) { .kind = kind };
	return &p->op[p->op_count++];
}

static struct kf_plan_op *launch(struct kf_plan *p, const char *kernel,
				 int64_t grid, int64_t group)
{
	struct kf_plan_op *op = operation(p, KF_PLAN_LAUNCH);

	op->kernel = kf_strdup(kernel);
	for (int i = 0; i < 3; i++)
		op->grid[i] = op->group[i] = 1;
	op->grid[0] = grid;
	op->group[0] = group;
	return op;
}

static struct kf_plan_arg *argument(struct kf_plan_op *op,
				    enum kf_arg_kind kind, uint32_t bytes)
{
	op->arg = kf_realloc(op->arg, (op->arg_count + 1) *
			     sizeof(op->arg[0]));
	op->arg[op->arg_count] = (struct kf_plan_arg) { .kind = kind,
							.bytes = bytes };
	return &op->arg[op->arg_count++];
}

static void pass_buffer(struct kf_plan_op *op, uint32_t number,
			uint64_t offset)
{
	argument(op, KF_ARG_BUFFER, 8)->place =
		(struct kf_plan_place) { number, offset };
}

static void pass_int(struct kf_plan_op *op, int64_t value, uint32_t bytes)
{
	memcpy(argument(op, KF_ARG_INT, bytes)->value, &value, bytes);
}

static void pass_float(struct kf_plan_op *op, float value)
{
	memcpy(argument(op, KF_ARG_FLOAT, 4)->value, &value, 4);
}

static void pass_bytes(struct kf_plan_op *op, const void *from, uint32_t bytes)
{
	unsigned char *copy = kf_alloc(bytes);

	memcpy(copy, from, bytes);
	argument(op, KF_ARG_BYTES, bytes)->data = copy;
}

/* to = 2 from + 1 */
static struct kf_plan_op *launch_axpb(struct kf_plan *p, uint32_t from,
				      uint32_t to)
{
	struct kf_plan_op *op = launch(p, "axpb", 16, 64);

	pass_buffer(op, from, 0);
	pass_buffer(op, to, 0);
	pass_float(op, 2);
	pass_float(op, 1);
	pass_int(op, COUNT, 8);
	return op;
}

/* y[at] = value, as an int */
static struct kf_plan_op *launch_put(struct kf_plan *p, uint32_t to,
				     int64_t at, int32_t value)
{
	struct kf_plan_op *op = launch(p, "put", 1, 1);

	pass_buffer(op, to, 0);
	pass_int(op, at, 8);
	pass_int(op, value, 4);
	return op;
}

static uint32_t x_of(struct kf_plan *p)
{
	return buffer(p, KF_PLAN_IN, 0, BYTES);
}

static uint32_t y_of(struct kf_plan *p)
{
	return buffer(p, KF_PLAN_OUT, 0, BYTES);
}

/* --- data and device ------------------------------------------------------ */

static struct kf_tensor tensor(void *data, const char *name)
{
	return (struct kf_tensor) { .size = sizeof(struct kf_tensor),
		.dtype = KF_F32, .rank = 1, .data = data, .name = name,
		.shape = { COUNT } };
}

static void data_init(struct data *d)
{
	d->inputs = aligned_alloc(PAGE, 2 * PAGE);
	d->outputs = aligned_alloc(PAGE, 3 * PAGE);
	assert_non_null(d->inputs);
	assert_non_null(d->outputs);
	memset(d->inputs, 0, 2 * PAGE);
	memset(d->outputs, MARK, 3 * PAGE);
	d->x = (float *)(void *)d->inputs;
	d->w = (float *)(void *)(d->inputs + PAGE);
	d->y = (float *)(void *)(d->outputs + PAGE);
	for (int i = 0; i < COUNT; i++) {
		d->x[i] = 0.5f * (float)i;
		d->w[i] = (float)(COUNT - i);
	}
	d->in = tensor(d->x, NULL);
	d->weight = tensor(d->w, "w");
	d->out = tensor(d->y, NULL);
	d->shared = (struct kf_shared_memory) {
		d->inputs, 2 * PAGE, d->outputs, 3 * PAGE
	};
}

static struct kf_call call_of(struct data *d)
{
	return (struct kf_call) { .size = sizeof(struct kf_call),
		.in_count = 1, .weight_count = 1, .out_count = 1,
		.in = &d->in, .weight = &d->weight, .out = &d->out };
}

static void write_program(const struct fixture *f,
			  const struct kf_plans *plans, const void *device,
			  size_t device_len)
{
	struct kf_buf bytes = { .max = KF_PLAN_BYTES_MAX };
	struct kf_pack_part part[2] = { { "device", device, device_len },
					{ "plans", NULL, 0 } };

	kf_plans_write(plans, &bytes);
	part[1].data = kf_buf_str(&bytes);
	part[1].len = bytes.len;
	assert_int_equal(kf_pack_write(f->output, part, 2, NULL), KF_OK);
	kf_buf_release(&bytes);
}

/* Opens, attaches and loads; refused is "" if all went well. */
static void load_with(const struct fixture *f, struct program *p,
		      const void *device, size_t device_len,
		      char refused[256])
{
	struct kf_call call;
	struct kf_err err = { 0 };

	refused[0] = '\0';
	data_init(&p->data);
	call = call_of(&p->data);
	write_program(f, &p->plans, device, device_len);
	if (kf_driver_open(f->driver, f->info.id,
			   p->memory_max ? p->memory_max : MEMORY, &p->dev,
			   &err) ||
	    f->driver->attach(p->dev, &p->data.shared, &call, &err) ||
	    kf_driver_load(f->driver, p->dev, f->output, refused, &err))
		fail_msg("%s", err.text);
}

static void load(const struct fixture *f, struct program *p)
{
	const struct kf_pack_part *device = kf_pack_find(&f->built, "device");
	char refused[256];

	load_with(f, p, device->data, device->len, refused);
	assert_string_equal(refused, "");
}

static void release(const struct fixture *f, struct program *p)
{
	kf_driver_close(f->driver, p->dev);
	kf_plans_release(&p->plans);
	free(p->data.inputs);
	free(p->data.outputs);
	*p = (struct program) { .dev = NULL };
}

static void prepare(const struct fixture *f, struct program *p)
{
	struct kf_call call = call_of(&p->data);
	struct kf_tensor unseen_in = p->data.in, unseen_out = p->data.out;
	struct kf_err err = { 0 };
	int rc = -1;

	unseen_in.data = unseen_out.data = NULL;
	call.in = &unseen_in;
	call.out = &unseen_out;
	if (kf_driver_prepare(f->driver, p->dev, &call, &rc, &err))
		fail_msg("%s", err.text);
	assert_int_equal(rc, 0);
}

/* One call; returns where the inputs were changed. */
static uint64_t forward(const struct fixture *f, struct program *p)
{
	struct kf_call call = call_of(&p->data);
	uint64_t changed = 0;
	struct kf_err err = { 0 };
	int rc = -1;

	memset(p->data.outputs, MARK, 3 * PAGE);
	if (f->driver->upload(p->dev, &err) ||
	    kf_driver_forward(f->driver, p->dev, &call, &rc, &err))
		fail_msg("%s", err.text);
	assert_int_equal(rc, 0);
	if (!f->driver->fault(p->dev) &&
	    f->driver->download(p->dev, &changed, &err))
		fail_msg("%s", err.text);
	return changed;
}

static void assert_good(const struct fixture *f, const struct program *p,
			uint64_t changed)
{
	const char *fault = f->driver->fault(p->dev);

	if (fault)
		fail_msg("%s", fault);
	assert_true(changed == UINT64_MAX);
	for (size_t i = 0; i < PAGE; i++) {
		assert_int_equal(p->data.outputs[i], MARK);
		assert_int_equal(p->data.outputs[2 * PAGE + i], MARK);
	}
	for (size_t i = BYTES; i < PAGE; i++)
		assert_int_equal(p->data.outputs[PAGE + i], MARK);
}

static void assert_fault(const struct fixture *f, const struct program *p,
			 const char *words)
{
	const char *fault = f->driver->fault(p->dev);

	if (!fault || !strstr(fault, words))
		fail_msg("'%s' is not in: %s", words, fault ? fault : "none");
}

static float at(const struct program *p, int i)
{
	return p->data.y[i];
}

/* --- find, build ---------------------------------------------------------- */

static void test_card_tells_what_a_writer_must_know(void **state)
{
	static const char *const words[] = {
		"device: ", "compute units: ", "local memory", "work-items",
		"double (", "half (", "sub-groups (", "KF_BUF_AT",
		"global memory: ", "preferred vector width",
		"measured memory bandwidth", "measured float32",
	};
	struct fixture *f = *state;
	struct kf_device_info info[4] = { { .units = 0 } };
	struct kf_err err = { 0 };
	size_t count = 0;

	if (kf_driver_find(f->driver, info, 4, true, &count, &err))
		fail_msg("%s", err.text);
	assert_true(count > 0);
	assert_string_equal(info[0].id, "opencl:0");
	assert_true(info[0].memory_bytes > 0);
	for (size_t i = 0; i < KF_COUNT(words); i++)
		if (!strstr(kf_buf_str(&info[0].card), words[i]))
			fail_msg("no %s in: %s", words[i],
				 kf_buf_str(&info[0].card));
	for (size_t i = 0; i < count; i++)
		kf_device_info_release(&info[i]);
}

static enum kf_build_end build(struct fixture *f, const char *kernels_text,
			       const char *host_text, struct kf_build *out)
{
	char *host_path = kf_format("%s" KF_BUILD_HOST_SUFFIX, f->output);
	const char *const source[] = { f->kernels, f->host };
	const char *const command[] = { "cc", "-shared", "-fPIC", "-O1", "-I",
		"include", "-o", host_path, f->host, NULL };
	const struct kf_build_request req = {
		.source = source, .source_count = 2, .command = command,
		.output_path = f->output, .timeout_ns = 60 * KF_NS_PER_S,
		.device_id = f->info.id, .arch = f->info.arch,
	};
	struct kf_err err = { 0 };

	*out = (struct kf_build) { .end = KF_BUILD_NONE };
	if (kf_file_write(f->kernels, kernels_text, strlen(kernels_text),
			  &err) ||
	    kf_file_write(f->host, host_text, strlen(host_text), &err) ||
	    kf_driver_build(f->driver, &req, out, &err))
		fail_msg("%s", err.text);
	assert_int_not_equal(access(host_path, F_OK), 0);
	free(host_path);
	return out->end;
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

	op = launch(plan, "reverse", 10, 100);
	pass_buffer(op, x, 0);
	pass_buffer(op, y, 0);
	argument(op, KF_ARG_LOCAL, 100 * sizeof(float));
	op = launch(plan, "add", COUNT / 8, 8);
	pass_buffer(op, y, 0);
	pass_bytes(op, &pair, sizeof(pair));
	launch(plan, "nothing", 3, 5);
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
	struct kf_plan_op *op = launch(plan, "place", 2, 5);
	int32_t got;

	pass_buffer(op, y_of(plan), 0);
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

	op = operation(plan, KF_PLAN_FILL);
	op->to = (struct kf_plan_place) { y, 0 };
	op->value = 0x40400000;		/* 3.0f */
	op->width = 4;
	op->bytes = BYTES;
	op = operation(plan, KF_PLAN_COPY);
	op->from = (struct kf_plan_place) { x, 40 };
	op->to = (struct kf_plan_place) { y, 0 };
	op->bytes = 4 * 10;
	op = launch(plan, "axpb", 1, COUNT - HALF);
	pass_buffer(op, x, HALF * sizeof(float));
	pass_buffer(op, y, HALF * sizeof(float));
	pass_float(op, 1);
	pass_float(op, -1);
	pass_int(op, COUNT - HALF, 8);
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
	const uint32_t s = buffer(plan, KF_PLAN_TEMP, 0, BYTES);
	const uint32_t t = buffer(plan, KF_PLAN_TEMP, 1, BYTES);
	struct kf_plan_op *op;

	launch_axpb(plan, x, s);
	launch_axpb(plan, s, y);
	op = operation(plan, KF_PLAN_COPY);
	op->from = (struct kf_plan_place) { t, 0 };
	op->to = (struct kf_plan_place) { y, 0 };
	op->bytes = 16;
	op = operation(plan, KF_PLAN_FILL);
	op->to = (struct kf_plan_place) { t, 0 };
	op->width = 1;
	op->bytes = BYTES;
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
	launch_axpb(before, buffer(before, KF_PLAN_WEIGHT, 0, BYTES),
		    buffer(before, KF_PLAN_KEEP, 3, BYTES));
	launch_axpb(plan, buffer(plan, KF_PLAN_KEEP, 3, BYTES), y_of(plan));
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

	launch_put(before, buffer(before, KF_PLAN_KEEP, 0, BYTES), 1,
		   0x3f800000);
	launch_axpb(plan, buffer(plan, KF_PLAN_KEEP, 0, BYTES), y_of(plan));
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
		const uint32_t into = row ? buffer(plan, KF_PLAN_WEIGHT, 0,
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
	static const struct { uint32_t into; int64_t at; const char *words; }
	rows[] = {
		{ 0, COUNT, "wrote 0 bytes behind the end of kf_temp 0" },
		{ 0, -1, "in front of the first block of kf_temp" },
		{ 1, COUNT + 5, "wrote 20 bytes behind the end of kf_temp 1" },
	};
	const struct fixture *f = *state;

	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct program p = { .dev = NULL };
		struct kf_plan *plan = &p.plans.forward;

		buffer(plan, KF_PLAN_TEMP, 0, BYTES);
		buffer(plan, KF_PLAN_TEMP, 1, BYTES);
		launch_put(plan, rows[i].into, rows[i].at, 5);
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

		launch_put(before, buffer(before, KF_PLAN_KEEP, 2, BYTES), 0,
			   1);
		launch_put(plan, buffer(plan, KF_PLAN_KEEP, 2, BYTES),
			   rows[i].at, 5);
		load(f, &p);
		prepare(f, &p);
		assert_null(f->driver->fault(p.dev));
		forward(f, &p);
		assert_fault(f, &p, rows[i].words);
		release(f, &p);
	}
}

/* --- refusals ------------------------------------------------------------- */

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

static void change_float(struct kf_plan *plan, struct kf_plan_op *op)
{
	(void)plan;
	op->arg[2].kind = KF_ARG_INT;
}

static void change_pointer(struct kf_plan *plan, struct kf_plan_op *op)
{
	(void)plan;
	op->arg[0] = (struct kf_plan_arg) { .kind = KF_ARG_INT, .bytes = 8 };
}

static void change_value(struct kf_plan *plan, struct kf_plan_op *op)
{
	(void)plan;
	op->arg[4] = op->arg[0];
}

static void change_local(struct kf_plan *plan, struct kf_plan_op *op)
{
	(void)plan;
	op->arg[1] = (struct kf_plan_arg) { .kind = KF_ARG_LOCAL,
					    .bytes = 64 };
}

static void change_map(struct kf_plan *plan, struct kf_plan_op *op)
{
	struct kf_tensor_map *map = kf_alloc(sizeof(*map));

	(void)plan;
	*map = (struct kf_tensor_map) { .size = sizeof(*map),
		.dtype = KF_F32, .rank = 1, .dim = { 8 }, .box = { 8 } };
	op->arg[0].kind = KF_ARG_TENSOR_MAP;
	op->arg[0].bytes = KF_PLAN_MAP_BYTES;
	op->arg[0].map = map;
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

static void change_group_y(struct kf_plan *plan, struct kf_plan_op *op)
{
	(void)plan;
	op->group[0] = op->group[1] = op->group[2] = 1 << 6;
}

static void change_cluster(struct kf_plan *plan, struct kf_plan_op *op)
{
	(void)plan;
	op->cluster[0] = 2;
	op->cluster[1] = op->cluster[2] = 1;
}

static void change_cooperative(struct kf_plan *plan, struct kf_plan_op *op)
{
	(void)plan;
	op->cooperative = true;
}

static void change_dependent(struct kf_plan *plan, struct kf_plan_op *op)
{
	(void)plan;
	op->dependent = true;
}

static void change_shared(struct kf_plan *plan, struct kf_plan_op *op)
{
	(void)plan;
	op->shared_bytes = 1024;
}

static void add_fixed(struct kf_plan *plan, struct kf_plan_op *op)
{
	(void)op;
	pass_buffer(launch(plan, "fixed", 1, 16), 1, 0);
}

static void add_local(struct kf_plan *plan, struct kf_plan_op *op)
{
	(void)op;
	op = launch(plan, "reverse", 1, 8);
	pass_buffer(op, 0, 0);
	pass_buffer(op, 1, 0);
	argument(op, KF_ARG_LOCAL, 1u << 30);
}

static void add_no_local(struct kf_plan *plan, struct kf_plan_op *op)
{
	(void)op;
	op = launch(plan, "reverse", 1, 8);
	pass_buffer(op, 0, 0);
	pass_buffer(op, 1, 0);
	pass_buffer(op, 1, 0);
}

static void add_struct(struct kf_plan *plan, struct kf_plan_op *op)
{
	const float four[4] = { 1, 2, 3, 4 };

	(void)op;
	op = launch(plan, "wide", 1, 1);
	pass_buffer(op, 1, 0);
	pass_bytes(op, four, 8);
}

static void add_vector_as_int(struct kf_plan *plan, struct kf_plan_op *op)
{
	(void)op;
	op = launch(plan, "wide", 1, 1);
	pass_buffer(op, 1, 0);
	pass_buffer(op, 1, 0);
}

static void change_bytes(struct kf_plan *plan, struct kf_plan_op *op)
{
	(void)op;
	plan->buffer[0].bytes += 4;
}

static void change_scratch(struct kf_plan *plan, struct kf_plan_op *op)
{
	(void)op;
	buffer(plan, KF_PLAN_TEMP, 0, MEMORY + 1);
}

static void change_mistake(struct kf_plan *plan, struct kf_plan_op *op)
{
	(void)op;
	snprintf(plan->mistake, sizeof(plan->mistake), "host.c did wrong");
}

static const struct refusal refusals[] = {
	{ change_kernel, "a launch of qxpb: the kernels have no __kernel" },
	{ change_count, "the kernel has 5 parameters, and 4 arguments are" },
	{ change_width, "argument 5 is long n in the kernel: pass KF_I64, "
	  "not KF_I32" },
	{ change_float, "pass KF_F32, not KF_I32" },
	{ change_pointer, "argument 1 is float* x in the kernel: pass KF_BUF, "
	  "not KF_I64" },
	{ change_value, "pass KF_I64, not KF_BUF" },
	{ change_local, "argument 2 is float* y in the kernel: pass KF_BUF, "
	  "not KF_LOCAL" },
	{ change_map, "a tensor map, which OpenCL does not have" },
	{ change_offset, "argument 1 begins 4 bytes into its memory" },
	{ change_group, "a group of 1048576" },
	{ change_group_y, "a group of 262144 work-items" },
	{ change_cluster, "OpenCL has no clusters" },
	{ change_cooperative, "OpenCL has no cooperative launches" },
	{ change_dependent, "OpenCL has no dependent launches" },
	{ change_shared, "pass KF_LOCAL(1024)" },
	{ add_fixed, "reqd_work_group_size(8, 2, 1)" },
	{ add_local, "bytes of local memory are more than" },
	{ add_no_local, "argument 3 is float* l in the kernel: pass KF_LOCAL, "
	  "not KF_BUF" },
	{ add_struct, "argument 2 has 8 bytes" },
	{ add_vector_as_int, "KF_BYTES for a struct or a vector" },
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

/* Loads the device's part with one byte changed, the first behind needle. */
static void load_spoilt(const struct fixture *f, const char *needle,
			char refused[256])
{
	const struct kf_pack_part *device = kf_pack_find(&f->built, "device");
	unsigned char *copy = kf_alloc(device->len), *found;
	struct program p = { .dev = NULL };

	memcpy(copy, device->data, device->len);
	found = memmem(copy, device->len, needle, strlen(needle));
	assert_non_null(found);
	found[0] ^= 1;
	load_with(f, &p, copy, device->len, refused);
	release(f, &p);
	free(copy);
}

static void test_other_binaries_are_refused(void **state)
{
	const struct fixture *f = *state;
	const struct kf_pack_part *device = kf_pack_find(&f->built, "device");
	char refused[256];

	load_spoilt(f, f->info.name, refused);
	assert_non_null(strstr(refused, "the kernels were built for "));
	assert_non_null(strstr(refused, "build them again"));
	load_spoilt(f, "kforge-opencl", refused);
	assert_non_null(strstr(refused, "is none of OpenCL"));
	for (size_t len = 0; len < device->len; len += 1 + len / 4) {
		struct program p = { .dev = NULL };

		load_with(f, &p, device->data, len, refused);
		assert_true(refused[0]);
		release(f, &p);
	}
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

/* --- the group ------------------------------------------------------------ */

static int set_up(void **state)
{
	struct fixture *f = *state;
	struct kf_build got = { .end = KF_BUILD_NONE };
	int failed = 1;

	if (build(f, kernels, host_c, &got) == KF_BUILD_DONE)
		failed = (int)kf_pack_read(f->output, 64u << 20, &f->built,
					   NULL);
	else
		print_error("%s", kf_buf_str(&got.log));
	kf_build_release(&got);
	return failed;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	kf_pack_release(&f->built);
	return (int)kf_remove_tree(f->folder, NULL);
}

#define CASE(name) { #name, test_##name, NULL, NULL, NULL }

static const struct CMUnitTest cases[] = {
	CASE(card_tells_what_a_writer_must_know),
	CASE(errors_name_file_and_line),
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
	CASE(what_cannot_be_launched_is_refused),
	CASE(other_binaries_are_refused),
	CASE(order_of_calls_is_kept),
	CASE(strange_tensors_are_refused),
};

static void test_no_device_is_here(void **state)
{
	const char *must = getenv("KF_MUST_RUN");

	(void)state;
	if (must && strstr(must, "opencl"))
		fail_msg("KF_MUST_RUN asks for opencl: no device here");
	print_message("# OpenCL has no device here\n");
	skip();
}

static int make_folder(struct fixture *f)
{
	snprintf(f->folder, sizeof(f->folder), "/tmp/kforge-opencl-XXXXXX");
	if (!mkdtemp(f->folder))
		return -1;
	snprintf(f->kernels, sizeof(f->kernels), "%s/kernels.cl", f->folder);
	snprintf(f->host, sizeof(f->host), "%s/host.c", f->folder);
	snprintf(f->output, sizeof(f->output), "%s/program", f->folder);
	/* Compiled once for all tests, and never found from last time. */
	return setenv("POCL_CACHE_DIR", f->folder, 1);
}

int main(void)
{
	static const struct CMUnitTest absent[] = {
		cmocka_unit_test(test_no_device_is_here),
	};
	struct fixture f = { .driver = kf_driver_by_name("opencl") };
	struct CMUnitTest tests[KF_COUNT(cases)];
	size_t count = 0;
	int failed;

	if (kf_driver_find(f.driver, &f.info, 1, false, &count, NULL) ||
	    !count)
		return cmocka_run_group_tests_name("opencl", absent, NULL,
						   NULL);
	if (make_folder(&f))
		return 1;
	memcpy(tests, cases, sizeof(tests));
	for (size_t i = 0; i < KF_COUNT(tests); i++)
		tests[i].initial_state = &f;
	failed = set_up((void *[]) { &f });
	if (!failed)
		failed = _cmocka_run_group_tests("opencl", tests,
						 KF_COUNT(tests), NULL, NULL);
	tear_down((void *[]) { &f });
	kf_device_info_release(&f.info);
	return failed;
}
