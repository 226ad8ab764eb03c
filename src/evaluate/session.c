#include "evaluate/judge.h"
#include "evaluate/parts.h"

#include <assert.h>
#include <math.h>

#include "base/parallel.h"
#include "evaluate/device.h"
#include "evaluate/digest.h"
#include "evaluate/expect.h"
#include "evaluate/weaken.h"
#include "problem/case.h"

/* A process may live this long; its calls have deadlines of their own. */
#define PROCESS_NS	(600 * KF_NS_PER_S)
#define PREPARE_NS	(30 * KF_NS_PER_S)

/* With more inputs and outputs, one process is made ahead at most, or none. */
#define AHEAD_BYTES_TWO	(UINT64_C(256) << 20)
#define AHEAD_BYTES_ONE	(UINT64_C(1) << 30)

#define PRINT_BYTES	((size_t)16 << 20)	/* hashed by one thread */

const char *kf_fault_reason(enum kf_fault fault)
{
	static const char *const reason[KF_FAULTS] = {
		[KF_FAULT_NONE] = "",
		[KF_FAULT_CALL] = "",
		[KF_FAULT_INPUT_CHANGED] = "input_changed",
		[KF_FAULT_OUT_OF_BOUNDS] = "out_of_bounds",
		[KF_FAULT_DEFERRED] = "cheat_deferred_work",
		[KF_FAULT_UNWRITTEN] = "unwritten",
		[KF_FAULT_NONFINITE] = "non_finite",
		[KF_FAULT_VALUES] = "values",
		[KF_FAULT_PRECISION] = "precision",
	};

	return reason[fault];
}

static void typical_make(const struct kf_tensor_info *info,
			 const struct kf_digest *digest, const float *react,
			 const float *noise, struct kf_compare_typical *out)
{
	int64_t count = kf_expect_count(info, digest);

	if (digest)	/* windows, one behind the other */
		kf_compare_typical_make(1, &count, react, noise, out);
	else
		kf_compare_typical_make(info->rank, info->shape, react, noise,
					out);
}

static enum kf_code open_python(struct kf_session_shared *shared,
				struct kf_err *err)
{
	const struct kf_evaluate_request *req = shared->req;

	return kf_python_side_open(&(struct kf_python_side_spec) {
		.platform = req->platform,
		.device_id = req->device_id,
		.python = req->python,
		.cache_path = req->cache_path,
		.threads = req->threads,
		.passive = req->stop_after == KF_REACH_VALUES,
		.problem = req->problem->source,
		.folder = req->work_dir,
	}, &shared->python, err);
}

enum kf_code kf_session_shared_init(struct kf_session_shared *shared,
				    const struct kf_evaluate_request *req,
				    struct kf_err *err)
{
	const struct kf_bundle *b = req->bundle;
	const struct kf_case *declared = b->set_count ? &b->set[0] : NULL;
	enum kf_code code;

	*shared = (struct kf_session_shared) {
		.req = req,
		.artefact_path = kf_path_join(req->work_dir, "program.so"),
		.nursery.log = req->log,
	};
	shared->typical = kf_alloc((b->out_count + 1) *
				   sizeof(shared->typical[0]));
	shared->positions = kf_alloc((b->out_count + 1) *
				     sizeof(shared->positions[0]));
	for (size_t i = 0; declared && i < b->out_count; i++)
		typical_make(&b->out[i], declared->digest ?
			&declared->digest[i] : NULL,
			declared->react ? declared->react[i] : NULL,
			declared->noise ? declared->noise[i] : NULL,
			&shared->typical[i]);
	/* Sandboxes show the file itself, so it must be there before them. */
	code = kf_file_write(shared->artefact_path, "", 0, err);
	return code ? code : open_python(shared, err);
}

static void note_end(struct kf_session_shared *shared,
		     enum kf_sandbox_tier tier, uint64_t memory_bytes_peak)
{
	if (tier != KF_TIER_NONE &&
	    (shared->tier == KF_TIER_NONE || tier < shared->tier))
		shared->tier = tier;
	if (memory_bytes_peak > shared->memory_bytes_peak)
		shared->memory_bytes_peak = memory_bytes_peak;
}

/* What is known of a process only when it is gone. */
static void see_off(struct kf_session_shared *shared, struct kf_worker *worker)
{
	uint64_t start_ns = kf_now_ns();

	kf_worker_doom(worker);
	kf_worker_stop(worker);
	note_end(shared, kf_worker_tier(worker), kf_worker_memory_peak(worker));
	kf_worker_free(worker);
	kf_logf(shared->req->log, KF_LOG_DEBUG, "a process of the candidate "
		"is gone, waited for %.1f ms",
		(double)(kf_now_ns() - start_ns) / 1e6);
}

void kf_session_shared_close(struct kf_session_shared *shared)
{
	struct kf_outcome outcome;

	for (size_t i = 0; i < shared->ahead_count; i++)
		kf_worker_doom(shared->ahead[i]);
	for (size_t i = 0; i < shared->leaving_count; i++)
		see_off(shared, shared->leaving[i]);
	for (size_t i = 0; i < shared->ahead_count; i++)
		kf_worker_free(shared->ahead[i]);
	shared->ahead_count = shared->leaving_count = 0;
	kf_nursery_end(&shared->nursery, &outcome);
	note_end(shared, outcome.tier, outcome.memory_bytes_peak);
	kf_outcome_release(&outcome);
}

void kf_session_shared_release(struct kf_session_shared *shared)
{
	if (!shared->req)	/* never begun */
		return;
	kf_session_shared_close(shared);
	for (size_t i = 0; i < shared->req->bundle->out_count; i++)
		kf_compare_typical_release(&shared->typical[i]);
	free(shared->typical);
	shared->typical = NULL;
	free(shared->positions);
	shared->positions = NULL;
	free(shared->artefact_path);
	shared->artefact_path = NULL;
	kf_plans_release(&shared->plans);
	kf_python_side_release(&shared->python);
}

/* Does it name a function that makes threads? */
static bool names_threads(const struct kf_buf *artefact)
{
	static const char *const name[] = {
		"pthread_create", "thrd_create", "GOMP_parallel",
		"GOMP_teams", "__kmpc_fork_",
	};
	bool any = false;

	for (size_t i = 0; i < KF_COUNT(name); i++)
		any |= memmem(artefact->data, artefact->len, name[i],
			      strlen(name[i])) != NULL;
	return any;
}

/* Written in place: a process made ahead has this very file before it. */
static enum kf_code fill(struct kf_session_shared *shared,
			 const char *artefact_path, struct kf_err *err)
{
	struct kf_buf bytes = { .max = SIZE_MAX };
	enum kf_code code = kf_file_read(artefact_path, &bytes, err);
	FILE *file = NULL;

	if (code)
		goto out;
	shared->has_threads = names_threads(&bytes);
	file = fopen(shared->artefact_path, "r+e");
	if (!file || fwrite(bytes.data, 1, bytes.len, file) != bytes.len ||
	    fflush(file))
		code = kf_fail_errno(err, "cannot write %s",
				     shared->artefact_path);
out:
	if (file && fclose(file) && !code)
		code = kf_fail_errno(err, "cannot write %s",
				     shared->artefact_path);
	kf_buf_release(&bytes);
	return code;
}

enum kf_code kf_session_shared_fill(struct kf_session_shared *shared,
				    const char *artefact_path,
				    struct kf_call_end *end,
				    struct kf_err *err)
{
	char *loaded;
	enum kf_code code;

	*end = (struct kf_call_end) { .state = KF_CALL_GOOD };
	if (!shared->req->platform->driver->two_part)
		return fill(shared, artefact_path, err);
	loaded = kf_path_join(shared->req->work_dir, "loaded");
	code = kf_parts_record(shared->req, artefact_path, loaded,
			       &shared->plans, end, err);
	if (!code && end->state == KF_CALL_GOOD)
		code = fill(shared, loaded, err);
	free(loaded);
	return code;
}

static struct kf_nursery *nursery_of(struct kf_session_shared *shared)
{
	const struct kf_evaluate_request *req = shared->req;

	return req->platform->driver->python && !req->wrap ?
		&shared->nursery : NULL;
}

static enum kf_code begin_worker(struct kf_session_shared *shared,
				 struct kf_worker **out, struct kf_err *err)
{
	const struct kf_evaluate_request *req = shared->req;
	struct kf_worker_spec spec = {
		.platform = req->platform,
		.device_id = req->device_id,
		.device_in_process = req->device_in_process,
		.artefact_path = shared->artefact_path,
		.python = &shared->python,
		.bundle = req->bundle,
		.threads = req->threads,
		.passive = req->stop_after == KF_REACH_VALUES ||
			(req->wrap && req->wrap->passive),
		.tier_min = req->tier_min,
		.limits = req->platform->run_limits,
		.handshakes = req->wrap ? NULL : req->handshakes,
		.wrap = req->wrap,
		.nursery = nursery_of(shared),
		.inputs_here = shared->inputs_here,
		.cancel = req->cancel,
	};
	unsigned threads = req->threads ? req->threads : 1;

	if (spec.limits.wall_ns < PROCESS_NS)
		spec.limits.wall_ns = PROCESS_NS;
	/* It may wait, paused, for the device: to share it, and to have it. */
	if (req->lock_path)
		spec.limits.wall_ns += 2 * KF_DEVICE_WAIT_NS;
	if (spec.limits.cpu_ns < PROCESS_NS * threads)
		spec.limits.cpu_ns = PROCESS_NS * threads;
	return kf_worker_begin(&spec, out, err);
}

/* A program that does not compile needs none of them, and on a machine whose
 * memory is full they would be in the way. */
static size_t affordable(const struct kf_bundle *b, size_t count)
{
	uint64_t bytes = kf_bundle_bytes(b);
	size_t most = bytes > AHEAD_BYTES_ONE ? 0 :
		bytes > AHEAD_BYTES_TWO ? 1 : KF_SESSIONS_AHEAD;

	return count < most ? count : most;
}

static struct kf_worker *take_first(struct kf_worker **list, size_t *count)
{
	struct kf_worker *first = list[0];

	memmove(list, list + 1, --*count * sizeof(list[0]));
	return first;
}

bool kf_session_opens_device(const struct kf_evaluate_request *req)
{
	const struct kf_driver *driver = req->platform->driver;

	return driver->attach || driver->torch_device;
}

/* A driver takes a tenth of a second and more to take down what it holds for a
 * process: the next one need not wait for that, if there is room for both. */
static void leave(struct kf_session_shared *shared, struct kf_worker *worker)
{
	size_t *count = &shared->leaving_count;

	if (!kf_session_opens_device(shared->req) ||
	    affordable(shared->req->bundle, KF_SESSIONS_AHEAD) <
	    KF_SESSIONS_AHEAD) {
		see_off(shared, worker);
		return;
	}
	if (*count == KF_SESSIONS_AHEAD)
		see_off(shared, take_first(shared->leaving, count));
	kf_worker_doom(worker);
	shared->leaving[(*count)++] = worker;
}

void kf_session_shared_ahead(struct kf_session_shared *shared, size_t count)
{
	struct kf_worker **next = shared->ahead;

	count = affordable(shared->req->bundle, count);
	while (shared->ahead_count < count && !shared->nursery.busy &&
	       begin_worker(shared, &next[shared->ahead_count], NULL) == KF_OK)
		shared->ahead_count++;
}

/* One made ahead if there is one. */
static enum kf_code take_worker(struct kf_session_shared *shared,
				struct kf_worker **out,
				struct kf_call_end *end, struct kf_err *err)
{
	enum kf_code code = KF_OK;

	if (shared->ahead_count)	/* the one that began first */
		*out = take_first(shared->ahead, &shared->ahead_count);
	else
		code = begin_worker(shared, out, err);
	return code ? code : kf_worker_load(*out, end, err);
}

static enum kf_code start_worker(struct kf_session_shared *shared,
				 struct kf_worker **out,
				 struct kf_call_end *end, struct kf_err *err)
{
	enum kf_code code = begin_worker(shared, out, err);

	return code ? code : kf_worker_load(*out, end, err);
}

/* What inputs are made of may be what the device has no room for, beside what
 * the program asks for or others have: then they are made here. */
static enum kf_code fresh_worker(struct kf_session_shared *shared,
				 struct kf_worker **out,
				 struct kf_call_end *end, struct kf_err *err)
{
	struct kf_err why = { 0 };
	enum kf_code code = start_worker(shared, out, end, &why);

	if (code && code != KF_E_CANCELED && *out &&
	    kf_worker_makes_any(*out)) {
		kf_logf(shared->req->log, KF_LOG_DEBUG, "inputs are made here "
			"and not on the device: %s", why.text);
		kf_worker_free(*out);
		shared->inputs_here = true;
		code = start_worker(shared, out, end, &why);
	}
	if (code && err)
		*err = why;
	return code;
}

/* One made ahead may have died meanwhile, or been killed, and one that was
 * forked may not have got its device: then a fresh one takes its place, and
 * only that one's trouble is told. */
static enum kf_code load_worker(struct kf_session_shared *shared,
				struct kf_worker **out,
				struct kf_call_end *end, struct kf_err *err)
{
	const struct kf_nursery *nursery = nursery_of(shared);
	struct kf_err why = { 0 };
	enum kf_code code;

	if (shared->ahead_count || (nursery && !nursery->useless)) {
		code = take_worker(shared, out, end, &why);
		if (code == KF_E_CANCELED && err)
			*err = why;
		if (!code || code == KF_E_CANCELED)
			return code;
		kf_logf(shared->req->log, KF_LOG_DEBUG, "a process made ahead "
			"is of no use: %s", why.text);
		kf_worker_free(*out);
		*out = NULL;
		shared->nursery.useless = true;
	}
	return fresh_worker(shared, out, end, err);
}

enum kf_code kf_session_start(struct kf_session_shared *shared,
			      struct kf_session *out, struct kf_check *check,
			      struct kf_err *err)
{
	const struct kf_evaluate_request *req = shared->req;
	uint64_t start_ns = kf_now_ns();
	char laps[KF_LAPS_TEXT];
	enum kf_code code;

	*out = (struct kf_session) { .shared = shared };
	*check = (struct kf_check) { .fault = KF_FAULT_NONE };
	code = load_worker(shared, &out->worker, &check->call, err);
	if (code)
		return code;
	shared->process_count++;
	shared->handshake_ns = kf_worker_handshake_ns(out->worker, NULL);
	kf_laps_text(kf_worker_laps(out->worker), laps);
	kf_logf(req->log, KF_LOG_DEBUG, "process %u of the candidate ready in "
		"%.1f ms; it took %s", shared->process_count,
		(double)(kf_now_ns() - start_ns) / 1e6, laps);
	out->used = kf_alloc((req->bundle->set_count +
			      req->bundle->stock_count + 1) *
			     sizeof(out->used[0]));
	if (check->call.state != KF_CALL_GOOD)
		check->fault = KF_FAULT_CALL;
	return KF_OK;
}

/* Nothing is said of one that was never begun. */
static void tell_laps(const struct kf_session *s)
{
	char laps[KF_LAPS_TEXT];

	if (!s->all.count)
		return;
	kf_laps_text(&s->all, laps);
	kf_logf(s->shared->req->log, KF_LOG_DEBUG, "a process of the "
		"candidate, %u calls: %s", s->call_count, laps);
}

void kf_session_end(struct kf_session *session)
{
	kf_laps_begin(&session->all);
	if (session->worker) {
		leave(session->shared, session->worker);
		kf_laps_end(&session->all, "end");
	}
	tell_laps(session);
	free(session->used);
	*session = (struct kf_session) { 0 };
}

/* --- before a call ------------------------------------------------------- */

static void write_tensor(void *to, const void *from, size_t bytes)
{
	if (to && from && bytes)
		memcpy(to, from, bytes);
}

static const void **weights_of(const struct kf_session *s,
			       const struct kf_case *kase)
{
	const struct kf_bundle *b = s->shared->req->bundle;

	return kase->weight ? kase->weight : b->weight_data;
}

/* Weights go in, and kf_prepare runs, only when they change. */
static enum kf_code set_weights(struct kf_session *s,
				const struct kf_case *kase,
				struct kf_check *check, struct kf_err *err)
{
	struct kf_session_shared *shared = s->shared;
	const struct kf_bundle *b = shared->req->bundle;
	const void **weight = weights_of(s, kase);
	uint64_t timeout_ns = shared->timeout_ns, start_ns;
	enum kf_code code;

	if (s->prepared && weight == s->weight)
		return KF_OK;
	for (size_t i = 0; i < b->weight_count; i++)
		write_tensor(kf_worker_weight(s->worker, i), weight[i],
			     b->weight[i].bytes);
	kf_laps_end(&s->call, "weights");
	s->weight = weight;
	s->prepared = true;
	if (timeout_ns < PREPARE_NS)
		timeout_ns = PREPARE_NS;
	start_ns = kf_now_ns();
	code = kf_worker_prepare(s->worker, timeout_ns, &check->call, err);
	kf_laps_end(&s->call, "prepare");
	if (code)
		return code;
	if (check->call.state != KF_CALL_GOOD) {
		shared->candidate_ns += kf_now_ns() - start_ns;
		check->fault = KF_FAULT_CALL;
		check->preparing = true;
		return KF_OK;
	}
	shared->candidate_ns += check->call.time_ns;
	if (!shared->prepare_ns)
		shared->prepare_ns = check->call.time_ns;
	return KF_OK;
}

static void write_inputs(struct kf_session *s, const struct kf_case *kase)
{
	const struct kf_bundle *b = s->shared->req->bundle;

	for (size_t i = 0; i < b->in_count; i++)
		if (kf_worker_in(s->worker, i) &&
		    !kf_worker_makes(s->worker, i))
			kf_case_input(b, kase, i, kf_worker_in(s->worker, i));
}

static void evict_inputs(struct kf_session *s)
{
	const struct kf_bundle *b = s->shared->req->bundle;

	for (size_t i = 0; i < b->in_count; i++)
		if (kf_worker_in(s->worker, i))
			s->evict(kf_worker_in(s->worker, i), b->in[i].bytes);
}

/* --- after a call -------------------------------------------------------- */

static bool same_bytes(const void *now, const void *before, size_t bytes,
		       int64_t *first)
{
	const unsigned char *a = now, *b = before;
	size_t i = 0;

	if (!now || !before || kf_parallel_same(a, b, bytes))
		return true;
	while (a[i] == b[i])
		i++;
	*first = (int64_t)i;
	return false;
}

static void check_inputs(struct kf_session *s, const struct kf_case *kase,
			 struct kf_check *check)
{
	const struct kf_bundle *b = s->shared->req->bundle;

	if (kf_driver_moves(s->shared->req->platform->driver)) {
		if (kf_worker_changed(s->worker, &check->tensor, &check->byte))
			check->fault = KF_FAULT_INPUT_CHANGED;
		return;	/* shared memory is out of its reach */
	}
	for (size_t i = 0; i < b->in_count; i++)
		if (!kf_case_input_is(b, kase, i, kf_worker_in(s->worker, i),
				      &check->byte)) {
			check->fault = KF_FAULT_INPUT_CHANGED;
			check->tensor = i;
			return;
		}
	for (size_t i = 0; i < b->weight_count; i++)
		if (!same_bytes(kf_worker_weight(s->worker, i), s->weight[i],
				b->weight[i].bytes, &check->byte)) {
			check->fault = KF_FAULT_INPUT_CHANGED;
			check->tensor = b->in_count + i;
			return;
		}
}

static enum kf_fault fault_of_compare(enum kf_compare_end end)
{
	static const enum kf_fault fault[] = {
		[KF_COMPARE_GOOD] = KF_FAULT_NONE,
		[KF_COMPARE_UNWRITTEN] = KF_FAULT_UNWRITTEN,
		[KF_COMPARE_NONFINITE] = KF_FAULT_NONFINITE,
		[KF_COMPARE_VALUES] = KF_FAULT_VALUES,
	};

	return fault[end];
}

static struct kf_compare_request compare_request(const struct kf_session *s,
						 const struct kf_case *kase,
						 size_t i)
{
	struct kf_compare_request req = kf_expect(s->shared->req->bundle, kase,
						  i,
						  kf_worker_out(s->worker, i));

	req.typical = &s->shared->typical[i];
	req.poison = kf_worker_pattern(s->worker);
	req.sums = s->summed ? kf_worker_sums_of(s->worker, i) : NULL;
	return req;
}

/* The benchmark's own rule speaks of its own kind of data only. */
static bool kernelbench_applies(const struct kf_case *kase)
{
	return strcmp(kase->kind, "declared") == 0 ||
		strcmp(kase->kind, "stock") == 0;
}

/* Keeps the worst of an output's faults; earlier outputs win among equals. */
static void take_compare(struct kf_check *check, size_t i,
			 const struct kf_compare *c)
{
	enum kf_fault fault = fault_of_compare(c->end);

	if (!fault || (check->fault && check->fault <= fault))
		return;
	check->fault = fault;
	check->tensor = i;
	check->compare = *c;
}

/* By kforge's own rule; other positions of what is equal are right. */
static void judge_by_scale(struct kf_session *s, const struct kf_case *kase,
			   size_t i, const struct kf_compare_request *r,
			   struct kf_compare *c)
{
	struct kf_compare_request again = *r;
	void *settled;

	kf_expect_compare(kase, i, r, false, c);
	if (c->end == KF_COMPARE_GOOD)
		return;
	settled = kf_positions_settled(&s->shared->positions[i],
				       s->shared->req->bundle, kase, i,
				       r->got);
	again.got = settled;
	if (settled)
		kf_expect_compare(kase, i, &again, false, c);
	free(settled);
}

static void check_outputs(struct kf_session *s, const struct kf_case *kase,
			  struct kf_check *check)
{
	const struct kf_evaluate_request *req = s->shared->req;
	bool by_kernelbench = req->rules == KF_RULES_KERNELBENCH;

	check->good = true;
	check->kernelbench_good = check->kernelbench_applies;
	for (size_t i = 0; i < req->bundle->out_count; i++) {
		struct kf_compare_request r = compare_request(s, kase, i);
		struct kf_compare c;

		judge_by_scale(s, kase, i, &r, &c);
		check->good = check->good && c.end == KF_COMPARE_GOOD;
		check->q_max = fmax(check->q_max, c.q_max);
		check->rms_max = fmax(check->rms_max, c.rms_max);
		check->tie_count += c.tie_count;
		check->tie_chunk_count += c.tie_chunk_count;
		if (!by_kernelbench)
			take_compare(check, i, &c);
		if (!check->kernelbench_applies)
			continue;
		kf_expect_compare(kase, i, &r, true, &c);
		if (c.end != KF_COMPARE_GOOD)
			check->kernelbench_good = false;
		if (by_kernelbench)
			take_compare(check, i, &c);
	}
}

/* One output, or its sums, in parts that threads share. */
struct printing { const char *bytes; size_t size; uint64_t *part; };

static void print_part(void *arg, size_t number)
{
	const struct printing *p = arg;
	size_t at = number * PRINT_BYTES, end = at + PRINT_BYTES;
	uint64_t hash = UINT64_C(0xcbf29ce484222325), word;

	end = end < p->size ? end : p->size;
	for (; at + sizeof(word) <= end; at += sizeof(word)) {
		memcpy(&word, p->bytes + at, sizeof(word));
		hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 29;
	}
	for (; at < end; at++)
		hash = (hash ^ (unsigned char)p->bytes[at]) *
			UINT64_C(0x100000001b3);
	p->part[number] = hash;
}

static bool lower_precision(struct kf_session *s, const struct kf_case *kase,
			    enum kf_precision p, size_t i,
			    struct kf_check *check)
{
	const struct kf_tensor_info *info = &s->shared->req->bundle->out[i];

	if (!kase->rounded[p] || !kase->rounded[p][i] || !kase->exact[i])
		return false;
	check->found = kf_precision_find(kase->rounded[p][i], kase->exact[i],
					 kf_worker_out(s->worker, i),
					 info->numel);
	return check->found.used;
}

/* Of what is within its bounds. */
static void check_precision(struct kf_session *s, const struct kf_case *kase,
			    struct kf_check *check)
{
	const struct kf_evaluate_request *req = s->shared->req;

	if (req->rules != KF_RULES_KFORGE || kf_weak(KF_WEAK_PRECISION))
		return;
	for (size_t i = 0; i < req->bundle->out_count; i++)
		for (int p = 0; p < KF_PRECISIONS; p++) {
			struct kf_compare_request r;

			if (!lower_precision(s, kase, (enum kf_precision)p, i,
					     check))
				continue;
			check->fault = KF_FAULT_PRECISION;
			check->precision = (enum kf_precision)p;
			check->tensor = i;
			check->good = false;
			r = compare_request(s, kase, i);
			kf_compare_run(&r, &check->compare);
			return;
		}
}

static uint64_t fingerprint(const struct kf_session *s)
{
	const struct kf_bundle *b = s->shared->req->bundle;
	uint64_t hash = 0;

	for (size_t i = 0; i < b->out_count; i++) {
		struct printing p = {
			.bytes = kf_worker_out(s->worker, i),
			.size = b->out[i].bytes,
		};
		size_t count;

		if (s->summed) {
			p.bytes = (const char *)kf_worker_sums_of(s->worker, i);
			p.size = (size_t)kf_chunks_of(b->out[i].numel) *
				KF_CHUNK_SUMS * sizeof(double);
		}
		count = (p.size + PRINT_BYTES - 1) / PRINT_BYTES;
		p.part = kf_alloc((count + 1) * sizeof(p.part[0]));

		kf_parallel(count, print_part, &p);
		for (size_t k = 0; k < count; k++)
			hash = (hash ^ p.part[k]) *
				UINT64_C(0x9e3779b97f4a7c15);
		free(p.part);
	}
	return hash;
}

#define RESEMBLE_SAMPLES 64

/* Do samples of an output look like what a case expects? */
static bool resembles(const struct kf_session *s, const struct kf_case *kase,
		      size_t i)
{
	const struct kf_tensor_info *info = &s->shared->req->bundle->out[i];
	const struct kf_digest *digest = kase->digest ? &kase->digest[i] : NULL;
	const void *got = kf_worker_out(s->worker, i);
	int64_t count = kf_expect_count(info, digest);
	int64_t step = count / RESEMBLE_SAMPLES + 1;

	for (int64_t k = 0; k < count; k += step) {
		double a = kf_element(info->dtype, got,
				      kf_digest_place(digest, k));
		double b = kf_element(info->dtype, kase->expect[i], k);

		if (!(fabs(a - b) <= 1e-3 * fabs(b)))
			return false;
	}
	return count > 0;
}

/* The earlier case of this process whose result the output is, or NULL. */
static const struct kf_case *stale_of(const struct kf_session *s,
				      const struct kf_case *now, size_t i)
{
	if (resembles(s, now, i))
		return NULL;
	for (size_t k = s->used_count; k > 0; k--)
		if (resembles(s, s->used[k - 1], i))
			return s->used[k - 1];
	return NULL;
}

static void look(struct kf_session *s, const struct kf_case *kase,
		 struct kf_check *check)
{
	size_t which = 0;
	int64_t offset = 0;

	check_outputs(s, kase, check);
	kf_laps_end(&s->call, "compare");
	if (!check->fault)
		check_precision(s, kase, check);
	kf_laps_end(&s->call, "precision");
	if (check->fault == KF_FAULT_VALUES)
		check->stale = stale_of(s, kase, check->tensor);
	if (kase == s->shared->req->bundle->set)
		check->fingerprint = fingerprint(s);
	kf_laps_end(&s->call, "fingerprint");
	if (!kf_worker_guards(s->worker, &which, &offset)) {
		check->fault = KF_FAULT_OUT_OF_BOUNDS;
		check->tensor = which;
		check->byte = offset;
	}
	check_inputs(s, kase, check);
	kf_laps_end(&s->call, "inputs after it");
	if (check->fault > KF_FAULT_DEFERRED && kf_worker_late(s->worker))
		check->fault = KF_FAULT_DEFERRED;
	if (check->fault && check->fault < KF_FAULT_UNWRITTEN)
		check->good = check->kernelbench_good = false;
}

static bool used(const struct kf_session *s, const struct kf_case *kase)
{
	for (size_t i = 0; i < s->used_count; i++)
		if (s->used[i] == kase)
			return true;
	return false;
}

/* All that a call is given. */
static enum kf_code bring(struct kf_session *s, const struct kf_case *kase,
			  struct kf_check *check, struct kf_err *err)
{
	const struct kf_bundle *bundle = s->shared->req->bundle;
	enum kf_code code = kf_worker_tidy(s->worker, &check->call, err);

	kf_laps_end(&s->call, "tidy");
	if (!code && check->call.state != KF_CALL_GOOD)
		check->fault = KF_FAULT_CALL;
	if (!code && !check->fault)
		code = set_weights(s, kase, check, err);
	if (code || check->fault)
		return code;
	kf_worker_poison(s->worker);
	kf_laps_end(&s->call, "poison");
	write_inputs(s, kase);
	kf_laps_end(&s->call, "inputs");
	if (kf_worker_lacks_bases(s->worker)) {
		code = kf_worker_give(s->worker, bundle, &check->call, err);
		kf_laps_end(&s->call, "bases");
	}
	if (!code)
		code = kf_weak_before(s, kase, err);
	if (!code && check->call.state == KF_CALL_GOOD)
		code = kf_worker_make(s->worker, bundle, kase, &check->call,
				      err);
	kf_laps_end(&s->call, "upload");
	if (!code && check->call.state != KF_CALL_GOOD)
		check->fault = KF_FAULT_CALL;
	if (!code && !check->fault && s->evict)
		evict_inputs(s);
	kf_laps_end(&s->call, "evict");
	return code;
}

/* ran: NULL, or the call is traced. */
static enum kf_code forward(struct kf_session *s, const struct kf_case *kase,
			    struct kf_buf *ran, struct kf_check *check,
			    struct kf_err *err)
{
	struct kf_session_shared *shared = s->shared;
	uint64_t start_ns = kf_now_ns();
	enum kf_code code = ran ?
		kf_worker_trace(s->worker, shared->timeout_ns, ran,
				&check->call, err) :
		kf_worker_forward(s->worker, shared->timeout_ns, &check->call,
				  err);

	check->held = s->to_hold && kf_worker_held(s->worker);
	kf_laps_end(&s->call, "run");
	s->summed = !ran && kf_worker_sums(s->worker);
	if (!code && check->call.state == KF_CALL_GOOD)
		code = s->summed ?
			kf_worker_sum(s->worker, kase->digest, &check->call,
				      err) :
			kf_worker_download(s->worker, &check->call, err);
	kf_laps_end(&s->call, s->summed ? "sums" : "download");
	if (code)
		return code;
	if (check->call.state != KF_CALL_GOOD) {
		shared->candidate_ns += kf_now_ns() - start_ns;
		check->fault = KF_FAULT_CALL;
		return KF_OK;
	}
	shared->candidate_ns += check->call.time_ns;
	return KF_OK;
}

static void begin_check(struct kf_session *s, const struct kf_case *kase,
			struct kf_check *check)
{
	s->call = (struct kf_laps) { 0 };
	kf_laps_begin(&s->call);
	*check = (struct kf_check) {
		.kase = kase, .call_number = ++s->call_count,
		.kernelbench_applies = kernelbench_applies(kase),
	};
}

/* What lies around its scratch is seen when that is tidied up. */
static enum kf_code end_call(struct kf_session *s, struct kf_check *check,
			     struct kf_err *err)
{
	struct kf_call_end end;
	enum kf_code code = kf_worker_tidy(s->worker, &end, err);

	kf_laps_end(&s->call, "tidy");
	if (code || end.state == KF_CALL_GOOD)
		return code;
	check->call = end;
	check->fault = KF_FAULT_CALL;
	check->good = check->kernelbench_good = false;
	return KF_OK;
}

static void end_laps(struct kf_session *s, const struct kf_check *check)
{
	const struct kf_log *log = s->shared->req->log;
	char laps[KF_LAPS_TEXT];

	kf_laps_add(&s->all, &s->call);
	if (!log || log->level < KF_LOG_TRACE)
		return;
	kf_laps_text(&s->call, laps);
	kf_logf(log, KF_LOG_TRACE, "call %u (%s): %s", check->call_number,
		check->kase->kind, laps);
}

/* What is wrong by windows and sums is looked at whole, so that it can be told
 * as it is of any output. */
static enum kf_code look_closely(struct kf_session *s,
				 const struct kf_case *kase,
				 struct kf_check *check, struct kf_err *err)
{
	const uint64_t fingerprint = check->fingerprint;
	enum kf_code code = kf_worker_download(s->worker, &check->call, err);

	kf_laps_end(&s->call, "download of all");
	if (code)
		return code;
	s->summed = false;
	check->stale = NULL;
	if (check->call.state != KF_CALL_GOOD) {
		check->fault = KF_FAULT_CALL;
		check->good = check->kernelbench_good = false;
		return KF_OK;
	}
	check->fault = KF_FAULT_NONE;
	look(s, kase, check);
	check->fingerprint = fingerprint;	/* other processes have sums */
	if (!check->fault)
		kf_logf(s->shared->req->log, KF_LOG_DEBUG, "call %u: the "
			"device's sums were off, and all elements are right",
			check->call_number);
	return KF_OK;
}

static enum kf_code checked_call(struct kf_session *s,
				 const struct kf_case *kase,
				 struct kf_check *check, struct kf_err *err)
{
	enum kf_code code;

	kase = kf_weak_case(s, kase);
	begin_check(s, kase, check);
	code = bring(s, kase, check, err);
	if (!code && !check->fault) {
		code = forward(s, kase, NULL, check, err);
		s->shared->call_count += !code;
		s->shared->device_clock = check->call.device_clock;
	}
	if (code || check->fault)
		return code;
	kf_weak_after(s, kase);
	look(s, kase, check);
	if (s->summed && check->fault >= KF_FAULT_UNWRITTEN)
		code = look_closely(s, kase, check, err);
	return code || check->fault ? code : end_call(s, check, err);
}

static void note_used(struct kf_session *s, const struct kf_case *kase)
{
	if (!used(s, kase))
		s->used[s->used_count++] = kase;
}

enum kf_code kf_session_call(struct kf_session *s, const struct kf_case *kase,
			     struct kf_check *check, struct kf_err *err)
{
	enum kf_code code;

	assert(!used(s, kase));
	code = checked_call(s, kase, check, err);
	note_used(s, kase);
	end_laps(s, check);
	return code;
}

enum kf_code kf_session_hold(struct kf_session *s, const struct kf_case *kase,
			     uint64_t after_ns, struct kf_check *check,
			     struct kf_err *err)
{
	enum kf_code code;

	kf_worker_hold(s->worker, after_ns);
	s->to_hold = true;
	code = checked_call(s, kase, check, err);
	s->to_hold = false;
	kf_worker_hold(s->worker, 0);
	check->kernelbench_applies = false;
	note_used(s, kase);
	end_laps(s, check);
	return code;
}

enum kf_code kf_session_trace(struct kf_session *s, const struct kf_case *kase,
			      struct kf_buf *ran, struct kf_check *check,
			      struct kf_err *err)
{
	enum kf_code code;

	kase = kf_weak_case(s, kase);
	begin_check(s, kase, check);
	code = bring(s, kase, check, err);
	if (!code && !check->fault)
		code = forward(s, kase, ran, check, err);
	if (code || check->fault)
		return code;
	kf_weak_after(s, kase);
	look(s, kase, check);
	end_laps(s, check);
	return KF_OK;
}
