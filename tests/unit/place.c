/*
 * What a driver wants of a sandbox's environment and files, where in the shared
 * inputs a byte lies that a device has changed, and what its clock may say.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "evaluate/place.h"
#include "evaluate/worker_end.h"
#include "platform/apart.h"

static void add_paths(enum kf_driver_place place, kf_driver_path_fn *add,
		      void *arg)
{
	add(arg, "/usr/lib", false);
	add(arg, "/usr/lib/os-release", false);	/* lies in what is shown */
	add(arg, "/dev/null", true);
	add(arg, "/no/such/file", false);
	if (place == KF_DRIVER_BUILDER)
		add(arg, "/etc/hostname", false);
}

static const char *const variables[] = {
	"PATH=/opt/bin", "KF_PLACE_GIVEN", "KF_PLACE_ABSENT", NULL
};
static const struct kf_driver driver = { .paths = add_paths,
					 .env = variables };
static const struct kf_driver plain = { .two_part = false };

static void check_env(const struct kf_driver *d, const char *const *want)
{
	static const char *const own[] = { "PATH=/usr/bin", "LC_ALL=C", NULL };
	struct kf_place_env env;
	size_t i = 0;

	kf_place_env_init(&env, d, own);
	for (; want[i]; i++)
		assert_string_equal(env.word[i], want[i]);
	assert_null(env.word[i]);
	kf_place_env_release(&env);
	assert_null(env.word);
}

static void test_a_drivers_variables_come_first(void **state)
{
	static const char *const both[] = { "PATH=/opt/bin",
		"KF_PLACE_GIVEN=of kforge", "LC_ALL=C", NULL };
	static const char *const own[] = { "PATH=/usr/bin", "LC_ALL=C", NULL };

	(void)state;
	setenv("KF_PLACE_GIVEN", "of kforge", 1);
	unsetenv("KF_PLACE_ABSENT");
	check_env(&driver, both);
	check_env(&plain, own);
}

static void test_what_is_shown_is_shown_once(void **state)
{
	struct kf_binds binds = { 0 };

	(void)state;
	kf_place_paths(&plain, KF_DRIVER_RUNNER, &binds);
	assert_int_equal(binds.count, 0);
	kf_place_paths(&driver, KF_DRIVER_RUNNER, &binds);
	assert_int_equal(binds.count, 2);
	assert_string_equal(binds.bind[0].source, "/usr/lib");
	assert_false(binds.bind[0].writable || binds.bind[0].device);
	assert_string_equal(binds.bind[1].source, "/dev/null");
	assert_true(binds.bind[1].device && binds.bind[1].optional);
	kf_binds_release(&binds);
}

static struct kf_tensor_info floats(char *name, int64_t count)
{
	return (struct kf_tensor_info) { .name = name, .dtype = KF_F32,
		.rank = 1, .shape = { count }, .numel = count,
		.bytes = sizeof(float) * (size_t)count };
}

#define LARGE (1 << 18)

static void test_a_changed_byte_is_found_in_its_tensor(void **state)
{
	char x[] = "x", y[] = "y", w[] = "w", z[] = "z";
	struct kf_tensor_info in[] = { floats(x, 3), floats(y, 100) };
	struct kf_tensor_info weight = floats(w, 5), out = floats(z, 3);
	struct kf_bundle bundle = { .in = in, .in_count = 2,
		.weight = &weight, .weight_count = 1, .out = &out,
		.out_count = 1 };
	struct kf_arena arena;
	struct kf_err err = { 0 };
	char text[64];
	size_t tensor;
	int64_t byte;

	(void)state;
	assert_int_equal(kf_arena_init(&arena, &bundle,
				       &(struct kf_arena_spec) {
		.driver = "null", .device = "null:0", .memory_max = 4096,
	}, &err), KF_OK);
	kf_arena_find(&arena, 0, &tensor, &byte);
	assert_true(tensor == 0 && byte == 0);
	/* Behind x, before y: x is what was overrun. */
	kf_arena_find(&arena, arena.in[0].bytes + 8, &tensor, &byte);
	assert_true(tensor == 0 && byte == 20);
	kf_arena_find(&arena, arena.in[1].offset + 399, &tensor, &byte);
	assert_true(tensor == 1 && byte == 399);
	kf_arena_find(&arena, arena.weight[0].offset + 4, &tensor, &byte);
	assert_true(tensor == 2 && byte == 4);
	kf_arena_describe(&arena, arena.in[1].offset + 8, text, sizeof(text));
	assert_string_equal(text, "input 1 (y) at byte 8");
	kf_arena_describe(&arena, arena.in[0].bytes, text, sizeof(text));
	assert_string_equal(text, "memory beside the inputs");
	kf_arena_release(&arena);
}

static void tell_if_mapped(void *arg, struct kf_buf *out)
{
	unsigned char residence;

	kf_buf_puts(out, mincore(arg, 1, &residence) ? "no" : "yes");
}

/* One that stays, or that a driver holds, would keep its memory. */
static void test_a_process_apart_has_no_arena(void **state)
{
	struct kf_tensor_info x = floats("x", 3), z = floats("z", 3);
	struct kf_bundle bundle = { .in = &x, .in_count = 1, .out = &z,
		.out_count = 1 };
	struct kf_buf result = { .max = 8 };
	struct kf_apart_end end;
	struct kf_apart apart;
	struct kf_arena arena;

	(void)state;
	assert_int_equal(kf_arena_init(&arena, &bundle,
				       &(struct kf_arena_spec) {
		.driver = "null", .device = "null:0", .memory_max = 4096,
	}, NULL), KF_OK);
	assert_int_equal(kf_apart_start(tell_if_mapped, arena.inputs.data, 8,
					&apart, NULL), KF_OK);
	assert_int_equal(kf_apart_finish(&apart, 60 * KF_NS_PER_S, &result,
					 &end, NULL), KF_OK);
	assert_string_equal(kf_buf_str(&result), "no");
	kf_buf_release(&result);
	kf_arena_release(&arena);
}

/* Where a program shares a runner's process, trouble with a device may be the
 * runner's; any other code the program has written there. */
static void test_a_runners_trouble_is_with_its_device(void **state)
{
	const struct kf_driver host = { .in_process = true };
	const struct kf_driver *device = kf_driver_by_name("cudafree");

	(void)state;
	for (uint32_t code = 0; code < 2 * KF_E_CANCELED; code++) {
		assert_int_equal(kf_worker_may_say(device, code),
				 code == KF_E_UNAVAIL || code == KF_E_LIMIT);
		assert_false(kf_worker_may_say(&host, code));
	}
}

/* The runner in Python says so by itself, or the program in its place. */
static void test_trouble_that_python_tells_of_is_with_its_device(void **state)
{
	static const struct {
		int rc;
		enum kf_call_state on_device, on_processor;
		bool trouble;
	} rows[] = {
		{ KF_PYTHON_DEVICE, KF_CALL_DEVICE_FAULT, KF_CALL_EXCEPTION,
		  true },
		{ KF_PYTHON_MEMORY, KF_CALL_MEMORY, KF_CALL_MEMORY, true },
		{ KF_PYTHON_EXCEPTION, KF_CALL_EXCEPTION, KF_CALL_EXCEPTION,
		  false },
		{ KF_PYTHON_DEVICE + 1, KF_CALL_PROTOCOL, KF_CALL_PROTOCOL,
		  false },
	};
	const struct kf_driver *device = kf_driver_by_name("pytorchcuda");
	const struct kf_driver *processor = kf_driver_by_name("pytorch");

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		assert_int_equal(kf_worker_python_state(device, rows[i].rc),
				 rows[i].on_device);
		assert_int_equal(kf_worker_python_state(processor, rows[i].rc),
				 rows[i].on_processor);
		assert_int_equal(kf_worker_python_trouble(
					 device, rows[i].on_device),
				 rows[i].trouble);
		assert_false(kf_worker_python_trouble(processor,
						      rows[i].on_processor));
	}
}

/* A part of a call cannot take longer than the call, but for what two clocks
 * may differ by. */
static void test_a_devices_clock_is_held_against_ours(void **state)
{
	(void)state;
	assert_true(kf_worker_clock_holds(0, 0));
	assert_true(kf_worker_clock_holds(900000, KF_NS_PER_MS));
	assert_true(kf_worker_clock_holds(1005000, KF_NS_PER_MS));
	assert_false(kf_worker_clock_holds(1030000, KF_NS_PER_MS));
	assert_false(kf_worker_clock_holds(2 * KF_NS_PER_S, KF_NS_PER_S));
	assert_false(kf_worker_clock_holds(UINT64_MAX, KF_NS_PER_S));
}

/* Far below what the host saw of it: a quarter and 50 us. */
static void test_a_devices_clock_that_lags_is_doubted(void **state)
{
	static const struct {
		uint64_t device_ns, host_ns;
		bool lags;
	} rows[] = {
		{ 0, 0, false },
		{ 5000, 0, false },		/* not taken */
		{ 1000, 51000, false },		/* seen late */
		{ 1000, 52000, true },
		{ 100000, 175000, false },
		{ 100000, 176000, true },
		{ 1000000, 1300000, false },
		{ 1000000, 1300001, true },
		{ 2000000, 1000000, false },	/* clock_holds tells of that */
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++)
		if (kf_worker_clock_lags(rows[i].device_ns, rows[i].host_ns) !=
		    rows[i].lags)
			fail_msg("row %zu", i);
}

/* Of what a device makes, and adds up, nothing has pages here: only what is
 * brought to it, a part at a time, and what comes back. */
static void test_what_is_elsewhere_takes_no_memory(void **state)
{
	static float base[LARGE], other[2][LARGE];
	static int32_t ints[LARGE];
	char a[] = "a", i[] = "i", b[] = "b", z[] = "z";
	struct kf_tensor_info in[] = { floats(a, LARGE), floats(i, LARGE),
				       floats(b, LARGE) };
	struct kf_tensor_info out = floats(z, LARGE);
	const void *first[] = { base, ints, other[0] };
	const void *second[] = { base, ints, other[1] };
	struct kf_digest digest = { .window_count = 1, .window = 100 };
	struct kf_case set = { .in = first, .digest = &digest };
	struct kf_case stock = { .in = second, .digest = &digest };
	struct kf_bundle bundle = { .in = in, .in_count = 3, .out = &out,
		.out_count = 1, .set = &set, .set_count = 1, .stock = &stock,
		.stock_count = 1, .condensed = true };
	const struct kf_arena_spec spec = { .driver = "null",
		.device = "null:0", .memory_max = 4096, .summed = true,
		.made = true };
	struct kf_arena arena;
	struct kf_err err = { 0 };
	struct stat status;
	size_t done = 0;

	(void)state;
	in[1].dtype = KF_I32;
	assert_int_equal(kf_arena_base_bytes(&bundle), sizeof(base));
	assert_int_equal(kf_arena_init(&arena, &bundle, &spec, &err), KF_OK);
	assert_true(arena.summed && arena.made[0]);
	assert_false(arena.made[1] || arena.made[2]);
	/* The window is as large as the base; of it a page more or less. */
	assert_int_equal(fstat(arena.inputs.fd, &status), 0);
	assert_true(status.st_blocks * 512 < 4 * (off_t)sizeof(base));
	assert_true(arena.inputs.bytes > 4 * sizeof(base));
	assert_int_equal(fstat(arena.outputs.fd, &status), 0);
	assert_true(status.st_blocks * 512 < (off_t)sizeof(base) / 4);
	while (done < sizeof(base))
		done += kf_arena_give(&arena, &bundle, 0, done);
	assert_int_equal(done, sizeof(base));
	assert_int_equal(kf_arena_give(&arena, &bundle, 0, done), 0);
	kf_arena_given(&arena);
	kf_arena_release(&arena);
	bundle.condensed = false;
	assert_int_equal(kf_arena_base_bytes(&bundle), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_drivers_variables_come_first),
		cmocka_unit_test(test_what_is_shown_is_shown_once),
		cmocka_unit_test(test_a_changed_byte_is_found_in_its_tensor),
		cmocka_unit_test(test_what_is_elsewhere_takes_no_memory),
		cmocka_unit_test(test_a_process_apart_has_no_arena),
		cmocka_unit_test(test_a_runners_trouble_is_with_its_device),
		cmocka_unit_test(
			test_trouble_that_python_tells_of_is_with_its_device),
		cmocka_unit_test(test_a_devices_clock_is_held_against_ours),
		cmocka_unit_test(test_a_devices_clock_that_lags_is_doubted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
