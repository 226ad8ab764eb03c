/*
 * The promises of <kforge/driver.h>, asked of every driver of this build. A
 * driver without a device here is skipped, never passed in silence;
 * KF_MUST_RUN=cpu,null (platforms) makes such a skip a failure.
 *
 * tests/data/programs/axpb.c computes 2 x + 1; broken.c cannot compile.
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
#include "platform/platform.h"

#define DRIVERS_MAX 16
#define COUNT	1000
#define GUARD	64		/* floats on each side, not to be touched */
#define MEMORY	(UINT64_C(64) << 20)
#define MARK	-12345.0f

static const char *const good_source[] = { "tests/data/programs/axpb.c" };
static const char *const broken_source[] = { "tests/data/programs/broken.c" };

struct fixture {
	const struct kf_driver *driver;
	struct kf_device_info info;
	char folder[64];
	char output[128];
	const char *command[16];
	bool computes;			/* the null driver does not */
};

/* --- helpers ------------------------------------------------------------ */

static void set_command(struct fixture *f, const char *source)
{
	const char *const words[] = {
		"cc", "-shared", "-fPIC", "-O1", "-I", "include", "-o",
		f->output, source, NULL
	};

	memcpy(f->command, words, sizeof(words));
}

static struct kf_build_request request(struct fixture *f,
				       const char *const *source)
{
	set_command(f, source[0]);
	return (struct kf_build_request) {
		.source = source,
		.source_count = 1,
		.command = f->command,
		.output_path = f->output,
		.timeout_ns = 60 * KF_NS_PER_S,
	};
}

static void build_good(struct fixture *f)
{
	struct kf_build_request req = request(f, good_source);
	struct kf_build build;
	struct kf_err err = { 0 };

	if (kf_driver_build(f->driver, &req, &build, &err))
		fail_msg("%s", err.text);
	if (build.end != KF_BUILD_DONE)
		fail_msg("%s", kf_buf_str(&build.log));
	kf_build_release(&build);
}

struct data { float x[COUNT], y[COUNT + 2 * GUARD]; };

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

static struct kf_device *open_loaded(struct fixture *f)
{
	struct kf_device *dev = NULL;
	struct kf_err err = { 0 };
	char refused[256];

	build_good(f);
	if (kf_driver_open(f->driver, f->info.id, MEMORY, &dev, &err) ||
	    kf_driver_load(f->driver, dev, f->output, refused, &err))
		fail_msg("%s", err.text);
	assert_string_equal(refused, "");
	return dev;
}

static int setup(void **state)
{
	struct fixture *f = *state;

	snprintf(f->folder, sizeof(f->folder), "/tmp/kforge-driver-XXXXXX");
	if (!mkdtemp(f->folder))
		return -1;
	snprintf(f->output, sizeof(f->output), "%s/program.so", f->folder);
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
	assert_non_null(d->open);
	assert_non_null(d->load);
	assert_non_null(d->prepare);
	assert_non_null(d->forward);
	assert_non_null(d->close);
	assert_ptr_equal(kf_driver_by_name(d->name), d);
}

static void test_device_is_described(void **state)
{
	const struct fixture *f = *state;

	assert_true(f->info.id[0]);
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

	assert_int_equal(kf_driver_find(f->driver, &info, 0, false, &count,
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
	struct kf_build_request req = request(f, broken_source);
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
	struct kf_build_request rows[6];
	const char *const nameless[] = { "" };

	for (size_t i = 0; i < KF_COUNT(rows); i++)
		rows[i] = request(f, good_source);
	rows[0].timeout_ns = 0;
	rows[1].source_count = 0;
	rows[2].source = NULL;
	rows[3].command = NULL;
	rows[4].output_path = NULL;
	rows[5].source = nameless;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
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
	struct kf_build_request req = request(f, good_source);
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
	struct kf_build_request req = request(f, good_source);
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

static void test_rubbish_is_refused_with_a_sentence(void **state)
{
	struct fixture *f = *state;
	struct kf_device *dev = NULL;
	char refused[256];

	assert_int_equal(kf_file_write(f->output, "rubbish", 7, NULL), KF_OK);
	assert_int_equal(kf_driver_open(f->driver, f->info.id, MEMORY, &dev,
					NULL), KF_OK);
	assert_int_equal(kf_driver_load(f->driver, dev, f->output, refused,
					NULL), KF_OK);
	assert_true(refused[0]);
	assert_null(strstr(refused, f->folder));
	kf_driver_close(f->driver, dev);
}

static void test_nothing_runs_before_load(void **state)
{
	struct fixture *f = *state;
	struct data *d = kf_alloc(sizeof(*d));
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
	struct data *d = kf_alloc(sizeof(*d));
	struct kf_tensor in = tensor(d->x), out = tensor(d->y + GUARD);
	struct kf_tensor unseen = tensor(NULL);
	struct kf_device *dev = open_loaded(f);
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
		assert_int_equal(kf_driver_forward(f->driver, dev, &forward,
						   &rc, NULL), KF_OK);
		assert_int_equal(rc, 0);
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

static void test_malformed_call_is_refused(void **state)
{
	struct fixture *f = *state;
	struct data *d = kf_alloc(sizeof(*d));
	struct kf_device *dev = open_loaded(f);

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

static void test_prepare_sees_no_inputs(void **state)
{
	struct fixture *f = *state;
	struct data *d = kf_alloc(sizeof(*d));
	struct kf_tensor in = tensor(d->x), out = tensor(NULL);
	struct kf_call call = make_call(&in, &out);
	struct kf_device *dev = open_loaded(f);
	int rc;

	assert_int_equal(kf_driver_prepare(f->driver, dev, &call, &rc, NULL),
			 KF_E_INPUT);
	kf_driver_close(f->driver, dev);
	free(d);
}

/* --- every driver ------------------------------------------------------- */

#define CASE(name) { #name, test_##name, setup, teardown, NULL }

static const struct CMUnitTest cases[] = {
	CASE(table_is_complete),
	CASE(device_is_described),
	CASE(room_for_no_device_is_refused),
	CASE(good_source_builds),
	CASE(broken_source_is_a_verdict),
	CASE(malformed_build_is_refused),
	CASE(missing_compiler_is_our_trouble),
	CASE(slow_compiler_is_a_verdict),
	CASE(unknown_device_is_refused),
	CASE(rubbish_is_refused_with_a_sentence),
	CASE(nothing_runs_before_load),
	CASE(program_computes_and_stays_in_bounds),
	CASE(malformed_call_is_refused),
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

static size_t add_cases(struct fixture *f, struct CMUnitTest *tests,
			char (*names)[96])
{
	static const struct CMUnitTest absent = CASE(driver_is_here);
	static const struct CMUnitTest missing = CASE(driver_must_be_here);
	const struct CMUnitTest *from = cases;
	size_t found = 0, count = KF_COUNT(cases);

	if (kf_driver_find(f->driver, &f->info, 1, false, &found, NULL) ||
	    !found) {
		from = must_run(f->driver) ? &missing : &absent;
		count = 1;
	}
	for (size_t i = 0; i < count; i++) {
		tests[i] = from[i];
		snprintf(names[i], sizeof(names[i]), "%s: %s",
			 f->driver->name, from[i].name);
		tests[i].name = names[i];
		tests[i].initial_state = f;
	}
	return count;
}

int main(void)
{
	struct CMUnitTest tests[DRIVERS_MAX * KF_COUNT(cases)];
	char names[KF_COUNT(tests)][96];
	struct fixture f[DRIVERS_MAX];
	size_t count = 0, drivers = 0;
	int failed;

	memset(tests, 0, sizeof(tests));
	for (; kf_drivers[drivers] && drivers < DRIVERS_MAX; drivers++) {
		f[drivers] = (struct fixture) { .driver = kf_drivers[drivers] };
		f[drivers].computes = strcmp(kf_drivers[drivers]->name,
					     "null") != 0;
		count += add_cases(&f[drivers], tests + count, names + count);
	}
	/* The macro counts an array; ours is filled in part. */
	failed = _cmocka_run_group_tests("driver", tests, count, NULL, NULL);
	for (size_t i = 0; i < drivers; i++)
		kf_device_info_release(&f[i].info);
	return failed;
}
