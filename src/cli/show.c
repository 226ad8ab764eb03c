/* kforge show: what a run holds; or one attempt, whole. */
#include <unistd.h>

#include "cli/cli.h"
#include "evaluate/explain.h"

#define OBJECT_BYTES (64u << 20)

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

/* A model's words as they came; without what would steer a terminal, where
 * they go to one. */
static void print_text(const char *text, size_t len)
{
	struct kf_buf clean = { .max = OBJECT_BYTES };

	if (isatty(STDOUT_FILENO)) {
		kf_utf8_clean(text, len, &clean);
		text = kf_buf_str(&clean);
		len = clean.len;
	}
	fwrite(text, 1, len, stdout);
	if (!len || text[len - 1] != '\n')
		putchar('\n');
	kf_buf_release(&clean);
}

static void print_object(struct kf_store *store, const char *title,
			 const char *hash)
{
	struct kf_buf text = { .max = OBJECT_BYTES };
	struct kf_err err = { 0 };

	if (!hash)
		return;
	printf("\n--- %s ---\n", title);
	if (kf_store_get(store, hash, &text, &err))
		printf("(%s)\n", err.text);
	else
		print_text(kf_buf_str(&text), text.len);
	kf_buf_release(&text);
}

/* A prompt is kept as {"system","user"}. */
static void print_prompt(struct kf_store *store, const char *hash)
{
	struct kf_buf text = { .max = OBJECT_BYTES };
	struct kf_err err = { 0 };
	json_t *prompt = NULL;

	if (!hash || kf_store_get(store, hash, &text, &err) ||
	    kf_json_parse(kf_buf_str(&text), text.len, "prompt", &prompt,
			  &err))
		goto out;
	printf("\n--- prompt: system ---\n%s\n\n--- prompt: user ---\n%s\n",
	       kf_json_str(prompt, "system", ""),
	       kf_json_str(prompt, "user", ""));
out:
	json_decref(prompt);
	kf_buf_release(&text);
}

static void print_sources(struct kf_store *store, const char *source_json)
{
	json_t *list = NULL, *entry;
	size_t i;

	if (!source_json || kf_json_parse(source_json, strlen(source_json),
					  "sources", &list, NULL))
		return;
	json_array_foreach(list, i, entry)
		print_object(store, kf_json_str(entry, "name", "?"),
			     kf_json_str(entry, "hash", NULL));
	json_decref(list);
}

/* --explain: the verdict alone, as a person asks for it. */
static void print_explanation(const struct kf_attempt_row *row)
{
	struct kf_buf words = { .max = 1u << 16 };
	json_t *verdict = NULL;

	if (!row->verdict_json ||
	    kf_json_parse(row->verdict_json, strlen(row->verdict_json),
			  "verdict", &verdict, NULL)) {
		puts("not judged yet");
		return;
	}
	kf_explain(verdict, &words);
	print_text(kf_buf_str(&words), words.len);
	kf_buf_release(&words);
	json_decref(verdict);
}

static void print_attempt(struct kf_store *store,
			  const struct kf_attempt_row *row)
{
	json_t *verdict = NULL;

	printf("problem   %s\nattempt   %u (%s)\nstate     %s %s\n",
	       row->problem, row->number, row->kind,
	       row->state[0] ? row->state : "not judged yet", row->reason);
	printf("tokens    %llu in, %llu out\n",
	       (unsigned long long)row->tokens_in,
	       (unsigned long long)row->tokens_out);
	print_prompt(store, row->prompt_hash);
	print_object(store, "reply", row->reply_hash);
	print_sources(store, row->source_json);
	if (row->verdict_json &&
	    !kf_json_parse(row->verdict_json, strlen(row->verdict_json),
			   "verdict", &verdict, NULL)) {
		printf("\n--- verdict ---\n%s\n",
		       kf_json_str(verdict, "text", ""));
		kf_cli_print_json_take(verdict);
	}
}

static json_t *attempt_to_json(struct kf_store *store,
			       const struct kf_attempt_row *row)
{
	struct kf_buf reply = { .max = OBJECT_BYTES };
	json_t *o = json_object(), *verdict = NULL;

	json_object_set_new(o, "problem", json_string(row->problem));
	json_object_set_new(o, "number", json_integer(row->number));
	json_object_set_new(o, "kind", json_string(row->kind));
	if (row->reply_hash && !kf_store_get(store, row->reply_hash, &reply,
					     NULL))
		json_object_set_new(o, "reply", kf_json_string(
			kf_buf_str(&reply), reply.len));
	if (row->verdict_json)
		kf_json_parse(row->verdict_json, strlen(row->verdict_json),
			      "verdict", &verdict, NULL);
	if (verdict)
		json_object_set_new(o, "verdict", verdict);
	kf_buf_release(&reply);
	return o;
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
	if (!code && options->json)
		kf_cli_print_json_take(attempt_to_json(store, &row[at]));
	else if (!code && options->explain)
		print_explanation(&row[at]);
	else if (!code)
		print_attempt(store, &row[at]);
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
	.summary = "a run's table, or one attempt: prompt, reply, source, verdict",
	.options = "explain json help",
	.argument_max = 2,
	.run = show,
};
