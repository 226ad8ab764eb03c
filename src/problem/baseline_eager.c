#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "problem/baseline.h"
#include "problem/case.h"
#include "problem/eager.h"
#include "problem/reference.h"

#define ALIGN 4096u
#define LINE_BYTES (16u << 10)
#define LIFE_NS (24 * 3600 * KF_NS_PER_S)	/* longest a process may live */
#define SCRATCH_BYTES (64u << 20)
#define POLL_MS 20

struct eager {
	struct kf_baseline_process base;
	struct kf_problem_spec spec;	/* borrowed members */
	const struct kf_bundle *bundle;
	struct kf_sandbox *box;
	struct kf_temporary job;	/* its folder; empty once removed */
	int control_fd, arena_fd;
	char *arena;
	size_t arena_bytes;
	size_t *in_at, *weight_at;	/* owned; offsets in the arena */
	struct kf_buf line;		/* what came so far */
	uint64_t start_ns;
	bool warm, ready;
};

/* --- the arena: memory that both sides map ------------------------------- */

static size_t take(size_t *end, size_t bytes)
{
	size_t at = *end;

	*end += (bytes + ALIGN - 1) / ALIGN * ALIGN;
	return at;
}

static bool has_weight_set(const struct kf_bundle *bundle)
{
	for (size_t i = 0; i < bundle->set_count; i++)
		if (bundle->set[i].weight)
			return true;
	return false;
}

static json_t *place_of(const struct kf_tensor_info *info, size_t at)
{
	json_t *shape, *place;

	if (!info->dtype)
		return json_null();
	shape = json_array();
	for (int i = 0; i < info->rank; i++)
		json_array_append_new(shape, json_integer(info->shape[i]));
	place = json_pack("{s:I, s:s, s:o}", "offset", (json_int_t)at,
			  "dtype", kf_dtype_name(info->dtype), "shape",
			  shape);
	return place;
}

/* Decides where everything lies; describes it in the request. */
static void lay_out(struct eager *b, json_t *request)
{
	json_t *in = json_array(), *weight = json_array();
	const struct kf_bundle *bundle = b->bundle;

	b->in_at = kf_alloc(bundle->in_count * sizeof(b->in_at[0]));
	b->weight_at = kf_alloc(bundle->weight_count *
				sizeof(b->weight_at[0]));
	for (size_t i = 0; i < bundle->in_count; i++) {
		b->in_at[i] = take(&b->arena_bytes, bundle->in[i].bytes);
		json_array_append_new(in, place_of(&bundle->in[i],
						   b->in_at[i]));
	}
	for (size_t i = 0; has_weight_set(bundle) &&
	     i < bundle->weight_count; i++) {
		b->weight_at[i] = take(&b->arena_bytes,
				       bundle->weight[i].bytes);
		json_array_append_new(weight, place_of(&bundle->weight[i],
						       b->weight_at[i]));
	}
	take(&b->arena_bytes, 1);	/* never empty */
	json_object_set_new(request, "inputs", in);
	json_object_set_new(request, "weights", weight);
	json_object_set_new(request, "arena_bytes",
			    json_integer((json_int_t)b->arena_bytes));
}

static enum kf_code open_arena(struct eager *b, struct kf_err *err)
{
	b->arena_fd = memfd_create("kforge-baseline", MFD_CLOEXEC |
				   MFD_ALLOW_SEALING);
	if (b->arena_fd < 0 || ftruncate(b->arena_fd, (off_t)b->arena_bytes))
		return kf_fail_errno(err, "cannot make shared memory");
	/* The other side must not cut it short under our feet. */
	if (fcntl(b->arena_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW))
		return kf_fail_errno(err, "cannot seal shared memory");
	b->arena = mmap(NULL, b->arena_bytes, PROT_READ | PROT_WRITE,
			MAP_SHARED, b->arena_fd, 0);
	if (b->arena == MAP_FAILED) {
		b->arena = NULL;
		return kf_fail_errno(err, "cannot map shared memory");
	}
	return KF_OK;
}

static void write_case(struct eager *b, const struct kf_case *c)
{
	const struct kf_bundle *bundle = b->bundle;

	for (size_t i = 0; i < bundle->in_count; i++)
		kf_case_input(bundle, c, i, b->arena + b->in_at[i]);
	for (size_t i = 0; c->weight && i < bundle->weight_count; i++)
		if (bundle->weight[i].bytes)
			memcpy(b->arena + b->weight_at[i], c->weight[i],
			       bundle->weight[i].bytes);
}

/* --- the conversation ---------------------------------------------------- */

static enum kf_code fail_ended(struct eager *b, struct kf_err *err)
{
	struct kf_outcome outcome = { 0 };
	enum kf_code code = kf_sandbox_wait(b->box, &outcome, err);

	if (!code)
		code = kf_reference_ended(&outcome, &b->spec,
					  b->base.name, NULL, err);
	kf_outcome_release(&outcome);
	return code;
}

/* Waits until b->line begins with a whole line. */
static enum kf_code wait_line(struct eager *b, uint64_t deadline_ns,
			      struct kf_err *err)
{
	struct pollfd p = { .fd = b->control_fd, .events = POLLIN };
	char chunk[1024];
	ssize_t got;

	while (!memchr(kf_buf_str(&b->line), '\n', b->line.len)) {
		if (b->spec.cancel && *b->spec.cancel)
			return kf_fail(err, KF_E_CANCELED, "stopped");
		if (kf_now_ns() > deadline_ns)
			return kf_fail(err, KF_E_TIMEOUT, "problem %s: the "
				       "baseline took longer than %.0f s",
				       b->base.name,
				       (double)b->spec.timeout_ns / 1e9);
		if (poll(&p, 1, POLL_MS) <= 0) {
			if (kf_sandbox_ended(b->box))
				return fail_ended(b, err);
			continue;
		}
		got = read(b->control_fd, chunk, sizeof(chunk));
		if (got <= 0)
			return fail_ended(b, err);
		if (!kf_buf_add(&b->line, chunk, (size_t)got))
			return kf_fail(err, KF_E_INPUT, "problem %s: the "
				       "baseline talks nonsense", b->base.name);
	}
	return KF_OK;
}

/* The next answer: its first word must be `word`; *rest is what follows, for
 * the caller to free. */
static enum kf_code read_answer(struct eager *b, const char *word,
				char **rest, struct kf_err *err)
{
	uint64_t deadline_ns = kf_now_ns() + b->spec.timeout_ns;
	enum kf_code code = wait_line(b, deadline_ns, err);
	size_t len, word_len = strlen(word);
	json_t *answer = NULL;
	char *line;

	*rest = NULL;
	if (code)
		return code;
	len = strcspn(kf_buf_str(&b->line), "\n");
	line = kf_strndup(kf_buf_str(&b->line), len);
	kf_buf_clear(&b->line);	/* one answer to one question */
	if (strncmp(line, word, word_len) == 0 && line[word_len] == ' ') {
		*rest = kf_strdup(line + word_len + 1);
		free(line);
		return KF_OK;
	}
	if (strncmp(line, "error ", 6) == 0 &&
	    kf_json_parse(line + 6, len - 6, "answer", &answer, NULL) == KF_OK)
		code = kf_reference_error(answer, b->base.name, NULL, err);
	if (!code)
		code = kf_fail(err, KF_E_INPUT, "problem %s: the baseline "
			       "talks nonsense", b->base.name);
	json_decref(answer);
	free(line);
	return code;
}

/* The job's files have been read when it is ready. */
static void remove_job(struct eager *b)
{
	struct kf_err err = { 0 };

	if (kf_temporary_remove(&b->job, &err))
		kf_logf(b->spec.log, KF_LOG_WARN, "%s", err.text);
}

/* Which way is timed, and how fast each was. */
static void take_ways(struct kf_baseline_process *base, const json_t *about)
{
	const json_t *ways = json_object_get(about, "ways");

	snprintf(base->info.way, sizeof(base->info.way), "%s",
		 strcmp(kf_json_str(about, "way", ""), "compile") == 0 ?
		 "compile" : "eager");
	base->info.eager_ns = json_number_value(json_object_get(ways,
								"eager"));
	base->info.compile_ns = json_number_value(json_object_get(ways,
								  "compile"));
	json_decref(base->info.about);
	base->info.about = json_incref(json_object_get(about, "device"));
}

static enum kf_code wait_ready(struct eager *b, struct kf_err *err)
{
	const char *version = NULL;
	json_t *about = NULL;
	char *rest;
	enum kf_code code = read_answer(b, "ready", &rest, err);

	if (code)
		return code;
	if (kf_json_parse(rest, strlen(rest), "answer", &about, NULL) == KF_OK)
		version = kf_json_str(about, "torch", NULL);
	if (version)
		snprintf(b->base.info.version, sizeof(b->base.info.version),
			 "%s", version);
	take_ways(&b->base, about);
	if (kf_json_str(about, "note", "")[0])
		kf_logf(b->spec.log, KF_LOG_INFO, "%s: %.200s", b->base.name,
			kf_json_str(about, "note", ""));
	b->base.info.ready_ns = kf_now_ns() - b->start_ns;
	b->ready = true;
	json_decref(about);
	free(rest);
	remove_job(b);
	return KF_OK;
}

/* "TIME DELAY", both in ns. */
static bool read_time(char *text, uint64_t *time_ns, uint64_t *delay_ns)
{
	char *space = strchr(text, ' ');

	if (!space)
		return false;
	*space = '\0';
	return kf_parse_u64(text, time_ns) && *time_ns &&
		kf_parse_u64(space + 1, delay_ns);
}

static enum kf_code say(struct eager *b, const char *words,
			struct kf_err *err)
{
	size_t len = strlen(words);

	return send(b->control_fd, words, len, MSG_NOSIGNAL) == (ssize_t)len ?
		KF_OK : fail_ended(b, err);
}

static enum kf_code time_one(struct eager *b, const struct kf_case *c,
			     uint64_t *time_ns, uint64_t *delay_ns,
			     struct kf_err *err)
{
	const char *question = c->weight ? "run 1\n" : "run 0\n";
	enum kf_code code;
	char *rest;

	write_case(b, c);
	if (b->base.evict)
		b->base.evict(b->arena, b->arena_bytes);
	code = say(b, question, err);
	if (code)
		return code;
	code = read_answer(b, "ok", &rest, err);
	if (!code && !read_time(rest, time_ns, delay_ns))
		code = kf_fail(err, KF_E_INPUT, "problem %s: the baseline "
			       "gave no time", b->base.name);
	free(rest);
	return code;
}

/* On a device it does nothing before it is told to, by who shares or has the
 * device (evaluate/device.h). */
static enum kf_code be_warm(struct kf_baseline_process *process,
			    struct kf_err *err)
{
	struct eager *b = (struct eager *)process;
	char *rest = NULL;
	enum kf_code code;

	if (b->warm || !kf_problem_on_device(&b->spec))
		return KF_OK;
	code = say(b, "warm\n", err);
	if (!code)
		code = read_answer(b, "warm", &rest, err);
	b->warm = !code;
	free(rest);
	return code;
}

static enum kf_code be_ready(struct kf_baseline_process *process,
			     struct kf_err *err)
{
	struct eager *b = (struct eager *)process;
	enum kf_code code;

	if (b->ready)
		return KF_OK;
	code = be_warm(process, err);
	if (!code && b->warm)
		code = say(b, "choose\n", err);
	return code ? code : wait_ready(b, err);
}

static enum kf_code time_case(struct kf_baseline_process *process,
			      const struct kf_case *kase, uint64_t *time_ns,
			      uint64_t *delay_ns, struct kf_err *err)
{
	return time_one((struct eager *)process, kase, time_ns, delay_ns, err);
}

/* --- start and end ------------------------------------------------------- */

static enum kf_code make_job_folder(struct eager *b, const char *cache,
				    struct kf_err *err)
{
	char *beside = kf_path_join(cache, "baseline");
	enum kf_code code = kf_temporary_folder(beside, &b->job, err);

	if (!code && fchmod(b->job.fd, 0755))
		code = kf_fail_errno(err, "cannot open %s to the reference",
				     b->job.path);
	free(beside);
	return code;
}

static enum kf_code start_process(struct eager *b,
				  const struct kf_problem *problem,
				  const struct kf_python *python,
				  json_t *request, struct kf_err *err)
{
	struct kf_fd_pass fds[2] = {
		{ -1, KF_REFERENCE_CONTROL_FD },
		{ b->arena_fd, KF_REFERENCE_ARENA_FD },
	};
	struct kf_reference_spec job = {
		.problem_spec = &b->spec, .problem = problem,
		.python = python, .mode = "serve",
		.job_folder = b->job.path, .request = request,
		.wall_ns = LIFE_NS, .file_bytes = SCRATCH_BYTES,
		.fd = fds, .fd_count = KF_COUNT(fds),
	};
	int pair[2];
	enum kf_code code;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return kf_fail_errno(err, "cannot make a socket");
	b->control_fd = pair[0];
	fds[0].source = pair[1];
	json_object_set_new(request, "control",
			    json_integer(KF_REFERENCE_CONTROL_FD));
	json_object_set_new(request, "arena",
			    json_integer(KF_REFERENCE_ARENA_FD));
	code = kf_reference_start(&job, &b->box, err);
	close(pair[1]);
	return code;
}

static void release(struct kf_baseline_process *process)
{
	struct eager *b = (struct eager *)process;

	kf_sandbox_free(b->box);
	remove_job(b);
	if (b->control_fd >= 0)
		close(b->control_fd);
	if (b->arena)
		munmap(b->arena, b->arena_bytes);
	if (b->arena_fd >= 0)
		close(b->arena_fd);
	kf_buf_release(&b->line);
	free(b->in_at);
	free(b->weight_at);
	free(b);
}

static const struct kf_baseline_table table = {
	.warm = be_warm,
	.ready = be_ready,
	.time = time_case,
	.free = release,
};

enum kf_code kf_eager_start(const struct kf_problem_spec *spec,
			    const struct kf_problem *problem,
			    const struct kf_bundle *bundle,
			    struct kf_baseline_process **out,
			    struct kf_err *err)
{
	struct eager *b = kf_alloc(sizeof(*b));
	json_t *request = json_object();
	struct kf_python python = { 0 };
	enum kf_code code;
	char *cache;

	*out = NULL;
	b->base.table = &table;
	b->spec = *spec;
	b->base.name = kf_strdup(problem->name);
	b->bundle = bundle;
	b->control_fd = b->arena_fd = -1;
	b->line.max = LINE_BYTES;
	b->start_ns = kf_now_ns();
	b->base.info.threads = spec->threads;
	code = kf_cache_folder(spec->cache_path, &cache, err);
	if (!code)
		code = kf_python_probe(spec->python, cache, &python, err);
	if (code)
		goto out;
	snprintf(b->base.info.version, sizeof(b->base.info.version), "%s",
		 python.torch);
	if (kf_problem_on_device(spec)) {
		json_object_set_new(request, "compile", json_true());
		json_object_set_new(request, "wait", json_true());
	}
	lay_out(b, request);
	code = open_arena(b, err);
	if (!code)
		code = make_job_folder(b, cache, err);
	if (code)
		goto out;
	write_case(b, &bundle->set[0]);		/* what it warms up on */
	code = start_process(b, problem, &python, request, err);
out:
	json_decref(request);
	free(cache);
	kf_python_release(&python);
	if (code)
		kf_baseline_process_free(&b->base);
	else
		*out = &b->base;
	return code;
}
