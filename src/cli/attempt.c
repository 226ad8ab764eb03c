#include "cli/attempt.h"

#include <math.h>
#include <unistd.h>

#include "cli/advice.h"
#include "evaluate/explain.h"
#include "store/advice.h"

#define TEXT_BYTES (64u << 20)

/* --- reading -------------------------------------------------------------- */

static void get(struct kf_store *store, const char *hash, struct kf_buf *out,
		struct kf_buf *trouble)
{
	struct kf_err err = { 0 };

	if (hash && kf_store_get(store, hash, out, &err))
		kf_buf_printf(trouble, "%s\n", err.text);
}

/* A prompt is kept as {"system","user"}; that of a given program is empty. */
static void read_prompt(struct kf_store *store, const char *hash,
			struct kf_whole *out)
{
	static const char *const key[] = { "system", "user" };
	struct kf_buf text = { .max = TEXT_BYTES };
	json_t *prompt = NULL;

	get(store, hash, &text, &out->trouble);
	if (text.len && kf_json_parse(kf_buf_str(&text), text.len, "prompt",
				      &prompt, NULL))
		kf_buf_puts(&out->trouble, "the prompt is not readable\n");
	for (size_t i = 0; prompt && i < KF_COUNT(key); i++)
		kf_buf_puts(&out->prompt[i], kf_json_str(prompt, key[i], ""));
	json_decref(prompt);
	kf_buf_release(&text);
}

/* [{"name","hash"}] to [{"name","text"}]. New reference. */
static json_t *read_source(struct kf_store *store, const char *source_json,
			   struct kf_buf *trouble)
{
	json_t *list = NULL, *out = json_array(), *entry;
	struct kf_buf text = { .max = TEXT_BYTES };
	size_t i;

	if (source_json && kf_json_parse(source_json, strlen(source_json),
					 "sources", &list, NULL))
		kf_buf_puts(trouble, "the list of sources is not readable\n");
	json_array_foreach(list, i, entry) {
		json_t *file = json_object();

		kf_buf_clear(&text);
		get(store, kf_json_str(entry, "hash", ""), &text, trouble);
		json_object_set(file, "name", json_object_get(entry, "name"));
		json_object_set_new(file, "text", kf_json_string(
			kf_buf_str(&text), text.len));
		json_array_append_new(out, file);
	}
	kf_buf_release(&text);
	json_decref(list);
	return out;
}

static const struct kf_attempt_row *find_parent(
		const struct kf_attempt_row *row,
		const struct kf_attempt_row *all, size_t count)
{
	int64_t id = row->parent_id;

	/* Parents are older, so this ends. */
	for (size_t i = count; id && i > 0; i--) {
		if (all[i - 1].id != id)
			continue;
		if (all[i - 1].source_json)
			return &all[i - 1];
		id = all[i - 1].parent_id;
	}
	return NULL;
}

static const char *text_of(const json_t *source, const char *name)
{
	json_t *file;
	size_t i;

	json_array_foreach(source, i, file)
		if (strcmp(kf_json_str(file, "name", ""), name) == 0)
			return kf_json_str(file, "text", "");
	return "";
}

static void add_diff(unsigned from, unsigned to, const char *name,
		     const char *old, const char *new, struct kf_buf *out)
{
	char *old_name = kf_format("%u/%s", from, name);
	char *new_name = kf_format("%u/%s", to, name);

	kf_diff(&(struct kf_diff_text) { old_name, old, strlen(old) },
		&(struct kf_diff_text) { new_name, new, strlen(new) }, out);
	free(new_name);
	free(old_name);
}

static void read_diff(struct kf_store *store, struct kf_whole *out)
{
	json_t *old = read_source(store, out->parent->source_json,
				  &out->trouble), *file;
	unsigned from = out->parent->number, to = out->row->number;
	const char *name;
	size_t i;

	json_array_foreach(out->source, i, file) {
		name = kf_json_str(file, "name", "");
		add_diff(from, to, name, text_of(old, name),
			 kf_json_str(file, "text", ""), &out->diff);
	}
	json_array_foreach(old, i, file) {
		name = kf_json_str(file, "name", "");
		if (!text_of(out->source, name)[0])
			add_diff(from, to, name, kf_json_str(file, "text", ""),
				 "", &out->diff);
	}
	json_decref(old);
}

/* What it was advised, and the profile of its program. */
static void read_look(struct kf_store *store, struct kf_whole *out)
{
	const struct kf_attempt_row *row = out->row;
	struct kf_err err = { 0 };
	json_t *list = NULL, *one;
	size_t i;

	if (kf_store_advices(store, row->problem_id, &list, &err) ||
	    kf_store_profile_of(store, row->id, &out->profile, &err))
		kf_buf_printf(&out->trouble, "%s\n", err.text);
	json_array_foreach(list, i, one)
		if (kf_json_int(one, "number", -1) == (int64_t)row->number)
			out->advice = json_incref(one);
	json_decref(list);
}

void kf_whole_read(struct kf_store *store, const struct kf_attempt_row *row,
		   const struct kf_attempt_row *all, size_t count,
		   struct kf_whole *out)
{
	const struct kf_buf empty = { .max = TEXT_BYTES };

	*out = (struct kf_whole) {
		.row = row, .parent = find_parent(row, all, count),
		.prompt = { empty, empty }, .reply = empty,
		.reasoning = empty, .diff = empty, .trouble = empty,
	};
	read_prompt(store, row->prompt_hash, out);
	get(store, row->reply_hash, &out->reply, &out->trouble);
	get(store, row->reasoning_hash, &out->reasoning, &out->trouble);
	out->source = read_source(store, row->source_json, &out->trouble);
	if (row->verdict_json &&
	    kf_json_parse(row->verdict_json, strlen(row->verdict_json),
			  "verdict", &out->verdict, NULL))
		kf_buf_puts(&out->trouble, "the verdict is not readable\n");
	if (row->second_json &&
	    kf_json_parse(row->second_json, strlen(row->second_json),
			  "second verdict", &out->second, NULL))
		kf_buf_puts(&out->trouble,
			    "the second verdict is not readable\n");
	if (out->parent && row->source_json)
		read_diff(store, out);
	read_look(store, out);
}

void kf_whole_release(struct kf_whole *whole)
{
	kf_buf_release(&whole->prompt[0]);
	kf_buf_release(&whole->prompt[1]);
	kf_buf_release(&whole->reply);
	kf_buf_release(&whole->reasoning);
	kf_buf_release(&whole->diff);
	kf_buf_release(&whole->trouble);
	json_decref(whole->source);
	json_decref(whole->verdict);
	json_decref(whole->second);
	json_decref(whole->advice);
	json_decref(whole->profile);
}

/* --- printing ------------------------------------------------------------- */

/* A model's words as they came; without what would steer a terminal, where
 * they go to one. */
static void print_text(const char *text, size_t len, bool end_line)
{
	struct kf_buf clean = { .max = TEXT_BYTES };

	if (isatty(STDOUT_FILENO)) {
		kf_utf8_clean(text, len, &clean);
		text = kf_buf_str(&clean);
		len = clean.len;
	}
	fwrite(text, 1, len, stdout);
	if (end_line && (!len || text[len - 1] != '\n'))
		putchar('\n');
	kf_buf_release(&clean);
}

static void print_titled(const char *title, const struct kf_buf *text)
{
	if (!text->len)
		return;
	printf("\n--- %s ---\n", title);
	print_text(kf_buf_str(text), text->len, true);
}

static const char *log_of(const struct kf_whole *whole)
{
	return kf_json_str(whole->verdict, "compiler_log", "");
}

static void print_head(const struct kf_whole *whole)
{
	const struct kf_attempt_row *row = whole->row;

	printf("problem   %s\nattempt   %u (%s)\n", row->problem, row->number,
	       row->kind);
	if (whole->parent)
		printf("parent    %u\n", whole->parent->number);
	printf("state     %s %s\n", row->state[0] ? row->state :
	       "not judged yet", row->reason);
	printf("tokens    %llu in, %llu out\n",
	       (unsigned long long)row->tokens_in,
	       (unsigned long long)row->tokens_out);
}

static void part_advice(const struct kf_whole *whole)
{
	struct kf_buf words = { .max = 1u << 16 };

	kf_advice_words(whole->advice, &words);
	print_text(kf_buf_str(&words), words.len, true);
	kf_buf_release(&words);
}

static void part_profile(const struct kf_whole *whole)
{
	const char *page = kf_json_str(whole->profile, "page", "");

	print_text(page, strlen(page), true);
}

/* "place 1 of 3, timed in turn", or what is wrong with it. */
static void say_place(const json_t *second, struct kf_buf *out)
{
	int64_t place = kf_json_int(second, "place", 0);

	if (place)
		kf_buf_printf(out, "place %lld of %lld%s", (long long)place,
			      (long long)kf_json_int(second, "of", 0),
			      json_is_object(json_object_get(second, "duel")) ?
			      ", timed in turn" : "");
	else
		kf_buf_printf(out, "%s, %s", kf_json_str(second, "state", "?"),
			      kf_json_str(second, "reason", "?"));
}

/* Times of a session of several are not told as those of one alone are. */
static void explain_second(const json_t *second, struct kf_buf *out)
{
	const json_t *ratio = json_object_get(second, "speedup");
	double time_ns = kf_json_real(second, "time_ns", (double)NAN);
	char time[32];

	kf_buf_puts(out, "\nJudged again at the end of the run: ");
	say_place(second, out);
	kf_buf_printf(out, "\n  %s\n", kf_json_str(second, "text", ""));
	if (time_ns > 0)
		kf_buf_printf(out, "  %s a call", kf_time_words(time_ns, 3,
								time));
	if (json_is_object(ratio))
		kf_buf_printf(out, ", %.3gx the baseline (95 %% interval %.3g "
			      "to %.3g)", kf_json_real(ratio, "ratio",
						       (double)NAN),
			      kf_json_real(ratio, "low", (double)NAN),
			      kf_json_real(ratio, "high", (double)NAN));
	if (time_ns > 0)
		kf_buf_puts(out, "\n");
}

static void print_second(const struct kf_whole *whole)
{
	struct kf_buf place = { .max = 256 };

	say_place(whole->second, &place);
	printf("\n--- judged again: %s ---\n%s\n", kf_buf_str(&place),
	       kf_json_str(whole->second, "text", ""));
	kf_cli_print_json_take(json_incref(whole->second));
	kf_buf_release(&place);
}

void kf_whole_print(const struct kf_whole *whole)
{
	json_t *file;
	size_t i;

	print_head(whole);
	if (whole->trouble.len)
		printf("\n%s", kf_buf_str(&whole->trouble));
	if (whole->advice) {
		printf("\n--- advice ---\n");
		part_advice(whole);
	}
	print_titled("prompt: system", &whole->prompt[0]);
	print_titled("prompt: user", &whole->prompt[1]);
	print_titled("reasoning", &whole->reasoning);
	print_titled("reply", &whole->reply);
	json_array_foreach(whole->source, i, file) {
		const char *text = kf_json_str(file, "text", "");

		printf("\n--- %s ---\n", kf_json_str(file, "name", "?"));
		print_text(text, strlen(text), true);
	}
	if (whole->parent) {
		printf("\n--- difference to attempt %u ---\n",
		       whole->parent->number);
		print_text(kf_buf_str(&whole->diff), whole->diff.len, false);
	}
	if (log_of(whole)[0]) {
		printf("\n--- compiler log ---\n");
		print_text(log_of(whole), strlen(log_of(whole)), true);
	}
	if (whole->profile) {
		printf("\n--- profile ---\n");
		part_profile(whole);
	}
	if (whole->verdict) {
		printf("\n--- verdict ---\n%s\n",
		       kf_json_str(whole->verdict, "text", ""));
		kf_cli_print_json_take(json_incref(whole->verdict));
	}
	if (whole->second)
		print_second(whole);
}

void kf_whole_explain(const struct kf_whole *whole)
{
	struct kf_buf words = { .max = 1u << 16 };

	if (whole->verdict)
		kf_explain(whole->verdict, &words);
	else
		kf_buf_puts(&words, "not judged yet\n");
	if (whole->second)
		explain_second(whole->second, &words);
	print_text(kf_buf_str(&words), words.len, true);
	kf_buf_release(&words);
}

static void part_prompt(const struct kf_whole *whole)
{
	print_text(kf_buf_str(&whole->prompt[0]), whole->prompt[0].len, true);
	putchar('\n');
	print_text(kf_buf_str(&whole->prompt[1]), whole->prompt[1].len, true);
}

static void part_reply(const struct kf_whole *whole)
{
	print_text(kf_buf_str(&whole->reply), whole->reply.len, false);
}

static void part_reasoning(const struct kf_whole *whole)
{
	print_text(kf_buf_str(&whole->reasoning), whole->reasoning.len, false);
}

/* One file as it is; of several, each has its name above it. */
static void part_source(const struct kf_whole *whole)
{
	bool several = json_array_size(whole->source) > 1;
	json_t *file;
	size_t i;

	json_array_foreach(whole->source, i, file) {
		const char *text = kf_json_str(file, "text", "");

		if (several)
			printf("%s==> %s <==\n", i ? "\n" : "",
			       kf_json_str(file, "name", "?"));
		print_text(text, strlen(text), several);
	}
}

static void part_log(const struct kf_whole *whole)
{
	print_text(log_of(whole), strlen(log_of(whole)), false);
}

static void part_verdict(const struct kf_whole *whole)
{
	kf_cli_print_json_take(json_incref(whole->verdict));
}

static void part_diff(const struct kf_whole *whole)
{
	print_text(kf_buf_str(&whole->diff), whole->diff.len, false);
}

enum kf_code kf_whole_print_part(const struct kf_whole *whole,
				 enum kf_part part, struct kf_err *err)
{
	const struct {
		const char *name;
		bool there;
		void (*print)(const struct kf_whole *whole);
	} parts[] = {
		[KF_PART_PROMPT] = { "prompt", whole->prompt[1].len > 0, part_prompt },
		[KF_PART_REPLY] = { "reply", whole->row->reply_hash, part_reply },
		[KF_PART_REASONING] = { "reasoning", whole->reasoning.len > 0, part_reasoning },
		[KF_PART_SOURCE] = { "program", json_array_size(whole->source) > 0, part_source },
		[KF_PART_LOG] = { "compiler log", log_of(whole)[0] != '\0', part_log },
		[KF_PART_VERDICT] = { "verdict yet", whole->verdict, part_verdict },
		[KF_PART_DIFF] = { "parent with a program to be compared with", whole->parent && whole->row->source_json, part_diff },
		[KF_PART_ADVICE] = { "advice", whole->advice, part_advice },
		[KF_PART_PROFILE] = { "profile", whole->profile, part_profile },
	};

	if (whole->trouble.len)
		return kf_fail(err, KF_E_IO, "%.*s",
			       (int)strcspn(kf_buf_str(&whole->trouble), "\n"),
			       kf_buf_str(&whole->trouble));
	if (!parts[part].there)
		return kf_fail(err, KF_E_INPUT, "attempt %u of %s has no %s",
			       whole->row->number, whole->row->problem,
			       parts[part].name);
	parts[part].print(whole);
	return KF_OK;
}

/* --- JSON ----------------------------------------------------------------- */

static void set(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
}

static json_t *buf_to_json(const struct kf_buf *text, bool there)
{
	return there ? kf_json_string(kf_buf_str(text), text->len) :
	       json_null();
}

json_t *kf_whole_to_json(const struct kf_whole *whole)
{
	const struct kf_attempt_row *row = whole->row;
	json_t *o = json_object(), *prompt = json_object();

	set(prompt, "system", buf_to_json(&whole->prompt[0], true));
	set(prompt, "user", buf_to_json(&whole->prompt[1], true));
	set(o, "problem", json_string(row->problem));
	set(o, "number", json_integer(row->number));
	set(o, "kind", json_string(row->kind));
	set(o, "parent", whole->parent ? json_integer(whole->parent->number) :
	    json_null());
	set(o, "tokens_in", json_integer((json_int_t)row->tokens_in));
	set(o, "tokens_out", json_integer((json_int_t)row->tokens_out));
	set(o, "asked_at", json_string(row->asked_at));
	set(o, "replied_at", json_string(row->replied_at));
	set(o, "judged_at", json_string(row->judged_at));
	set(o, "prompt", prompt);
	set(o, "reply", buf_to_json(&whole->reply, row->reply_hash));
	set(o, "reasoning", buf_to_json(&whole->reasoning,
					whole->reasoning.len > 0));
	json_object_set(o, "source", whole->source);
	set(o, "log", json_string(log_of(whole)));
	set(o, "diff", buf_to_json(&whole->diff, whole->parent != NULL));
	if (whole->verdict)
		json_object_set(o, "verdict", whole->verdict);
	if (whole->second)
		json_object_set(o, "judged_again", whole->second);
	set(o, "advice", whole->advice ? json_incref(whole->advice) :
	    json_null());
	set(o, "profile", whole->profile ? json_incref(whole->profile) :
	    json_null());
	if (whole->trouble.len)
		set(o, "trouble", buf_to_json(&whole->trouble, true));
	return o;
}
