/*
 * One profiler on one program. Reads as its running order: is the tool there,
 * compile again if it must be, start the program with the tool, make calls, let
 * it end, read what came of it.
 */
#include "profile/profiler.h"

#include <math.h>
#include <unistd.h>

#include "evaluate/session.h"
#include "profile/dump.h"

#define CALL_NS_MIN	(20 * KF_NS_PER_S)
#define CALL_NS_MAX	(300 * KF_NS_PER_S)
#define LEAVE_NS	(60 * KF_NS_PER_S)
#define AFTER_NS	(60 * KF_NS_PER_S)
#define VERSION_NS	(10 * KF_NS_PER_S)
#define SAID_BYTES	(64u << 10)
#define SAID_TOLD	160		/* of a tool's last words */

struct running {
	const struct kf_profiler *profiler;
	const struct kf_profile_request *req;
	struct kf_profile *out;
	char *folder, *out_path;	/* ours; its files within */
	char *artefact_path;
	struct kf_evaluate_request evaluate;
	struct kf_worker_wrap wrap;
	struct kf_profiler_words inside, beside_words;
	const char *shown[16];		/* paths for the sandbox */
	char *tool_folder;
	struct kf_session_shared shared;
	struct kf_session session;
	struct kf_beside beside;
	struct kf_sample sample;
	uint64_t took_ns;		/* by all calls that count */
	struct kf_buf said;		/* what the tool printed */
};

/* --- what goes wrong ------------------------------------------------------ */

/* The last line that says something, for people; the whole is in the dump. */
static void last_words(const struct kf_buf *said, char out[SAID_TOLD + 1])
{
	struct kf_buf clean = { .max = SAID_BYTES };
	const char *text, *line;
	size_t len;

	kf_utf8_clean(kf_buf_str(said), said->len, &clean);
	text = kf_buf_str(&clean);
	len = strlen(text);
	while (len && strchr(" \n\t", text[len - 1]))
		len--;
	line = text + len;
	while (line > text && line[-1] != '\n')
		line--;
	len = (size_t)(text + len - line);
	if (len > SAID_TOLD)
		len = kf_utf8_cut(line, SAID_TOLD);
	snprintf(out, SAID_TOLD + 1, "%.*s", (int)len, line);
	kf_buf_release(&clean);
}

/* Ours first, then the tool's own words. */
static void end_with(struct running *r, enum kf_profile_end end,
		     const char *why)
{
	char words[SAID_TOLD + 1], *told;

	last_words(&r->said, words);
	told = words[0] ? kf_format("%s (it said: %s)", why, words) :
		kf_strdup(why);
	r->out->end = end;
	kf_profile_add_missing(r->out, r->profiler->name, told);
	free(told);
}

static const char *diagnosis(enum kf_profile_end end)
{
	switch (end) {
	case KF_PROFILE_DENIED:
		return "this machine does not let us count; "
		       "docs/profiling.md says who can allow it";
	case KF_PROFILE_EMPTY:
		return "it saw nothing of the program";
	case KF_PROFILE_FORMAT:
		return "its output is not understood; it may be a newer "
		       "version";
	default:
		return "";
	}
}

/* --- the tool ------------------------------------------------------------- */

static bool find_tool(struct running *r)
{
	const struct kf_profiler *p = r->profiler;
	char *path = p->command ? kf_proc_which(p->command[0]) : NULL;
	char *real = path ? realpath(path, NULL) : NULL;
	char *slash = real ? strrchr(real, '/') : NULL, *why;

	if (p->command && !slash) {
		why = kf_format("there is no %s on PATH: %s", p->command[0],
				p->install);
		end_with(r, KF_PROFILE_ABSENT, why);
		free(why);
	}
	if (slash) {
		*slash = '\0';
		r->tool_folder = kf_strdup(real);
	}
	free(real);
	free(path);
	return !p->command || slash;
}

/* Only of tools that are known: what a user's own makes of --version is not
 * for us to try. */
static void tell_source(struct running *r)
{
	const struct kf_profiler *p = r->profiler;
	bool is_known = kf_profiler_by_name(p->name) == p;
	struct kf_buf out = { .max = 256 }, clean = { .max = 80 };
	const char *const argv[] = { p->command ? p->command[0] : "",
				     "--version", NULL };
	struct kf_proc_spec spec = { .argv = argv, .timeout_ns = VERSION_NS };
	struct kf_proc_end end;
	char *source;

	if (p->command && is_known &&
	    kf_proc_run(&spec, &out, NULL, &end, NULL) == KF_OK &&
	    !end.exit_code && !end.signal)
		kf_utf8_clean(kf_buf_str(&out),
			      strcspn(kf_buf_str(&out), "\n"), &clean);
	source = clean.len ? kf_format("%s (%s)", p->name, kf_buf_str(&clean))
		: kf_strdup(p->name);
	kf_profile_add_source(r->out, source);
	free(source);
	kf_buf_release(&clean);
	kf_buf_release(&out);
}

/* --- the program ---------------------------------------------------------- */

/* The platform's command with other words for the processor. Owns the array,
 * not the words. */
static char **command_for(const struct kf_platform *platform,
			  const char *const *machine)
{
	size_t count = 0, kept = 0, added = 0;
	char **command;

	while (platform->command[count])
		count++;
	while (machine[added])
		added++;
	command = kf_alloc((count + added + 1) * sizeof(command[0]));
	for (size_t i = 0; i < count; i++) {
		bool bound = false;

		for (size_t k = 0; k < platform->machine_flag_count; k++)
			bound |= strcmp(platform->command[i],
					platform->machine_flag[k]) == 0;
		if (!bound)
			command[kept++] = platform->command[i];
		/* Behind the compiler's name. */
		for (size_t k = 0; i == 0 && k < added; k++)
			command[kept++] = (char *)(uintptr_t)machine[k];
	}
	return command;
}

/* Sets artefact_path, or tells that it does not compile so. */
static enum kf_code compile_again(struct running *r, struct kf_err *err)
{
	const struct kf_evaluate_request *base = r->req->base;
	struct kf_platform platform = *base->platform;
	struct kf_build_job job = {
		.platform = &platform,
		.device_id = base->device_id,
		.arch = base->device_arch,
		.source_dir = base->source_dir,
		.work_dir = r->folder,
		.tier_min = base->tier_min,
		.cancel = base->cancel,
	};
	struct kf_build build = { .log.max = KF_BUILD_LOG_BYTES };
	struct kf_artefact artefact = { 0 };
	enum kf_code code;

	platform.command = command_for(base->platform,
				       r->profiler->machine());
	code = kf_build_run(&job, &build, &artefact, err);
	if (!code && build.end == KF_BUILD_DONE)
		r->artefact_path = kf_strdup(artefact.path);
	else if (!code)
		end_with(r, KF_PROFILE_FAILED, "the program does not compile "
			 "for a processor that the tool knows");
	kf_artefact_release(&artefact);
	kf_build_release(&build);
	free(platform.command);
	return code;
}

static enum kf_code find_artefact(struct running *r, struct kf_err *err)
{
	if (r->profiler->machine)
		return compile_again(r, err);
	r->artefact_path = kf_strdup(r->req->artefact_path);
	return KF_OK;
}

static uint64_t call_timeout(const struct running *r)
{
	double ns = r->req->time_ns * r->profiler->slower * 4;

	if (!(ns > CALL_NS_MIN))	/* NaN too */
		ns = CALL_NS_MIN;
	return ns < CALL_NS_MAX ? (uint64_t)ns : CALL_NS_MAX;
}

static void show_paths(struct running *r)
{
	const char *const *path = r->profiler->path;
	size_t count = 0;

	if (r->tool_folder)
		r->shown[count++] = r->tool_folder;
	for (; path && *path && count + 1 < KF_COUNT(r->shown); path++)
		r->shown[count++] = *path;
	r->wrap.path = r->shown;
}

static void make_wrap(struct running *r)
{
	const struct kf_profiler *p = r->profiler;
	const struct kf_profiler_values values = { .out = KF_WRAP_OUT };
	static const char *const nothing[] = { NULL };
	const struct kf_driver *driver = r->req->base->platform->driver;

	r->wrap = (struct kf_worker_wrap) {
		.word = nothing,
		.out_path = r->out_path,
		.passive = p->passive,
		.launcher = p->launcher,
		.trace = p->trace && (driver->two_part ||
				      kf_worker_traces(driver)),
		.activity = p->activity,
	};
	if (!p->command || !kf_profiler_uses(p->command, "{run}"))
		return;
	kf_profiler_expand(p->command, &values, &r->inside);
	/* As seen inside, where PATH may be another. */
	if (!strchr(r->inside.word[0], '/')) {
		char *path = kf_proc_which(r->inside.word[0]);

		free(r->inside.word[0]);
		r->inside.word[0] = path;
	}
	r->wrap.word = (const char *const *)r->inside.word;
	show_paths(r);
}

static enum kf_code start_program(struct running *r, struct kf_err *err)
{
	struct kf_call_end end = { .state = KF_CALL_GOOD };
	struct kf_check *check = kf_alloc(sizeof(*check));
	enum kf_code code;

	r->evaluate = *r->req->base;
	r->evaluate.work_dir = r->folder;
	r->evaluate.baseline = NULL;
	r->evaluate.wrap = &r->wrap;
	if (r->profiler->threads)
		r->evaluate.threads = r->profiler->threads;
	code = kf_session_shared_init(&r->shared, &r->evaluate, err);
	r->shared.timeout_ns = call_timeout(r);
	if (!code)
		code = kf_session_shared_fill(&r->shared, r->artefact_path,
					      &end, err);
	if (!code && end.state == KF_CALL_GOOD)
		code = kf_session_start(&r->shared, &r->session, check, err);
	if (!code && (end.state != KF_CALL_GOOD || check->fault))
		end_with(r, KF_PROFILE_FAILED, "the program could not be "
			 "loaded under it");
	free(check);
	return code;
}

/* --- its calls ------------------------------------------------------------ */

static enum kf_code call_once(struct running *r, const struct kf_case *kase,
			      bool counts, struct kf_err *err)
{
	struct kf_check *check = kf_alloc(sizeof(*check));
	enum kf_code code = KF_OK;

	if (r->evaluate.cancel && *r->evaluate.cancel)
		code = kf_fail(err, KF_E_CANCELED, "stopped");
	else
		code = kf_session_call(&r->session, kase, check, err);
	if (!code && check->fault == KF_FAULT_CALL) {
		kf_buf_puts(&r->said, check->call.output);
		end_with(r, KF_PROFILE_FAILED, check->call.text);
	} else if (!code && check->fault) {
		/* Slower clocks and other code; its verdict stands. */
		kf_profile_add_missing(r->out, "right values", "what the "
				       "program computed under the profiler "
				       "differs from what it computed when it "
				       "was judged");
	}
	if (!code && counts) {
		r->took_ns += check->call.time_ns;
		r->out->call_count++;
	}
	free(check);
	return code;
}

/* From the stock, which no call uses twice: number of calls that there are
 * entries for. */
static unsigned affordable(const struct running *r, unsigned warm)
{
	size_t stock = r->evaluate.bundle->stock_count;
	unsigned asked = r->req->call_count ? r->req->call_count :
		r->profiler->call_count;

	if (stock <= warm)
		return 0;
	return stock - warm < asked ? (unsigned)(stock - warm) : asked;
}

static enum kf_code begin_counting(struct running *r, struct kf_err *err)
{
	const struct kf_profiler *p = r->profiler;
	pid_t pid = kf_worker_pid(r->session.worker);
	const struct kf_profiler_values values = {
		.out = r->out_path, .pid = pid, .control = "fd:3,4",
	};
	char *said_path;
	enum kf_code code;

	if (p->sample)
		kf_sample_take(pid, &r->sample);
	if (!p->command || !kf_profiler_uses(p->command, "{pid}"))
		return KF_OK;
	kf_profiler_expand(p->command, &values, &r->beside_words);
	said_path = kf_path_join(r->folder, "said.txt");
	code = kf_beside_start((const char *const *)r->beside_words.word,
			       said_path, kf_profiler_uses(p->command,
							   "{control}"),
			       &r->beside, err);
	free(said_path);
	if (!code && !kf_beside_begin(&r->beside))
		r->out->end = KF_PROFILE_FAILED;	/* its words tell why */
	return code;
}

static enum kf_code end_counting(struct running *r, struct kf_err *err)
{
	struct kf_buf lines = { .max = 4096 };
	struct kf_sample now;
	enum kf_code code = KF_OK;

	if (r->beside.pid)
		kf_beside_end(&r->beside);
	if (!r->profiler->sample || r->out->end)
		return KF_OK;
	kf_sample_take(kf_worker_pid(r->session.worker), &now);
	kf_sample_write(&r->sample, &now, r->out->call_count, r->took_ns,
			&lines);
	code = kf_file_write_in(r->out_path, r->profiler->result,
				kf_buf_str(&lines), lines.len, err);
	kf_sample_release(&now);
	kf_buf_release(&lines);
	return code;
}

/* Files of tools are whole once the program has ended by itself. */
static enum kf_code let_it_end(struct running *r, struct kf_err *err)
{
	struct kf_outcome outcome = { 0 };
	enum kf_code code;

	if (!r->wrap.word[0] && !r->wrap.trace)
		return KF_OK;
	code = kf_worker_leave(r->session.worker, LEAVE_NS, &outcome, err);
	kf_buf_add(&r->said, kf_buf_str(&outcome.out), outcome.out.len);
	kf_buf_add(&r->said, kf_buf_str(&outcome.errout), outcome.errout.len);
	kf_outcome_release(&outcome);
	return code;
}

static enum kf_code run_program(struct running *r, struct kf_err *err)
{
	unsigned warm = r->profiler->warm_count, calls;
	const struct kf_case *stock = r->evaluate.bundle->stock;
	enum kf_code code = KF_OK;

	if (warm >= r->evaluate.bundle->stock_count)
		warm = 0;
	calls = affordable(r, warm);
	for (unsigned i = 0; i < warm && !code && !r->out->end; i++)
		code = call_once(r, &stock[i], false, err);
	if (!code && !r->out->end)
		code = begin_counting(r, err);
	for (unsigned i = 0; i < calls && !code && !r->out->end; i++)
		code = call_once(r, &stock[warm + i], true, err);
	if (!code)
		code = end_counting(r, err);
	if (!code && !r->out->end)
		code = let_it_end(r, err);
	return code;
}

/* --- what came of it ------------------------------------------------------ */

/* The first of the files that is there; caller frees. */
static char *find_report(const struct running *r)
{
	const char *const *name = r->profiler->report;

	for (; *name; name++) {
		char *path = kf_path_join(r->out_path, *name);

		if (kf_path_exists(path))
			return path;
		free(path);
	}
	return NULL;
}

/* One of the commands; true if it did what it was asked to. */
static bool run_command(struct running *r, const char *const *command,
			const char *report, struct kf_buf *result)
{
	const struct kf_profiler_values values = {
		.out = r->out_path, .report = report,
	};
	struct kf_profiler_words words;
	struct kf_proc_spec spec = { .timeout_ns = AFTER_NS,
				     .cancel = r->evaluate.cancel };
	struct kf_proc_end end;
	enum kf_code code;

	kf_profiler_expand(command, &values, &words);
	spec.argv = (const char *const *)words.word;
	kf_buf_clear(result);
	code = kf_proc_run(&spec, result, &r->said, &end, NULL);
	kf_profiler_words_release(&words);
	return !code && !end.timed_out && !end.signal && !end.exit_code;
}

static void run_after(struct running *r, struct kf_buf *result)
{
	const char *const *const *command = r->profiler->after;
	char *report = find_report(r);

	while (report && *command &&
	       !run_command(r, *command, report, result))
		command++;
	free(report);
}

static void read_said(struct running *r)
{
	struct kf_buf text = { .max = SAID_BYTES };

	if (kf_dump_read(r->folder, "said.txt", &text))
		kf_buf_add(&r->said, kf_buf_str(&text), text.len);
	kf_buf_release(&text);
}

static void read_result(struct running *r)
{
	const struct kf_profiler *p = r->profiler;
	struct kf_buf result = { .max = KF_PROFILE_READ_BYTES };
	struct kf_profile_bytes bytes;
	const char *why;

	if (p->after)
		run_after(r, &result);
	else if (p->result)
		(void)kf_dump_read(r->out_path, p->result, &result);
	else
		kf_buf_add(&result, kf_buf_str(&r->said), r->said.len);
	bytes = (struct kf_profile_bytes) {
		kf_buf_str(&result), result.len, kf_buf_str(&r->said),
	};
	if (r->out->end == KF_PROFILE_NONE)
		p->read(&bytes, r->out);
	kf_dump_pictures(r->out_path, r->out);
	why = diagnosis(r->out->end);
	if (r->out->end == KF_PROFILE_EMPTY && r->out->picture_count)
		r->out->end = KF_PROFILE_GOOD;
	else if (why[0])
		end_with(r, r->out->end, why);
	kf_buf_release(&result);
}

/* The program ran before, so that it does not run now is the tool's doing. */
static enum kf_code excuse(struct running *r, enum kf_code code,
			   const struct kf_err *why, struct kf_err *err)
{
	bool denied;

	if (code == KF_E_CANCELED) {
		if (err)
			*err = *why;
		return code;
	}
	denied = kf_read_denied(why->text, strlen(why->text));
	end_with(r, denied ? KF_PROFILE_DENIED : KF_PROFILE_FAILED, why->text);
	return KF_OK;
}

/* A tool that ended before it was told to has said why. */
static void explain_failure(struct running *r)
{
	if (r->out->end != KF_PROFILE_FAILED || r->out->missing_count)
		return;
	if (kf_read_denied(kf_buf_str(&r->said), r->said.len))
		end_with(r, KF_PROFILE_DENIED, diagnosis(KF_PROFILE_DENIED));
	else
		end_with(r, KF_PROFILE_FAILED, "it did not begin to count");
}

/* What is kept are the tool's files, not the program's. */
static void remove_programs(const struct running *r)
{
	char *loaded = kf_path_join(r->folder, "loaded");

	(void)unlink(loaded);
	if (r->shared.artefact_path)
		(void)unlink(r->shared.artefact_path);
	if (r->profiler->machine && r->artefact_path)
		(void)unlink(r->artefact_path);
	free(loaded);
}

static void release(struct running *r)
{
	kf_sample_release(&r->sample);
	if (r->beside.pid)
		kf_beside_end(&r->beside);
	kf_session_end(&r->session);
	remove_programs(r);
	kf_session_shared_release(&r->shared);
	kf_profiler_words_release(&r->inside);
	kf_profiler_words_release(&r->beside_words);
	free(r->tool_folder);
	free(r->artefact_path);
	free(r->folder);
	free(r->out_path);
	kf_buf_release(&r->said);
}

static enum kf_code run_all(struct running *r, struct kf_err *err)
{
	enum kf_code code = find_artefact(r, err);

	if (code || r->out->end)
		return code;
	make_wrap(r);
	code = start_program(r, err);
	if (!code && !r->out->end)
		code = run_program(r, err);
	return code;
}

/* A sandbox takes no path that begins here or there. */
static enum kf_code make_folder(struct running *r, struct kf_err *err)
{
	enum kf_code code = kf_mkdir_p(r->folder, err);
	char *whole = code ? NULL : realpath(r->folder, NULL);

	if (code)
		return code;
	if (!whole)
		return kf_fail_errno(err, "cannot find folder %s", r->folder);
	free(r->folder);
	r->folder = whole;
	r->out_path = kf_path_join(r->folder, "out");
	return kf_mkdir_p(r->out_path, err);
}

enum kf_code kf_profiler_run(const struct kf_profiler *profiler,
			     const struct kf_profile_request *req,
			     struct kf_profile *out, struct kf_err *err)
{
	struct running r = {
		.profiler = profiler, .req = req, .out = out,
		.folder = kf_path_join(req->work_dir, profiler->name),
		.beside = { .control_fd = -1, .answer_fd = -1 },
		.said.max = SAID_BYTES,
	};
	struct kf_err why = { 0 };
	enum kf_code code;

	*out = (struct kf_profile) { 0 };
	code = make_folder(&r, err);
	if (!code && find_tool(&r)) {
		tell_source(&r);
		code = run_all(&r, &why);
		read_said(&r);
		if (code)
			code = excuse(&r, code, &why, err);
		explain_failure(&r);
		if (!code && out->end == KF_PROFILE_NONE)
			read_result(&r);
	}
	release(&r);
	return code;
}
