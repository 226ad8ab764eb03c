/* kforge show: what a run holds; or one attempt, whole. */
#include "cli/attempt.h"

/* "softmax:2", or "2" where the run has one problem. */
struct wanted { char problem[128]; uint64_t number; };

static enum kf_code parse_wanted(const char *text, struct wanted *out,
				 struct kf_err *err)
{
	const char *colon = strrchr(text, ':');
	const char *number = colon ? colon + 1 : text;

	*out = (struct wanted) { 0 };
	if (colon)
		snprintf(out->problem, sizeof(out->problem), "%.*s",
			 (int)(colon - text), text);
	if (kf_parse_u64(number, &out->number))
		return KF_OK;
	return kf_fail(err, KF_E_INPUT, "'%s' is not an attempt: write "
		       "NUMBER, or PROBLEM:NUMBER", text);
}

static enum kf_code pick_row(const struct kf_attempt_row *row, size_t count,
			     const struct wanted *wanted, size_t *out,
			     struct kf_err *err)
{
	size_t found = 0;

	for (size_t i = 0; i < count; i++) {
		if (row[i].number != wanted->number ||
		    (wanted->problem[0] &&
		     strcmp(wanted->problem, row[i].problem) != 0))
			continue;
		*out = i;
		found++;
	}
	if (found == 1)
		return KF_OK;
	if (!found)
		return kf_fail(err, KF_E_INPUT, "this run has no attempt %s%s"
			       "%llu", wanted->problem,
			       wanted->problem[0] ? ":" : "",
			       (unsigned long long)wanted->number);
	return kf_fail(err, KF_E_INPUT, "several problems have an attempt "
		       "%llu: write PROBLEM:%llu",
		       (unsigned long long)wanted->number,
		       (unsigned long long)wanted->number);
}

static enum kf_code print_attempt(struct kf_store *store,
				  const struct kf_attempt_row *row,
				  const struct kf_attempt_row *all,
				  size_t count,
				  const struct kf_options *options,
				  struct kf_err *err)
{
	struct kf_whole whole;
	enum kf_code code = KF_OK;

	kf_whole_read(store, row, all, count, &whole);
	if (options->only)
		code = kf_whole_print_part(&whole, (enum kf_part)options->only,
					   err);
	else if (options->json)
		kf_cli_print_json_take(kf_whole_to_json(&whole));
	else if (options->explain)
		kf_whole_explain(&whole);
	else
		kf_whole_print(&whole);
	if (!code && options->picture)
		code = kf_cli_picture(whole.verdict, options->picture, err);
	kf_whole_release(&whole);
	return code;
}

static enum kf_code show_attempt(const char *run_dir, const char *which,
				 const struct kf_options *options,
				 struct kf_err *err)
{
	struct kf_attempt_row *row = NULL;
	struct kf_store *store = NULL;
	struct wanted wanted;
	enum kf_code code;
	size_t count = 0, at = 0;

	code = parse_wanted(which, &wanted, err);
	if (!code)
		code = kf_store_open(run_dir, KF_STORE_READ, &store, err);
	if (!code)
		code = kf_store_attempts(store, 0, &row, &count, err);
	if (!code)
		code = pick_row(row, count, &wanted, &at, err);
	if (!code)
		code = print_attempt(store, &row[at], row, count, options,
				     err);
	kf_attempt_rows_free(row, count);
	kf_store_close(store);
	return code;
}

static int show(const struct kf_options *options, const char **argument,
		size_t argument_count)
{
	struct kf_err err = { 0 };
	char *run_dir = NULL;
	enum kf_code code;

	if (options->only && argument_count < 2) {
		kf_fail(&err, KF_E_INPUT, "--only prints a part of one "
			"attempt: name it, as in `kforge show RUN 3`");
		return kf_cli_fail(&err);
	}
	code = kf_cli_run_dir(argument_count ? argument[0] : NULL, &run_dir,
			      &err);
	if (!code && argument_count == 2)
		code = show_attempt(run_dir, argument[1], options, &err);
	else if (!code)
		code = kf_cli_report(run_dir, options->json, &err);
	free(run_dir);
	return code ? kf_cli_fail(&err) : KF_EXIT_GOOD;
}

const struct kf_command kf_command_show = {
	.name = "show",
	.arguments = "[RUN [ATTEMPT]]",
	.summary = "a run's table, or one attempt: prompt, reply, source, difference, verdict",
	.options = "only explain picture json help",
	.argument_max = 2,
	.run = show,
};
