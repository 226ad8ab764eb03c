/*
 * cuda_world.h - what the suites of the CUDA driver share: a device, which is
 * the stand-in of tests/standin/ or a real one, and a problem in shared memory:
 * one input, one weight and one output of COUNT floats.
 *
 * KF_BUILD names the folder with the stand-in; on a real device the kernels of
 * tests/data/cuda/ are built first.
 */
#ifndef KF_TESTS_CUDA_WORLD_H
#define KF_TESTS_CUDA_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants those first */
#include <cmocka.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/base.h"
#include "platform/twopart.h"
#include "plan_maker.h"

#define COUNT		1000u
#define FLOATS_BYTES	(COUNT * 4u)
#define WEIGHT_AT	4096u		/* in the inputs */
#define INPUTS_BYTES	(WEIGHT_AT + FLOATS_BYTES)
#define OUTPUT_AT	4096u		/* in the outputs; guards around */
#define OUTPUTS_BYTES	(OUTPUT_AT + 4096u + 4096u)
#define MEMORY_MAX	(UINT64_C(256) << 20)
#define POISON		0xa5

/* A buffer's number in a world's kf_forward, and in its kf_prepare. */
enum { IN, WEIGHT, OUT };
enum { PREPARE_WEIGHT };

struct fixture {
	const struct kf_driver *driver;
	bool standin;
	struct kf_device_info info;
	char folder[64];
	struct kf_buf code;		/* the module's */
};

struct world {
	struct fixture *f;
	struct kf_shared_memory memory;
	struct kf_tensor in, weight, out;
	struct kf_plans plans;
	struct kf_device *dev;
	uint64_t memory_max;	/* 0: MEMORY_MAX */
	const char *parameters;	/* that part of the pack; NULL: none */
	char refused[256];
};

/* --- devices -------------------------------------------------------------- */

static inline char *standin_path(void)
{
	const char *build = getenv("KF_BUILD");

	return kf_format("%s/tests/standin/libcuda.so.1",
			 build ? build : "build");
}

static inline void use_standin(bool standin)
{
	char *path = standin_path();

	if (standin)
		setenv("KFORGE_CUDA_DRIVER", path, 1);
	else
		unsetenv("KFORGE_CUDA_DRIVER");
	free(path);
}

static inline char *path_in(const struct fixture *f, const char *name)
{
	return kf_path_join(f->folder, name);
}

/* What kforge's build of tests/data/cuda says; out is the caller's. */
static inline enum kf_code build_files(struct fixture *f, const char *kernels,
				       const char *host, struct kf_build *out,
				       struct kf_err *err)
{
	char *pack = path_in(f, "program.pack");
	char *object = kf_format("%s" KF_BUILD_HOST_SUFFIX, pack);
	const char *const source[] = { kernels, host };
	const char *const command[] = {
		"gcc", "-std=gnu11", "-shared", "-fPIC", "-O1", "-I",
		"include", "-o", object, host, NULL
	};
	struct kf_build_request req = {
		.source = source,
		.source_count = KF_COUNT(source),
		.command = command,
		.output_path = pack,
		.timeout_ns = 120 * KF_NS_PER_S,
		.device_id = "cuda:0",
		.arch = f->info.arch[0] ? f->info.arch : "sm_90a",
	};
	enum kf_code code = kf_driver_build(f->driver, &req, out, err);

	free(object);
	free(pack);
	return code;
}

/* The part "device" of what was built. */
static inline void take_code(struct fixture *f)
{
	char *path = path_in(f, "program.pack");
	struct kf_pack pack = { 0 };
	const struct kf_pack_part *part;
	struct kf_err err = { 0 };

	if (kf_pack_read(path, 64u << 20, &pack, &err))
		fail_msg("%s", err.text);
	part = kf_pack_find(&pack, "device");
	assert_non_null(part);
	f->code.max = 64u << 20;
	f->code.len = 0;
	kf_buf_add(&f->code, part->data, part->len);
	kf_pack_release(&pack);
	free(path);
}

static inline int make_folder(struct fixture *f)
{
	snprintf(f->folder, sizeof(f->folder), "/tmp/kforge-cuda-XXXXXX");
	return mkdtemp(f->folder) ? 0 : -1;
}

/* --- a problem ------------------------------------------------------------ */

static inline void *shared_block(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_true(memory != MAP_FAILED);
	return memory;
}

static inline float *inputs_of(const struct world *w)
{
	return (float *)(uintptr_t)w->memory.inputs;
}

static inline float *weights_of(const struct world *w)
{
	return (float *)((unsigned char *)(uintptr_t)w->memory.inputs +
			 WEIGHT_AT);
}

static inline float *outputs_of(const struct world *w)
{
	return (float *)((unsigned char *)w->memory.outputs + OUTPUT_AT);
}

static inline struct kf_tensor floats(void *data, const char *name)
{
	return (struct kf_tensor) { .size = sizeof(struct kf_tensor),
		.dtype = KF_F32, .rank = 1, .data = data, .name = name,
		.shape = { COUNT } };
}

static inline void world_init(struct world *w, struct fixture *f)
{
	struct kf_plan *plan = &w->plans.forward;

	*w = (struct world) { .f = f };
	w->memory = (struct kf_shared_memory) {
		.inputs = shared_block(INPUTS_BYTES),
		.inputs_bytes = INPUTS_BYTES,
		.outputs = shared_block(OUTPUTS_BYTES),
		.outputs_bytes = OUTPUTS_BYTES,
	};
	w->in = floats(inputs_of(w), NULL);
	w->weight = floats(weights_of(w), "w");
	w->out = floats(outputs_of(w), NULL);
	memset(w->memory.outputs, POISON, OUTPUTS_BYTES);
	for (unsigned i = 0; i < COUNT; i++) {
		inputs_of(w)[i] = (float)i * 0.25f - 7;
		weights_of(w)[i] = (float)(i % 9) - 4;
	}
	plan_buffer(&w->plans.prepare, KF_PLAN_WEIGHT, 0, FLOATS_BYTES);
	plan_buffer(plan, KF_PLAN_IN, 0, FLOATS_BYTES);
	plan_buffer(plan, KF_PLAN_WEIGHT, 0, FLOATS_BYTES);
	plan_buffer(plan, KF_PLAN_OUT, 0, FLOATS_BYTES);
}

static inline void world_release(struct world *w)
{
	kf_driver_close(w->f->driver, w->dev);
	kf_plans_release(&w->plans);
	munmap((void *)(uintptr_t)w->memory.inputs, INPUTS_BYTES);
	munmap(w->memory.outputs, OUTPUTS_BYTES);
	*w = (struct world) { 0 };
}

static inline struct kf_call call_of(struct world *w)
{
	return (struct kf_call) { .size = sizeof(struct kf_call),
		.in_count = 1, .weight_count = 1, .out_count = 1,
		.in = &w->in, .weight = &w->weight, .out = &w->out };
}

static inline void write_program(struct world *w, const char *path)
{
	struct kf_buf plans = { .max = KF_PLAN_BYTES_MAX };
	struct kf_err err = { 0 };

	kf_plans_write(&w->plans, &plans);
	const struct kf_pack_part part[] = {
		{ "device", w->f->code.data, w->f->code.len },
		{ "plans", plans.data, plans.len },
		{ "parameters", w->parameters,
		  w->parameters ? strlen(w->parameters) : 0 },
	};

	if (kf_pack_write(path, part, KF_COUNT(part) - !w->parameters, &err))
		fail_msg("%s", err.text);
	kf_buf_release(&plans);
}

/* Opened and loaded; w->refused tells whether the program was refused. */
static inline enum kf_code world_load(struct world *w, struct kf_err *err)
{
	char *path = path_in(w->f, "program.load");
	struct kf_call call = call_of(w);
	enum kf_code code;

	write_program(w, path);
	code = kf_driver_open(w->f->driver, w->f->info.id, w->memory_max ?
			      w->memory_max : MEMORY_MAX, &w->dev, err);
	if (!code)
		code = kf_driver_attach(w->f->driver, w->dev, &w->memory,
					&call, err);
	if (!code)
		code = kf_driver_load(w->f->driver, w->dev, path, w->refused,
				      err);
	free(path);
	return code;
}

static inline enum kf_code world_prepare(struct world *w, struct kf_err *err)
{
	struct kf_tensor in = w->in, out = w->out;
	struct kf_call call = call_of(w);
	int rc = -1;

	in.data = NULL;
	out.data = NULL;
	call.in = &in;
	call.out = &out;
	return kf_driver_prepare(w->f->driver, w->dev, &call, &rc, err);
}

static inline void world_start(struct world *w)
{
	struct kf_err err = { 0 };

	if (world_load(w, &err))
		fail_msg("%s", err.text);
	if (w->refused[0])
		fail_msg("refused: %s", w->refused);
	if (world_prepare(w, &err))
		fail_msg("%s", err.text);
}

static inline enum kf_code world_try(struct world *w, uint64_t *changed,
				     struct kf_err *err)
{
	const struct kf_driver *d = w->f->driver;
	struct kf_call call = call_of(w);
	int rc = -1;
	enum kf_code code = kf_driver_upload(d, w->dev, err);

	*changed = UINT64_MAX;
	if (!code)
		code = kf_driver_forward(d, w->dev, &call, &rc, err);
	if (!code && !kf_driver_fault(d, w->dev))
		code = kf_driver_download(d, w->dev, changed, err);
	return code;
}

/* One whole call that must be good. */
static inline void world_call(struct world *w)
{
	struct kf_err err = { 0 };
	uint64_t changed;

	if (world_try(w, &changed, &err))
		fail_msg("%s", err.text);
	if (kf_driver_fault(w->f->driver, w->dev))
		fail_msg("%s", kf_driver_fault(w->f->driver, w->dev));
	if (changed != UINT64_MAX)
		fail_msg("input changed at %llu", (unsigned long long)changed);
}

/* y = a x + b, over COUNT floats. */
static inline void add_axpb(struct kf_plan *plan, uint32_t from, uint32_t to,
			    float a, float b)
{
	struct kf_plan_op *op = plan_launch(plan, "axpb", 4, 256);

	plan_arg_buffer(op, from, 0);
	plan_arg_buffer(op, to, 0);
	plan_arg_f32(op, a);
	plan_arg_f32(op, b);
	plan_arg_int(op, COUNT, 8);
}

static inline void add_poke(struct kf_plan *plan, uint32_t buffer,
			    int64_t offset, int value)
{
	struct kf_plan_op *op = plan_launch(plan, "poke", 1, 1);

	plan_arg_buffer(op, buffer, 0);
	plan_arg_int(op, offset, 8);
	plan_arg_int(op, value, 4);
}

#endif
