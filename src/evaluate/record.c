#include "evaluate/record.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "evaluate/arena.h"
#include "evaluate/worker_end.h"

#define RUNNER		"/kforge-runner"
#define HOST		"/host.so"

#define RECORDINGS	2u
#define START_NS	(30 * KF_NS_PER_S)	/* for a process to start */
#define LOOK_MS		2
#define MEMORY_BYTES	(256u << 20)
#define FILE_BYTES	(KF_PLAN_BYTES_MAX + (1u << 20))
#define PROCESSES	64u
#define OUTPUT_MAX	(64u << 10)
#define SALT		0x800u		/* the highest bit of 12 */
#define SALTS		0x400u		/* the next stays clear: no address has
					   such bits, on any processor */

/* One process that runs host.c. */
struct recording {
	struct kf_sandbox *box;
	int answer_fd, hello_fd;	/* -1: none */
	struct kf_record_answer answer;	/* given, then as it came back */
	struct kf_outcome outcome;
	struct kf_plans plans;
	struct kf_call_end end;
	uint64_t wall_ns;		/* from loaded_ns on */
	uint64_t loaded_ns;		/* when host.c was seen to begin; 0 */
	bool late;			/* it was killed for wall_ns */
};

/* --- starting ------------------------------------------------------------ */

/* What both have in common. */
struct ground {
	const struct kf_record_job *job;
	char *host_path, *runner;	/* owned */
	struct kf_binds binds;
	struct kf_arena arena;
	int filter_fd;
};

static void ground_release(struct ground *g)
{
	if (g->filter_fd >= 0)
		close(g->filter_fd);
	kf_binds_release(&g->binds);
	kf_arena_release(&g->arena);
	if (g->host_path)
		unlink(g->host_path);
	free(g->host_path);
	free(g->runner);
}

static enum kf_code ground_init(struct ground *g,
				const struct kf_record_job *job,
				struct kf_err *err)
{
	enum kf_code code;

	*g = (struct ground) { .job = job, .filter_fd = -1 };
	kf_arena_empty(&g->arena);
	g->runner = kf_runner_path(err);
	if (!g->runner)
		return KF_E_UNAVAIL;
	g->filter_fd = kf_sandbox_filter_fd(KF_SANDBOX_HOST, err);
	if (g->filter_fd < 0)
		return KF_E_UNAVAIL;
	code = kf_arena_init_request(&g->arena, job->bundle,
				     &(struct kf_arena_spec) {
		.driver = "", .device = "", .memory_max = job->memory_max,
	}, err);
	if (!code)
		code = kf_binds_runtime(&g->binds, err);
	if (code)
		return code;
	g->host_path = kf_path_join(job->work_dir, "host.so");
	code = kf_file_write_scratch(g->host_path, job->host, job->host_bytes,
				     err);
	kf_binds_add(&g->binds, g->runner, RUNNER, false, false);
	kf_binds_add(&g->binds, g->host_path, HOST, false, false);
	return code;
}

static enum kf_code start_box(const struct ground *g, struct recording *r,
			      int hello, struct kf_err *err)
{
	static const char *const argv[] = { RUNNER, "record", HOST, NULL };
	static const char *const env[] = { "LC_ALL=C", NULL };
	const struct kf_record_job *job = g->job;
	const struct kf_fd_pass pass[] = {
		{ r->answer_fd, KF_RUNNER_FD_REPLY },
		{ g->arena.request.pass_fd, KF_RUNNER_FD_REQUEST },
		{ hello, KF_RUNNER_FD_HELLO },
		{ g->filter_fd, KF_RUNNER_FD_FILTER },
	};
	const struct kf_sandbox_spec spec = {
		.profile = KF_SANDBOX_HOST,
		.tier_min = job->tier_min,
		.argv = argv,
		.env = env,
		.bind = g->binds.bind,
		.bind_count = g->binds.count,
		.limits = {
			.memory_bytes = MEMORY_BYTES,
			.cpu_ns = job->cpu_ns,
			.wall_ns = START_NS + job->wall_ns,
			.file_bytes = FILE_BYTES,
			.processes = PROCESSES,
			.descriptors = KF_SANDBOX_FD_MIN,
		},
		.fd = pass,
		.fd_count = KF_COUNT(pass),
		.output_max = OUTPUT_MAX,
		.cancel = job->cancel,
	};

	return kf_sandbox_start(&spec, &r->box, err);
}

static enum kf_code start(const struct ground *g, struct recording *r,
			  struct kf_err *err)
{
	int hello[2] = { -1, -1 };
	enum kf_code code;

	r->wall_ns = g->job->wall_ns;
	kf_random_bytes(&r->answer.nonce, sizeof(r->answer.nonce));
	r->answer_fd = memfd_create("kforge-record", MFD_CLOEXEC);
	if (r->answer_fd < 0 ||
	    pwrite(r->answer_fd, &r->answer, sizeof(r->answer), 0) !=
		    (ssize_t)sizeof(r->answer) ||
	    pipe2(hello, O_CLOEXEC | O_NONBLOCK))
		return kf_fail_errno(err, "cannot make shared memory");
	r->hello_fd = hello[0];
	code = start_box(g, r, hello[1], err);
	close(hello[1]);
	return code;
}

/* --- its end ------------------------------------------------------------- */

static const char *doing(const struct kf_record_answer *answer)
{
	static const char *const words[KF_RECORD_STAGES] = {
		[KF_RECORD_LOADING] = "while it was loaded",
		[KF_RECORD_PREPARING] = "while kf_prepare was recorded",
		[KF_RECORD_FORWARDING] = "while kf_forward was recorded",
	};

	return answer->stage < KF_RECORD_STAGES ? words[answer->stage] :
		"while it was recorded";
}

/* Did host.c begin to run? What goes wrong before is ours. */
static bool was_loaded(struct recording *r)
{
	char byte;

	if (!r->loaded_ns && read(r->hello_fd, &byte, 1) == 1)
		r->loaded_ns = kf_now_ns();
	return r->loaded_ns;
}

static void explain(struct recording *r, enum kf_wait why)
{
	const struct kf_end_about about = { "host.c", doing(&r->answer),
					    NULL, r->wall_ns };
	struct kf_buf clean = { .max = sizeof(r->answer.fault.text) - 1 };
	char *text = r->answer.fault.text;

	kf_utf8_clean(text, strnlen(text, clean.max), &clean);
	snprintf(text, sizeof(r->answer.fault.text), "%s",
		 kf_buf_str(&clean));
	kf_buf_release(&clean);
	kf_worker_explain(why, &about, &r->outcome, &r->answer.fault, &r->end);
}

static enum kf_code read_plans(struct recording *r, struct kf_err *err)
{
	size_t len = r->answer.plans_bytes;
	char *bytes = kf_alloc(len);
	enum kf_code code = KF_OK;
	ssize_t got = pread(r->answer_fd, bytes, len, sizeof(r->answer));

	if (got < 0)
		code = kf_fail_errno(err, "cannot read the plans");
	else if ((size_t)got < len ||
		 kf_plans_read(bytes, len, &r->plans, NULL))
		explain(r, KF_WAIT_BROKEN);
	free(bytes);
	return code;
}

static void fail_load(struct recording *r)
{
	struct kf_buf clean = { .max = sizeof(r->end.text) - 1 };
	const char *text = r->answer.text;

	r->end.state = KF_CALL_LOAD;
	kf_utf8_clean(text, strnlen(text, sizeof(r->answer.text)), &clean);
	snprintf(r->end.text, sizeof(r->end.text), "%s", kf_buf_str(&clean));
	kf_buf_release(&clean);
}

/* The process is gone: nobody changes the answer while it is read. */
static enum kf_code read_answer(struct recording *r, struct kf_err *err)
{
	uint64_t nonce = r->answer.nonce;
	bool whole = pread(r->answer_fd, &r->answer, sizeof(r->answer), 0) ==
		(ssize_t)sizeof(r->answer);

	if (r->outcome.end == KF_END_CANCELED && !r->late)
		return kf_fail(err, KF_E_CANCELED, "stopped");
	if (!was_loaded(r))
		return kf_fail(err, KF_E_UNAVAIL, "the recorder did not start "
			       "(%s): %.300s", r->outcome.detail[0] ?
			       r->outcome.detail : kf_end_name(r->outcome.end),
			       kf_buf_str(&r->outcome.errout));
	if (r->late)
		explain(r, KF_WAIT_LATE);
	else if (!whole)
		explain(r, KF_WAIT_BROKEN);
	else if (r->outcome.end != KF_END_EXITED || r->outcome.exit_code ||
		 r->answer.magic != KF_RECORD_MAGIC ||
		 r->answer.nonce != nonce)
		explain(r, KF_WAIT_ENDED);
	else if (r->answer.plans_bytes > KF_PLAN_BYTES_MAX)
		explain(r, KF_WAIT_BROKEN);
	else if (r->answer.text[0])
		fail_load(r);
	else
		return read_plans(r, err);
	return KF_OK;
}

/* --- what it asked for --------------------------------------------------- */

static void judge_plan(struct recording *r, const struct kf_plan *plan,
		       const char *name)
{
	struct kf_call_end *end = &r->end;

	if (end->state != KF_CALL_GOOD)
		return;
	if (plan->mistake[0]) {
		end->state = KF_CALL_LAUNCH;
		snprintf(end->text, sizeof(end->text), "%s", plan->mistake);
	} else if (plan->rc) {
		end->state = KF_CALL_RC;
		end->rc = plan->rc;
		snprintf(end->text, sizeof(end->text), "%s returned %d", name,
			 plan->rc);
	}
	if (end->state != KF_CALL_GOOD)
		kf_end_output(&r->outcome, end);
}

static uint64_t *sizes(const struct kf_tensor_info *info, size_t count)
{
	uint64_t *bytes = kf_alloc(count * sizeof(bytes[0]));

	for (size_t i = 0; i < count; i++)
		bytes[i] = info[i].bytes;
	return bytes;
}

static void check(const struct kf_record_job *job, struct recording *r)
{
	const struct kf_bundle *b = job->bundle;
	uint64_t *in = sizes(b->in, b->in_count);
	uint64_t *weight = sizes(b->weight, b->weight_count);
	uint64_t *out = sizes(b->out, b->out_count);
	const struct kf_plan_tensors tensors = {
		.in_bytes = in, .weight_bytes = weight, .out_bytes = out,
		.in_count = b->in_count, .weight_count = b->weight_count,
		.out_count = b->out_count, .memory_max = job->memory_max,
	};
	char why[256];

	/* A recorder writes no such plans: somebody else did. */
	if (!kf_plans_check(&r->plans, &tensors, why))
		explain(r, KF_WAIT_BROKEN);
	free(out);
	free(weight);
	free(in);
}

static void compare(const struct recording r[RECORDINGS],
		    struct kf_call_end *end)
{
	char why[256];

	if (kf_plans_equal(&r[0].plans, &r[1].plans, why))
		return;
	end->state = KF_CALL_NOT_REPEATABLE;
	snprintf(end->text, sizeof(end->text), "host.c does not ask for the "
		 "same every time: %s. What it asks for may depend on shapes, "
		 "scalars and constants, not on the clock, addresses or "
		 "memory that was not set", why);
}

/* The first failure of any; else whether they are the same. */
static void judge(const struct kf_record_job *job,
		  struct recording r[RECORDINGS], struct kf_call_end *end)
{
	for (size_t i = 0; i < RECORDINGS; i++) {
		judge_plan(&r[i], &r[i].plans.prepare, "kf_prepare");
		judge_plan(&r[i], &r[i].plans.forward, "kf_forward");
		if (r[i].end.state == KF_CALL_GOOD)
			check(job, &r[i]);
		if (r[i].end.state != KF_CALL_GOOD) {
			*end = r[i].end;
			return;
		}
	}
	compare(r, end);
}

/* --- both ---------------------------------------------------------------- */

static void give_salts(struct recording r[RECORDINGS])
{
	struct kf_rng rng;
	uint32_t first;

	kf_random_bytes(&rng, sizeof(rng));
	first = (uint32_t)kf_rng_below(&rng, SALTS);
	r[0].answer.salt = SALT | first;
	r[1].answer.salt = SALT |
		(first + 1 + (uint32_t)kf_rng_below(&rng, SALTS - 1)) % SALTS;
}

/* Neither runs unwatched while the other is waited for. */
static enum kf_code watch(struct recording r[RECORDINGS], struct kf_err *err)
{
	struct kf_sandbox *box[RECORDINGS];
	enum kf_code code = KF_OK;

	for (size_t i = 0; i < RECORDINGS; i++)
		box[i] = r[i].box;
	while (!code && !kf_sandbox_watch(box, RECORDINGS, LOOK_MS))
		for (size_t i = 0; i < RECORDINGS && !code; i++) {
			if (r[i].late || kf_sandbox_ended(box[i]) ||
			    !was_loaded(&r[i]) ||
			    kf_now_ns() - r[i].loaded_ns < r[i].wall_ns)
				continue;
			r[i].late = true;
			code = kf_sandbox_kill(box[i], &r[i].outcome, err);
		}
	for (size_t i = 0; i < RECORDINGS && !code; i++)
		if (!r[i].late)
			code = kf_sandbox_wait(box[i], &r[i].outcome, err);
	return code;
}

static enum kf_code run(const struct ground *g,
			struct recording r[RECORDINGS], struct kf_err *err)
{
	enum kf_code code = KF_OK;

	for (size_t i = 0; i < RECORDINGS && !code; i++)
		code = start(g, &r[i], err);
	if (!code)
		code = watch(r, err);
	for (size_t i = 0; i < RECORDINGS && !code; i++)
		code = read_answer(&r[i], err);
	return code;
}

static void recording_release(struct recording *r)
{
	kf_sandbox_free(r->box);
	if (r->answer_fd >= 0)
		close(r->answer_fd);
	if (r->hello_fd >= 0)
		close(r->hello_fd);
	kf_outcome_release(&r->outcome);
	kf_plans_release(&r->plans);
}

enum kf_code kf_record_run(const struct kf_record_job *job,
			   struct kf_plans *plans, struct kf_call_end *end,
			   struct kf_err *err)
{
	struct recording r[RECORDINGS] = { 0 };
	struct ground ground;
	enum kf_code code;

	*plans = (struct kf_plans) { 0 };
	*end = (struct kf_call_end) { .state = KF_CALL_GOOD };
	if (!job->cpu_ns || !job->wall_ns)
		return kf_fail(err, KF_E_INPUT, "a recording without a "
			       "deadline");
	for (size_t i = 0; i < RECORDINGS; i++)
		r[i].answer_fd = r[i].hello_fd = -1;
	give_salts(r);
	code = ground_init(&ground, job, err);
	if (!code)
		code = run(&ground, r, err);
	if (!code)
		judge(job, r, end);
	if (!code && end->state == KF_CALL_GOOD) {
		*plans = r[0].plans;
		r[0].plans = (struct kf_plans) { 0 };
	}
	for (size_t i = 0; i < RECORDINGS; i++)
		recording_release(&r[i]);
	ground_release(&ground);
	return code;
}
