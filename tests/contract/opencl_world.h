/*
 * opencl_world.h - what the suites of the OpenCL driver share: a device,
 * kernels that were built for it, and a problem in shared memory: one input,
 * one weight and one output of COUNT floats.
 *
 * The device is the first, or that which KF_OPENCL_DEVICE names ("opencl:1").
 * Suites are skipped where OpenCL does not have it; KF_MUST_RUN=opencl makes
 * that a failure.
 */
#ifndef KF_TESTS_OPENCL_WORLD_H
#define KF_TESTS_OPENCL_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants those first */
#include <cmocka.h>
#include <kforge/driver.h>
#include <unistd.h>

#include "base/base.h"
#include "platform/opencl/api.h"
#include "platform/pack.h"
#include "plan_maker.h"

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
"__kernel void nothing(int unused) { }\n"
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

/* to = 2 from + 1 */
static inline struct kf_plan_op *launch_axpb(struct kf_plan *p, uint32_t from,
					     uint32_t to)
{
	struct kf_plan_op *op = plan_launch(p, "axpb", 16, 64);

	plan_arg_buffer(op, from, 0);
	plan_arg_buffer(op, to, 0);
	plan_arg_f32(op, 2);
	plan_arg_f32(op, 1);
	plan_arg_int(op, COUNT, 8);
	return op;
}

/* y[at] = value, as an int */
static inline struct kf_plan_op *launch_put(struct kf_plan *p, uint32_t to,
					    int64_t at, int32_t value)
{
	struct kf_plan_op *op = plan_launch(p, "put", 1, 1);

	plan_arg_buffer(op, to, 0);
	plan_arg_int(op, at, 8);
	plan_arg_int(op, value, 4);
	return op;
}

static inline uint32_t x_of(struct kf_plan *p)
{
	return plan_buffer(p, KF_PLAN_IN, 0, BYTES);
}

static inline uint32_t y_of(struct kf_plan *p)
{
	return plan_buffer(p, KF_PLAN_OUT, 0, BYTES);
}

/* --- data and device ------------------------------------------------------ */

static inline struct kf_tensor tensor(void *data, const char *name)
{
	return (struct kf_tensor) { .size = sizeof(struct kf_tensor),
		.dtype = KF_F32, .rank = 1, .data = data, .name = name,
		.shape = { COUNT } };
}

static inline void data_init(struct data *d)
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
		.inputs = d->inputs, .inputs_bytes = 2 * PAGE,
		.outputs = d->outputs, .outputs_bytes = 3 * PAGE,
	};
}

static inline struct kf_call call_of(struct data *d)
{
	return (struct kf_call) { .size = sizeof(struct kf_call),
		.in_count = 1, .weight_count = 1, .out_count = 1,
		.in = &d->in, .weight = &d->weight, .out = &d->out };
}

static inline void write_program(const struct fixture *f,
				 const struct kf_plans *plans,
				 const void *device, size_t device_len)
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
static inline enum kf_code try_load(const struct fixture *f, struct program *p,
				    const void *device, size_t device_len,
				    char refused[256], struct kf_err *err)
{
	struct kf_call call;

	refused[0] = '\0';
	data_init(&p->data);
	call = call_of(&p->data);
	write_program(f, &p->plans, device, device_len);
	if (kf_driver_open(f->driver, f->info.id,
			   p->memory_max ? p->memory_max : MEMORY, &p->dev,
			   err) ||
	    f->driver->attach(p->dev, &p->data.shared, &call, err))
		fail_msg("%s", err->text);
	return kf_driver_load(f->driver, p->dev, f->output, refused, err);
}

static inline void load_with(const struct fixture *f, struct program *p,
			     const void *device, size_t device_len,
			     char refused[256])
{
	struct kf_err err = { 0 };

	if (try_load(f, p, device, device_len, refused, &err))
		fail_msg("%s", err.text);
}

static inline void load(const struct fixture *f, struct program *p)
{
	const struct kf_pack_part *device = kf_pack_find(&f->built, "device");
	char refused[256];

	load_with(f, p, device->data, device->len, refused);
	assert_string_equal(refused, "");
}

static inline void release(const struct fixture *f, struct program *p)
{
	kf_driver_close(f->driver, p->dev);
	kf_plans_release(&p->plans);
	free(p->data.inputs);
	free(p->data.outputs);
	*p = (struct program) { .dev = NULL };
}

static inline void prepare(const struct fixture *f, struct program *p)
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
static inline uint64_t forward(const struct fixture *f, struct program *p)
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

static inline void assert_good(const struct fixture *f, const struct program *p,
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

static inline void assert_fault(const struct fixture *f,
				const struct program *p, const char *words)
{
	const char *fault = f->driver->fault(p->dev);

	if (!fault || !strstr(fault, words))
		fail_msg("'%s' is not in: %s", words, fault ? fault : "none");
}

static inline float at(const struct program *p, int i)
{
	return p->data.y[i];
}

/* --- build ---------------------------------------------------------------- */

static inline enum kf_build_end build(struct fixture *f,
				      const char *kernels_text,
				      const char *host_text,
				      struct kf_build *out)
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

/* --- the group ------------------------------------------------------------ */

/* Each by itself, after the line that all may need. */
static inline void tell_which_are_refused(struct fixture *f)
{
	const char *at = strchr(kernels, '\n') + 1;
	const int head = (int)(at - kernels);

	while (*at) {
		const int len = (int)(strstr(at, "}\n") + 2 - at);
		char *text = kf_format("%.*s%.*s", head, kernels, len, at);
		struct kf_build got = { .end = KF_BUILD_NONE };

		if (build(f, text, host_c, &got) != KF_BUILD_DONE)
			print_error("the compiler refuses:\n%.*s%s", len, at,
				    kf_buf_str(&got.log));
		kf_build_release(&got);
		free(text);
		at += len;
	}
}

static inline int set_up(struct fixture *f)
{
	struct kf_build got = { .end = KF_BUILD_NONE };
	int failed = 1;

	if (build(f, kernels, host_c, &got) == KF_BUILD_DONE)
		failed = (int)kf_pack_read(f->output, 64u << 20, &f->built,
					   NULL);
	else
		print_error("%s", kf_buf_str(&got.log));
	kf_build_release(&got);
	if (failed)
		tell_which_are_refused(f);
	return failed;
}

static inline int tear_down(struct fixture *f)
{
	kf_pack_release(&f->built);
	return (int)kf_remove_tree(f->folder, NULL);
}

static inline void test_no_device_is_here(void **state)
{
	const char *must = getenv("KF_MUST_RUN");

	(void)state;
	if (must && strstr(must, "opencl"))
		fail_msg("KF_MUST_RUN asks for opencl: no device here");
	print_message("# OpenCL has no device here\n");
	skip();
}

static inline int make_folder(struct fixture *f)
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

/* False: it is not here. */
static inline bool find_device(struct fixture *f)
{
	const char *asked = getenv("KF_OPENCL_DEVICE");
	struct kf_device_info info[KF_OCL_DEVICES_MAX];
	size_t count = 0, at = 0;

	if (kf_driver_find(f->driver, info, KF_COUNT(info), NULL, &count,
			   NULL))
		return false;
	while (asked && at < count && strcmp(info[at].id, asked) != 0)
		at++;
	for (size_t i = 0; i < count; i++)
		if (i != at)
			kf_device_info_release(&info[i]);
	if (at < count)
		f->info = info[at];
	return at < count;
}

/* Runs a suite's cases, each with the fixture as its state. */
static inline int run_suite(const char *name, const struct CMUnitTest *cases,
			    size_t count)
{
	static const struct CMUnitTest absent[] = {
		cmocka_unit_test(test_no_device_is_here),
	};
	struct fixture f = { .driver = kf_driver_by_name("opencl") };
	struct CMUnitTest tests[32];
	int failed;

	if (!find_device(&f))
		return _cmocka_run_group_tests(name, absent, 1, NULL, NULL);
	if (make_folder(&f) || count > KF_COUNT(tests))
		return 1;
	memcpy(tests, cases, count * sizeof(tests[0]));
	for (size_t i = 0; i < count; i++)
		tests[i].initial_state = &f;
	failed = set_up(&f);
	if (!failed)
		failed = _cmocka_run_group_tests(name, tests, count, NULL,
						 NULL);
	tear_down(&f);
	kf_device_info_release(&f.info);
	return failed;
}

#endif
