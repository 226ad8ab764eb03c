/*
 * What the device's clock says, and what each step costs. On a real device
 * only; every figure is printed as "# measure NAME VALUE UNIT".
 */
#include "../contract/cuda_world.h"

#include "evaluate/worker_end.h"

#define LARGE_BYTES	(UINT64_C(512) << 20)	/* of the input and the output */
#define ROUNDS		11

struct large {
	struct fixture *f;
	struct kf_shared_memory memory;
	struct kf_tensor in, out;
	struct kf_plans plans;
	struct kf_device *dev;
};

static void measure(const char *name, double value, const char *unit)
{
	printf("# measure %s %.6g %s\n", name, value, unit);
	fflush(stdout);
}

/* Each line as one of TAP's, with a word in front of it. */
static void tell_lines(const char *word, const char *text)
{
	while (*text) {
		int len = (int)strcspn(text, "\n");

		printf("# %s%.*s\n", word, len, text);
		text += len + (text[len] == '\n');
	}
}

/* The first number behind words in the card; 0 if there is none. */
static double in_card(const struct fixture *f, const char *words)
{
	const char *at = strstr(kf_buf_str(&f->info.card), words);

	return at ? strtod(at + strlen(words), NULL) : 0;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *value, size_t count)
{
	qsort(value, count, sizeof(value[0]), by_value);
	return value[count / 2];
}

static double ms_since(uint64_t start_ns)
{
	return (double)(kf_now_ns() - start_ns) * 1e-6;
}

/* --- small lists ---------------------------------------------------------- */

/* The median of the device's times, in ns; the clock outside must not say
 * less. */
static double time_of(struct world *w)
{
	double device[ROUNDS];

	world_start(w);
	for (size_t i = 0; i < ROUNDS; i++) {
		const struct kf_driver *d = w->f->driver;
		struct kf_call call = call_of(w);
		uint64_t start_ns, wall_ns;
		struct kf_err err = { 0 };
		int rc;

		if (kf_driver_upload(d, w->dev, &err))
			fail_msg("%s", err.text);
		start_ns = kf_now_ns();
		if (kf_driver_forward(d, w->dev, &call, &rc, &err))
			fail_msg("%s", err.text);
		wall_ns = kf_now_ns() - start_ns;
		device[i] = (double)kf_driver_device_ns(d, w->dev);
		assert_true(device[i] > 0);
		assert_true(device[i] <= (double)wall_ns);
	}
	return median(device, ROUNDS);
}

static void test_an_empty_list_takes_almost_nothing(void **state)
{
	struct world w;
	double ns;

	world_init(&w, *state);
	ns = time_of(&w);
	measure("empty_list", ns, "ns");
	assert_true(ns < 20000);
	world_release(&w);
}

/* Behind the gate a launch costs what the device needs for it, not what the
 * processor needs to queue it. */
static void test_launches_are_queued_before_they_begin(void **state)
{
	static const int count[] = { 1, 20, 100, 500, 2000 };
	double last = 0;

	for (size_t i = 0; i < KF_COUNT(count); i++) {
		struct world w;
		char name[48];
		double ns;

		world_init(&w, *state);
		for (int k = 0; k < count[i]; k++)
			plan_launch(&w.plans.forward, "nothing", 1, 32);
		ns = time_of(&w);
		snprintf(name, sizeof(name), "launches_%d_each", count[i]);
		measure(name, ns / count[i], "ns");
		last = ns / count[i];
		world_release(&w);
	}
	assert_true(last < 10000);
}

/* --- a large copy --------------------------------------------------------- */

static void large_plan(struct large *l)
{
	struct kf_plan *plan = &l->plans.forward;
	uint32_t in = plan_buffer(plan, KF_PLAN_IN, 0, LARGE_BYTES);
	uint32_t out = plan_buffer(plan, KF_PLAN_OUT, 0, LARGE_BYTES);
	struct kf_plan_op *op = plan_launch(plan, "copy4", 132 * 16, 512);

	plan_arg_buffer(op, in, 0);
	plan_arg_buffer(op, out, 0);
	plan_arg_int(op, (int64_t)(LARGE_BYTES / 16), 8);
}

static void large_init(struct large *l, struct fixture *f)
{
	*l = (struct large) { .f = f };
	l->memory = (struct kf_shared_memory) {
		.inputs = shared_block(LARGE_BYTES),
		.inputs_bytes = LARGE_BYTES,
		.outputs = shared_block(LARGE_BYTES),
		.outputs_bytes = LARGE_BYTES,
	};
	l->in = floats((void *)(uintptr_t)l->memory.inputs, NULL);
	l->out = floats(l->memory.outputs, NULL);
	l->in.shape[0] = l->out.shape[0] = (int64_t)(LARGE_BYTES / 4);
	for (uint64_t i = 0; i < LARGE_BYTES / 4; i++)
		((float *)l->in.data)[i] = (float)(i % 8191);
	memset(l->memory.outputs, 0, LARGE_BYTES);
	large_plan(l);
}

static struct kf_call large_call(struct large *l)
{
	return (struct kf_call) { .size = sizeof(struct kf_call),
		.in_count = 1, .out_count = 1, .in = &l->in, .out = &l->out };
}

static void large_load(struct large *l)
{
	const struct kf_driver *d = l->f->driver;
	char *path = path_in(l->f, "large.load");
	struct world w = { .f = l->f, .plans = l->plans };
	struct kf_call call = large_call(l);
	struct kf_err err = { 0 };
	char refused[256] = "";
	uint64_t start_ns = kf_now_ns();
	enum kf_code code;

	write_program(&w, path);
	code = kf_driver_open(d, l->f->info.id, MEMORY_MAX, &l->dev, &err);
	measure("open", ms_since(start_ns), "ms");
	start_ns = kf_now_ns();
	if (!code)
		code = kf_driver_attach(d, l->dev, &l->memory, &call, &err);
	measure("attach_1GiB", ms_since(start_ns), "ms");
	start_ns = kf_now_ns();
	if (!code)
		code = kf_driver_load(d, l->dev, path, refused, &err);
	measure("load", ms_since(start_ns), "ms");
	if (code || refused[0])
		fail_msg("%s%s", err.text, refused);
	free(path);
}

static void large_round(struct large *l, double *ns, double *up_ms,
			double *down_ms)
{
	const struct kf_driver *d = l->f->driver;
	struct kf_call call = large_call(l);
	struct kf_err err = { 0 };
	uint64_t start_ns = kf_now_ns(), changed;
	int rc;

	if (kf_driver_upload(d, l->dev, &err))
		fail_msg("%s", err.text);
	*up_ms = ms_since(start_ns);
	if (kf_driver_forward(d, l->dev, &call, &rc, &err))
		fail_msg("%s", err.text);
	*ns = (double)kf_driver_device_ns(d, l->dev);
	start_ns = kf_now_ns();
	if (kf_driver_download(d, l->dev, &changed, &err))
		fail_msg("%s", err.text);
	*down_ms = ms_since(start_ns);
	assert_true(changed == UINT64_MAX);
	assert_memory_equal(l->memory.outputs, l->memory.inputs, LARGE_BYTES);
}

/* Of elements that are whole numbers below 8191: the sums are exact. */
static void sum_of_large(struct large *l)
{
	const uint64_t numel = LARGE_BYTES / 4;
	const uint64_t chunks = kf_sums_chunks(numel);
	int8_t *sign = kf_alloc(KF_SUMS * KF_SUMS_CHUNK);
	double *sum = kf_alloc(chunks * KF_SUMS * sizeof(sum[0]));
	struct kf_sums sums = { .sign = sign, .sum = sum };
	struct kf_rng rng = { 3 };
	struct kf_err err = { 0 };
	uint64_t start_ns, changed;
	size_t wrong = 0;

	for (size_t i = 0; i < KF_SUMS * KF_SUMS_CHUNK; i++)
		sign[i] = kf_rng_below(&rng, 2) ? 1 : -1;
	start_ns = kf_now_ns();
	if (kf_driver_sum(l->f->driver, l->dev, &sums, 1, &changed, &err))
		fail_msg("%s", err.text);
	measure("sum_0.5GiB", ms_since(start_ns), "ms");
	for (uint64_t c = 0; c < chunks; c++)
		for (unsigned k = 0; k < KF_SUMS; k++) {
			double want = 0;

			for (uint64_t i = c * KF_SUMS_CHUNK; i < numel &&
			     i < (c + 1) * KF_SUMS_CHUNK; i++)
				want += ((const float *)l->out.data)[i] *
					sign[k * KF_SUMS_CHUNK +
					     i % KF_SUMS_CHUNK];
			wrong += want != sum[c * KF_SUMS + k];
		}
	assert_int_equal(wrong, 0);
	free(sum);
	free(sign);
}

static void test_a_copy_runs_at_the_bandwidth(void **state)
{
	struct fixture *f = *state;
	double theory = in_card(f, "GiB, ") * 1e12, ns[ROUNDS], up[ROUNDS];
	double down[ROUNDS], rate;
	struct large l;

	large_init(&l, f);
	large_load(&l);
	for (size_t i = 0; i < ROUNDS; i++)
		large_round(&l, &ns[i], &up[i], &down[i]);
	sum_of_large(&l);
	rate = 2.0 * (double)LARGE_BYTES / (median(ns, ROUNDS) * 1e-9);
	measure("copy", rate * 1e-12, "TB/s");
	measure("copy_of_theory", rate / theory, "");
	measure("upload_1GiB", median(up, ROUNDS), "ms");
	measure("download_0.5GiB", median(down, ROUNDS), "ms");
	assert_true(theory > 0);
	assert_true(rate < 1.02 * theory);
	assert_true(rate > 0.6 * theory);
	kf_driver_close(f->driver, l.dev);
	kf_plans_release(&l.plans);
	munmap((void *)(uintptr_t)l.memory.inputs, LARGE_BYTES);
	munmap(l.memory.outputs, LARGE_BYTES);
}

/* --- steps ---------------------------------------------------------------- */

static void test_steps_are_quick(void **state)
{
	struct fixture *f = *state;
	struct kf_err err = { 0 };
	struct kf_build build;
	uint64_t start_ns = kf_now_ns();
	struct world w;

	if (build_files(f, "tests/data/programs/axpb.cu",
			"tests/data/cuda/host.c", &build, &err))
		fail_msg("%s", err.text);
	measure("build_axpb", ms_since(start_ns), "ms");
	kf_build_release(&build);
	world_init(&w, f);
	start_ns = kf_now_ns();
	world_start(&w);
	measure("open_to_prepare", ms_since(start_ns), "ms");
	world_call(&w);
	start_ns = kf_now_ns();
	assert_int_equal(world_prepare(&w, NULL), KF_OK);
	measure("prepare_again", ms_since(start_ns), "ms");
	start_ns = kf_now_ns();
	for (int i = 0; i < 100; i++)
		world_call(&w);
	measure("small_call", ms_since(start_ns) * 10, "us");
	world_release(&w);
}

/* An honest device's time is near what the host sees of it, so that its clock
 * is believed (kf_worker_clock_lags). */
static void test_the_clock_of_a_device_is_seldom_doubted(void **state)
{
	unsigned lags = 0;
	struct world w;

	world_init(&w, *state);
	add_axpb(&w.plans.forward, IN, OUT, 2, 1);
	world_start(&w);
	for (int i = 0; i < 100; i++) {
		world_call(&w);
		lags += kf_worker_clock_lags(
			kf_driver_device_ns(w.f->driver, w.dev),
			kf_driver_host_ns(w.f->driver, w.dev));
	}
	measure("clock_doubted", lags, "of 100 calls");
	assert_true(lags <= 25);
	world_release(&w);
}

static void test_the_card_has_what_was_measured(void **state)
{
	struct fixture *f = *state;
	struct kf_device_info info[1];
	struct kf_err err = { 0 };
	uint64_t start_ns = kf_now_ns();
	size_t count;

	if (kf_driver_find(f->driver, info, 1, f->info.id, &count, &err))
		fail_msg("%s", err.text);
	measure("find_measured", ms_since(start_ns), "ms");
	assert_int_equal(count, 1);
	tell_lines("card ", kf_buf_str(&info->card));
	assert_non_null(strstr(kf_buf_str(&info->card), "measured copy"));
	assert_non_null(strstr(kf_buf_str(&info->card), "measured float32"));
	assert_non_null(strstr(kf_buf_str(&info->card), "measured bfloat16"));
	kf_device_info_release(info);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		/* Asks in a child, which cannot use what its parent began. */
		cmocka_unit_test(test_the_card_has_what_was_measured),
		cmocka_unit_test(test_an_empty_list_takes_almost_nothing),
		cmocka_unit_test(test_launches_are_queued_before_they_begin),
		cmocka_unit_test(test_a_copy_runs_at_the_bandwidth),
		cmocka_unit_test(test_the_clock_of_a_device_is_seldom_doubted),
		cmocka_unit_test(test_steps_are_quick),
	};
	struct CMUnitTest with_state[KF_COUNT(tests)];
	struct fixture f = { .driver = kf_driver_by_name("cuda") };
	struct kf_build build = { 0 };
	struct kf_err err = { 0 };
	size_t count = 0;
	int failed;

	use_standin(false);
	if (kf_driver_find(f.driver, &f.info, 1, NULL, &count, &err) ||
	    !count || make_folder(&f)) {
		printf("1..1\nnot ok 1 - there is a CUDA device\n# %s\n",
		       err.text[0] ? err.text : count ?
		       "a folder for the program cannot be made" :
		       "no CUDA device here");
		return 1;
	}
	if (build_files(&f, "tests/data/cuda/kernels.cu",
			"tests/data/cuda/host.c", &build, &err) ||
	    build.end != KF_BUILD_DONE) {
		printf("1..1\nnot ok 1 - kernels.cu is built\n");
		tell_lines("", err.text);
		tell_lines("", kf_buf_str(&build.log));
		return 1;
	}
	take_code(&f);
	kf_build_release(&build);
	memcpy(with_state, tests, sizeof(tests));
	for (size_t i = 0; i < KF_COUNT(tests); i++)
		with_state[i].initial_state = &f;
	failed = cmocka_run_group_tests_name("timing", with_state, NULL, NULL);
	kf_device_info_release(&f.info);
	kf_buf_release(&f.code);
	kf_remove_tree(f.folder, NULL);
	return failed;
}
