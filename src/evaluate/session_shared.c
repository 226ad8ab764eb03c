/* session_shared.c - what all processes of one evaluation have in common, and
 * where they come from: the program that they load, those that are made ahead,
 * and those that are on their way out. */
#include "evaluate/session_inside.h"

#include "evaluate/device.h"
#include "evaluate/digest.h"
#include "evaluate/parts.h"

/* A process may live this long; its calls have deadlines of their own. */
#define PROCESS_NS	(600 * KF_NS_PER_S)

/* With more inputs and outputs, one process is made ahead at most, or none. */
#define AHEAD_BYTES_TWO	(UINT64_C(256) << 20)
#define AHEAD_BYTES_ONE	(UINT64_C(1) << 30)

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

/* --- the program -------------------------------------------------------- */

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

/* --- its processes ------------------------------------------------------ */

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
	enum kf_code code;

	if (spec.limits.wall_ns < PROCESS_NS)
		spec.limits.wall_ns = PROCESS_NS;
	/* It may wait, paused, for the device: to share it, and to have it. */
	if (req->lock_path)
		spec.limits.wall_ns += 2 * KF_DEVICE_WAIT_NS;
	if (spec.limits.cpu_ns < PROCESS_NS * threads)
		spec.limits.cpu_ns = PROCESS_NS * threads;
	code = kf_worker_begin(&spec, out, err);
	/* Whether there is room on the device is asked once: who knows of it
	 * may have to be waited for. */
	if (!code && !kf_worker_makes_any(*out))
		shared->inputs_here = true;
	return code;
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
 * process: the next one need not wait for that, if there is room for both. One
 * that was forked is waited for: the next is forked in its place. */
void kf_session_shared_leave(struct kf_session_shared *shared,
			     struct kf_worker *worker)
{
	size_t *count = &shared->leaving_count;

	if (!kf_session_opens_device(shared->req) || shared->nursery.busy ||
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
enum kf_code kf_session_shared_next(struct kf_session_shared *shared,
				    struct kf_worker **out,
				    struct kf_call_end *end,
				    struct kf_err *err)
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
