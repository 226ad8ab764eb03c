#include "cli/cli.h"

#include <ctype.h>
#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "executor/shapes.h"
#include "profile/metric.h"

/* --- errors, signals, log ------------------------------------------------- */

int kf_cli_fail(const struct kf_err *err)
{
	static const int status[] = {
		[KF_OK] = KF_EXIT_GOOD,
		[KF_E_INPUT] = KF_EXIT_INPUT,
		[KF_E_LIMIT] = KF_EXIT_LIMIT,
		[KF_E_UNAVAIL] = KF_EXIT_UNAVAIL,
		[KF_E_TIMEOUT] = KF_EXIT_TIMEOUT,
		[KF_E_IO] = KF_EXIT_IO,
		[KF_E_CANCELED] = KF_EXIT_CANCELED,
	};

	fflush(stdout);
	fprintf(stderr, "kforge: %s\n", err->text);
	return status[err->code];
}

int kf_cli_status(const struct kf_verdict *verdict)
{
	static const int status[] = {
		[KF_STATE_NONE] = KF_EXIT_IO,
		[KF_GENERATION_FAILURE] = KF_EXIT_GENERATION_FAILURE,
		[KF_COMPILATION_FAILURE] = KF_EXIT_COMPILATION_FAILURE,
		[KF_RUNTIME_ERROR] = KF_EXIT_RUNTIME_ERROR,
		[KF_MISMATCH] = KF_EXIT_MISMATCH,
		[KF_CORRECT] = KF_EXIT_GOOD,
	};

	if (verdict->reached == KF_REACH_BUILD && !verdict->state)
		return KF_EXIT_GOOD;
	return status[verdict->state];
}

enum kf_code kf_cli_scratch(const char *command, struct kf_temporary *out,
			    struct kf_err *err)
{
	const char *base = getenv("TMPDIR");
	char *beside, *stem;
	enum kf_code code;

	if (!base || !*base)
		base = "/tmp";
	stem = kf_format("kforge-%s.", command);
	kf_temporaries_sweep(base, stem);
	beside = kf_format("%s/kforge-%s", base, command);
	code = kf_temporary_folder(beside, out, err);
	if (code)
		kf_advise(err, "set TMPDIR to a folder that can be written");
	free(stem);
	free(beside);
	return code;
}

static volatile int cancel;	/* the one global: signals have no argument */

static void on_signal(int number)
{
	(void)number;
	if (cancel)
		_exit(KF_EXIT_CANCELED);
	cancel = 1;
}

void kf_cli_catch_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal }, before;

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	/* nohup ignores it, and that holds. */
	if (sigaction(SIGHUP, NULL, &before) == 0 &&
	    before.sa_handler != SIG_IGN)
		sigaction(SIGHUP, &action, NULL);
}

const volatile int *kf_cli_cancel(void)
{
	return &cancel;
}

static void write_line(void *arg, enum kf_log_level level, const char *line)
{
	static const char *const word[] = {
		[KF_LOG_ERROR] = "error: ", [KF_LOG_WARN] = "warning: ",
		[KF_LOG_INFO] = "", [KF_LOG_DEBUG] = "", [KF_LOG_TRACE] = "",
	};

	(void)arg;
	fprintf(stderr, "kforge: %s%s\n", word[level], line);
}

void kf_cli_log(const struct kf_options *options, struct kf_log *log)
{
	enum kf_log_level level = KF_LOG_WARN;

	if (options->quiet)
		level = KF_LOG_ERROR;
	else if (options->verbose)
		level = options->verbose > 1 ? KF_LOG_TRACE : KF_LOG_DEBUG;
	*log = (struct kf_log) { .level = level, .write = write_line };
}

struct kf_setup_spec kf_cli_setup_spec(const struct kf_options *options,
				       const struct kf_log *log)
{
	return (struct kf_setup_spec) {
		.platform = options->platform,
		.form = options->form,
		.python = options->python,
		.set = options->set.text,
		.set_count = options->set.count,
		.size = options->size,
		.dtype = (enum kf_dtype)options->dtype,
		.cache_path = options->cache,
		.threads = (unsigned)options->threads,
		.tier_min = (enum kf_sandbox_tier)options->sandbox,
		.baseline = (enum kf_baseline_use)options->baseline,
		.log = log,
		.cancel = kf_cli_cancel(),
	};
}

enum kf_code kf_cli_open_shapes(const struct kf_options *options,
				struct kf_setup_spec *spec,
				struct kf_err *err)
{
	json_t *shapes = NULL;
	enum kf_code code = KF_OK;

	if (options->shapes)
		code = kf_shapes_read(options->shapes, &shapes, err);
	spec->shapes = shapes;
	return code;
}

void kf_cli_close_shapes(struct kf_setup_spec *spec)
{
	json_decref((json_t *)(uintptr_t)spec->shapes);
	spec->shapes = NULL;
}

static enum kf_code unknown_set(const char *typed, struct kf_err *err)
{
	struct kf_buf names = { .max = 200 };

	for (unsigned set = 0; set < KF_METRIC_SETS; set++)
		kf_buf_printf(&names, "%s%s", set ? ", " : "",
			      kf_metric_set_name((enum kf_metric_set)set));
	kf_fail(err, KF_E_INPUT, "--hide '%s' is not one of: %s", typed,
		kf_buf_str(&names));
	kf_buf_release(&names);
	return KF_E_INPUT;
}

enum kf_code kf_cli_hidden(const struct kf_options *options, unsigned *out,
			   struct kf_err *err)
{
	const struct kf_list *hide = &options->hide;

	*out = 0;
	for (size_t i = 0; i < hide->count; i++) {
		enum kf_metric_set set = kf_metric_set_by_name(hide->text[i]);

		if (set == KF_METRIC_SETS)
			return unknown_set(hide->text[i], err);
		*out |= 1u << set;
	}
	return KF_OK;
}

static enum kf_code open_setup(const struct kf_options *options,
			       const struct kf_setup_spec *spec,
			       struct kf_setup *out, struct kf_err *err)
{
	struct kf_setup_spec shaped = *spec;
	enum kf_code code = kf_cli_open_shapes(options, &shaped, err);

	if (!code)
		code = kf_setup_open(&shaped, out, err);
	kf_cli_close_shapes(&shaped);
	return code;
}

/* "this looks like a program for cuda: say --platform cuda", where none was
 * said; NULL: nothing looks so. Caller frees. */
static char *hint_of(const struct kf_options *options, const char *const *path,
		     size_t count)
{
	char *name = kf_options_was_given(options, "platform") ? NULL :
		kf_candidate_elsewhere(options->platform, path, count);
	char *hint = name ? kf_format("this looks like a program for %s: say "
				      "--platform %s", name, name) : NULL;

	free(name);
	return hint;
}

void kf_cli_add_hint(const struct kf_options *options, const char *const *path,
		     size_t count, struct kf_verdict *verdict)
{
	char *hint = kf_verdict_may_be_elsewhere(verdict) ?
		hint_of(options, path, count) : NULL;

	if (hint)
		kf_verdict_hint(verdict, hint);
	free(hint);
}

/* What the platform has no place for may be another's. */
static enum kf_code read_program(const struct kf_options *options,
				 const char *const *path, size_t count,
				 const struct kf_platform *platform,
				 struct kf_candidate *out, struct kf_err *err)
{
	enum kf_code code = kf_candidate_read(path, count, platform, out, err);
	char *hint = code == KF_E_INPUT ? hint_of(options, path, count) : NULL;

	if (hint && err) {
		struct kf_err plain = *err;

		kf_fail(err, code, "%s; %s", plain.text, hint);
	}
	free(hint);
	return code;
}

enum kf_code kf_cli_open(const struct kf_options *options,
			 const struct kf_setup_spec *spec, const char *problem,
			 const struct kf_cli_programs *programs,
			 struct kf_setup *setup, struct kf_target *target,
			 struct kf_err *err)
{
	struct kf_setup_spec formed = *spec;
	char *form = NULL;
	enum kf_code code = KF_OK;

	if (programs && !spec->form)
		code = kf_candidate_form(spec->platform, programs->path,
					 programs->count *
					 programs->path_count, &form, err);
	if (form)
		formed.form = form;
	if (!code)
		code = open_setup(options, &formed, setup, err);
	free(form);
	if (!code && options->sanitize)
		code = kf_sanitize_check(setup->platform, err);
	for (size_t i = 0; !code && programs && i < programs->count; i++)
		code = read_program(options, programs->path +
				    i * programs->path_count,
				    programs->path_count, setup->platform,
				    &programs->candidate[i], err);
	return code ? code : kf_target_open(setup, problem, target, err);
}

/* --- printing ------------------------------------------------------------- */

void kf_cli_print_json_take(json_t *value)
{
	char *text = json_dumps(value, JSON_INDENT(2) | JSON_ENCODE_ANY |
				JSON_REAL_PRECISION(15));

	printf("%s\n", text);
	free(text);
	json_decref(value);
}

void kf_cli_time(double ns, char out[32])
{
	if (isfinite(ns))
		kf_time_words(ns, 3, out);
	else
		snprintf(out, 32, "-");
}

void kf_cli_ratio(double ratio, bool conclusive, char out[32])
{
	if (isfinite(ratio))
		snprintf(out, 32, "%s%.2fx", conclusive ? "" : "~", ratio);
	else
		snprintf(out, 32, "-");
}

char *kf_cli_quote(const char *path)
{
	struct kf_buf out = { .max = 1u << 16 };
	char *quoted;

	for (const char *c = path; *c; c++) {
		if ((unsigned char)*c < 0x80 && !isalnum((unsigned char)*c) &&
		    !strchr("_./-+,:@%=", *c))
			break;
		if (!c[1])
			return kf_strdup(path);
	}
	kf_buf_puts(&out, "'");
	for (; *path; path++) {
		if (*path == '\'')
			kf_buf_puts(&out, "'\\''");
		else
			kf_buf_add(&out, path, 1);
	}
	kf_buf_puts(&out, "'");
	quoted = kf_strdup(kf_buf_str(&out));
	kf_buf_release(&out);
	return quoted;
}

/* --- run folders ---------------------------------------------------------- */

#define RUNS_DIR "kforge-runs"

static enum kf_code latest_run(char **out, struct kf_err *err)
{
	DIR *dir = opendir(RUNS_DIR);
	struct timespec latest = { 0 };
	const struct dirent *entry;

	*out = NULL;
	while (dir && (entry = readdir(dir))) {
		char *db = kf_format(RUNS_DIR "/%s/run.db", entry->d_name);
		struct stat st;

		if (entry->d_name[0] != '.' && stat(db, &st) == 0 &&
		    (!*out || st.st_mtim.tv_sec > latest.tv_sec ||
		     (st.st_mtim.tv_sec == latest.tv_sec &&
		      st.st_mtim.tv_nsec > latest.tv_nsec))) {
			latest = st.st_mtim;
			free(*out);
			*out = kf_path_join(RUNS_DIR, entry->d_name);
		}
		free(db);
	}
	if (dir)
		closedir(dir);
	if (!*out)
		return kf_fail(err, KF_E_INPUT, "there is no run in ./"
			       RUNS_DIR ": name a run's folder");
	return KF_OK;
}

enum kf_code kf_cli_run_dir(const char *asked, char **out, struct kf_err *err)
{
	char *db, *below;
	bool found;

	*out = NULL;
	if (!asked)
		return latest_run(out, err);
	*out = kf_strdup(asked);
	db = kf_path_join(asked, "run.db");
	found = kf_path_exists(db);
	free(db);
	if (found)
		return KF_OK;
	below = kf_path_join(RUNS_DIR, asked);	/* a bare name */
	db = kf_path_join(below, "run.db");
	found = kf_path_exists(db);
	free(db);
	if (found) {
		free(*out);
		*out = below;
		return KF_OK;
	}
	free(below);
	if (!kf_path_exists(asked))
		return kf_fail(err, KF_E_INPUT, "there is no run %s, neither "
			       "here nor in ./" RUNS_DIR "%s", asked,
			       asked[strspn(asked, "0123456789")] ? "" :
			       "; an attempt's number comes after its run");
	return kf_fail(err, KF_E_INPUT, "%s is not a run: it has no run.db; "
		       "runs are folders, by default in ./" RUNS_DIR, asked);
}
