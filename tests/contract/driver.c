/*
 * The promises of <kforge/driver.h>, asked of every driver of this build. A
 * driver without a device here is skipped, never passed in silence;
 * KF_MUST_RUN=cpu,null (platforms) makes such a skip a failure.
 *
 * tests/data/programs/axpb.c computes 2 x + 1; broken.c cannot compile. For
 * two-part drivers these are kernels in the driver's language, beside
 * axpb.host.c, and a plan made by hand is what would be recorded of it.
 *
 * All that builds comes first, over all drivers: a build may fork, and a
 * process in which a device was opened may have threads with locks held.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants those first */
#include <cmocka.h>
#include <math.h>
#include <unistd.h>

#include "base/base.h"
#include "platform/pack.h"
#include "platform/plan.h"
#include "platform/platform.h"

#define DRIVERS_MAX 16
#define COUNT	1000
#define GUARD	1024		/* floats on each side, not to be touched */
#define PACK_MAX (64u << 20)
#define MEMORY	(UINT64_C(64) << 20)
#define MARK	-12345.0f

#define PROGRAMS "tests/data/programs/"
#define HOST	PROGRAMS "axpb.host.c"
static const char *const good_source[] = { PROGRAMS "axpb.c" };
static const char *const device_source[] = { PROGRAMS "axpb_device.c" };
static const char *const broken_source[] = { PROGRAMS "broken.c" };

/* What two-part drivers compile. */
static const struct two_parts {
	const char *driver, *good[2], *broken[2];
} two_parts[] = {
	{ "cuda", { PROGRAMS "axpb.cu", HOST },
	  { PROGRAMS "broken.cu", HOST } },
	{ "opencl", { PROGRAMS "axpb.cl", HOST },
	  { PROGRAMS "broken.cl", HOST } },
};

struct fixture {
	const struct kf_driver *driver;
	struct kf_device_info info;
	const char *const *good, *const *broken;	/* sources */
	size_t source_count;
	char folder[64];
	char output[128], program[128], host[160];
	char built[64];			/* of the good source; "": no device */
	const char *command[16];
	bool computes;			/* the null driver does not */
};

/* --- helpers ------------------------------------------------------------ */

static void set_command(struct fixture *f, const char *source)
{
	const char *const words[] = {
		"cc", "-shared", "-fPIC", "-O1", "-I", "include", "-o",
		f->driver->two_part ? f->host : f->output, source, NULL
	};

	memcpy(f->command, words, sizeof(words));
}

static struct kf_build_request request(struct fixture *f,
				       const char *const *source)
{
	set_command(f, source[f->source_count - 1]);
	return (struct kf_build_request) {
		.source = source,
		.source_count = f->source_count,
		.command = f->command,
		.output_path = f->output,
		.timeout_ns = 60 * KF_NS_PER_S,
		.device_id = f->info.id,
		.arch = f->info.arch,
	};
}

static void build_good(struct fixture *f)
{
	struct kf_build_request req = request(f, f->good);
	struct kf_build build;
	struct kf_err err = { 0 };

	if (kf_driver_build(f->driver, &req, &build, &err))
		fail_msg("%s", err.text);
	if (build.end != KF_BUILD_DONE)
		fail_msg("%s", kf_buf_str(&build.log));
	kf_build_release(&build);
}

/* Aligned as devices may want it. */
struct data {
	_Alignas(4096) float x[COUNT];
	_Alignas(4096) float y[COUNT + 2 * GUARD];
};

static struct data *data_new(void)
{
	struct data *d = aligned_alloc(_Alignof(struct data), sizeof(*d));

	assert_non_null(d);
	memset(d, 0, sizeof(*d));
	return d;
}

static struct kf_tensor tensor(void *data)
{
	return (struct kf_tensor) { .size = sizeof(struct kf_tensor),
		.dtype = KF_F32, .rank = 1, .data = data, .shape = { COUNT } };
}

static struct kf_call make_call(const struct kf_tensor *in,
				const struct kf_tensor *out)
{
	return (struct kf_call) { .size = sizeof(struct kf_call),
		.in_count = 1, .out_count = 1, .in = in, .out = out };
}

/* What axpb.host.c asks for, with the device's part of what was built. */
static void write_program(const struct fixture *f)
{
	struct kf_plan_buffer buffer[] = {
		{ KF_PLAN_IN, 0, COUNT * sizeof(float) },
		{ KF_PLAN_OUT, 0, COUNT * sizeof(float) },
	};
	struct kf_plan_arg arg[] = {
		{ .kind = KF_ARG_BUFFER, .bytes = 8 },
		{ .kind = KF_ARG_BUFFER, .bytes = 8, .place.buffer = 1 },
		{ .kind = KF_ARG_INT, .bytes = 8,
		  .value = { COUNT & 0xff, COUNT >> 8 } },
	};
	char kernel[] = "axpb";
	struct kf_plan_op op = { .kind = KF_PLAN_LAUNCH, .kernel = kernel,
		.grid = { (COUNT + 255) / 256, 1, 1 }, .group = { 256, 1, 1 },
		.arg = arg, .arg_count = KF_COUNT(arg) };
	const struct kf_plans plans = { .forward = {
		.buffer = buffer, .buffer_count = KF_COUNT(buffer),
		.op = &op, .op_count = 1 } };
	struct kf_buf bytes = { .max = KF_PLAN_BYTES_MAX };
	struct kf_pack pack = { .count = 0 };
	struct kf_pack_part part[2] = { { .name = "plans" } };

	kf_plans_write(&plans, &bytes);
	part[0].data = kf_buf_str(&bytes);
	part[0].len = bytes.len;
	assert_int_equal(kf_pack_read(f->output, PACK_MAX, &pack, NULL),
			 KF_OK);
	assert_non_null(kf_pack_find(&pack, "host"));
	assert_non_null(kf_pack_find(&pack, "device"));
	part[1] = *kf_pack_find(&pack, "device");
	assert_int_equal(kf_pack_write(f->program, part, 2, NULL), KF_OK);
	kf_pack_release(&pack);
	kf_buf_release(&bytes);
}

static void attach(const struct fixture *f, struct kf_device *dev,
		   struct data *d)
{
	const struct kf_tensor in = tensor(d->x), out = tensor(d->y + GUARD);
	const struct kf_call tensors = make_call(&in, &out);
	const struct kf_shared_memory m = {
		.inputs = d->x, .inputs_bytes = sizeof(d->x),
		.outputs = d->y, .outputs_bytes = sizeof(d->y),
	};
	struct kf_err err = { 0 };

	if (kf_driver_attach(f->driver, dev, &m, &tensors, &err))
		fail_msg("%s", err.text);
}

static void take_built(const struct fixture *f)
{
	struct kf_buf bytes = { .max = PACK_MAX };

	assert_int_equal(kf_file_read(f->built, &bytes, NULL), KF_OK);
	assert_int_equal(kf_file_write(f->output, bytes.data, bytes.len, NULL),
			 KF_OK);
	kf_buf_release(&bytes);
}

/* d lives as long as the device. */
static struct kf_device *open_loaded(struct fixture *f, struct data *d)
{
	const char *path = f->driver->two_part ? f->program : f->output;
	struct kf_device *dev = NULL;
	struct kf_err err = { 0 };
	char refused[256];

	take_built(f);
	if (kf_driver_open(f->driver, f->info.id, MEMORY, &dev, &err))
		fail_msg("%s", err.text);
	if (f->driver->two_part)
		write_program(f);
	if (f->driver->attach)
		attach(f, dev, d);
	if (kf_driver_load(f->driver, dev, path, refused, &err))
		fail_msg("%s", err.text);
	assert_string_equal(refused, "");
	return dev;
}

/* Around forward, where the device has memory of its own. */
static void upload(const struct fixture *f, struct kf_device *dev)
{
	struct kf_err err = { 0 };

	if (f->driver->attach && kf_driver_upload(f->driver, dev, &err))
		fail_msg("%s", err.text);
}

static void download(const struct fixture *f, struct kf_device *dev)
{
	uint64_t changed = UINT64_MAX;
	struct kf_err err = { 0 };

	if (f->driver->attach &&
	    kf_driver_download(f->driver, dev, &changed, &err))
		fail_msg("%s", err.text);
	assert_true(changed == UINT64_MAX);
	assert_null(kf_driver_fault(f->driver, dev));
}

static int setup(void **state)
{
	struct fixture *f = *state;

	snprintf(f->folder, sizeof(f->folder), "/tmp/kforge-driver-XXXXXX");
	if (!mkdtemp(f->folder))
		return -1;
	snprintf(f->output, sizeof(f->output), "%s/program.so", f->folder);
	snprintf(f->program, sizeof(f->program), "%s/plans", f->folder);
	snprintf(f->host, sizeof(f->host), "%s" KF_BUILD_HOST_SUFFIX,
		 f->output);
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	return (int)kf_remove_tree(f->folder, NULL);
}

/* --- find --------------------------------------------------------------- */

static void test_table_is_complete(void **state)
{
	const struct fixture *f = *state;
	const struct kf_driver *d = f->driver;

	assert_int_equal(d->abi, KF_DRIVER_ABI);
	assert_true(d->name[0]);
	assert_true(strspn(d->name, "abcdefghijklmnopqrstuvwxyz0123456789") ==
		    strlen(d->name));
	assert_non_null(d->find);
	assert_non_null(d->build);
	/* Where Python runs its programs nobody else does. */
	assert_int_equal(!d->open, d->python);
	assert_int_equal(!d->load, d->python);
	assert_int_equal(!d->prepare, d->python);
	assert_int_equal(!d->forward, d->python);
	assert_int_equal(!d->close, d->python);
	assert_false(d->python && (d->two_part || !d->in_process));
	assert_true(d->attach || !d->two_part);
	assert_true(!d->attach || d->two_part || d->in_process);
	assert_int_equal(!!d->upload, !!d->attach);
	assert_int_equal(!!d->download, !!d->attach);
	assert_true(d->attach || !d->sum);
	assert_true(d->attach || !d->make);
	assert_int_equal(!!d->base, !!d->make);
	assert_true(d->fault || !d->attach);
	assert_true(!d->fault || d->attach || d->tidy);
	assert_int_equal(!!d->device_ns, d->two_part);
	assert_int_equal(!!d->short_of_memory, d->two_part);
	assert_int_equal(!!d->host_ns, d->two_part);
	assert_int_equal(!!d->torch_env, !!d->torch_device);
	assert_int_equal(!!d->paths, d->two_part || d->torch_device);
	assert_int_equal(!!d->env, !!d->paths);
	assert_ptr_equal(kf_driver_by_name(d->name), d);
}

static void test_device_is_described(void **state)
{
	const struct fixture *f = *state;
	const char *colon = strrchr(f->info.id, ':');
	uint64_t number;

	assert_non_null(colon);
	assert_true(kf_parse_u64(colon + 1, &number));
	assert_true(f->info.name[0]);
	assert_true(f->info.arch[0]);
	assert_true(f->info.card.len > 0);
	assert_non_null(strstr(kf_buf_str(&f->info.card), ": "));
	assert_int_equal(f->info.card.data[f->info.card.len - 1], '\n');
}

static void test_room_for_no_device_is_refused(void **state)
{
	const struct fixture *f = *state;
	struct kf_device_info info;
	size_t count;

	assert_int_equal(kf_driver_find(f->driver, &info, 0, NULL, &count,
					NULL), KF_E_INPUT);
}

/* --- build -------------------------------------------------------------- */

static void test_good_source_builds(void **state)
{
	struct fixture *f = *state;

	build_good(f);
	assert_int_equal(access(f->output, R_OK), 0);
}

static void test_broken_source_is_a_verdict(void **state)
{
	struct fixture *f = *state;
	struct kf_build_request req = request(f, f->broken);
	struct kf_build build;
	struct kf_err err = { 0 };

	assert_int_equal(kf_driver_build(f->driver, &req, &build, &err), KF_OK);
	assert_int_equal(build.end, KF_BUILD_REFUSED);
	assert_non_null(strstr(kf_buf_str(&build.log), "error"));
	assert_int_not_equal(access(f->output, F_OK), 0);
	kf_build_release(&build);
}

static void test_malformed_build_is_refused(void **state)
{
	struct fixture *f = *state;
	struct kf_build_request rows[7];
	const char *const nameless[] = { "" };

	for (size_t i = 0; i < KF_COUNT(rows); i++)
		rows[i] = request(f, f->good);
	rows[0].timeout_ns = 0;
	rows[1].source_count = 0;
	rows[2].source = NULL;
	rows[3].command = NULL;
	rows[4].output_path = NULL;
	rows[5].source = nameless;
	rows[5].source_count = 1;
	rows[6].device_id = NULL;
	for (size_t i = 0; i < KF_COUNT(rows) - !f->driver->two_part; i++) {
		struct kf_build build;
		struct kf_err err = { 0 };

		assert_int_equal(kf_driver_build(f->driver, &rows[i], &build,
						 &err), KF_E_INPUT);
		assert_true(err.text[0]);
		assert_int_equal(build.end, KF_BUILD_NONE);
		kf_build_release(&build);
	}
	assert_int_not_equal(access(f->output, F_OK), 0);
}

static void test_missing_compiler_is_our_trouble(void **state)
{
	struct fixture *f = *state;
	struct kf_build_request req = request(f, f->good);
	struct kf_build build;
	struct kf_err err = { 0 };
	enum kf_code code;

	f->command[0] = "no-such-compiler";
	code = kf_driver_build(f->driver, &req, &build, &err);
	/* A driver that needs no compiler does not miss it. */
	if (f->computes) {
		assert_int_equal(code, KF_E_UNAVAIL);
		assert_non_null(strstr(err.text, "no-such-compiler"));
		assert_int_equal(build.end, KF_BUILD_NONE);
	} else {
		assert_int_equal(code, KF_OK);
	}
	kf_build_release(&build);
}

static void test_slow_compiler_is_a_verdict(void **state)
{
	struct fixture *f = *state;
	struct kf_build_request req = request(f, f->good);
	struct kf_build build;

	f->command[0] = "sleep";
	f->command[1] = "60";
	f->command[2] = NULL;
	req.timeout_ns = 20 * KF_NS_PER_MS;
	assert_int_equal(kf_driver_build(f->driver, &req, &build, NULL), KF_OK);
	/* A driver that needs no compiler does not wait for it. */
	assert_int_equal(build.end, f->computes ? KF_BUILD_TOO_SLOW
						: KF_BUILD_DONE);
	kf_build_release(&build);
}

/* --- canary --------------------------------------------------------------- */

/* Of a device that is well, of none, and of one that is too slow. */
static void test_a_canary_tells_a_device_that_computes(void **state)
{
	static const struct { const char *id, *words; uint64_t timeout_ns; }
	rows[] = {
		{ NULL, NULL, 60 * KF_NS_PER_S },
		{ "nowhere:7", "nowhere:7", 60 * KF_NS_PER_S },
		{ NULL, "did not end", 1 },
	};
	const struct fixture *f = *state;

	assert_true(f->driver->canary || !f->driver->two_part);
	for (size_t i = 0; f->driver->canary && i < KF_COUNT(rows); i++) {
		struct kf_err err = { 0 };
		enum kf_code code = f->driver->canary(rows[i].id ? rows[i].id :
				f->info.id, rows[i].timeout_ns, &err);

		if (code != (rows[i].words ? KF_E_UNAVAIL : KF_OK) ||
		    (rows[i].words && !strstr(err.text, rows[i].words)))
			fail_msg("row %zu: %s", i, err.text);
	}
}

/* --- open and load ------------------------------------------------------ */

static void test_unknown_device_is_refused(void **state)
{
	const struct fixture *f = *state;
	struct kf_device *dev;
	struct kf_err err = { 0 };

	assert_int_equal(kf_driver_open(f->driver, "nowhere:7", MEMORY, &dev,
					&err), KF_E_UNAVAIL);
	assert_null(dev);
	assert_non_null(strstr(err.text, "nowhere:7"));
	assert_int_equal(kf_driver_open(f->driver, "", MEMORY, &dev, NULL),
			 KF_E_INPUT);
	assert_int_equal(kf_driver_open(f->driver, f->info.id, 0, &dev, NULL),
			 KF_E_INPUT);
}

/* Of two parts it is kforge's own: nobody else writes packs. */
static void test_rubbish_is_refused_with_a_sentence(void **state)
{
	struct fixture *f = *state;
	struct kf_device *dev = NULL;
	struct data *d = data_new();
	struct kf_err err = { 0 };
	enum kf_code code;
	char refused[256];

	assert_int_equal(kf_file_write(f->output, "rubbish", 7, NULL), KF_OK);
	assert_int_equal(kf_driver_open(f->driver, f->info.id, MEMORY, &dev,
					NULL), KF_OK);
	if (f->driver->attach)
		attach(f, dev, d);
	code = kf_driver_load(f->driver, dev, f->output, refused, &err);
	assert_int_equal(code, f->driver->two_part ? KF_E_IO : KF_OK);
	assert_int_equal(!!refused[0], !f->driver->two_part);
	assert_int_equal(!!err.text[0], f->driver->two_part);
	assert_null(strstr(refused, f->folder));
	assert_null(strstr(err.text, f->folder));
	kf_driver_close(f->driver, dev);
	free(d);
}

static void test_nothing_runs_before_load(void **state)
{
	struct fixture *f = *state;
	struct data *d = data_new();
	struct kf_tensor in = tensor(d->x), out = tensor(d->y);
	struct kf_tensor unseen = tensor(NULL);
	struct kf_call forward = make_call(&in, &out);
	struct kf_call prepare = make_call(&unseen, &unseen);
	struct kf_device *dev = NULL;
	int rc;

	assert_int_equal(kf_driver_open(f->driver, f->info.id, MEMORY, &dev,
					NULL), KF_OK);
	assert_int_equal(kf_driver_forward(f->driver, dev, &forward, &rc,
					   NULL), KF_E_INPUT);
	assert_int_equal(kf_driver_prepare(f->driver, dev, &prepare, &rc,
					   NULL), KF_E_INPUT);
	kf_driver_close(f->driver, dev);
	kf_driver_close(f->driver, NULL);
	free(d);
}

/* --- calls -------------------------------------------------------------- */

static void test_program_computes_and_stays_in_bounds(void **state)
{
	struct fixture *f = *state;
	struct data *d = data_new();
	struct kf_tensor in = tensor(d->x), out = tensor(d->y + GUARD);
	struct kf_tensor unseen = tensor(NULL);
	struct kf_device *dev = open_loaded(f, d);
	size_t wrong = 0, touched = 0;

	for (int round = 0; round < 3; round++) {
		struct kf_call prepare = make_call(&unseen, &unseen);
		struct kf_call forward = make_call(&in, &out);
		int rc = -1;

		for (size_t i = 0; i < COUNT; i++)
			d->x[i] = (float)i * 0.5f + (float)round;
		for (size_t i = 0; i < KF_COUNT(d->y); i++)
			d->y[i] = MARK;
		assert_int_equal(kf_driver_prepare(f->driver, dev, &prepare,
						   &rc, NULL), KF_OK);
		assert_int_equal(rc, 0);
		rc = -1;
		upload(f, dev);
		assert_int_equal(kf_driver_forward(f->driver, dev, &forward,
						   &rc, NULL), KF_OK);
		assert_int_equal(rc, 0);
		download(f, dev);
		kf_driver_tidy(f->driver, dev);
		for (size_t i = 0; i < COUNT; i++)
			wrong += d->y[GUARD + i] != 2 * d->x[i] + 1;
		for (size_t i = 0; i < GUARD; i++)
			touched += d->y[i] != MARK ||
				   d->y[GUARD + COUNT + i] != MARK;
	}
	if (f->computes)
		assert_int_equal(wrong, 0);
	assert_int_equal(touched, 0);
	assert_null(kf_driver_owns(f->driver, dev, d));
	kf_driver_close(f->driver, dev);
	free(d);
}

static void forward_once(struct fixture *f, struct kf_device *dev,
			 struct data *d)
{
	struct kf_tensor in = tensor(d->x), out = tensor(d->y + GUARD);
	struct kf_tensor unseen = tensor(NULL);
	struct kf_call prepare = make_call(&unseen, &unseen);
	struct kf_call forward = make_call(&in, &out);
	int rc = -1;

	assert_int_equal(kf_driver_prepare(f->driver, dev, &prepare, &rc,
					   NULL), KF_OK);
	upload(f, dev);
	assert_int_equal(kf_driver_forward(f->driver, dev, &forward, &rc,
					   NULL), KF_OK);
	assert_int_equal(rc, 0);
	download(f, dev);
}

static bool must_run(const struct kf_driver *driver);

static void expect_operations(const struct fixture *f,
			      const struct kf_trace *trace)
{
	const struct kf_trace_op *op = trace->op;

	if (f->good == device_source) {	/* there and back, and no kernel */
		assert_int_equal(trace->count, 2);
		assert_string_equal(op[0].name, "copy");
		assert_string_equal(op[1].name, "copy");
		assert_true(op[1].start_ns >= op[0].end_ns);
		return;
	}
	assert_int_equal(trace->count, 1);
	assert_string_equal(op->name, "axpb");
	assert_true(op->end_ns >= op->start_ns);
	assert_true(op->groups == (COUNT + 255) / 256);
	assert_true(op->group_size == 256);
	assert_false(op->registers < 1);
	assert_false(op->occupancy <= 0 || op->occupancy > 1);
}

/* Of both kinds of trace; what the program computes is the same. */
static void test_a_traced_call_tells_its_operations(void **state)
{
	struct fixture *f = *state;

	for (int watched = 0; watched < 2; watched++) {
		struct kf_trace trace = { .watched = watched };
		struct data *d = data_new();
		struct kf_device *dev = open_loaded(f, d);
		bool can = kf_driver_trace(f->driver, dev, &trace);

		assert_int_equal(can, f->driver->trace != NULL);
		d->x[COUNT - 1] = 3;
		forward_once(f, dev, d);
		assert_true(!f->computes || d->y[GUARD + COUNT - 1] == 7);
		if (trace.unseen[0] && must_run(f->driver))
			fail_msg("unseen: %s", trace.unseen);
		/* Of that one another tool tells when it is watched. */
		if (can && !trace.unseen[0] &&
		    !(watched && f->good == device_source))
			expect_operations(f, &trace);
		else
			assert_int_equal(trace.count, 0);
		kf_driver_close(f->driver, dev);
		kf_trace_release(&trace);
		free(d);
	}
}

static void test_malformed_call_is_refused(void **state)
{
	struct fixture *f = *state;
	struct data *d = data_new();
	struct kf_device *dev = open_loaded(f, d);

	for (int row = 0; row < 9; row++) {
		struct kf_tensor in = tensor(d->x), out = tensor(d->y);
		struct kf_call call = make_call(&in, &out);
		struct kf_err err = { 0 };
		int rc;

		switch (row) {
		case 0: call.size--; break;
		case 1: in.size = 0; break;
		case 2: in.rank = 9; break;
		case 3: in.shape[0] = -1; break;
		case 4: in.dtype = 99; break;
		case 5: in.data = NULL; break;
		case 6: out.data = NULL; break;
		case 7: call.in_count = -1; break;
		default: call.weight_count = 1; break;
		}
		assert_int_equal(kf_driver_forward(f->driver, dev, &call, &rc,
						   &err), KF_E_INPUT);
		assert_true(err.text[0]);
	}
	kf_driver_close(f->driver, dev);
	free(d);
}

/* What a device copies is the shared memory and nothing else; a driver of
 * programs with one part has no use for it. */
static void test_tensors_lie_in_what_is_attached(void **state)
{
	struct fixture *f = *state;
	struct data *d = data_new();
	struct kf_tensor in = tensor(d->x), out = tensor(d->y + GUARD);
	struct kf_call call = make_call(&in, &out);
	struct kf_shared_memory m = {
		.inputs = d->x, .inputs_bytes = sizeof(d->x),
		.outputs = d->y, .outputs_bytes = sizeof(d->y),
	};
	struct kf_device *dev = NULL;
	uint64_t changed;

	assert_int_equal(kf_driver_open(f->driver, f->info.id, MEMORY, &dev,
					NULL), KF_OK);
	m.inputs_bytes--;
	assert_int_equal(kf_driver_attach(f->driver, dev, &m, &call, NULL),
			 KF_E_INPUT);
	m.inputs_bytes++;
	out.data = d->y + 2 * GUARD + 1;
	assert_int_equal(kf_driver_attach(f->driver, dev, &m, &call, NULL),
			 KF_E_INPUT);
	out.data = (void *)((uintptr_t)d->y - sizeof(d->y[0]));
	assert_int_equal(kf_driver_attach(f->driver, dev, &m, &call, NULL),
			 KF_E_INPUT);
	out.data = d->y + GUARD;
	assert_int_equal(kf_driver_attach(f->driver, dev, &m, &call, NULL),
			 f->driver->attach ? KF_OK : KF_E_INPUT);
	if (!f->driver->attach) {
		assert_int_equal(kf_driver_upload(f->driver, dev, NULL),
				 KF_E_INPUT);
		assert_int_equal(kf_driver_download(f->driver, dev, &changed,
						    NULL), KF_E_INPUT);
		assert_true(changed == UINT64_MAX);
	}
	kf_driver_close(f->driver, dev);
	free(d);
}

static void test_prepare_sees_no_inputs(void **state)
{
	struct fixture *f = *state;
	struct data *d = data_new();
	struct kf_tensor in = tensor(d->x), out = tensor(NULL);
	struct kf_call call = make_call(&in, &out);
	struct kf_device *dev = open_loaded(f, d);
	int rc;

	assert_int_equal(kf_driver_prepare(f->driver, dev, &call, &rc, NULL),
			 KF_E_INPUT);
	kf_driver_close(f->driver, dev);
	free(d);
}

/* --- every driver ------------------------------------------------------- */

#define CASE(name) { #name, test_##name, setup, teardown, NULL }

static const struct CMUnitTest builds[] = {
	CASE(table_is_complete),
	CASE(device_is_described),
	CASE(room_for_no_device_is_refused),
	CASE(good_source_builds),
	CASE(broken_source_is_a_verdict),
	CASE(malformed_build_is_refused),
	CASE(missing_compiler_is_our_trouble),
	CASE(slow_compiler_is_a_verdict),
	/* It forks, too. */
	CASE(a_canary_tells_a_device_that_computes),
};

static const struct CMUnitTest opens[] = {
	CASE(unknown_device_is_refused),
	CASE(rubbish_is_refused_with_a_sentence),
	CASE(nothing_runs_before_load),
	CASE(program_computes_and_stays_in_bounds),
	CASE(a_traced_call_tells_its_operations),
	CASE(malformed_call_is_refused),
	CASE(tensors_lie_in_what_is_attached),
	CASE(prepare_sees_no_inputs),
};

static void test_driver_is_here(void **state)
{
	(void)state;
	skip();
}

static void test_driver_must_be_here(void **state)
{
	const struct fixture *f = *state;

	fail_msg("KF_MUST_RUN asks for driver %s: no device here",
		 f->driver->name);
}

/* Does KF_MUST_RUN name a platform of this driver? */
static bool must_run(const struct kf_driver *driver)
{
	const char *list = getenv("KF_MUST_RUN");
	bool named = false;

	while (list && *list) {
		size_t len = strcspn(list, ",");
		char *name = kf_strndup(list, len);
		struct kf_platform *platform = NULL;

		if (kf_platform_load(name, &platform, NULL) == KF_OK)
			named |= platform->driver == driver;
		kf_platform_free(platform);
		free(name);
		list += len + (list[len] == ',');
	}
	return named;
}

static void choose_sources(struct fixture *f)
{
	f->good = strcmp(f->driver->name, "cudafree") == 0 ? device_source :
		good_source;
	f->broken = broken_source;
	f->source_count = 1;
	for (size_t i = 0; i < KF_COUNT(two_parts); i++) {
		if (strcmp(two_parts[i].driver, f->driver->name) != 0)
			continue;
		f->good = two_parts[i].good;
		f->broken = two_parts[i].broken;
		f->source_count = 2;
	}
}

/* For the cases that open a device; before any of them runs. */
static void keep_built(struct fixture *f)
{
	struct kf_build_request req;
	struct kf_build build;
	struct kf_err err = { 0 };
	int fd;

	snprintf(f->built, sizeof(f->built), "/tmp/kforge-driver-XXXXXX");
	fd = mkstemp(f->built);
	if (fd < 0)
		abort();
	close(fd);
	snprintf(f->output, sizeof(f->output), "%s", f->built);
	snprintf(f->host, sizeof(f->host), "%s" KF_BUILD_HOST_SUFFIX,
		 f->output);
	req = request(f, f->good);
	if (kf_driver_build(f->driver, &req, &build, &err))
		fprintf(stderr, "%s: %s\n", f->driver->name, err.text);
	kf_build_release(&build);
}

static size_t add_case(struct fixture *f, const struct CMUnitTest *from,
		       struct CMUnitTest *test, char name[96])
{
	*test = *from;
	snprintf(name, 96, "%s: %s", f->driver->name, from->name);
	test->name = name;
	test->initial_state = f;
	return 1;
}

int main(void)
{
	static const struct CMUnitTest absent = CASE(driver_is_here);
	static const struct CMUnitTest missing = CASE(driver_must_be_here);
	struct CMUnitTest tests[DRIVERS_MAX *
				(KF_COUNT(builds) + KF_COUNT(opens))];
	char names[KF_COUNT(tests)][96];
	struct fixture f[DRIVERS_MAX];
	size_t count = 0, drivers = 0;
	int failed;

	memset(tests, 0, sizeof(tests));
	for (; kf_drivers[drivers] && drivers < DRIVERS_MAX; drivers++) {
		struct fixture *one = &f[drivers];
		size_t found = 0;

		*one = (struct fixture) { .driver = kf_drivers[drivers] };
		one->computes = strcmp(one->driver->name, "null") != 0;
		choose_sources(one);
		if (!kf_driver_find(one->driver, &one->info, 1, NULL, &found,
				    NULL) && found)
			keep_built(one);
		else
			count += add_case(one, must_run(one->driver) ? &missing
					  : &absent, &tests[count],
					  names[count]);
		for (size_t i = 0; one->built[0] && i < KF_COUNT(builds); i++)
			count += add_case(one, &builds[i], &tests[count],
					  names[count]);
	}
	for (size_t d = 0; d < drivers; d++)
		for (size_t i = 0; f[d].built[0] && !f[d].driver->python &&
		     i < KF_COUNT(opens); i++)
			count += add_case(&f[d], &opens[i], &tests[count],
					  names[count]);
	/* The macro counts an array; ours is filled in part. */
	failed = _cmocka_run_group_tests("driver", tests, count, NULL, NULL);
	for (size_t d = 0; d < drivers; d++) {
		kf_device_info_release(&f[d].info);
		if (f[d].built[0])
			unlink(f[d].built);
	}
	return failed;
}
