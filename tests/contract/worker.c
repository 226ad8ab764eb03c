/*
 * The promises of evaluate/worker.h and evaluate/build.h: every way in which a
 * program can misbehave has its own end, and none of them is ours. Programs are
 * tests/data/programs/NAME.c, built by the real builder and run by the real
 * runner in the real sandbox.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants those first */
#include <cmocka.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "evaluate/worker.h"
#include "runner/protocol.h"

#define COUNT		1000
#define TIMEOUT_NS	(5 * KF_NS_PER_S)

struct fixture {
	char folder[64];
	struct kf_platform *cpu;
	struct kf_bundle bundle;
	struct kf_tensor_info in, weight, out;
	struct kf_handshakes handshakes;
};

/* --- helpers ------------------------------------------------------------ */

static struct kf_tensor_info info(const char *name, int64_t numel)
{
	return (struct kf_tensor_info) { .name = (char *)(uintptr_t)name,
		.dtype = KF_F32, .rank = 1, .shape = { numel },
		.numel = numel, .bytes = (size_t)numel * sizeof(float) };
}

static int setup_group(void **state)
{
	struct fixture *f = kf_alloc(sizeof(*f));
	struct kf_err err = { 0 };

	*state = f;
	snprintf(f->folder, sizeof(f->folder), "/tmp/kforge-worker-XXXXXX");
	if (!mkdtemp(f->folder))
		return -1;
	if (kf_platform_load("cpu", &f->cpu, &err)) {
		print_error("%s\n", err.text);
		return -1;
	}
	f->cpu->run_limits.memory_bytes = 256u << 20;
	f->cpu->run_limits.cpu_ns = 60 * KF_NS_PER_S;
	f->in = info("x", COUNT);
	f->weight = info("fc.bias", 2);
	f->out = info("out0", COUNT);
	f->bundle = (struct kf_bundle) { .in = &f->in, .weight = &f->weight,
		.out = &f->out, .in_count = 1, .weight_count = 1,
		.out_count = 1 };
	return 0;
}

static int teardown_group(void **state)
{
	struct fixture *f = *state;

	kf_platform_free(f->cpu);
	kf_remove_tree(f->folder, NULL);
	free(f);
	return 0;
}

/* tests/data/programs/NAME.c as program.c in a folder of its own. */
static void build_program(struct fixture *f, const char *name,
			  struct kf_build *build, struct kf_artefact *artefact)
{
	char *source = kf_format("%s/%s", f->folder, name);
	char *from = kf_format("tests/data/programs/%s.c", name);
	char *to = kf_format("%s/program.c", source);
	char *work = kf_format("%s/work", source);
	struct kf_buf text = { .max = 1u << 20 };
	struct kf_build_job job = {
		.platform = f->cpu, .source_dir = source, .work_dir = work,
		.tier_min = KF_TIER_WEAK,
	};
	struct kf_err err = { 0 };

	if (kf_mkdir_p(work, &err) || kf_file_read(from, &text, &err) ||
	    kf_file_write(to, text.data, text.len, &err) ||
	    kf_build_run(&job, build, artefact, &err))
		fail_msg("%s: %s", name, err.text);
	kf_buf_release(&text);
	free(work);
	free(to);
	free(from);
	free(source);
}

static struct kf_worker *start(struct fixture *f, const char *name,
			       struct kf_call_end *end)
{
	struct kf_artefact artefact;
	struct kf_build build;
	struct kf_worker_spec spec = { .platform = f->cpu,
		.device_id = "cpu:0", .bundle = &f->bundle, .threads = 2,
		.tier_min = KF_TIER_WEAK, .limits = f->cpu->run_limits,
		.handshakes = &f->handshakes };
	struct kf_worker *worker;
	struct kf_err err = { 0 };
	float *weight;

	build_program(f, name, &build, &artefact);
	if (build.end != KF_BUILD_DONE)
		fail_msg("%s: %s", name, kf_buf_str(&build.log));
	spec.artefact_path = artefact.path;
	if (kf_worker_start(&spec, &worker, end, &err))
		fail_msg("%s: %s", name, err.text);
	if (end->state == KF_CALL_GOOD) {
		weight = kf_worker_weight(worker, 0);
		weight[0] = 2;
		weight[1] = 1;
	}
	kf_artefact_release(&artefact);
	kf_build_release(&build);
	return worker;
}

static void fill_input(struct kf_worker *worker, float start)
{
	float *x = kf_worker_in(worker, 0);
	struct kf_call_end end;
	struct kf_err err = { 0 };

	if (kf_worker_tidy(worker, &end, &err))
		fail_msg("%s", err.text);
	assert_int_equal(end.state, KF_CALL_GOOD);
	for (size_t i = 0; i < COUNT; i++)
		x[i] = start + (float)i;
	kf_worker_poison(worker);
}

static size_t count_wrong(struct kf_worker *worker)
{
	const float *x = kf_worker_in(worker, 0);
	const float *y = kf_worker_out(worker, 0);
	size_t wrong = 0;

	for (size_t i = 0; i < COUNT; i++)
		wrong += !(y[i] >= 2 * x[i] + 1 && y[i] <= 2 * x[i] + 1);
	return wrong;
}

static void forward(struct kf_worker *worker, uint64_t timeout_ns,
		    struct kf_call_end *end)
{
	struct kf_err err = { 0 };

	fill_input(worker, 1);
	if (kf_worker_forward(worker, timeout_ns, end, &err))
		fail_msg("%s", err.text);
}

static void prepare(struct kf_worker *worker, struct kf_call_end *end)
{
	struct kf_err err = { 0 };

	if (kf_worker_prepare(worker, TIMEOUT_NS, end, &err))
		fail_msg("%s", err.text);
}

static struct kf_worker *start_good(struct fixture *f, const char *name)
{
	struct kf_call_end end;
	struct kf_worker *worker = start(f, name, &end);

	if (end.state != KF_CALL_GOOD)
		fail_msg("%s: %s", name, end.text);
	return worker;
}

/* --- good programs ------------------------------------------------------ */

/* Its thread is made anew in every call. After its end is too late. */
static void test_a_call_can_be_held_up(void **state)
{
	static const struct { uint64_t after_ns; bool held; } rows[] = {
		{ 0, false }, { 300000, true }, { 0, false },
		{ 10 * KF_NS_PER_S, false }, { 100000, true },
	};
	struct kf_worker *worker = start_good(*state, "late_thread");

	assert_true(kf_worker_holds(((struct fixture *)*state)->cpu->driver));
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct kf_call_end end;

		kf_worker_hold(worker, rows[i].after_ns);
		forward(worker, TIMEOUT_NS, &end);
		assert_int_equal(end.state, KF_CALL_GOOD);
		assert_int_equal(count_wrong(worker), 0);
		assert_int_equal(kf_worker_held(worker), rows[i].held);
		if (rows[i].held)
			assert_true(end.time_ns >= KF_HOST_HOLD_NS);
	}
	kf_worker_free(worker);
}

static void test_good_program_computes_every_time(void **state)
{
	struct kf_worker *worker = start_good(*state, "axpb");
	uint32_t first = 0, median_ok = 0;
	uint64_t median;
	struct kf_err err = { 0 };

	for (int i = 0; i < 8; i++) {
		struct kf_call_end end;
		size_t which;
		int64_t offset;

		fill_input(worker, (float)i);
		if (i == 0)
			first = kf_worker_pattern(worker);
		else if (i == 1)
			assert_int_not_equal(kf_worker_pattern(worker), first);
		assert_int_equal(count_wrong(worker), COUNT);
		if (kf_worker_forward(worker, TIMEOUT_NS, &end, &err))
			fail_msg("%s", err.text);
		assert_int_equal(end.state, KF_CALL_GOOD);
		assert_string_equal(end.text, "");
		assert_int_equal(count_wrong(worker), 0);
		assert_true(kf_worker_guards(worker, &which, &offset));
		assert_false(kf_worker_late(worker));
		assert_true(end.own_ns > 0);
		assert_true(end.time_ns < TIMEOUT_NS);
	}
	median_ok = kf_worker_handshake_ns(worker, &median) <= median;
	assert_true(median_ok);
	kf_worker_stop(worker);
	assert_int_not_equal(kf_worker_tier(worker), KF_TIER_NONE);
	kf_worker_free(worker);
}

/* One that was measured on a busy machine is too long. */
static void test_the_least_handshake_of_all_workers_counts(void **state)
{
	struct fixture *f = *state;
	struct kf_worker *worker;
	uint64_t median;

	f->handshakes = (struct kf_handshakes) { .of[0] = {
		.driver = f->cpu->driver, .ns_least = 1,
	} };
	worker = start_good(f, "axpb");
	assert_int_equal(kf_worker_handshake_ns(worker, &median), 1);
	assert_true(median > 1);
	kf_worker_free(worker);
	f->handshakes.of[0].ns_least = UINT64_MAX;
	worker = start_good(f, "axpb");
	assert_int_equal(kf_worker_handshake_ns(worker, NULL),
			 f->handshakes.of[0].ns_least);
	assert_true(f->handshakes.of[0].ns_least < UINT64_MAX);
	kf_worker_free(worker);
}

static void test_program_without_prepare_is_prepared(void **state)
{
	struct kf_worker *worker = start_good(*state, "axpb");
	struct kf_call_end end;

	prepare(worker, &end);
	assert_int_equal(end.state, KF_CALL_GOOD);
	kf_worker_free(worker);
}

static void test_openmp_has_the_threads_it_was_given(void **state)
{
	struct kf_worker *worker = start_good(*state, "openmp");
	struct kf_call_end end;

	forward(worker, TIMEOUT_NS, &end);
	assert_string_equal(end.text, "");
	assert_int_equal(end.state, KF_CALL_GOOD);
	assert_int_equal(count_wrong(worker), 0);
	kf_worker_free(worker);
}

static void test_kept_memory_lives_as_long_as_the_weights(void **state)
{
	struct kf_worker *worker = start_good(*state, "keep");
	struct kf_call_end end;

	/* Twice: the second kf_prepare begins with fresh memory. */
	for (int i = 0; i < 2; i++) {
		prepare(worker, &end);
		assert_int_equal(end.rc, 0);
		forward(worker, TIMEOUT_NS, &end);
		assert_int_equal(end.rc, 0);
		assert_int_equal(count_wrong(worker), 0);
	}
	kf_worker_free(worker);
}

static void test_keep_without_prepare_gives_nothing(void **state)
{
	struct kf_worker *worker = start_good(*state, "keep");
	struct kf_call_end end;

	forward(worker, TIMEOUT_NS, &end);
	assert_int_equal(end.state, KF_CALL_RC);
	assert_int_equal(end.rc, 5);
	kf_worker_free(worker);
}

static void test_scratch_is_aligned_bounded_and_gone(void **state)
{
	struct kf_worker *worker = start_good(*state, "temp");
	struct kf_call_end end;

	for (int i = 0; i < 3; i++) {
		forward(worker, TIMEOUT_NS, &end);
		assert_int_equal(end.rc, 0);
		assert_int_equal(count_wrong(worker), 0);
	}
	kf_worker_free(worker);
}

static void test_nonzero_return_leaves_the_worker_alive(void **state)
{
	struct kf_worker *worker = start_good(*state, "returns_seven");
	struct kf_call_end end;

	for (int i = 0; i < 2; i++) {
		forward(worker, TIMEOUT_NS, &end);
		assert_int_equal(end.state, KF_CALL_RC);
		assert_int_equal(end.rc, 7);
		assert_string_equal(end.text, "kf_forward returned 7");
	}
	kf_worker_free(worker);
}

static void test_files_of_the_machine_are_not_there(void **state)
{
	struct kf_worker *worker = start_good(*state, "passwd");
	struct kf_call_end end;

	forward(worker, TIMEOUT_NS, &end);
	assert_int_equal(end.state, KF_CALL_GOOD);
	kf_worker_free(worker);
}

static struct kf_tensor_info shaped(const char *name, enum kf_dtype dtype,
				    int rank, int64_t a, int64_t b)
{
	int64_t numel = (rank > 0 ? a : 1) * (rank > 1 ? b : 1);

	return (struct kf_tensor_info) { .name = (char *)(uintptr_t)name,
		.dtype = dtype, .rank = rank, .shape = { a, b },
		.numel = numel,
		.bytes = (size_t)numel * kf_dtype_bytes(dtype) };
}

static void test_every_kind_of_argument_arrives(void **state)
{
	struct fixture *f = *state;
	struct kf_bundle simple = f->bundle;
	struct kf_tensor_info in[] = {
		shaped("i", KF_I64, 2, 2, 3),
		shaped("nothing", KF_DTYPE_NONE, 0, 0, 0),
		shaped("empty", KF_F32, 1, 0, 0),
	};
	struct kf_tensor_info weight[] = {
		shaped("a", KF_F16, 1, 5, 0),
		shaped("b", KF_F32, 0, 0, 0),
	};
	struct kf_tensor_info out[] = {
		shaped("out0", KF_BOOL, 1, 3, 0),
		shaped("out1", KF_F32, 2, 0, 4),
		shaped("out2", KF_F64, 0, 0, 0),
	};
	struct kf_scalar_info scalar[] = {
		{ 'i', -7, -7 }, { 'f', 0, 0.5 }, { 'b', 1, 1 },
	};
	struct kf_worker *worker;
	struct kf_call_end end;
	struct kf_err err = { 0 };
	const unsigned char *flags;
	int64_t *i64, offset;
	size_t which;

	f->bundle = (struct kf_bundle) {
		.in = in, .in_count = KF_COUNT(in),
		.weight = weight, .weight_count = KF_COUNT(weight),
		.out = out, .out_count = KF_COUNT(out),
		.scalar = scalar, .scalar_count = KF_COUNT(scalar),
	};
	worker = start_good(f, "mixed");
	f->bundle = simple;
	*(float *)kf_worker_weight(worker, 1) = 0.25f;
	i64 = kf_worker_in(worker, 0);
	for (int64_t k = 0; k < 6; k++)
		i64[k] = k + ((int64_t)1 << 40);
	kf_worker_poison(worker);
	if (kf_worker_forward(worker, TIMEOUT_NS, &end, &err))
		fail_msg("%s", err.text);
	assert_int_equal(end.rc, 0);
	flags = kf_worker_out(worker, 0);
	assert_int_equal(flags[0] + flags[1] + flags[2], 3);
	assert_true(*(double *)kf_worker_out(worker, 2) >
		    (double)((int64_t)1 << 41));
	assert_true(kf_worker_guards(worker, &which, &offset));
	kf_worker_free(worker);
}

static void test_null_platform_leaves_outputs_alone(void **state)
{
	struct fixture *f = *state;
	struct kf_platform *cpu = f->cpu, *null = NULL;
	struct kf_artefact artefact;
	struct kf_build build;
	struct kf_worker_spec spec = { .device_id = "null:0",
		.bundle = &f->bundle, .threads = 1, .tier_min = KF_TIER_WEAK };
	struct kf_worker *worker = NULL;
	struct kf_call_end end;
	struct kf_err err = { 0 };

	if (kf_platform_load("null", &null, &err))
		fail_msg("%s", err.text);
	f->cpu = null;
	build_program(f, "axpb", &build, &artefact);
	f->cpu = cpu;
	assert_int_equal(build.end, KF_BUILD_DONE);
	assert_null(artefact.compiler);
	spec.platform = null;
	spec.artefact_path = artefact.path;
	spec.limits = null->run_limits;
	if (kf_worker_start(&spec, &worker, &end, &err))
		fail_msg("%s", err.text);
	assert_int_equal(end.state, KF_CALL_GOOD);
	forward(worker, TIMEOUT_NS, &end);
	assert_int_equal(end.state, KF_CALL_GOOD);
	assert_int_equal(count_wrong(worker), COUNT);
	kf_worker_free(worker);
	kf_artefact_release(&artefact);
	kf_build_release(&build);
	kf_platform_free(null);
}

/* --- bad programs ------------------------------------------------------- */

static void test_each_misdeed_has_its_end(void **state)
{
	static const struct {
		const char *program;
		enum kf_call_state state;
		const char *words;
	} rows[] = {
		{ "null_pointer", KF_CALL_SIGNAL, "segmentation fault" },
		{ "null_pointer", KF_CALL_SIGNAL, "a null pointer" },
		{ "write_input", KF_CALL_INPUT_WRITE, "input 0 (x) at byte 12" },
		{ "write_weight", KF_CALL_INPUT_WRITE,
		  "weight fc.bias at byte 4" },
		{ "divide_by_zero", KF_CALL_SIGNAL, "division by zero" },
		{ "aborts", KF_CALL_SIGNAL, "abort" },
		{ "exits", KF_CALL_EXITED, "status 0" },
		{ "forks", KF_CALL_VIOLATION, "clone" },
		{ "network", KF_CALL_VIOLATION, "socket" },
		{ "flood", KF_CALL_SIGNAL, "abort" },
		{ "scribbles", KF_CALL_PROTOCOL, "judge" },
	};

	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct kf_worker *worker = start_good(*state, rows[i].program);
		struct kf_call_end end;
		struct kf_err err = { 0 };

		forward(worker, TIMEOUT_NS, &end);
		if (end.state != rows[i].state ||
		    !strstr(end.text, rows[i].words))
			fail_msg("%s: state %d: %s", rows[i].program,
				 (int)end.state, end.text);
		assert_non_null(strstr(end.text, "in kf_forward"));
		/* It is dead, and says so. */
		assert_int_equal(kf_worker_forward(worker, TIMEOUT_NS, &end,
						   &err), KF_E_INPUT);
		kf_worker_free(worker);
	}
}

static void test_endless_program_is_stopped(void **state)
{
	struct kf_worker *worker = start_good(*state, "loop");
	uint64_t start_ns = kf_now_ns();
	struct kf_call_end end;

	forward(worker, 50 * KF_NS_PER_MS, &end);
	assert_int_equal(end.state, KF_CALL_TIMEOUT);
	assert_non_null(strstr(end.text, "0.05 s in kf_forward"));
	assert_true(kf_now_ns() - start_ns < 10 * KF_NS_PER_S);
	kf_worker_free(worker);
}

/* Processes that keep this one's only processor busy while it holds them. */
#define RIVALS	3

static void start_rivals(pid_t *rival)
{
	for (int i = 0; i < RIVALS; i++) {
		rival[i] = fork();
		assert_true(rival[i] >= 0);
		while (!rival[i])
			;
	}
}

static void end_rivals(pid_t *rival)
{
	for (int i = 0; i < RIVALS; i++) {
		kill(rival[i], SIGKILL);
		waitpid(rival[i], NULL, 0);
	}
}

static void test_a_busy_machine_puts_the_deadline_off(void **state)
{
	struct kf_worker *worker = start_good(*state, "works_a_while");
	pid_t rival[RIVALS];
	struct kf_call_end end;
	cpu_set_t all, one;

	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	/* The worker was started on all: moved. Its rivals are born so. */
	assert_int_equal(sched_setaffinity(kf_worker_pid(worker), sizeof(one),
					   &one), 0);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	start_rivals(rival);
	assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
	forward(worker, 250 * KF_NS_PER_MS, &end);
	end_rivals(rival);
	assert_int_equal(end.state, KF_CALL_GOOD);
	assert_true(end.wall_ns > 250 * KF_NS_PER_MS);
	assert_true(end.delay_ns > 50 * KF_NS_PER_MS);
	assert_int_equal(count_wrong(worker), 0);
	kf_worker_free(worker);
}

static void test_memory_hog_is_stopped(void **state)
{
	struct kf_worker *worker = start_good(*state, "hog");
	struct kf_call_end end;

	forward(worker, 4 * TIMEOUT_NS, &end);
	/* Where only setrlimit holds it, malloc fails and it crashes. */
	if (kf_worker_tier(worker) == KF_TIER_STRONG)
		assert_int_equal(end.state, KF_CALL_MEMORY);
	else
		assert_true(end.state == KF_CALL_MEMORY ||
			    end.state == KF_CALL_SIGNAL);
	kf_worker_free(worker);
}

static void test_end_of_a_flood_is_kept(void **state)
{
	struct kf_worker *worker = start_good(*state, "flood");
	struct kf_call_end end;

	forward(worker, TIMEOUT_NS, &end);
	assert_non_null(strstr(end.output, "line "));
	assert_true(strlen(end.output) < sizeof(end.output));
	kf_worker_free(worker);
}

/* With either pattern of the guards, and also where what is written is the NaN
 * that was read beside the input. */
static void test_guards_tell_of_writes_out_of_bounds(void **state)
{
	static const struct { const char *program; int64_t offset; } rows[] = {
		{ "write_after", 0 },
		{ "write_before", -8 },
		{ "one_too_many", 0 },
	};

	for (size_t i = 0; i < 2 * KF_COUNT(rows); i++) {
		struct kf_worker *worker = start_good(*state,
						      rows[i / 2].program);
		struct kf_call_end end;
		int64_t offset = 99;
		size_t which = 99;

		if (i % 2)
			kf_worker_poison(worker);
		forward(worker, TIMEOUT_NS, &end);
		assert_int_equal(end.state, KF_CALL_GOOD);
		assert_int_equal(count_wrong(worker), 0);
		assert_false(kf_worker_guards(worker, &which, &offset));
		assert_int_equal(which, 0);
		assert_int_equal(offset, rows[i / 2].offset);
		/* Poison mends them. */
		kf_worker_poison(worker);
		assert_true(kf_worker_guards(worker, &which, &offset));
		kf_worker_free(worker);
	}
}

/* In each call, whether scratch came from the block or beside it. */
static void test_guards_around_scratch_are_looked_at(void **state)
{
	static const struct { const char *program, *words; } rows[] = {
		{ "scratch_after", "it wrote 0 bytes behind the end of scratch "
		  "of" },
		{ "scratch_before", "in front of scratch" },
		{ "scratch_whole", NULL },
	};

	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct kf_worker *w = start_good(*state, rows[i].program);
		struct kf_call_end end;
		struct kf_err err = { 0 };

		for (int k = 0; k < 5; k++) {
			forward(w, TIMEOUT_NS, &end);
			assert_int_equal(end.state, KF_CALL_GOOD);
			assert_int_equal(count_wrong(w), 0);
			assert_int_equal(kf_worker_tidy(w, &end, &err), KF_OK);
			assert_int_equal(end.state, rows[i].words ?
					 KF_CALL_BOUNDS : KF_CALL_GOOD);
			if (!rows[i].words)
				continue;
			assert_non_null(strstr(end.text, rows[i].words));
			break;
		}
		kf_worker_free(w);
	}
}

static void test_a_variable_that_was_never_set_is_no_number(void **state)
{
	struct kf_worker *w = start_good(*state, "unset");
	struct kf_call_end end;
	struct kf_err err = { 0 };

	forward(w, TIMEOUT_NS, &end);
	assert_int_equal(end.state, KF_CALL_GOOD);
	assert_int_equal(kf_worker_tidy(w, &end, &err), KF_OK);
	forward(w, TIMEOUT_NS, &end);
	assert_int_equal(end.state, KF_CALL_GOOD);
	assert_true(count_wrong(w) > 0);
	kf_worker_free(w);
}

static void test_a_guard_behind_kept_memory_is_looked_at(void **state)
{
	struct kf_worker *worker = start_good(*state, "keep_after");
	struct kf_call_end end;
	struct kf_err err = { 0 };

	prepare(worker, &end);
	assert_int_equal(end.state, KF_CALL_GOOD);
	assert_int_equal(kf_worker_tidy(worker, &end, &err), KF_OK);
	assert_int_equal(end.state, KF_CALL_BOUNDS);
	assert_non_null(strstr(end.text, "it wrote 0 bytes behind the end of "
			       "memory of 8 bytes that kf_keep gave"));
	kf_worker_free(worker);
}

/* What lies behind the last input is no weight, and so on. */
static void test_a_tensor_too_many_is_no_tensor(void **state)
{
	static const char *const program[] = {
		"input_too_many", "weight_too_many",
	};

	for (size_t i = 0; i < KF_COUNT(program); i++) {
		struct kf_worker *w = start_good(*state, program[i]);
		struct kf_call_end end;

		forward(w, TIMEOUT_NS, &end);
		assert_int_equal(end.state, KF_CALL_SIGNAL);
		kf_worker_free(w);
	}
}

static void test_kept_memory_cannot_hide_results(void **state)
{
	struct kf_worker *worker = start_good(*state, "write_keep");
	struct kf_call_end end;

	prepare(worker, &end);
	assert_int_equal(end.state, KF_CALL_GOOD);
	forward(worker, TIMEOUT_NS, &end);
	assert_int_equal(end.state, KF_CALL_SIGNAL);
	assert_non_null(strstr(end.text, "kept by kf_prepare"));
	kf_worker_free(worker);
}

static void test_unusable_artefact_is_a_verdict(void **state)
{
	static const struct {
		const char *program;
		enum kf_call_state state;
		const char *words;
	} rows[] = {
		{ "no_forward", KF_CALL_LOAD, "kf_forward" },
		{ "constructor_exits", KF_CALL_EXITED, "while it was loaded" },
		{ "constructor_forks", KF_CALL_VIOLATION, "clone" },
	};

	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct kf_call_end end;
		struct kf_worker *worker = start(*state, rows[i].program, &end);

		if (end.state != rows[i].state ||
		    !strstr(end.text, rows[i].words))
			fail_msg("%s: state %d: %s", rows[i].program,
				 (int)end.state, end.text);
		assert_int_equal(kf_worker_forward(worker, TIMEOUT_NS, &end,
						   NULL), KF_E_INPUT);
		kf_worker_free(worker);
	}
}

static void test_work_put_off_shows(void **state)
{
	struct kf_worker *worker = start_good(*state, "deferred");
	struct timespec moment = { .tv_nsec = 20 * KF_NS_PER_MS };
	struct kf_call_end end;
	bool late = false;

	forward(worker, TIMEOUT_NS, &end);
	assert_int_equal(end.state, KF_CALL_GOOD);
	/* It stands still with its work undone until it is let go on. */
	nanosleep(&moment, NULL);
	assert_int_equal(count_wrong(worker), COUNT);
	for (int i = 0; i < 100 && !late; i++)
		late = kf_worker_late(worker);
	assert_true(late);
	kf_worker_free(worker);
}

/* Its thread sees inputs as soon as they can be seen and works for 5 ms. */
static void test_inputs_are_seen_in_no_time_but_its_own(void **state)
{
	struct kf_worker *worker = start_good(*state, "reads_ahead");
	struct timespec moment = { .tv_nsec = 10 * KF_NS_PER_MS };
	struct kf_call_end end;
	struct kf_err err = { 0 };

	for (int i = 0; i < 4; i++) {
		fill_input(worker, (float)i + 1);
		nanosleep(&moment, NULL);
		if (kf_worker_forward(worker, TIMEOUT_NS, &end, &err))
			fail_msg("%s", err.text);
		assert_int_equal(end.state, KF_CALL_GOOD);
		assert_int_equal(count_wrong(worker), 0);
		if (i > 0)
			assert_true(end.time_ns > 4 * KF_NS_PER_MS);
	}
	kf_worker_free(worker);
}

static void test_forged_answer_gains_nothing(void **state)
{
	struct kf_worker *worker = start_good(*state, "forges_done");
	struct kf_call_end end;

	forward(worker, TIMEOUT_NS, &end);
	assert_true(end.state == KF_CALL_PROTOCOL ||
		    count_wrong(worker) > 0 || kf_worker_late(worker));
	kf_worker_free(worker);
}

static void test_cancel_is_nobodys_fault(void **state)
{
	struct fixture *f = *state;
	volatile int cancel = 0;
	struct kf_artefact artefact;
	struct kf_build build;
	struct kf_worker_spec spec = { .platform = f->cpu,
		.device_id = "cpu:0", .bundle = &f->bundle, .threads = 1,
		.tier_min = KF_TIER_WEAK, .limits = f->cpu->run_limits,
		.cancel = &cancel };
	struct kf_worker *worker = NULL;
	struct kf_call_end end;
	struct kf_err err = { 0 };

	build_program(f, "loop", &build, &artefact);
	spec.artefact_path = artefact.path;
	assert_int_equal(kf_worker_start(&spec, &worker, &end, &err), KF_OK);
	cancel = 1;
	assert_int_equal(kf_worker_forward(worker, TIMEOUT_NS, &end, &err),
			 KF_E_CANCELED);
	kf_worker_free(worker);
	kf_artefact_release(&artefact);
	kf_build_release(&build);
}

static void test_unknown_device_is_our_trouble(void **state)
{
	struct fixture *f = *state;
	struct kf_artefact artefact;
	struct kf_build build;
	struct kf_worker_spec spec = { .platform = f->cpu,
		.device_id = "cpu:9", .bundle = &f->bundle, .threads = 1,
		.tier_min = KF_TIER_WEAK, .limits = f->cpu->run_limits };
	struct kf_worker *worker = NULL;
	struct kf_call_end end;
	struct kf_err err = { 0 };

	build_program(f, "axpb", &build, &artefact);
	spec.artefact_path = artefact.path;
	assert_int_equal(kf_worker_start(&spec, &worker, &end, &err),
			 KF_E_UNAVAIL);
	assert_null(worker);
	assert_non_null(strstr(err.text, "cpu:9"));
	kf_artefact_release(&artefact);
	kf_build_release(&build);
}

/* --- builds ------------------------------------------------------------- */

static void test_artefact_is_named_by_its_content(void **state)
{
	struct kf_artefact artefact;
	struct kf_build build;
	char hash[KF_HASH_HEX];

	build_program(*state, "axpb", &build, &artefact);
	assert_int_equal(build.end, KF_BUILD_DONE);
	assert_int_equal(kf_hash_file(artefact.path, hash, NULL), KF_OK);
	assert_string_equal(hash, artefact.hash);
	assert_non_null(strstr(artefact.path, artefact.hash));
	assert_non_null(artefact.compiler);
	assert_true(build.took_ns > 0);
	assert_int_not_equal(artefact.tier, KF_TIER_NONE);
	kf_artefact_release(&artefact);
	kf_build_release(&build);
}

static void test_each_bad_source_has_its_end(void **state)
{
	static const struct {
		const char *program;
		enum kf_build_end end;
		const char *words;
	} rows[] = {
		{ "broken", KF_BUILD_REFUSED, "program.c:6" },
		{ "include_passwd", KF_BUILD_REFUSED, "/etc/passwd" },
		{ "incbin_passwd", KF_BUILD_REFUSED, "/etc/passwd" },
		{ "includes_itself", KF_BUILD_REFUSED, "#include nested" },
		{ "large", KF_BUILD_TOO_LARGE, "" },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct kf_artefact artefact;
		struct kf_build build;

		build_program(f, rows[i].program, &build, &artefact);
		if (build.end != rows[i].end ||
		    !strstr(kf_buf_str(&build.log), rows[i].words))
			fail_msg("%s: end %d: %s", rows[i].program,
				 (int)build.end, kf_buf_str(&build.log));
		assert_null(artefact.path);
		assert_non_null(artefact.compiler);
		assert_null(strstr(kf_buf_str(&build.log), "root:"));
		assert_null(strstr(kf_buf_str(&build.log), f->folder));
		kf_artefact_release(&artefact);
		kf_build_release(&build);
	}
}

static void test_compiler_has_limits(void **state)
{
	struct fixture *f = *state;
	struct kf_limits whole = f->cpu->build_limits;
	struct kf_artefact artefact;
	struct kf_build build;

	f->cpu->build_limits.memory_bytes = 100u << 20;
	f->cpu->build_limits.wall_ns = 20 * KF_NS_PER_S;
	build_program(f, "explodes", &build, &artefact);
	f->cpu->build_limits = whole;
	if (build.end != KF_BUILD_TOO_LARGE && build.end != KF_BUILD_TOO_SLOW)
		fail_msg("end %d: %s", (int)build.end, kf_buf_str(&build.log));
	assert_true(build.log.len > 0);
	kf_artefact_release(&artefact);
	kf_build_release(&build);
}

static void test_missing_source_or_compiler_is_ours(void **state)
{
	struct fixture *f = *state;
	char *work = kf_format("%s/nothing", f->folder);
	char *compiler[] = { kf_strdup("no-such-cc"), kf_strdup("nor-this") };
	struct kf_build_job job = {
		.platform = f->cpu, .source_dir = work, .work_dir = work,
		.tier_min = KF_TIER_WEAK,
	};
	struct kf_platform lame = *f->cpu;
	struct kf_artefact artefact;
	struct kf_build build;
	struct kf_err err = { 0 };
	char *source = kf_format("%s/program.c", work);

	assert_int_equal(kf_mkdir_p(work, NULL), KF_OK);
	assert_int_equal(kf_build_run(&job, &build, &artefact, &err),
			 KF_E_INPUT);
	assert_non_null(strstr(err.text, "program.c"));
	assert_int_equal(kf_file_write(source, "int x;\n", 7, NULL), KF_OK);
	lame.compiler = compiler;
	lame.compiler_count = 2;
	job.platform = &lame;
	assert_int_equal(kf_build_run(&job, &build, &artefact, &err),
			 KF_E_UNAVAIL);
	assert_non_null(strstr(err.text, "no-such-cc or nor-this"));
	kf_artefact_release(&artefact);
	kf_build_release(&build);
	free(compiler[0]);
	free(compiler[1]);
	free(source);
	free(work);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_artefact_is_named_by_its_content),
		cmocka_unit_test(test_each_bad_source_has_its_end),
		cmocka_unit_test(test_compiler_has_limits),
		cmocka_unit_test(test_missing_source_or_compiler_is_ours),
		cmocka_unit_test(test_good_program_computes_every_time),
		cmocka_unit_test(test_a_call_can_be_held_up),
		cmocka_unit_test(
			test_the_least_handshake_of_all_workers_counts),
		cmocka_unit_test(test_program_without_prepare_is_prepared),
		cmocka_unit_test(test_openmp_has_the_threads_it_was_given),
		cmocka_unit_test(test_kept_memory_lives_as_long_as_the_weights),
		cmocka_unit_test(test_keep_without_prepare_gives_nothing),
		cmocka_unit_test(test_scratch_is_aligned_bounded_and_gone),
		cmocka_unit_test(test_nonzero_return_leaves_the_worker_alive),
		cmocka_unit_test(test_files_of_the_machine_are_not_there),
		cmocka_unit_test(test_every_kind_of_argument_arrives),
		cmocka_unit_test(test_null_platform_leaves_outputs_alone),
		cmocka_unit_test(test_each_misdeed_has_its_end),
		cmocka_unit_test(test_endless_program_is_stopped),
		cmocka_unit_test(test_a_busy_machine_puts_the_deadline_off),
		cmocka_unit_test(test_memory_hog_is_stopped),
		cmocka_unit_test(test_end_of_a_flood_is_kept),
		cmocka_unit_test(test_guards_tell_of_writes_out_of_bounds),
		cmocka_unit_test(test_guards_around_scratch_are_looked_at),
		cmocka_unit_test(
			test_a_variable_that_was_never_set_is_no_number),
		cmocka_unit_test(test_a_guard_behind_kept_memory_is_looked_at),
		cmocka_unit_test(test_a_tensor_too_many_is_no_tensor),
		cmocka_unit_test(test_kept_memory_cannot_hide_results),
		cmocka_unit_test(test_unusable_artefact_is_a_verdict),
		cmocka_unit_test(test_work_put_off_shows),
		cmocka_unit_test(test_inputs_are_seen_in_no_time_but_its_own),
		cmocka_unit_test(test_forged_answer_gains_nothing),
		cmocka_unit_test(test_cancel_is_nobodys_fault),
		cmocka_unit_test(test_unknown_device_is_our_trouble),
	};

	return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
