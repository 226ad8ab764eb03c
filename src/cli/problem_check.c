/* kforge problem check: which problems are worth working on? */
#include <math.h>
#include <unistd.h>

#include "cli/check.h"
#include "cli/cli.h"
#include "cli/paths.h"

#define TIMEOUT_S 300

/* --- one row -------------------------------------------------------------- */

static void print_notes(const char *text)
{
	if (text[0])
		printf("    %s\n", text);
}

/* "zeros, same" */
static void list_names(const json_t *names, char *out, size_t size)
{
	const json_t *name;
	size_t i, len = 0;

	snprintf(out, size, "%s", json_array_size(names) ? "" : "-");
	json_array_foreach(names, i, name) {
		snprintf(out + len, size - len, "%s%s", i ? ", " : "",
			 json_string_value(name));
		len += strlen(out + len);
	}
}

static void print_row(const struct kf_checked *row)
{
	char verdict[80], passes[80], took[32];
	const json_t *note;
	size_t i;

	snprintf(verdict, sizeof(verdict), "%s%s%s",
		 kf_checked_words(row->status), row->reason[0] ? ": " : "",
		 row->reason);
	list_names(row->health.kernelbench, passes, sizeof(passes));
	kf_cli_time((double)row->took_ns, took);
	printf("%-44s %-34s %-20s %9s\n", row->name, verdict, passes,
	       row->cached ? "known" : took);
	print_notes(row->size);
	print_notes(row->text);
	json_array_foreach(row->health.notes, i, note)
		print_notes(json_string_value(note));
	fflush(stdout);
}

static json_t *row_to_json(const struct kf_checked *row)
{
	const struct kf_health *h = &row->health;
	json_t *o = json_object();

	json_object_set_new(o, "problem", json_string(row->name));
	json_object_set_new(o, "path", kf_json_string(row->path,
						      strlen(row->path)));
	json_object_set_new(o, "status",
			    json_string(kf_checked_token(row->status)));
	json_object_set_new(o, "reason", json_string(row->reason));
	json_object_set_new(o, "text", kf_json_string(row->text,
						      strlen(row->text)));
	json_object_set_new(o, "size", row->size[0] ?
			    json_string(row->size) : json_null());
	json_object_set(o, "notes", h->notes ? h->notes : json_null());
	json_object_set(o, "kernelbench", h->kernelbench ? h->kernelbench :
			json_null());
	json_object_set_new(o, "magnitude", h->notes ?
			    kf_json_number(h->magnitude) : json_null());
	json_object_set_new(o, "between_seeds", h->notes ?
			    kf_json_number(h->between_seeds) : json_null());
	json_object_set_new(o, "took_s",
			    kf_json_number((double)row->took_ns / 1e9));
	json_object_set_new(o, "cached", json_boolean(row->cached));
	return o;
}

static void print_json_row(const struct kf_checked *row)
{
	json_t *json = row_to_json(row);
	char *text = kf_json_text(json);

	puts(text);
	fflush(stdout);
	free(text);
	json_decref(json);
}

/* --- all of them ---------------------------------------------------------- */

struct table {
	const struct kf_options *options;
	struct kf_checker checker;
	size_t count[KF_CHECK_STATUSES];
	size_t done, all;
	uint64_t start_ns;
	bool shows_progress;
};

/* A line that the next one replaces, for people only. */
static void show_progress(const struct table *t, const char *name)
{
	if (t->shows_progress && name)
		fprintf(stderr, "\r\033[K%zu of %zu: %s", t->done + 1,
			t->all, name);
	else if (t->shows_progress)
		fputs("\r\033[K", stderr);
}

static void print_summary(const struct table *t)
{
	FILE *to = t->options->json ? stderr : stdout;
	char took[32];

	if (t->options->json && t->options->quiet)
		return;
	for (size_t i = 0; i < KF_CHECK_STATUSES; i++)
		fprintf(to, "%s%zu %s", i ? ", " : "", t->count[i],
			kf_checked_words((enum kf_check_status)i));
	kf_cli_time((double)(kf_now_ns() - t->start_ns), took);
	fprintf(to, "; %zu of %zu problem%s in %s\n", t->done, t->all,
		t->all == 1 ? "" : "s", took);
}

/* False if the user stopped it. */
static bool check_one(struct table *t, const char *path)
{
	struct kf_checked row;
	bool stopped;

	show_progress(t, path);
	stopped = !kf_check_problem(&t->checker, path, &row);
	show_progress(t, NULL);
	if (!stopped) {
		t->count[row.status]++;
		t->done++;
		if (t->options->json)
			print_json_row(&row);
		else
			print_row(&row);
	}
	kf_checked_release(&row);
	return !stopped;
}

static int check_all(struct table *t, const struct kf_paths *paths)
{
	bool stopped = false;

	t->all = paths->count;
	if (!t->options->json)
		printf("%-44s %-34s %-20s %9s\n", "problem", "health",
		       "kernelbench passes", "time");
	for (size_t i = 0; i < paths->count && !stopped; i++)
		stopped = !check_one(t, paths->path[i]);
	print_summary(t);
	if (stopped)
		return KF_EXIT_CANCELED;
	return t->count[KF_CHECK_HEALTHY] == t->all ? KF_EXIT_GOOD :
	       KF_EXIT_NOT_ALL;
}

static struct kf_checker checker_from(const struct kf_options *options)
{
	double timeout_s = options->timeout_s > 0 ? options->timeout_s :
			   TIMEOUT_S;

	return (struct kf_checker) {
		.timeout_ns = (uint64_t)(timeout_s * 1e9),
		.memory_bytes = (uint64_t)(options->memory_gb * 1e9),
		.fit = options->fit,
		.keep = options->keep,
	};
}

static int check(const struct kf_options *options, const char **argument,
		 size_t argument_count)
{
	struct table table = { .options = options,
			       .start_ns = kf_now_ns() };
	struct kf_paths paths = { 0 };
	struct kf_setup setup = { 0 };
	struct kf_err err = { 0 };
	struct kf_setup_spec spec;
	enum kf_code code = KF_OK;
	struct kf_log log;
	int status;

	kf_cli_log(options, &log);
	kf_cli_catch_signals();
	spec = kf_cli_setup_spec(options, &log);
	spec.baseline = KF_BASELINE_NONE;
	table.checker = checker_from(options);
	table.shows_progress = isatty(STDERR_FILENO) && !options->quiet;
	for (size_t i = 0; i < argument_count && !code; i++)
		code = kf_paths_add_problems(&paths, argument[i], &err);
	if (!code)
		code = kf_setup_open(&spec, &setup, &err);
	table.checker.setup = &setup;
	status = code ? kf_cli_fail(&err) : check_all(&table, &paths);
	kf_setup_release(&setup);
	kf_paths_release(&paths);
	return status;
}

const struct kf_command kf_command_problem_check = {
	.name = "problem check",
	.arguments = "PROBLEM...",
	.summary = "which problems are worth working on: a table with reasons",
	.options = "fit timeout memory keep set size dtype threads sandbox "
		   "python cache json quiet verbose help",
	.argument_min = 1,
	.argument_max = KF_PROBLEMS_MAX,
	.run = check,
};
