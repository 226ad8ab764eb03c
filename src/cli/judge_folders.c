/*
 * judge_folders.c - kforge judge DIR: every job below these folders that has no
 * result yet, several at once. Others may do the same: a job that one of them
 * judges now is looked at again when nothing else is left. With --watch it goes
 * on: jobs that appear are judged until Ctrl-C.
 *
 * A worker keeps the bundle and the live baseline of its last job; on a device
 * these take longer than a verdict. So it goes on with its problem, and who is
 * free begins one that no other has.
 */
#include "cli/judge.h"

#include <dirent.h>
#include <math.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH_MAX 3		/* folders below DIR that are looked into */
#define JOBS_MAX 1000000
#define AHEAD_MAX 4096		/* jobs that are looked at for the next one */
#define PASSED_MAX 64		/* that may begin before the first that waits */
#define POLL_MS 200
#define RESCAN_NS (500 * KF_NS_PER_MS)
#define DEATHS_MAX 2		/* of processes that judged one job */

/* COMING: not all of its files are there yet; GONE: that was so, and the folder
 * is not there any more, or has another name. */
enum progress { WAITING, UNDER_WAY, TAKEN, FINISHED, STOPPED, COMING, GONE };

struct entry {
	char *folder;		/* owned */
	uint64_t subject;	/* its problem */
	enum progress progress;
	unsigned deaths;	/* of processes that judged it */
	struct kf_job_copy copy;	/* while it is COMING */
	json_t *answer;		/* owned; of kf_work_folder; NULL: none */
};

struct session {
	const struct kf_options *options;
	const struct kf_work *work;
	struct kf_pool *pool;
	struct entry *entry;
	size_t count, next, finished, taken, gone;
	unsigned passed;		/* how many began before entry[next] */
	bool terminal, interrupted, rescanning;
	const char **argument;
	size_t argument_count;
	uint64_t scanned_ns;
};

/* --- which jobs ----------------------------------------------------------- */

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static bool has(const char *folder, const char *name)
{
	char *path = kf_path_join(folder, name);
	bool there = kf_path_exists(path);

	free(path);
	return there;
}

/* One of another job, that lay there before, is none. */
static bool has_its_result(const char *folder)
{
	char hash[KF_HASH_HEX];
	json_t *result = kf_job_hash(folder, hash, NULL) ? NULL :
		kf_job_result_of(folder, hash);
	bool its = result != NULL;

	json_decref(result);
	return its;
}

/* Seen again: is it under way, or has it its answer? */
static bool is_settled(const struct session *s, const char *folder)
{
	if (has(folder, "error.json") || has_its_result(folder))
		return true;
	for (size_t i = 0; i < s->count; i++)
		if (s->entry[i].progress != FINISHED &&
		    s->entry[i].progress != GONE &&
		    strcmp(s->entry[i].folder, folder) == 0)
			return true;
	return false;
}

/* The beginning of a hash: equal for jobs that name the same problem and sizes.
 * It decides about their order alone. */
static uint64_t subject_of(const char *folder)
{
	static const char *const members[] = {
		"problem", "size", "set", "dtype", "shapes"
	};
	json_t *job = kf_job_file_read(folder, "job.json");
	const char *known = kf_json_str(job, "problem_hash", NULL);
	json_t *about = json_object();
	char hash[KF_HASH_HEX];
	char *text;

	for (size_t i = 0; i < KF_COUNT(members) && !known; i++)
		json_object_set(about, members[i],
				json_object_get(job, members[i]));
	text = known ? kf_strdup(known) : kf_json_text(about);
	kf_hash_hex(text, strlen(text), hash);
	hash[16] = '\0';
	free(text);
	json_decref(about);
	json_decref(job);
	return strtoull(hash, NULL, 16);
}

/* Who does not watch judges what is there. */
static void look_at(struct session *s, struct entry *e)
{
	bool was_coming = e->progress == COMING;

	e->progress = s->options->watch &&
		!kf_job_has_come(e->folder, kf_now_ns(), &e->copy) ?
		COMING : WAITING;
	if (e->progress == COMING && !was_coming)
		kf_logf(s->work->spec.log, KF_LOG_DEBUG, "%s: not all of its "
			"files are there yet", e->folder);
}

static void add(struct session *s, const char *folder)
{
	struct entry *e;

	if (s->rescanning && is_settled(s, folder))
		return;
	s->entry = kf_realloc(s->entry, (s->count + 1) * sizeof(*s->entry));
	e = &s->entry[s->count++];
	*e = (struct entry) {
		.folder = kf_strdup(folder),
		.subject = subject_of(folder),
	};
	look_at(s, e);
}

/* One that has another name now is found again where it is. */
static void look_at_coming(struct session *s)
{
	for (size_t i = 0; i < s->count; i++) {
		struct entry *e = &s->entry[i];

		if (e->progress != COMING)
			continue;
		if (!has(e->folder, "job.json")) {
			e->progress = GONE;
			s->gone++;
			continue;
		}
		look_at(s, e);
		if (e->progress == COMING)
			continue;
		e->subject = subject_of(e->folder);
		s->next = i < s->next ? i : s->next;
	}
}

static enum kf_code find_jobs(struct session *s, const char *folder,
			      unsigned depth, struct kf_err *err)
{
	struct dirent **list = NULL;
	enum kf_code code = KF_OK;
	int count;

	if (has(folder, "job.json")) {
		add(s, folder);
		return s->count <= JOBS_MAX ? KF_OK :
			kf_fail(err, KF_E_LIMIT, "more than %d jobs are too "
				"many at a time", JOBS_MAX);
	}
	count = scandir(folder, &list, is_visible, by_name);
	if (count < 0)
		return depth < DEPTH_MAX ? KF_OK :
			kf_fail_errno(err, "cannot read folder %s", folder);
	for (int i = 0; i < count; i++) {
		char *path = kf_path_join(folder, list[i]->d_name);

		if (!code && depth && kf_path_is_dir(path))
			code = find_jobs(s, path, depth - 1, err);
		free(path);
		free(list[i]);
	}
	free(list);
	return code;
}

static enum kf_code find_all(struct session *s, struct kf_err *err)
{
	const char **argument = s->argument;
	enum kf_code code = KF_OK;

	for (size_t i = 0; !code && i < s->argument_count; i++) {
		size_t before = s->count;

		code = find_jobs(s, argument[i], DEPTH_MAX, err);
		if (!code && s->count == before && !s->options->watch)
			code = kf_fail(err, KF_E_INPUT, "%s holds no job: no "
				       "job.json in it or in the %d levels of "
				       "folders below", argument[i],
				       DEPTH_MAX);
	}
	return code;
}

/* --- what is seen meanwhile ----------------------------------------------- */

static const json_t *verdict_of(const struct entry *e)
{
	return json_object_get(json_object_get(e->answer, "result"),
			       "verdict");
}

static bool has_result(const struct entry *e)
{
	return json_is_object(json_object_get(e->answer, "result"));
}

static const char *error_of(const struct entry *e)
{
	return kf_json_str(json_object_get(e->answer, "error"), "text", NULL);
}

static const char *end_of(const struct entry *e)
{
	return kf_json_str(e->answer, "end", "");
}

/* As it can be printed: the answer's, where the name itself is not UTF-8. */
static const char *folder_of(const struct entry *e)
{
	return kf_json_str(e->answer, "folder", e->folder);
}

static const char *state_of(const struct entry *e)
{
	const json_t *verdict = verdict_of(e);

	if (!verdict && has_result(e))
		return "told";		/* what the problem is */
	if (!verdict)
		return error_of(e) && e->progress != STOPPED ? "trouble" :
			"not judged";
	return strcmp(kf_json_str(verdict, "state", ""), "none") == 0 ?
		"it compiles" : kf_json_str(verdict, "state", "?");
}

static void show_counts(struct session *s)
{
	if (!s->options->quiet && s->terminal)
		fprintf(stderr, "\r%zu of %zu jobs have a result, %u under "
			"way\033[K", s->finished, s->count - s->gone,
			kf_pool_busy(s->pool));
}

static void clear_counts(const struct session *s)
{
	if (!s->options->quiet && s->terminal)
		fprintf(stderr, "\r\033[K");
}

static void show_end(struct session *s, const struct entry *e)
{
	const char *reason = kf_json_str(verdict_of(e), "reason", "");
	const char *trouble = error_of(e);

	clear_counts(s);
	if (trouble)
		fprintf(stderr, "kforge: %s: %s\n", folder_of(e), trouble);
	else if (!s->options->quiet && !s->terminal)
		fprintf(stderr, "%s: %s%s%s%s\n", folder_of(e), state_of(e),
			reason[0] ? ", " : "", reason,
			strcmp(end_of(e), "had_result") == 0 ?
			" (had a result)" : "");
	if (s->options->json && strcmp(end_of(e), "stopped") != 0) {
		char *text = kf_json_text(e->answer);

		printf("%s\n", text);
		fflush(stdout);
		free(text);
	}
}

static void print_row(const struct entry *e)
{
	const json_t *verdict = verdict_of(e);
	const json_t *result = json_object_get(e->answer, "result");
	char time[32], ratio[32];

	kf_cli_time(kf_json_real(verdict, "time_ns", (double)NAN), time);
	kf_cli_ratio(kf_json_real(json_object_get(verdict, "speedup"),
				  "ratio", (double)NAN),
		     kf_json_bool(verdict, "conclusive", false), ratio);
	printf("%-32s %-20s %-20s %-14s %10s %9s\n", folder_of(e),
	       kf_json_str(result, "problem", "-"), state_of(e),
	       kf_json_str(verdict, "reason", ""), time, ratio);
}

static void print_table(const struct session *s)
{
	printf("%-32s %-20s %-20s %-14s %10s %9s\n", "job", "problem",
	       "state", "reason", "time", "speed-up");
	for (size_t i = 0; i < s->count; i++)
		if (s->entry[i].progress != GONE)
			print_row(&s->entry[i]);
}

/* --- the work ------------------------------------------------------------- */

static enum kf_code give(struct session *s, size_t i, bool wait,
			 struct kf_err *err)
{
	json_t *item = json_object();
	enum kf_code code;
	char *text;

	json_object_set_new(item, "folder",
			    json_string(s->entry[i].folder));
	json_object_set_new(item, "again", json_boolean(s->options->again));
	json_object_set_new(item, "wait", json_boolean(wait));
	text = kf_json_text(item);
	code = kf_pool_give(s->pool, &(struct kf_pool_item) {
		.tag = i, .subject = s->entry[i].subject, .text = text,
		.len = strlen(text),
	}, err);
	s->entry[i].progress = UNDER_WAY;
	free(text);
	json_decref(item);
	return code;
}

static json_t *trouble_to_json(const struct entry *e, const char *kind,
			       const char *text)
{
	return json_pack("{s:o, s:s, s:{s:s, s:s}}", "folder",
			 kf_json_string(e->folder, strlen(e->folder)), "end",
			 "trouble", "error", "kind", kind, "text", text);
}

/* JSON, in which all is asked and answered, has no word for such a name. */
static bool refuse_name(struct session *s, struct entry *e)
{
	json_t *name = json_string(e->folder);

	json_decref(name);
	if (name)
		return false;
	e->answer = trouble_to_json(e, "input", "the name of this folder is "
				    "not UTF-8; rename it");
	e->progress = FINISHED;
	show_end(s, e);
	return true;
}

/* Which waiting job is next: of a problem that an idle worker has, else of one
 * that none has, else the first; that one, too, if it has waited for many.
 * count: none waits. */
static size_t choose(struct session *s)
{
	size_t fresh = s->count, end;

	for (; s->next < s->count && s->entry[s->next].progress != WAITING;
	     s->next++)
		s->passed = 0;
	if (s->next == s->count || s->passed++ >= PASSED_MAX)
		return s->next;
	end = s->count - s->next < AHEAD_MAX ? s->count : s->next + AHEAD_MAX;
	for (size_t i = s->next; i < end; i++) {
		const struct entry *e = &s->entry[i];

		if (e->progress != WAITING)
			continue;
		if (kf_pool_waits_for(s->pool, e->subject))
			return i;
		if (fresh == s->count && !kf_pool_knows(s->pool, e->subject))
			fresh = i;
	}
	return fresh < s->count ? fresh : s->next;
}

/* What is left; then those that others had taken. */
static enum kf_code begin_some(struct session *s, struct kf_err *err)
{
	enum kf_code code = KF_OK;

	while (!code && kf_pool_has_room(s->pool)) {
		size_t i = choose(s);

		if (i == s->count)
			break;
		if (!refuse_name(s, &s->entry[i]))
			code = give(s, i, false, err);
	}
	if (s->next < s->count || !s->taken)
		return code;
	for (size_t i = 0; !code && i < s->count && s->taken &&
	     kf_pool_has_room(s->pool); i++) {
		if (s->entry[i].progress != TAKEN)
			continue;
		s->taken--;
		code = give(s, i, true, err);
	}
	return code;
}

/* A job that kills whoever judges it must not be tried for ever: error.json
 * settles it for this time. */
static void give_up(struct entry *e, const struct kf_pool_answer *how)
{
	struct kf_err trouble = { 0 }, err = { 0 };

	kf_fail(&trouble, KF_E_IO, "the process of kforge that judged it died "
		"%u times (%s %d); it is tried again the next time", e->deaths,
		how->signal ? "signal" : "status",
		how->signal ? how->signal : how->status);
	if (!has_its_result(e->folder) &&
	    kf_job_note_trouble(e->folder, &trouble, &err))
		fprintf(stderr, "kforge: %s\n", err.text);
	e->answer = trouble_to_json(e, "io", trouble.text);
}

static void wait_for_turn(struct session *s, struct entry *e)
{
	json_decref(e->answer);
	e->answer = NULL;
	e->progress = TAKEN;
	s->taken++;
}

static void take_answer(struct session *s, const struct kf_pool_answer *answer)
{
	struct entry *e = &s->entry[answer->tag];

	e->deaths += !answer->text;
	if (!answer->text && e->deaths < DEATHS_MAX && !s->interrupted) {
		wait_for_turn(s, e);
		return;
	}
	if (!answer->text)
		give_up(e, answer);
	else if (kf_json_parse(answer->text, answer->len, "an answer",
			       &e->answer, NULL))
		e->answer = NULL;
	if (strcmp(end_of(e), "taken") == 0) {
		wait_for_turn(s, e);
		return;
	}
	e->progress = FINISHED;
	s->finished += has_result(e);
	if (strcmp(end_of(e), "stopped") == 0)
		e->progress = STOPPED;
	else
		show_end(s, e);
}

static void take_answers(struct session *s)
{
	struct kf_pool_answer answer;

	while (kf_pool_answer(s->pool, &answer))
		take_answer(s, &answer);
}

/* kforge writes job.json last, and a folder that has one is whole; what copies
 * folders may not. */
static enum kf_code look_again(struct session *s, struct kf_err *err)
{
	uint64_t now_ns = kf_now_ns();

	if (now_ns - s->scanned_ns < RESCAN_NS)
		return KF_OK;
	s->scanned_ns = now_ns;
	s->rescanning = true;
	look_at_coming(s);
	return find_all(s, err);
}

static enum kf_code judge_all(struct session *s, struct kf_err *err)
{
	enum kf_code code = KF_OK;

	for (;;) {
		struct pollfd p[KF_POOL_MAX];

		if ((*kf_cli_cancel() || code) && !s->interrupted) {
			kf_pool_interrupt(s->pool);
			s->interrupted = true;
		}
		if (!s->interrupted && s->options->watch)
			code = look_again(s, err);
		if (!s->interrupted && !code)
			code = begin_some(s, err);
		if (!kf_pool_busy(s->pool) && !code && !s->options->watch)
			break;
		if (!kf_pool_busy(s->pool) && s->interrupted)
			break;
		show_counts(s);
		poll(p, (nfds_t)kf_pool_poll(s->pool, p), POLL_MS);
		take_answers(s);
	}
	clear_counts(s);
	return code;
}

static int exit_status(const struct session *s)
{
	if (*kf_cli_cancel())
		return KF_EXIT_CANCELED;
	return s->finished + s->gone == s->count ? KF_EXIT_GOOD :
		KF_EXIT_NOT_ALL;
}

/* The platform that a job names, else the command's. Caller frees. */
static char *platform_of(const struct session *s, size_t i)
{
	json_t *job = i < s->count ? kf_job_file_read(s->entry[i].folder,
						      "job.json") : NULL;
	char *name = kf_strdup(kf_json_str(job, "platform",
					   s->options->platform));

	json_decref(job);
	return name;
}

/* Of which there may be several. */
static bool can_be_shared(const char *platform)
{
	struct kf_platform *loaded = NULL;
	bool can = !strchr(platform, ':') &&
		strcmp(platform, KF_PLATFORM_DEFAULT) != 0 &&
		kf_platform_load(platform, &loaded, NULL) == KF_OK;

	kf_platform_free(loaded);
	return can;
}

/* Of which platform --devices are: the command's, else that of the first job
 * that names one and no device. NULL: of none. Caller frees. */
static enum kf_code find_shared(const struct session *s, char **out,
				struct kf_err *err)
{
	const char *asked = s->options->platform;
	char *name = strcmp(asked, KF_PLATFORM_DEFAULT) ? kf_strdup(asked) :
		NULL;

	for (size_t i = 0; !name && i < s->count; i++) {
		name = platform_of(s, i);
		if (!can_be_shared(name)) {
			free(name);
			name = NULL;
		}
	}
	*out = name;
	if (name)
		return KF_OK;
	if (s->options->watch)
		return kf_judge_wants_platform(s->options, err);
	kf_logf(s->work->spec.log, KF_LOG_WARN, "--devices %s concerns none of "
		"these jobs", s->options->devices);
	return KF_OK;
}

/* Timing is one at a time, and what others build meanwhile disturbs it. */
static enum kf_code jobs_at_once(const struct session *s,
				 const struct kf_targets_spec *spec,
				 unsigned *out, struct kf_err *err)
{
	unsigned asked = (unsigned)s->options->jobs, jobs = 0;
	unsigned usual = (kf_judge_cores() + 1) / 2;
	enum kf_code code = KF_OK;
	char *first;

	if (spec->share.platform) {
		code = kf_judge_at_once_shared(spec, asked, usual, &jobs, err);
	} else {
		first = platform_of(s, 0);
		jobs = kf_judge_at_once(first, asked, usual);
		free(first);
	}
	if (!code && asked > jobs && !s->options->quiet)
		fprintf(stderr, "kforge: %u at once, not %u: what is free of "
			"the device's memory has room for no more\n", jobs,
			asked);
	*out = jobs < s->count || s->options->watch ? jobs :
		(unsigned)s->count;
	return code;
}

static void session_release(struct session *s)
{
	kf_pool_free(s->pool);
	for (size_t i = 0; i < s->count; i++) {
		json_decref(s->entry[i].answer);
		free(s->entry[i].folder);
	}
	free(s->entry);
}

int kf_judge_folders(const struct kf_options *options, struct kf_work *work,
		     const char **argument, size_t argument_count)
{
	struct session s = {
		.options = options, .work = work,
		.terminal = isatty(STDERR_FILENO),
		.argument = argument, .argument_count = argument_count,
	};
	struct kf_err err = { 0 };
	char *shared = NULL;
	enum kf_code code;
	int status;

	code = find_all(&s, &err);
	if (!code && options->devices)
		code = find_shared(&s, &shared, &err);
	work->spec.share.platform = shared;
	if (!code)
		code = jobs_at_once(&s, &work->spec, &work->spec.at_once,
				    &err);
	if (!code)
		code = kf_pool_new(&(struct kf_pool_spec) {
			.count = work->spec.at_once, .begin = kf_work_begin,
			.work = kf_work_folder, .end = kf_work_end, .arg = work,
		}, &s.pool, &err);
	if (!code)
		code = judge_all(&s, &err);
	if (!code && !options->json)
		print_table(&s);
	status = code ? kf_cli_fail(&err) : exit_status(&s);
	if (status == KF_EXIT_CANCELED && !options->quiet)
		fprintf(stderr, "kforge: stopped with %zu of %zu jobs judged; "
			"the same command goes on\n", s.finished, s.count);
	session_release(&s);
	free(shared);
	return status;
}
