/*
 * kf_evaluate's running order, with builder, worker and baseline scripted by
 * this file: it defines kf_build_run, kf_worker_* and kf_baseline_time itself,
 * so the linker takes everything else, and none of those, from libkforge.a.
 *
 * The problem is out = 2 x + w over a small matrix. A candidate is a function
 * that fills the output.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <signal.h>
#include <unistd.h>

#include "evaluate/evaluate.h"
#include "evaluate/parts.h"
#include "evaluate/process.h"

#define ROWS 40
#define COLS 36
#define N (ROWS * COLS)
#define STOCK 40
#define SETS 4

/* --- the scripted parts -------------------------------------------------- */

struct script;
typedef void forward_fn(struct script *s);

static struct script {
	/* what happens */
	enum kf_build_end build;
	enum kf_code build_code, start_code, forward_code, baseline_code;
	enum kf_call_state start, prepare, forward;
	unsigned dead_ahead;		/* so many cannot be loaded at first */
	unsigned fails_at;		/* forward fails in this call; 0: first */
	forward_fn *candidate;
	const char *ran;		/* in a traced call; NULL: no such */
	bool guards_broken, late, changes_input;
	uint64_t own_ns;
	uint64_t (*clock)(struct kf_rng *rng);
	uint64_t baseline_ns, baseline_delay_ns;
	unsigned delayed_blocks;	/* so many at first are disturbed */
	unsigned wrong_when_cold;	/* the call on inputs in no cache, 1.. */
	bool threads;			/* the program names what makes them */
	bool cannot_hold;		/* its driver */
	bool device_clock;
	uint64_t call_ns, first_ns;	/* for the clock "given" */
	uint64_t uneven_ns;		/* every second process takes longer */
	unsigned too_late;		/* so many calls have ended before they
					   could be held up */
	unsigned wrong_when_held;	/* the one held up, 1.. */

	/* the worker as it is */
	struct kf_bundle *bundle;
	float in[N], weight[N], out[N], kept[N];
	uint32_t pattern;
	unsigned call;			/* in this process */
	struct kf_rng rng;

	/* what was seen */
	const char *artefact_path;
	unsigned begun, processes, prepares, stopped, freed, baseline_calls;
	unsigned begun_at_first;	/* when the first call is made */
	unsigned baseline_warmed;
	unsigned calls, calls_repeated, traces;
	unsigned cold_calls, baseline_cold_calls;
	bool cold, baseline_cold;
	bool to_hold, held;
	bool process_held;		/* then nothing else of it is called */
	unsigned held_calls, held_tries;
	float seen[512];		/* first input of each call of a process */
	unsigned seen_count;
	/* Candidate's calls between two blocks of the baseline: a block's worth
	 * if they take turns, none or two where the order was reversed; a fresh
	 * process's first calls come on top. */
	unsigned blocks_out_of_turn, blocks_reversed, calls_since_baseline;
	bool baseline_just_ran;
	uint64_t timeout_ns;
} script;

static const char plain[] = "built", threaded[] = "built pthread_create";

struct kf_worker { int unused; };
static struct kf_worker the_worker;

void kf_artefact_release(struct kf_artefact *artefact)
{
	free(artefact->path);
	*artefact = (struct kf_artefact) { 0 };
}

enum kf_code kf_build_run(const struct kf_build_job *job,
			  struct kf_build *build, struct kf_artefact *artefact,
			  struct kf_err *err)
{
	*artefact = (struct kf_artefact) { .tier = KF_TIER_STRONG };
	if (script.build_code)
		return kf_fail(err, script.build_code, "no builder");
	job->meanwhile(job->meanwhile_arg);
	*build = (struct kf_build) { .end = script.build, .took_ns = 1000,
				     .log.max = KF_BUILD_LOG_BYTES };
	kf_buf_puts(&build->log, "/source/program.c:3:1: error: bad\n");
	if (script.build != KF_BUILD_DONE)
		return KF_OK;
	artefact->path = kf_path_join(job->work_dir, "artefact");
	return kf_file_write(artefact->path, script.threads ? threaded : plain,
			     strlen(script.threads ? threaded : plain), err);
}

/* The file is there and empty while the compiler works. */
enum kf_code kf_worker_begin(const struct kf_worker_spec *spec,
			     struct kf_worker **out, struct kf_err *err)
{
	*out = NULL;
	assert_int_equal(access(spec->artefact_path, R_OK), 0);
	script.artefact_path = spec->artefact_path;
	if (script.start_code)
		return kf_fail(err, script.start_code, "no sandbox");
	*out = &the_worker;
	script.begun++;
	return KF_OK;
}

enum kf_code kf_worker_load(struct kf_worker *worker, struct kf_call_end *end,
			    struct kf_err *err)
{
	struct kf_buf bytes = { .max = 64 };

	(void)worker;
	if (script.dead_ahead && script.dead_ahead--)
		return kf_fail(err, KF_E_UNAVAIL, "the runner has died");
	assert_int_equal(kf_file_read(script.artefact_path, &bytes, err), 0);
	assert_string_equal(kf_buf_str(&bytes), script.threads ? threaded :
			    plain);
	kf_buf_release(&bytes);
	*end = (struct kf_call_end) { .state = script.start };
	script.processes++;
	script.call = 0;
	script.process_held = false;
	script.seen_count = 0;
	return KF_OK;
}

void *kf_worker_in(struct kf_worker *worker, size_t i)
{
	(void)worker;
	assert_int_equal(i, 0);
	return script.in;
}

void *kf_worker_weight(struct kf_worker *worker, size_t i)
{
	(void)worker;
	assert_int_equal(i, 0);
	return script.weight;
}

void *kf_worker_out(struct kf_worker *worker, size_t i)
{
	(void)worker;
	assert_int_equal(i, 0);
	return script.out;
}

void kf_worker_poison(struct kf_worker *worker)
{
	(void)worker;
	script.pattern = script.pattern == 0xffc0dead ? 0x4a4a4a4a : 0xffc0dead;
	for (size_t i = 0; i < N; i++)
		memcpy(&script.out[i], &script.pattern, sizeof(uint32_t));
}

uint32_t kf_worker_pattern(const struct kf_worker *worker)
{
	(void)worker;
	return script.pattern;
}

bool kf_worker_guards(const struct kf_worker *worker, size_t *which,
		      int64_t *offset)
{
	(void)worker;
	*which = 0;
	*offset = 12;
	return !script.guards_broken;
}

bool kf_worker_late(struct kf_worker *worker)
{
	(void)worker;
	return script.late;
}

enum kf_code kf_worker_tidy(struct kf_worker *worker, struct kf_call_end *end,
			    struct kf_err *err)
{
	(void)worker;
	(void)err;
	*end = (struct kf_call_end) { .state = KF_CALL_GOOD };
	return KF_OK;
}

enum kf_code kf_worker_prepare(struct kf_worker *worker, uint64_t timeout_ns,
			       struct kf_call_end *end, struct kf_err *err)
{
	(void)worker;
	(void)timeout_ns;
	(void)err;
	script.prepares++;
	*end = (struct kf_call_end) { .state = script.prepare, .time_ns = 500 };
	return KF_OK;
}

static void note_seen(void)
{
	for (unsigned i = 0; i < script.seen_count; i++)
		script.calls_repeated += script.seen[i] == script.in[0];
	assert_true(script.seen_count < KF_COUNT(script.seen));
	script.seen[script.seen_count++] = script.in[0];
}

enum kf_code kf_worker_forward(struct kf_worker *worker, uint64_t timeout_ns,
			       struct kf_call_end *end, struct kf_err *err)
{
	(void)worker;
	script.timeout_ns = timeout_ns;
	if (!script.calls++)
		script.begun_at_first = script.begun;
	script.call++;
	script.calls_since_baseline++;
	note_seen();
	*end = (struct kf_call_end) {
		.time_ns = script.clock(&script.rng), .own_ns = script.own_ns,
		.device_clock = script.device_clock,
	};
	if (script.cold)
		end->time_ns *= 3;
	script.cold_calls += script.cold;
	if (script.forward_code)
		return kf_fail(err, script.forward_code, "the pipe broke");
	if (script.call >= script.fails_at)
		end->state = script.forward;
	if (end->state == KF_CALL_SIGNAL)
		end->signal = SIGSEGV;
	script.candidate(&script);
	if (script.cold && script.cold_calls == script.wrong_when_cold)
		script.out[0] += 1;
	script.cold = false;
	script.held = script.to_hold && script.held_tries > script.too_late;
	assert_true(script.to_hold || !script.process_held);
	script.process_held |= script.to_hold;
	script.held_calls += script.held;
	if (script.held && script.held_calls == script.wrong_when_held)
		script.out[7] += 1;
	if (script.changes_input)
		script.in[17] += 1;
	return KF_OK;
}

bool kf_worker_holds(const struct kf_driver *driver)
{
	(void)driver;
	return !script.cannot_hold;
}

void kf_worker_hold(struct kf_worker *worker, uint64_t after_ns)
{
	(void)worker;
	assert_true(script.threads);
	assert_true(after_ns < 2 * KF_NS_PER_MS);	/* a call takes one */
	script.to_hold = after_ns > 0;
	script.held_tries += script.to_hold;
}

bool kf_worker_held(const struct kf_worker *worker)
{
	(void)worker;
	return script.held;
}

bool kf_worker_traces(const struct kf_driver *driver)
{
	(void)driver;
	return script.ran != NULL;
}

enum kf_code kf_worker_trace(struct kf_worker *worker, uint64_t timeout_ns,
			     struct kf_buf *ran, struct kf_call_end *end,
			     struct kf_err *err)
{
	script.traces++;
	kf_buf_puts(ran, script.ran);
	if (strcmp(script.ran, "crash") != 0)
		return kf_worker_forward(worker, timeout_ns, end, err);
	kf_buf_clear(ran);
	*end = (struct kf_call_end) { .state = KF_CALL_SIGNAL };
	snprintf(end->text, sizeof(end->text), "it crashed\nthere");
	return KF_OK;
}

/* From here on for two-part programs only. */
enum kf_code kf_parts_record(const struct kf_evaluate_request *req,
			     const char *artefact_path,
			     const char *loaded_path, struct kf_plans *plans,
			     struct kf_call_end *end, struct kf_err *err)
{
	(void)req;
	(void)artefact_path;
	(void)loaded_path;
	(void)plans;
	(void)end;
	return kf_fail(err, KF_E_INPUT, "the program has one part");
}

bool kf_worker_makes(const struct kf_worker *worker, size_t i)
{
	(void)worker;
	(void)i;
	return false;
}

bool kf_worker_makes_any(const struct kf_worker *worker)
{
	(void)worker;
	return false;
}

bool kf_worker_lacks_bases(const struct kf_worker *worker)
{
	(void)worker;
	return false;
}

enum kf_code kf_worker_give(struct kf_worker *worker,
			    const struct kf_bundle *bundle,
			    struct kf_call_end *end, struct kf_err *err)
{
	(void)worker;
	(void)bundle;
	(void)err;
	*end = (struct kf_call_end) { .state = KF_CALL_GOOD };
	return KF_OK;
}

enum kf_code kf_worker_make(struct kf_worker *worker,
			    const struct kf_bundle *bundle,
			    const struct kf_case *kase,
			    struct kf_call_end *end, struct kf_err *err)
{
	(void)worker;
	(void)bundle;
	(void)kase;
	(void)err;
	*end = (struct kf_call_end) { .state = KF_CALL_GOOD };
	return KF_OK;
}

enum kf_code kf_worker_download(struct kf_worker *worker,
				struct kf_call_end *end, struct kf_err *err)
{
	(void)worker;
	(void)end;
	(void)err;
	return KF_OK;
}

bool kf_worker_sums(const struct kf_worker *worker)
{
	(void)worker;
	return false;
}

enum kf_code kf_worker_sum(struct kf_worker *worker,
			   const struct kf_digest *digest,
			   struct kf_call_end *end, struct kf_err *err)
{
	(void)worker;
	(void)digest;
	(void)end;
	return kf_fail(err, KF_E_INPUT, "nobody adds up here");
}

const double *kf_worker_sums_of(const struct kf_worker *worker, size_t i)
{
	(void)worker;
	(void)i;
	return NULL;
}

bool kf_worker_changed(const struct kf_worker *worker, size_t *tensor,
		       int64_t *byte)
{
	(void)worker;
	(void)tensor;
	(void)byte;
	return false;
}

void kf_worker_doom(struct kf_worker *worker)
{
	(void)worker;
}

void kf_worker_stop(struct kf_worker *worker)
{
	(void)worker;
	script.stopped++;
}

uint64_t kf_worker_handshake_ns(const struct kf_worker *worker,
				uint64_t *median)
{
	(void)worker;
	assert_null(median);
	return 700;
}

bool kf_worker_forked(const struct kf_worker *worker)
{
	(void)worker;
	return false;
}

const struct kf_laps *kf_worker_laps(const struct kf_worker *worker)
{
	static const struct kf_laps none;

	(void)worker;
	return &none;
}

/* Both are known only when the process is gone. */
enum kf_sandbox_tier kf_worker_tier(const struct kf_worker *worker)
{
	(void)worker;
	return script.stopped ? KF_TIER_MEDIUM : KF_TIER_NONE;
}

uint64_t kf_worker_memory_peak(const struct kf_worker *worker)
{
	(void)worker;
	return script.stopped ? 4096 : 0;
}

void kf_worker_free(struct kf_worker *worker)
{
	script.freed += worker != NULL;
}

static void note_turn(unsigned count)
{
	bool again = script.calls_since_baseline < count;

	if (script.baseline_calls > 1) {
		script.blocks_out_of_turn += (again &&
					      script.baseline_just_ran) ||
			script.calls_since_baseline > 3 * count;
		script.blocks_reversed += again;
	}
	script.baseline_just_ran = again;
	script.calls_since_baseline = 0;
}

enum kf_code kf_baseline_time(struct kf_baseline *baseline,
			      const struct kf_case *const *cases, size_t count,
			      uint64_t *time_ns, uint64_t *delay_ns,
			      struct kf_err *err)
{
	(void)baseline;
	script.baseline_calls++;
	note_turn((unsigned)count);
	if (script.baseline_code)
		return kf_fail(err, script.baseline_code, "no torch");
	for (size_t i = 0; i < count; i++) {
		assert_string_equal(cases[i]->kind, "stock");
		time_ns[i] = script.baseline_ns * (1 + script.baseline_cold);
		script.baseline_cold_calls += script.baseline_cold;
		delay_ns[i] = script.baseline_calls <= script.delayed_blocks ?
			script.baseline_delay_ns : 0;
	}
	return KF_OK;
}

void kf_baseline_warm(struct kf_baseline *baseline)
{
	(void)baseline;
	assert_int_equal(script.baseline_calls, 0);
	script.baseline_warmed++;
}

/* Inputs leave the caches when all that a call is given is in its place. */
static void drop(const void *data, size_t bytes)
{
	assert_ptr_equal(data, script.in);
	assert_int_equal(bytes, sizeof(script.in));
	script.cold = true;
}

void kf_baseline_evict(struct kf_baseline *baseline,
		       void (*evict)(const void *data, size_t bytes))
{
	(void)baseline;
	assert_true(!evict || evict == drop);
	script.baseline_cold = evict != NULL;
}

const struct kf_baseline_info *kf_baseline_about(const struct kf_baseline *b)
{
	static const struct kf_baseline_info none;

	(void)b;
	return &none;
}

/* --- candidates ---------------------------------------------------------- */

static void right(struct script *s)
{
	for (size_t i = 0; i < N; i++)
		s->out[i] = 2 * s->in[i] + s->weight[i];
}

static void no_op(struct script *s)
{
	(void)s;
}

static void zeros(struct script *s)
{
	memset(s->out, 0, sizeof(s->out));
}

static void first_result(struct script *s)
{
	if (s->call == 1) {
		right(s);
		memcpy(s->kept, s->out, sizeof(s->kept));
	}
	memcpy(s->out, s->kept, sizeof(s->kept));
}

static void right_at_first(struct script *s)
{
	right(s);
	if (s->call > 12)
		s->out[N / 2] += 1;
}

static void wrong_once_late(struct script *s)
{
	right(s);
	if (s->calls == 33)
		s->out[N - 1] += 1;
}

static void ignores_weights(struct script *s)
{
	const float *declared = s->bundle->weight_data[0];

	for (size_t i = 0; i < N; i++)
		s->out[i] = 2 * s->in[i] + declared[i];
}

static bool has_zero_mean(const struct script *s)
{
	return memcmp(s->in, s->bundle->set[1].in[0], 4 * N) == 0;
}

static void assumes_signs(struct script *s)
{
	right(s);
	if (has_zero_mean(s))
		s->out[3] += 1;
}

static void far_off(struct script *s)
{
	right(s);
	s->out[3] += 1e6f;
}

static void imprecise(struct script *s)
{
	right(s);
	if (has_zero_mean(s))	/* 16 T of its size are allowed */
		s->out[3] += 1.5f * 16 * 0x1p-15f * fmaxf(1, fabsf(s->out[3]));
}

static void nan_somewhere(struct script *s)
{
	right(s);
	s->out[5] = NAN;
}

static void tail_missing(struct script *s)
{
	right(s);
	for (size_t r = 0; r < ROWS; r++)
		memcpy(&s->out[r * COLS + 32], &s->pattern, 4);
}

static void low_precision(struct script *s)
{
	right(s);
	for (size_t i = 0; i < N; i++)
		s->out[i] *= 1 + (i % 2 ? 1 : -1) * 0x1p-12f *
			(0.5f + (float)(i % 7) / 8);
}

static void slightly_off(struct script *s)	/* allclose lets it pass */
{
	right(s);
	for (size_t i = 0; i < N; i++)
		s->out[i] += 7e-5f;
}

static void other_bytes_each_process(struct script *s)
{
	right(s);
	if (s->processes % 2)
		s->out[3] = nextafterf(s->out[3], 100);
}

/* --- clocks -------------------------------------------------------------- */

static uint64_t steady(struct kf_rng *rng)
{
	return 1000000 + kf_rng_below(rng, 1000);
}

static uint64_t noisy(struct kf_rng *rng)
{
	return 500000 + kf_rng_below(rng, 1000000);
}

static uint64_t slow(struct kf_rng *rng)
{
	(void)rng;
	return 101 * KF_NS_PER_MS;
}

static uint64_t tiny(struct kf_rng *rng)
{
	(void)rng;
	return 900;
}

static uint64_t given(struct kf_rng *rng)
{
	(void)rng;
	return (script.processes <= 5 && script.first_ns ? script.first_ns :
		script.call_ns) + script.processes % 2 * script.uneven_ns;
}

/* --- the problem --------------------------------------------------------- */

struct data {
	float in[N], weight[N], expect[N], react[N], noise[N];
	double exact[N];
	const void *in_list[1], *weight_list[1], *expect_list[1];
	const double *exact_list[1];
	const float *react_list[1], *noise_list[1];
};

struct world {
	struct kf_driver driver;
	struct kf_platform platform;
	struct kf_problem problem;
	struct kf_bundle bundle;
	struct kf_tensor_info in, weight, out;
	struct kf_case set[SETS], stock[STOCK];
	struct data *data;
	struct kf_evaluate_request req;
	char name[8], work_dir[32];
};

static void make_case(struct world *w, struct kf_case *kase, struct data *d,
		      const char *kind, struct kf_rng *rng)
{
	const struct data *declared = &w->data[0];
	bool own_weights = strcmp(kind, "weights") == 0 || d == declared;

	for (size_t i = 0; i < N; i++) {
		d->in[i] = (float)(2 * kf_rng_double(rng) - 1);
		d->weight[i] = own_weights ? (float)kf_rng_double(rng) :
			declared->weight[i];
		d->exact[i] = 2.0 * (double)d->in[i] + (double)d->weight[i];
		d->expect[i] = (float)d->exact[i];
		d->react[i] = 1;
		d->noise[i] = 1e-7f;
	}
	d->in_list[0] = d->in;
	d->weight_list[0] = d->weight;
	d->expect_list[0] = d->expect;
	d->exact_list[0] = d->exact;
	d->react_list[0] = d->react;
	d->noise_list[0] = d->noise;
	*kase = (struct kf_case) {
		.kind = kind, .in = d->in_list, .expect = d->expect_list,
		.exact = d->exact_list,
		.weight = strcmp(kind, "weights") ? NULL : d->weight_list,
		.react = strcmp(kind, "stock") ? d->react_list : NULL,
		.noise = strcmp(kind, "stock") ? d->noise_list : NULL,
	};
}

static struct kf_tensor_info matrix(char *name)
{
	return (struct kf_tensor_info) {
		.name = name, .dtype = KF_F32, .rank = 2,
		.shape = { ROWS, COLS }, .numel = N, .bytes = 4 * N,
	};
}

static struct world *world_new(void)
{
	static const char *const kind[SETS] = { "declared", "zero_mean",
						"small", "weights" };
	struct world *w = kf_alloc(sizeof(*w));
	struct kf_rng rng = { 1 };

	w->data = kf_alloc((SETS + STOCK) * sizeof(w->data[0]));
	for (size_t i = 0; i < SETS; i++)
		make_case(w, &w->set[i], &w->data[i], kind[i], &rng);
	for (size_t i = 0; i < STOCK; i++)
		make_case(w, &w->stock[i], &w->data[SETS + i], "stock", &rng);
	snprintf(w->name, sizeof(w->name), "x");
	snprintf(w->work_dir, sizeof(w->work_dir), "/tmp/kf-unit.XXXXXX");
	assert_non_null(mkdtemp(w->work_dir));
	w->in = matrix(w->name);
	w->weight = matrix(w->name);
	w->out = matrix(w->name);
	w->driver.in_process = true;
	w->platform.driver = &w->driver;
	w->problem.name = w->name;
	w->bundle = (struct kf_bundle) {
		.in = &w->in, .weight = &w->weight, .out = &w->out,
		.in_count = 1, .weight_count = 1, .out_count = 1,
		.weight_data = w->data[0].weight_list,
		.set = w->set, .set_count = SETS,
		.stock = w->stock, .stock_count = STOCK,
		.flops = 2.0 * N, .bytes = 12.0 * N, .has_exact = true,
	};
	w->req = (struct kf_evaluate_request) {
		.platform = &w->platform, .device_id = "cpu:0",
		.problem = &w->problem, .bundle = &w->bundle,
		.source_dir = "s", .work_dir = w->work_dir, .seed = 7, .threads = 2,
	};
	script = (struct script) {
		.build = KF_BUILD_DONE, .candidate = right, .clock = steady,
		.baseline_ns = 2000000, .bundle = &w->bundle,
		.rng = { 3 },
	};
	return w;
}

static void world_free(struct world *w)
{
	assert_int_equal(kf_remove_tree(w->work_dir, NULL), KF_OK);
	free(w->data);
	free(w);
}

/* Any address will do for a baseline that is never looked into. */
static struct kf_baseline *live(struct world *w)
{
	return (struct kf_baseline *)(void *)w;
}

static void judge(struct world *w, struct kf_verdict *v)
{
	struct kf_err err = { 0 };

	assert_int_equal(kf_evaluate(&w->req, v, &err), KF_OK);
	assert_int_equal(script.freed, script.begun);
	assert_true(v->text.len <= 4096);
}

/* --- endings ------------------------------------------------------------- */

static void test_each_ending_has_its_verdict(void **state)
{
	static const char by_little[] =
		"off by 1.50 times what is allowed.\n"
		"Right on: the problem's own inputs; inputs scaled by 1/1000; "
		"random weights.\n"
		"Wrong on: inputs shifted to a mean of zero.\n"
		"Off by so little";
	static const struct {
		const char *what;
		struct script script;
		enum kf_state state;
		const char *reason, *says;
	} rows[] = {
		{ "right", { .candidate = right }, KF_CORRECT, "", "correct in all" },
		{ "refused", { .build = KF_BUILD_REFUSED }, KF_COMPILATION_FAILURE, "refused", "program.c:3:1: error: bad" },
		{ "compiler too slow", { .build = KF_BUILD_TOO_SLOW }, KF_COMPILATION_FAILURE, "compile_timeout", "stopped after" },
		{ "compiler too large", { .build = KF_BUILD_TOO_LARGE }, KF_COMPILATION_FAILURE, "compile_resource", "memory" },
		{ "cannot be loaded", { .start = KF_CALL_LOAD }, KF_COMPILATION_FAILURE, "load", "could not be loaded" },
		{ "crashes while loading", { .start = KF_CALL_SIGNAL }, KF_RUNTIME_ERROR, "signal", "crashed" },
		{ "kf_prepare fails", { .prepare = KF_CALL_RC }, KF_RUNTIME_ERROR, "nonzero_return", "kf_prepare" },
		{ "crashes", { .forward = KF_CALL_SIGNAL }, KF_RUNTIME_ERROR, "signal", "Segmentation fault" },
		{ "crashes later", { .forward = KF_CALL_SIGNAL, .fails_at = 12 }, KF_RUNTIME_ERROR, "signal", "in call 12" },
		{ "never returns", { .forward = KF_CALL_TIMEOUT }, KF_RUNTIME_ERROR, "timeout", "(2 s)" },
		{ "returns 1", { .forward = KF_CALL_RC }, KF_RUNTIME_ERROR, "nonzero_return", "kf_forward" },
		{ "memory", { .forward = KF_CALL_MEMORY }, KF_RUNTIME_ERROR, "memory", "memory" },
		{ "processor time", { .forward = KF_CALL_CPU }, KF_RUNTIME_ERROR, "cpu_time", "processor time" },
		{ "forbidden call", { .forward = KF_CALL_VIOLATION }, KF_RUNTIME_ERROR, "violation", "forbidden" },
		{ "exits", { .forward = KF_CALL_EXITED }, KF_RUNTIME_ERROR, "exited", "ended the process" },
		{ "tampers", { .forward = KF_CALL_PROTOCOL }, KF_RUNTIME_ERROR, "tampering", "harness" },
		{ "writes to an input", { .forward = KF_CALL_INPUT_WRITE }, KF_MISMATCH, "input_changed", "read-only" },
		{ "an input is changed", { .changes_input = true }, KF_MISMATCH, "input_changed", "Input x was changed" },
		{ "guards overwritten", { .guards_broken = true }, KF_MISMATCH, "out_of_bounds", "beyond the end of output 0" },
		{ "writes after its return", { .candidate = no_op, .late = true }, KF_MISMATCH, "cheat_deferred_work", "after kf_forward had returned" },
		{ "does nothing", { .candidate = no_op }, KF_MISMATCH, "unwritten", "1440 of 1440 elements were not written" },
		{ "a tail not written", { .candidate = tail_missing }, KF_MISMATCH, "unwritten", "only column 32" },
		{ "zeros", { .candidate = zeros }, KF_MISMATCH, "values", "all zero" },
		{ "NaN", { .candidate = nan_somewhere }, KF_MISMATCH, "non_finite", "(0, 5)" },
		{ "lower precision", { .candidate = low_precision }, KF_MISMATCH, "values", "precision" },
		{ "replays its first result", { .candidate = first_result }, KF_MISMATCH, "values", "earlier call" },
		{ "assumes weights", { .candidate = ignores_weights }, KF_MISMATCH, "values", "a weight seems to be assumed" },
		{ "assumes signs", { .candidate = assumes_signs }, KF_MISMATCH, "values", "The sign of the inputs" },
		{ "far off", { .candidate = far_off }, KF_MISMATCH, "values", "The worst is off by more than a million times what is allowed." },
		{ "one kind of data, by little", { .candidate = imprecise }, KF_MISMATCH, "values", by_little },
		{ "right until it is timed", { .candidate = right_at_first }, KF_MISMATCH, "values", "earlier calls" },
		{ "one element of one timed call", { .candidate = wrong_once_late }, KF_MISMATCH, "values", "a single element is wrong" },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct world *w = world_new();
		struct kf_verdict v;

		if (!rows[i].script.build)
			script.build = KF_BUILD_DONE;
		else
			script.build = rows[i].script.build;
		if (rows[i].script.candidate)
			script.candidate = rows[i].script.candidate;
		script.start = rows[i].script.start;
		script.prepare = rows[i].script.prepare;
		script.forward = rows[i].script.forward;
		script.fails_at = rows[i].script.fails_at;
		script.changes_input = rows[i].script.changes_input;
		script.guards_broken = rows[i].script.guards_broken;
		script.late = rows[i].script.late;
		judge(w, &v);
		if (v.state != rows[i].state ||
		    strcmp(v.reason, rows[i].reason) != 0 ||
		    !strstr(kf_buf_str(&v.text), rows[i].says))
			fail_msg("%s: %s (%s), saying:\n%s", rows[i].what,
				 kf_state_name(v.state), v.reason,
				 kf_buf_str(&v.text));
		assert_int_equal(isnan(v.time_ns), v.state != KF_CORRECT);
		assert_true(v.in_process);
		kf_verdict_release(&v);
		world_free(w);
	}
}

static void test_our_trouble_is_not_the_candidates(void **state)
{
	static const struct {
		struct script script;
		enum kf_code code;
	} rows[] = {
		{ { .build_code = KF_E_UNAVAIL }, KF_E_UNAVAIL },
		{ { .start_code = KF_E_UNAVAIL }, KF_E_UNAVAIL },
		{ { .forward_code = KF_E_IO }, KF_E_IO },
		{ { .baseline_code = KF_E_TIMEOUT }, KF_E_TIMEOUT },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct world *w = world_new();
		struct kf_err err = { 0 };
		struct kf_verdict v;

		script.build_code = rows[i].script.build_code;
		script.start_code = rows[i].script.start_code;
		script.forward_code = rows[i].script.forward_code;
		script.baseline_code = rows[i].script.baseline_code;
		w->req.baseline = live(w);
		assert_int_equal(kf_evaluate(&w->req, &v, &err), rows[i].code);
		assert_int_equal(v.state, KF_STATE_NONE);
		assert_int_equal(err.code, rows[i].code);
		assert_int_equal(script.freed, script.begun);
		assert_true(isnan(v.time_ns));
		kf_verdict_release(&v);
		world_free(w);
	}
}

static void test_a_request_without_data_is_refused(void **state)
{
	struct world *w = world_new();
	struct kf_err err = { 0 };
	struct kf_verdict v;

	(void)state;
	w->req.call_count_fixed = 5;
	assert_int_equal(kf_evaluate(&w->req, &v, &err), KF_E_INPUT);
	kf_verdict_release(&v);
	w->req.call_count_fixed = 0;
	w->bundle.stock_count = 0;
	assert_int_equal(kf_evaluate(&w->req, &v, &err), KF_E_INPUT);
	kf_verdict_release(&v);
	assert_int_equal(script.processes, 0);
	world_free(w);
}

static void test_the_user_can_stop(void **state)
{
	static const volatile int stop = 1;
	struct world *w = world_new();
	struct kf_err err = { 0 };
	struct kf_verdict v;

	(void)state;
	w->req.cancel = &stop;
	assert_int_equal(kf_evaluate(&w->req, &v, &err), KF_E_CANCELED);
	assert_int_equal(v.state, KF_STATE_NONE);
	kf_verdict_release(&v);
	world_free(w);
}

/* --- calls --------------------------------------------------------------- */

static void test_no_case_is_used_twice_in_a_process(void **state)
{
	static const size_t stocks[] = { 1, 4, 10, 12, 16, 17, STOCK };

	(void)state;
	for (size_t i = 0; i < KF_COUNT(stocks); i++) {
		struct world *w = world_new();
		struct kf_verdict v;

		w->bundle.stock_count = stocks[i];
		w->req.call_count_fixed = 100;
		judge(w, &v);
		assert_int_equal(v.state, KF_CORRECT);
		assert_int_equal(script.calls, 100);
		assert_int_equal(v.call_count, 100);
		assert_int_equal(script.calls_repeated, 0);
		assert_true(script.processes >= 100 / (stocks[i] + SETS));
		kf_verdict_release(&v);
		world_free(w);
	}
}

static void test_a_fresh_process_for_every_block(void **state)
{
	struct world *w = world_new();
	struct kf_verdict v;

	(void)state;
	script.clock = noisy;
	judge(w, &v);
	assert_int_equal(script.processes, kf_stop_default.block_max);
	assert_false(v.conclusive);
	assert_true(kf_json_bool(v.evidence, "same_bytes_in_another_process",
				 false));
	kf_verdict_release(&v);
	world_free(w);
}

static void test_weights_are_prepared_when_they_change(void **state)
{
	struct world *w = world_new();
	struct kf_verdict v;

	(void)state;
	w->bundle.stock_count = 16;
	w->req.call_count_fixed = SETS + 13;
	judge(w, &v);
	assert_int_equal(v.state, KF_CORRECT);
	/* Declared, random, declared again; less if the random ones came
	 * first or last; and once for each later process. */
	assert_true(script.prepares >= script.processes + 1);
	assert_true(script.prepares <= script.processes + 2);
	assert_int_equal(v.prepare_ns, 500);
	kf_verdict_release(&v);
	world_free(w);
}

static void test_order_is_secret_but_repeatable(void **state)
{
	float first[3][STOCK];

	(void)state;
	for (size_t run = 0; run < 3; run++) {
		struct world *w = world_new();
		struct kf_verdict v;

		w->req.seed = run == 2 ? 8 : 7;
		w->req.call_count_fixed = SETS + 13;
		judge(w, &v);
		memcpy(first[run], script.seen, sizeof(first[run]));
		kf_verdict_release(&v);
		world_free(w);
	}
	assert_memory_equal(first[0], first[1], 10 * sizeof(float));
	assert_memory_not_equal(first[0], first[2], 10 * sizeof(float));
}

static void test_all_sets_are_run_after_a_failure(void **state)
{
	static const char *const kind[] = { "zero_mean", "small", "declared" };
	struct world *w = world_new();
	struct kf_verdict v;
	json_t *sets;

	(void)state;
	script.candidate = ignores_weights;
	judge(w, &v);
	sets = json_object_get(v.evidence, "sets");
	for (size_t i = 0; i < KF_COUNT(kind); i++)
		assert_string_equal(kf_json_str(sets, kind[i], ""), "good");
	assert_string_equal(kf_json_str(sets, "weights", ""), "values");
	assert_non_null(strstr(kf_buf_str(&v.text),
			       "Wrong on: random weights"));
	/* KernelBench never changes weights: it would have been fooled. */
	assert_true(v.kernelbench_good);
	kf_verdict_release(&v);
	world_free(w);
}

/* --- rules --------------------------------------------------------------- */

static void test_both_rules_are_on_record_and_one_decides(void **state)
{
	static const struct {
		forward_fn *candidate;
		enum kf_rules rules;
		enum kf_state state;
		bool kforge, kernelbench;
	} rows[] = {
		{ right, KF_RULES_KFORGE, KF_CORRECT, true, true },
		{ right, KF_RULES_KERNELBENCH, KF_CORRECT, true, true },
		{ slightly_off, KF_RULES_KFORGE, KF_MISMATCH, false, true },
		{ slightly_off, KF_RULES_KERNELBENCH, KF_CORRECT, false, true },
		{ ignores_weights, KF_RULES_KERNELBENCH, KF_CORRECT, false, true },
		{ zeros, KF_RULES_KERNELBENCH, KF_MISMATCH, false, false },
		{ no_op, KF_RULES_KERNELBENCH, KF_MISMATCH, false, false },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct world *w = world_new();
		struct kf_verdict v;
		json_t *rules;

		script.candidate = rows[i].candidate;
		w->req.rules = rows[i].rules;
		judge(w, &v);
		rules = json_object_get(v.evidence, "rules");
		assert_int_equal(v.state, rows[i].state);
		assert_int_equal(v.kernelbench_good, rows[i].kernelbench);
		assert_int_equal(kf_json_bool(rules, "kforge", true),
				 rows[i].kforge);
		kf_verdict_release(&v);
		world_free(w);
	}
}

/* --- times --------------------------------------------------------------- */

static void test_speedup_comes_from_blocks_in_turn(void **state)
{
	struct world *w = world_new();
	struct kf_verdict v;

	(void)state;
	w->req.baseline = live(w);
	judge(w, &v);
	assert_int_equal(v.state, KF_CORRECT);
	assert_true(fabs(v.speedup.ratio - 2) < 0.01);
	assert_true(v.speedup.low <= v.speedup.ratio &&
		    v.speedup.ratio <= v.speedup.high);
	assert_int_equal(v.speedup.block_count, 5);
	assert_int_equal(script.baseline_calls, 5);
	assert_int_equal(script.processes, 5);
	assert_int_equal(script.blocks_out_of_turn, 0);
	assert_true(v.conclusive && v.baseline_live);
	assert_true(fabs(v.baseline_ns - 2e6) < 1);
	kf_verdict_release(&v);
	world_free(w);
}

/* Whoever came second in every pair would be the slower one on a machine that
 * slows down. */
static void test_either_may_be_the_first_of_a_pair(void **state)
{
	unsigned reversed = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 8; seed++) {
		struct world *w = world_new();
		struct kf_verdict v;

		w->req.baseline = live(w);
		w->req.seed = seed;
		judge(w, &v);
		assert_int_equal(v.state, KF_CORRECT);
		assert_int_equal(script.blocks_out_of_turn, 0);
		reversed += script.blocks_reversed;
		kf_verdict_release(&v);
		world_free(w);
	}
	/* Of 4 neighbours in each judgement a quarter, by chance. */
	assert_true(reversed >= 2 && reversed <= 20);
}

static void test_noise_means_more_blocks(void **state)
{
	struct world *w = world_new();
	struct kf_verdict v;

	(void)state;
	w->req.baseline = live(w);
	script.clock = noisy;
	judge(w, &v);
	assert_int_equal(v.speedup.block_count, kf_stop_default.block_max);
	assert_false(v.conclusive);
	kf_verdict_release(&v);
	world_free(w);
}

static double timing_of(const struct kf_verdict *v, const char *key)
{
	return kf_json_real(json_object_get(v->evidence, "timing"), key, 0);
}

/* From what the last process has left of its stock, or else a fresh one. */
static void test_some_calls_find_their_inputs_in_no_cache(void **state)
{
	static const struct {
		size_t stock;
		unsigned calls, processes;
	} rows[] = {
		{ STOCK, 10, 5 }, { 12, 10, 6 }, { 4, 4, 6 },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct world *w = world_new();
		struct kf_verdict v;

		w->req.baseline = live(w);
		w->driver.evict = drop;
		w->bundle.stock_count = rows[i].stock;
		judge(w, &v);
		assert_int_equal(v.state, KF_CORRECT);
		assert_int_equal(script.cold_calls, rows[i].calls);
		assert_int_equal(script.baseline_cold_calls, rows[i].calls);
		assert_int_equal(script.processes, rows[i].processes);
		assert_int_equal(script.calls_repeated, 0);
		assert_int_equal(v.speedup.block_count, 5);
		assert_true(fabs(v.speedup.ratio - 2) < 0.01);
		assert_true(fabs(timing_of(&v, "cold_ns") - 3e6) < 1e4);
		assert_true(timing_of(&v, "baseline_cold_ns") == 4e6);
		kf_verdict_release(&v);
		world_free(w);
	}
}

static void test_cold_calls_are_checked_and_not_always_made(void **state)
{
	struct world *w = world_new();
	struct kf_verdict v;

	(void)state;
	w->driver.evict = drop;
	script.wrong_when_cold = 7;
	judge(w, &v);
	assert_int_equal(v.state, KF_MISMATCH);
	kf_verdict_release(&v);
	script.wrong_when_cold = 0;
	script.cold_calls = 0;
	w->req.call_count_fixed = 100;
	judge(w, &v);
	assert_int_equal(v.state, KF_CORRECT);
	assert_int_equal(script.cold_calls, 0);
	assert_true(timing_of(&v, "cold_ns") == 0);
	kf_verdict_release(&v);
	world_free(w);
}

/* Baseline calls that waited for a processor a tenth of their time. */
static void judge_disturbed(unsigned blocks, unsigned calls_fixed,
			    struct kf_verdict *v)
{
	struct world *w = world_new();

	w->req.baseline = live(w);
	w->req.call_count_fixed = calls_fixed;
	script.baseline_delay_ns = script.baseline_ns / 10;
	script.delayed_blocks = blocks;
	judge(w, v);
	world_free(w);
}

static void test_disturbed_blocks_are_taken_again(void **state)
{
	struct kf_verdict v;

	(void)state;
	judge_disturbed(1, 0, &v);
	assert_int_equal(v.speedup.block_count, 5);
	assert_int_equal(script.baseline_calls, 6);
	assert_int_equal(script.processes, 5);
	assert_true(v.conclusive);
	kf_verdict_release(&v);

	judge_disturbed(3, 0, &v);	/* over a quarter of all */
	assert_int_equal(v.speedup.block_count, 5);
	assert_int_equal(script.baseline_calls, 8);
	assert_false(v.conclusive);
	kf_verdict_release(&v);

	judge_disturbed(1000, 0, &v);	/* never quiet: it ends all the same */
	assert_int_equal(v.speedup.block_count, 5);
	assert_int_equal(script.baseline_calls, 25);
	assert_false(v.conclusive);
	kf_verdict_release(&v);
}

static void test_a_fixed_plan_takes_nothing_again(void **state)
{
	struct kf_verdict v;

	(void)state;
	judge_disturbed(1000, 100, &v);
	assert_int_equal(v.call_count, 100);
	kf_verdict_release(&v);
}

/* It has as few processes as the stock allows, and all calls that one of them
 * is timed in are one block: they say nothing of how processes differ. */
static void test_a_process_of_a_fixed_plan_is_one_block(void **state)
{
	struct kf_verdict v;

	(void)state;
	judge_disturbed(0, 30, &v);	/* and one block has no interval */
	assert_int_equal(v.speedup.block_count, 1);
	assert_true(fabs(v.speedup.ratio - 2) < 0.01);
	assert_true(isnan(v.speedup.low) && !v.conclusive);
	kf_verdict_release(&v);
	judge_disturbed(0, 100, &v);
	assert_true(script.processes < 5);
	assert_int_equal(v.speedup.block_count, script.processes);
	assert_false(v.conclusive);
	kf_verdict_release(&v);
	judge_disturbed(0, 400, &v);
	assert_true(script.processes >= 5);
	assert_int_equal(v.speedup.block_count, script.processes);
	assert_true(v.conclusive);
	kf_verdict_release(&v);
}

static void test_a_stored_baseline_gives_a_ratio_only(void **state)
{
	struct world *w = world_new();
	struct kf_verdict v;

	(void)state;
	w->req.baseline_stored_ns = 3000000;
	judge(w, &v);
	assert_true(fabs(v.speedup.ratio - 3) < 0.01);
	assert_true(isnan(v.speedup.low) && isnan(v.speedup.width));
	assert_false(v.baseline_live);
	kf_verdict_release(&v);
	w->req.baseline_stored_ns = 0;
	judge(w, &v);
	assert_true(isnan(v.speedup.ratio) && isnan(v.baseline_ns));
	assert_true(v.time_ns > 0);
	kf_verdict_release(&v);
	world_free(w);
}

static void test_tiny_times_are_not_conclusive(void **state)
{
	struct world *w = world_new();
	struct kf_verdict v;

	(void)state;
	script.clock = tiny;
	judge(w, &v);
	assert_int_equal(v.state, KF_CORRECT);
	assert_false(v.conclusive);
	kf_verdict_release(&v);
	world_free(w);
}

static bool has_note(const struct kf_verdict *v, const char *part)
{
	json_t *notes = json_object_get(v->evidence, "notes"), *note;
	struct kf_buf text = { .max = 1 << 16 };
	bool found = false, told;
	size_t i;

	json_array_foreach(notes, i, note)
		found |= strstr(json_string_value(note), part) != NULL;
	kf_verdict_explain(v, &text);
	told = strstr(kf_buf_str(&text), part) != NULL;
	assert_int_equal(found, told);
	kf_buf_release(&text);
	return found;
}

/* By a device's clock; baseline_ns 0: there is none. */
static void time_on_device(struct world *w, uint64_t call_ns,
			   uint64_t baseline_ns)
{
	script.device_clock = true;
	script.clock = given;
	script.call_ns = call_ns;
	script.baseline_ns = baseline_ns;
	w->req.baseline = baseline_ns ? live(w) : NULL;
}

static void test_small_gains_of_short_calls_are_not_claimed(void **state)
{
	static const struct {
		uint64_t call_ns, uneven_ns, baseline_ns, stored_ns;
		bool conclusive;
	} rows[] = {
		{ 9000, 0, 9400, 0, false }, { 9000, 0, 9600, 0, true },
		{ 9000, 0, 8600, 0, false }, { 9000, 0, 8400, 0, true },
		{ 9000, 0, 9000, 0, false },
		/* An interval of 0.18 us. */
		{ 9000, 130, 9580, 0, false }, { 9000, 130, 9680, 0, true },
		/* The baseline alone is short; neither is; there is none. */
		{ 20300, 0, 19900, 0, false }, { 20300, 0, 19700, 0, true },
		{ 30000, 0, 30100, 0, true }, { 9000, 0, 0, 0, true },
		{ 9000, 0, 0, 9400, false }, { 9000, 0, 0, 9600, true },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct world *w = world_new();
		struct kf_verdict v;

		script.uneven_ns = rows[i].uneven_ns;
		time_on_device(w, rows[i].call_ns, rows[i].baseline_ns);
		w->req.baseline_stored_ns = rows[i].stored_ns;
		judge(w, &v);
		assert_int_equal(v.state, KF_CORRECT);
		assert_int_equal(v.conclusive, rows[i].conclusive);
		assert_int_equal(has_note(&v, "a difference counts if"),
				 !rows[i].conclusive);
		kf_verdict_release(&v);
		world_free(w);
	}
}

/* Inputs and outputs of 5760 bytes each; of these a cache keeps 760: a floor
 * of 80.7 us at 0.1 GB/s. */
static void test_who_beats_its_bytes_is_timed_once_more(void **state)
{
	static const struct {
		uint64_t call_ns, first_ns, baseline_ns;
		bool flushes;
		unsigned calls_fixed, processes;
		bool conclusive;
		const char *note;
	} rows[] = {
		{ 80000, 0, 90000, true, 0, 10, false, "a call took 80 us, "
		  "and the bytes alone that it must move take 80.7 us at the "
		  "device's measured 0.0001 TB/s" },
		{ 82000, 0, 90000, true, 0, 5, true, NULL },
		{ 82000, 80000, 90000, true, 0, 10, true, "a call took 80 us, "
		  "and the bytes alone that it must move take 80.7 us at the "
		  "device's measured 0.0001 TB/s: it was timed once more" },
		{ 80000, 0, 80600, true, 0, 5, true, NULL },
		{ 80000, 0, 90000, false, 0, 5, true, NULL },
		{ 80000, 0, 0, true, 0, 10, false, "bytes alone" },
		{ 80000, 0, 90000, true, 17, 1, false, "bytes alone" },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct world *w = world_new();
		struct kf_verdict v;

		script.first_ns = rows[i].first_ns;
		time_on_device(w, rows[i].call_ns, rows[i].baseline_ns);
		w->req.call_count_fixed = rows[i].calls_fixed;
		w->req.device_ceiling = (struct kf_ceilings) {
			.bytes_per_s = 1e8, .cache_bytes = 760,
		};
		w->driver.flushes = rows[i].flushes;
		w->in.must_be_read = true;
		judge(w, &v);
		assert_int_equal(v.state, KF_CORRECT);
		assert_true(v.time_ns == (double)rows[i].call_ns);
		assert_int_equal(script.processes, rows[i].processes);
		assert_int_equal(v.conclusive, rows[i].conclusive);
		assert_int_equal(has_note(&v, rows[i].note ? rows[i].note :
					  "bytes alone"), rows[i].note != NULL);
		assert_true(rows[i].flushes == (timing_of(&v, "floor_ns") > 0));
		kf_verdict_release(&v);
		world_free(w);
	}
}

static void test_the_runners_clock_counts_for_nothing(void **state)
{
	static const uint64_t own[] = { 0, 1, UINT64_MAX };
	double time_ns[3];

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct world *w = world_new();
		struct kf_verdict v;

		script.own_ns = own[i];
		w->req.baseline = live(w);
		judge(w, &v);
		assert_int_equal(v.state, KF_CORRECT);
		time_ns[i] = v.time_ns;
		kf_verdict_release(&v);
		world_free(w);
	}
	assert_true(fabs(time_ns[0] - time_ns[1]) < 1000);
	assert_true(fabs(time_ns[0] - time_ns[2]) < 1000);
}

static void test_deadlines_come_from_the_reference(void **state)
{
	static const struct { double flops; uint64_t stored_ns, timeout_ns; }
	rows[] = {
		{ 1e6, 0, 2 * KF_NS_PER_S },
		{ 1e6, 100 * KF_NS_PER_MS, 5 * KF_NS_PER_S },
		{ 1e6, 10 * KF_NS_PER_S, 60 * KF_NS_PER_S },
		{ 1e12, 0, 60 * KF_NS_PER_S },
		{ (double)NAN, 0, 60 * KF_NS_PER_S },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct world *w = world_new();
		struct kf_verdict v;

		w->bundle.flops = rows[i].flops;
		w->req.baseline_stored_ns = rows[i].stored_ns;
		script.forward = KF_CALL_TIMEOUT;
		judge(w, &v);
		assert_int_equal(script.timeout_ns, rows[i].timeout_ns);
		kf_verdict_release(&v);
		world_free(w);
	}
}

static void test_the_account_adds_up(void **state)
{
	struct world *w = world_new();
	struct kf_verdict v;

	(void)state;
	script.clock = tiny;
	w->req.baseline = live(w);
	judge(w, &v);
	assert_int_equal(v.compiler_ns, 1000);
	assert_true(v.candidate_ns >= 900 * (uint64_t)v.call_count);
	assert_int_equal(v.took_ns, v.compiler_ns + v.candidate_ns +
			 v.baseline_took_ns + v.ours_ns);
	assert_int_equal(v.memory_bytes_peak, 4096);
	assert_int_equal(v.tier, KF_TIER_MEDIUM);
	kf_verdict_release(&v);
	world_free(w);
}

static void test_determinism_is_noted_not_demanded(void **state)
{
	struct world *w = world_new();
	struct kf_verdict v;
	struct kf_buf words = { .max = 1u << 16 };

	(void)state;
	script.candidate = other_bytes_each_process;
	w->req.call_count_fixed = 100;
	judge(w, &v);
	assert_int_equal(v.state, KF_CORRECT);
	assert_false(kf_json_bool(v.evidence, "same_bytes_in_another_process",
				  true));
	kf_verdict_explain(&v, &words);
	assert_non_null(strstr(kf_buf_str(&words), "not_deterministic"));
	kf_buf_release(&words);
	kf_verdict_release(&v);
	world_free(w);
}

/* --- the record ---------------------------------------------------------- */

static void test_values_without_float64_are_told_as_such(void **state)
{
	static const struct {
		bool has_exact;
		forward_fn *candidate;
		enum kf_call_state forward;
		bool noted;
	} rows[] = {
		{ true, right, KF_CALL_GOOD, false },
		{ false, right, KF_CALL_GOOD, true },
		{ false, zeros, KF_CALL_GOOD, true },
		{ false, right, KF_CALL_SIGNAL, false },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct world *w = world_new();
		struct kf_verdict v;

		w->bundle.has_exact = rows[i].has_exact;
		for (size_t k = 0; k < SETS && !rows[i].has_exact; k++)
			w->data[k].exact_list[0] = NULL;
		script.candidate = rows[i].candidate;
		script.forward = rows[i].forward;
		judge(w, &v);
		assert_int_equal(has_note(&v, "reference's own float32"),
				 rows[i].noted);
		kf_verdict_release(&v);
		world_free(w);
	}
}

static void test_json_has_no_nan(void **state)
{
	static forward_fn *const candidates[] = { right, nan_somewhere, no_op };

	(void)state;
	for (size_t i = 0; i < KF_COUNT(candidates); i++) {
		struct world *w = world_new();
		struct kf_verdict v;
		json_t *json;
		char *text;

		script.candidate = candidates[i];
		judge(w, &v);
		json = kf_verdict_to_json(&v);
		assert_non_null(json);
		text = kf_json_text(json);
		assert_non_null(text);
		assert_string_equal(kf_json_str(json, "state", ""),
				    kf_state_name(v.state));
		if (i)
			assert_true(json_is_null(json_object_get(json,
								 "time_ns")));
		free(text);
		json_decref(json);
		kf_verdict_release(&v);
		world_free(w);
	}
}

static void test_a_judgement_may_stop_early(void **state)
{
	static const struct {
		enum kf_reach stop_after, reached;
		enum kf_state state;
		bool ran, timed;
	} row[] = {
		{ KF_REACH_NONE, KF_REACH_TIME, KF_CORRECT, true, true },
		{ KF_REACH_TIME, KF_REACH_TIME, KF_CORRECT, true, true },
		{ KF_REACH_VALUES, KF_REACH_VALUES, KF_CORRECT, true, false },
		{ KF_REACH_BUILD, KF_REACH_BUILD, KF_STATE_NONE, false, false },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(row); i++) {
		struct world *w = world_new();
		struct kf_verdict v;

		w->req.stop_after = row[i].stop_after;
		w->req.baseline = live(w);
		judge(w, &v);
		assert_int_equal(v.state, row[i].state);
		assert_int_equal(v.reached, row[i].reached);
		assert_int_equal(script.calls > 0, row[i].ran);
		assert_int_equal(script.baseline_calls > 0, row[i].timed);
		assert_int_equal(!isnan(v.time_ns), row[i].timed);
		kf_verdict_release(&v);
		world_free(w);
	}
}

static void test_threads_come_in_another_order_too(void **state)
{
	static const struct {
		bool threads, cannot_hold;
		uint64_t (*clock)(struct kf_rng *rng);
		unsigned too_late, calls;	/* 0: no fixed plan */
		enum kf_rules rules;
		unsigned held, tries;
	} rows[] = {
		{ true, false, steady, 0, 0, KF_RULES_KFORGE, 4, 4 },
		{ true, false, steady, 3, 0, KF_RULES_KFORGE, 4, 7 },
		{ true, false, steady, 99, 0, KF_RULES_KFORGE, 0, 10 },
		{ true, false, steady, 0, 60, KF_RULES_KFORGE, 4, 4 },
		{ true, false, steady, 2, 60, KF_RULES_KFORGE, 4, 6 },
		{ true, false, steady, 99, 60, KF_RULES_KFORGE, 0, 10 },
		{ true, false, steady, 3, SETS + 3 + 16, KF_RULES_KFORGE, 3, 6 },
		{ true, false, steady, 0, SETS + 8, KF_RULES_KFORGE, 0, 0 },
		{ false, false, steady, 0, 0, KF_RULES_KFORGE, 0, 0 },
		{ true, true, steady, 0, 0, KF_RULES_KFORGE, 0, 0 },
		{ true, false, slow, 0, 0, KF_RULES_KFORGE, 0, 0 },
		{ true, false, steady, 0, 0, KF_RULES_KERNELBENCH, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct world *w = world_new();
		struct kf_verdict v;

		script.threads = rows[i].threads;
		script.cannot_hold = rows[i].cannot_hold;
		script.clock = rows[i].clock;
		script.too_late = rows[i].too_late;
		w->req.rules = rows[i].rules;
		w->req.call_count_fixed = rows[i].calls;
		judge(w, &v);
		assert_int_equal(v.state, KF_CORRECT);
		assert_int_equal(script.held_calls, rows[i].held);
		assert_int_equal(script.held_tries, rows[i].tries);
		if (rows[i].calls)
			assert_int_equal(v.call_count, rows[i].calls);
		kf_verdict_release(&v);
		world_free(w);
	}
}

static void test_a_race_is_told_as_one(void **state)
{
	struct world *w = world_new();
	const json_t *failure;
	struct kf_verdict v;

	(void)state;
	script.threads = true;
	script.wrong_when_held = 3;
	judge(w, &v);
	assert_int_equal(v.state, KF_MISMATCH);
	assert_string_equal(v.reason, "values");
	assert_int_equal(script.held_calls, 3);
	assert_non_null(strstr(kf_buf_str(&v.text), "held up"));
	failure = json_object_get(v.evidence, "failure");
	assert_true(kf_json_bool(failure, "held", false));
	assert_true(v.kernelbench_good);
	kf_verdict_release(&v);
	world_free(w);
}

static void test_libraries_are_told_or_refused(void **state)
{
	static const struct {
		const char *ran;
		enum kf_libraries rule;
		enum kf_reach stop_after;
		enum kf_code code;
		const char *reason, *used;
	} rows[] = {
		{ "kernel nvjet_x\n", KF_LIBRARIES_ALLOW, KF_REACH_TIME,
		  KF_OK, "", "cuBLAS" },
		{ "kernel nvjet_x\n", KF_LIBRARIES_REFUSE, KF_REACH_TIME,
		  KF_OK, "library", "cuBLAS" },
		{ "kernel nvjet_x\n", KF_LIBRARIES_REFUSE, KF_REACH_VALUES,
		  KF_OK, "library", "cuBLAS" },
		{ "kernel mine\n", KF_LIBRARIES_REFUSE, KF_REACH_TIME, KF_OK,
		  "", "" },
		{ "unseen dark\n", KF_LIBRARIES_ALLOW, KF_REACH_TIME, KF_OK,
		  "", "" },
		{ "unseen dark\n", KF_LIBRARIES_REFUSE, KF_REACH_TIME,
		  KF_E_UNAVAIL, "", "" },
		{ "crash", KF_LIBRARIES_ALLOW, KF_REACH_TIME, KF_OK, "", "" },
		{ "crash", KF_LIBRARIES_REFUSE, KF_REACH_TIME, KF_E_UNAVAIL,
		  "", "" },
		{ NULL, KF_LIBRARIES_REFUSE, KF_REACH_TIME, KF_OK, "", NULL },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct world *w = world_new();
		struct kf_err err = { 0 };
		struct kf_verdict v;
		const json_t *used;

		script.ran = rows[i].ran;
		w->req.libraries = rows[i].rule;
		w->req.stop_after = rows[i].stop_after;
		assert_int_equal(kf_evaluate(&w->req, &v, &err), rows[i].code);
		assert_int_equal(script.traces, rows[i].ran != NULL);
		assert_string_equal(v.reason, rows[i].reason);
		assert_int_equal(v.libraries != NULL, rows[i].ran != NULL);
		used = json_array_get(json_object_get(v.libraries, "used"), 0);
		assert_string_equal(kf_json_str(used, "name", ""),
				    rows[i].used ? rows[i].used : "");
		if (rows[i].reason[0])
			assert_non_null(strstr(kf_buf_str(&v.text), "nvjet_x"));
		kf_verdict_release(&v);
		world_free(w);
	}
}

static void test_values_are_all_looked_at_before_an_early_stop(void **state)
{
	struct world *w = world_new();
	struct kf_verdict v;
	json_t *sets;
	const char *kind;
	json_t *word;

	(void)state;
	w->req.stop_after = KF_REACH_VALUES;
	script.candidate = ignores_weights;
	judge(w, &v);
	assert_int_equal(v.state, KF_MISMATCH);
	assert_int_equal(v.reached, KF_REACH_BUILD);
	kf_verdict_release(&v);
	script.candidate = right;
	judge(w, &v);
	sets = json_object_get(v.evidence, "sets");
	assert_int_equal(json_object_size(sets), SETS);
	json_object_foreach(sets, kind, word)
		assert_string_equal(json_string_value(word), "good");
	kf_verdict_release(&v);
	world_free(w);
}

/* --- the device's lock ---------------------------------------------------- */

struct holder { struct kf_lock lock; unsigned waits; };

/* The judgement says that it waits: then the other lets go. */
static void let_go(void *arg, enum kf_log_level level, const char *line)
{
	struct holder *holder = arg;

	(void)level;
	if (!strstr(line, "waiting"))
		return;
	holder->waits++;
	kf_lock_release(&holder->lock);
}

static void test_times_wait_for_the_device_and_values_do_not(void **state)
{
	static const struct {
		enum kf_reach stop_after;
		unsigned waits;
	} row[] = {
		{ KF_REACH_VALUES, 0 },
		{ KF_REACH_TIME, 1 },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(row); i++) {
		char path[] = "/tmp/kforge-test-XXXXXX";
		struct world *w = world_new();
		struct holder holder = { 0 };
		struct kf_log log = { KF_LOG_INFO, let_go, &holder };
		struct kf_lock after;
		struct kf_verdict v;
		int fd = mkstemp(path);

		assert_true(fd >= 0);
		close(fd);
		assert_int_equal(kf_lock_try(path, &holder.lock, NULL), KF_OK);
		assert_true(holder.lock.held);
		w->req.lock_path = path;
		w->req.stop_after = row[i].stop_after;
		w->req.log = &log;
		judge(w, &v);
		assert_int_equal(v.state, KF_CORRECT);
		assert_int_equal(holder.waits, row[i].waits);
		kf_lock_release(&holder.lock);
		assert_int_equal(kf_lock_try(path, &after, NULL), KF_OK);
		assert_true(after.held);
		kf_lock_release(&after);
		kf_verdict_release(&v);
		world_free(w);
		unlink(path);
	}
}

static void test_a_process_that_died_ahead_is_replaced(void **state)
{
	struct world *w = world_new();
	struct kf_verdict v;
	struct kf_err err = { 0 };

	(void)state;
	script.dead_ahead = 1;
	judge(w, &v);
	assert_int_equal(v.state, KF_CORRECT);
	kf_verdict_release(&v);
	script.dead_ahead = 2;		/* the fresh one too: our trouble */
	assert_int_equal(kf_evaluate(&w->req, &v, &err), KF_E_UNAVAIL);
	assert_non_null(strstr(err.text, "died"));
	assert_int_equal(script.freed, script.begun);
	kf_verdict_release(&v);
	world_free(w);
}

static void test_large_problems_make_fewer_processes_ahead(void **state)
{
	static const struct {
		size_t in_mib, out_mib;
		unsigned begun;
	} row[] = {
		{ 1, 1, 2 }, { 200, 100, 1 }, { 100, 200, 1 }, { 600, 500, 0 },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(row); i++) {
		struct world *w = world_new();
		struct kf_verdict v;

		w->in.bytes = row[i].in_mib << 20;
		w->out.bytes = row[i].out_mib << 20;
		script.build = KF_BUILD_REFUSED;
		judge(w, &v);
		assert_int_equal(script.begun, row[i].begun);
		kf_verdict_release(&v);
		world_free(w);
	}
}

/* Where data are too large to be kept one process has enough for all. */
static void test_large_data_on_a_device_make_small_blocks(void **state)
{
	static const struct {
		const char *device;
		bool condensed;
		size_t stock, most;
	} row[] = {
		{ "cuda", true, 6, 1 }, { "cuda", true, 12, 2 },
		{ "cuda", true, 4, 1 }, { "cuda", true, 40, 6 },
		{ "cuda", false, 12, 12 }, { NULL, true, 6, 6 },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(row); i++) {
		struct world *w = world_new();

		w->driver.torch_device = row[i].device;
		w->bundle.condensed = row[i].condensed;
		w->bundle.stock_count = row[i].stock;
		assert_int_equal(kf_block_most(&w->req), row[i].most);
		world_free(w);
	}
	assert_int_equal(kf_block_calls(0), 10);
	assert_int_equal(kf_block_calls(200000000), 5);
	assert_int_equal(kf_block_calls(900000000), 3);
}

static void test_processes_of_a_device_begin_while_others_work(void **state)
{
	static const struct {
		const char *device;
		enum kf_reach stop_after;
		unsigned calls, stock, begun_at_first;
	} row[] = {
		{ NULL, KF_REACH_TIME, 0, STOCK, 2 },	/* while compiled */
		{ "cuda", KF_REACH_VALUES, 0, STOCK, 1 },
		{ "cuda", KF_REACH_TIME, 0, STOCK, 2 },
		{ "cuda", KF_REACH_TIME, 0, 10, 4 },
		{ "cuda", KF_REACH_TIME, 20, 40, 2 },
		{ "cuda", KF_REACH_TIME, 100, 10, 4 },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(row); i++) {
		struct world *w = world_new();
		struct kf_verdict v;

		w->driver.torch_device = row[i].device;
		w->req.stop_after = row[i].stop_after;
		w->req.call_count_fixed = row[i].calls;
		w->bundle.stock_count = row[i].stock;
		judge(w, &v);
		assert_int_equal(v.state, KF_CORRECT);
		assert_int_equal(script.begun_at_first, row[i].begun_at_first);
		kf_verdict_release(&v);
		world_free(w);
	}
}

static void test_a_baseline_warms_up_before_the_device_is_taken(void **state)
{
	static const struct { const char *device; unsigned warmed; } row[] = {
		{ NULL, 0 }, { "cuda", 1 },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(row); i++) {
		struct world *w = world_new();
		char *lock = kf_path_join(w->work_dir, "lock");
		struct kf_verdict v;

		w->driver.torch_device = row[i].device;
		w->req.lock_path = lock;
		w->req.baseline = live(w);
		judge(w, &v);
		assert_int_equal(v.state, KF_CORRECT);
		assert_int_equal(script.baseline_warmed, row[i].warmed);
		assert_true(script.baseline_calls > 1);
		kf_verdict_release(&v);
		free(lock);
		world_free(w);
	}
}

static void test_a_verdict_names_its_judge(void **state)
{
	struct world *w = world_new();
	struct kf_verdict v, again;
	char kernelbench[KF_JUDGE_HEX];
	json_t *json;

	(void)state;
	w->req.device_name = "an abacus";
	judge(w, &v);
	assert_true(v.seed > 0 && v.seed <= (UINT64_C(1) << 53));
	assert_string_equal(v.device, "an abacus");
	json = kf_verdict_to_json(&v);
	assert_string_equal(kf_json_str(json, "device_id", ""), "cpu:0");
	assert_string_equal(kf_json_str(json_object_get(json, "judge"),
					"hash", ""), v.judge_hash);
	assert_int_equal(strlen(v.judge_hash), KF_JUDGE_HEX - 1);
	assert_int_equal(kf_verdict_from_json(json, &again, NULL), KF_OK);
	assert_string_equal(again.device_id, "cpu:0");
	kf_verdict_release(&again);
	json_decref(json);
	/* Its seed gives the same order again. */
	w->req.seed = v.seed;
	judge(w, &again);
	assert_string_equal(kf_json_str(v.evidence, "order", "a"),
			    kf_json_str(again.evidence, "order", "b"));
	kf_judge_hash(&w->platform, KF_RULES_KERNELBENCH, kernelbench);
	assert_string_not_equal(v.judge_hash, kernelbench);
	kf_verdict_release(&v);
	kf_verdict_release(&again);
	world_free(w);
}

static void test_a_baseline_is_told_in_words(void **state)
{
	json_t *about = json_pack("{s:s, s:s, s:i, s:i, s:i}", "version",
		"2.11.0", "driver", "CUDA 13.0", "launches", 3,
		"eager_tf32_ns", 12000, "compile_tf32_ns", 9000);
	char words[160];

	(void)state;
	assert_string_equal(kf_baseline_words(about, words), "torch 2.11.0, "
		"driver CUDA 13.0, 3 launches, with TF32 eager 12 us and "
		"torch.compile 9 us");
	json_object_del(about, "compile_tf32_ns");
	assert_non_null(strstr(kf_baseline_words(about, words),
			       ", with TF32 eager 12 us"));
	assert_null(strstr(words, "torch.compile"));
	assert_null(strstr(words, "not compiled"));
	json_decref(about);
}

static void test_a_baseline_that_could_not_be_compiled_says_why(void **state)
{
	struct kf_verdict v = { .state = KF_CORRECT, .reached = KF_REACH_TIME };
	struct kf_buf text = { .max = 4096 };

	(void)state;
	v.baseline_about = json_pack("{s:s, s:s}", "version", "2.11.0",
				     "compile_error", "RuntimeError: no g++");
	kf_verdict_explain(&v, &text);
	assert_non_null(strstr(kf_buf_str(&text),
			       "baseline: torch 2.11.0, not compiled\n"));
	assert_non_null(strstr(kf_buf_str(&text), "      torch.compile failed: "
			       "RuntimeError: no g++\n"));
	kf_buf_release(&text);
	kf_verdict_release(&v);
}

static void test_states_have_names(void **state)
{
	(void)state;
	for (int s = KF_STATE_NONE; s <= KF_CORRECT; s++)
		assert_int_equal(kf_state_by_name(
			kf_state_name((enum kf_state)s)), s);
	assert_int_equal(kf_state_by_name("nonsense"), KF_STATE_NONE);
	assert_int_equal(kf_state_by_name(NULL), KF_STATE_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_ending_has_its_verdict),
		cmocka_unit_test(test_our_trouble_is_not_the_candidates),
		cmocka_unit_test(test_a_request_without_data_is_refused),
		cmocka_unit_test(test_the_user_can_stop),
		cmocka_unit_test(test_no_case_is_used_twice_in_a_process),
		cmocka_unit_test(test_a_fresh_process_for_every_block),
		cmocka_unit_test(test_weights_are_prepared_when_they_change),
		cmocka_unit_test(test_order_is_secret_but_repeatable),
		cmocka_unit_test(test_all_sets_are_run_after_a_failure),
		cmocka_unit_test(test_both_rules_are_on_record_and_one_decides),
		cmocka_unit_test(test_speedup_comes_from_blocks_in_turn),
		cmocka_unit_test(test_either_may_be_the_first_of_a_pair),
		cmocka_unit_test(test_noise_means_more_blocks),
		cmocka_unit_test(test_a_process_of_a_fixed_plan_is_one_block),
		cmocka_unit_test(test_a_stored_baseline_gives_a_ratio_only),
		cmocka_unit_test(test_tiny_times_are_not_conclusive),
		cmocka_unit_test(
			test_small_gains_of_short_calls_are_not_claimed),
		cmocka_unit_test(test_who_beats_its_bytes_is_timed_once_more),
		cmocka_unit_test(test_the_runners_clock_counts_for_nothing),
		cmocka_unit_test(test_deadlines_come_from_the_reference),
		cmocka_unit_test(test_some_calls_find_their_inputs_in_no_cache),
		cmocka_unit_test(
			test_cold_calls_are_checked_and_not_always_made),
		cmocka_unit_test(test_disturbed_blocks_are_taken_again),
		cmocka_unit_test(test_a_fixed_plan_takes_nothing_again),
		cmocka_unit_test(test_the_account_adds_up),
		cmocka_unit_test(test_determinism_is_noted_not_demanded),
		cmocka_unit_test(test_values_without_float64_are_told_as_such),
		cmocka_unit_test(test_json_has_no_nan),
		cmocka_unit_test(test_a_judgement_may_stop_early),
		cmocka_unit_test(test_threads_come_in_another_order_too),
		cmocka_unit_test(test_a_race_is_told_as_one),
		cmocka_unit_test(test_libraries_are_told_or_refused),
		cmocka_unit_test(
			test_values_are_all_looked_at_before_an_early_stop),
		cmocka_unit_test(
			test_times_wait_for_the_device_and_values_do_not),
		cmocka_unit_test(test_a_process_that_died_ahead_is_replaced),
		cmocka_unit_test(
			test_large_problems_make_fewer_processes_ahead),
		cmocka_unit_test(
			test_processes_of_a_device_begin_while_others_work),
		cmocka_unit_test(
			test_a_baseline_warms_up_before_the_device_is_taken),
		cmocka_unit_test(
			test_large_data_on_a_device_make_small_blocks),
		cmocka_unit_test(test_a_verdict_names_its_judge),
		cmocka_unit_test(test_a_baseline_is_told_in_words),
		cmocka_unit_test(
			test_a_baseline_that_could_not_be_compiled_says_why),
		cmocka_unit_test(test_states_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
