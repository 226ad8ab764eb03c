#include "provider/replay.h"

#include "provider/providers.h"
#include "provider/text.h"

static const char *const finish_name[] = {
	[KF_REPLY_NONE] = "none",
	[KF_REPLY_STOP] = "stop",
	[KF_REPLY_LENGTH] = "length",
	[KF_REPLY_REFUSED] = "refused",
	[KF_REPLY_OTHER] = "other",
};

const char *kf_reply_finish_name(enum kf_reply_finish finish)
{
	return (size_t)finish < KF_COUNT(finish_name) ? finish_name[finish] :
		"other";
}

static enum kf_reply_finish finish_by_name(const char *name)
{
	for (size_t i = 0; i < KF_COUNT(finish_name); i++)
		if (strcmp(name, finish_name[i]) == 0)
			return (enum kf_reply_finish)i;
	return KF_REPLY_OTHER;
}

/* Every member that an entry may have. */
static const struct { const char *name; json_type type; bool required; }
member[] = {
	{ "problem", JSON_STRING, true },
	{ "attempt", JSON_INTEGER, true },
	{ "agent", JSON_STRING, false },
	{ "text", JSON_STRING, true },
	{ "finish", JSON_STRING, false },
	{ "finish_text", JSON_STRING, false },
	{ "reasoning", JSON_STRING, false },
	{ "tokens_in", JSON_INTEGER, false },
	{ "tokens_out", JSON_INTEGER, false },
	{ "took_ns", JSON_INTEGER, false },
	{ "tries", JSON_INTEGER, false },
	{ "model", JSON_STRING, false },
	{ "note", JSON_STRING, false },
	{ "prompt_sha256", JSON_STRING, false },
	{ "pictures", JSON_ARRAY, false },
};

static enum kf_code check_entry(const json_t *entry, const char *what,
				size_t line, struct kf_err *err)
{
	static const char *const type_name[] = {
		[JSON_STRING] = "a string", [JSON_INTEGER] = "a whole number",
		[JSON_ARRAY] = "a list",
	};

	if (!json_is_object(entry))
		return kf_fail(err, KF_E_INPUT, "%s line %zu: not an object",
			       what, line);
	for (size_t i = 0; i < KF_COUNT(member); i++) {
		const json_t *value = json_object_get(entry, member[i].name);

		if (value ? json_typeof(value) != member[i].type :
			    member[i].required)
			return kf_fail(err, KF_E_INPUT,
				       "%s line %zu: \"%s\" must be %s", what,
				       line, member[i].name,
				       type_name[member[i].type]);
		if (json_is_integer(value) && json_integer_value(value) < 0)
			return kf_fail(err, KF_E_INPUT,
				       "%s line %zu: \"%s\" is negative", what,
				       line, member[i].name);
	}
	return KF_OK;
}

static enum kf_code check_header(const json_t *header, const char *what,
				 struct kf_err *err)
{
	const json_t *version = json_object_get(header, "kforge_replay");

	if (!json_is_integer(version))
		return kf_fail(err, KF_E_INPUT,
			       "%s holds no recorded replies: its first line "
			       "must be {\"kforge_replay\":%d}", what,
			       KF_REPLAY_VERSION);
	if (json_integer_value(version) != KF_REPLAY_VERSION)
		return kf_fail(err, KF_E_INPUT,
			       "%s is of version %lld, this kforge reads "
			       "version %d", what,
			       (long long)json_integer_value(version),
			       KF_REPLAY_VERSION);
	return KF_OK;
}

static bool is_blank(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!text[i] || !strchr(" \t\r\n", text[i]))
			return false;
	return true;
}

/* One line; number counts from 1, last says that none follows. */
static enum kf_code take_line(struct kf_replay *out, const char *text,
			      size_t len, size_t number, bool last,
			      const char *what, struct kf_err *err)
{
	json_error_t where;
	json_t *value;
	enum kf_code code;

	if (is_blank(text, len) && number > 1)
		return KF_OK;
	value = json_loadb(text, len, JSON_REJECT_DUPLICATES, &where);
	if (number == 1) {
		code = check_header(value, what, err);
		json_decref(value);
		return code;
	}
	if (!value && last) {
		out->damaged_line = number;
		return KF_OK;
	}
	if (!value)
		return kf_fail(err, KF_E_INPUT,
			       "%s line %zu is not valid JSON: column %d: %s",
			       what, number, where.column, where.text);
	code = check_entry(value, what, number, err);
	if (!code)
		json_array_append(out->entries, value);
	json_decref(value);
	return code;
}

enum kf_code kf_replay_parse(const char *text, size_t len, const char *what,
			     struct kf_replay *out, struct kf_err *err)
{
	size_t number = 1, at = 0;
	enum kf_code code = KF_OK;

	*out = (struct kf_replay) { .entries = json_array() };
	if (!len)
		return check_header(NULL, what, err);
	for (; at < len && !code; number++) {
		const char *end = memchr(text + at, '\n', len - at);
		size_t line_len = end ? (size_t)(end - text) - at : len - at;
		size_t next = at + line_len + (end != NULL);

		code = take_line(out, text + at, line_len, number,
				 is_blank(text + next, len - next), what, err);
		at = next;
		if (!code && !out->damaged_line)
			out->whole_bytes = at;
		if (out->damaged_line)
			break;
	}
	return code;
}

enum kf_code kf_replay_read(const char *path, struct kf_replay *out,
			    struct kf_err *err)
{
	struct kf_buf text = { .max = KF_REPLAY_BYTES };
	enum kf_code code;

	*out = (struct kf_replay) { 0 };
	code = kf_file_read(path, &text, err);
	if (!code)
		code = kf_replay_parse(kf_buf_str(&text), text.len, path, out,
				       err);
	kf_buf_release(&text);
	return code;
}

void kf_replay_release(struct kf_replay *replay)
{
	json_decref(replay->entries);
	*replay = (struct kf_replay) { 0 };
}

static bool is_for(const json_t *entry, const struct kf_ask *ask)
{
	return kf_json_int(entry, "attempt", 0) == (int64_t)ask->attempt &&
	       strcmp(kf_json_str(entry, "problem", ""), ask->problem) == 0 &&
	       strcmp(kf_json_str(entry, "agent", ""),
		      ask->agent ? ask->agent : "") == 0;
}

const json_t *kf_replay_find(const struct kf_replay *replay,
			     const struct kf_ask *ask)
{
	for (size_t i = json_array_size(replay->entries); i > 0; i--) {
		const json_t *entry = json_array_get(replay->entries, i - 1);

		if (is_for(entry, ask))
			return entry;
	}
	return NULL;
}

enum kf_code kf_replay_fill(const json_t *entry, struct kf_reply *reply,
			    struct kf_err *err)
{
	const json_t *in = json_object_get(entry, "tokens_in");
	const json_t *out = json_object_get(entry, "tokens_out");

	reply->finish = finish_by_name(kf_json_str(entry, "finish", "stop"));
	snprintf(reply->finish_text, sizeof(reply->finish_text), "%s",
		 kf_json_str(entry, "finish_text", ""));
	snprintf(reply->model, sizeof(reply->model), "%s",
		 kf_json_str(entry, "model", ""));
	snprintf(reply->note, sizeof(reply->note), "%s",
		 kf_json_str(entry, "note", ""));
	reply->took_ns = (uint64_t)kf_json_int(entry, "took_ns", 0);
	reply->tries = (unsigned)kf_json_int(entry, "tries", 1);
	reply->tokens_reported = in && out;
	reply->tokens_in = (uint64_t)json_integer_value(in);
	reply->tokens_out = (uint64_t)json_integer_value(out);
	if (!kf_buf_puts(&reply->text, kf_json_str(entry, "text", "")) ||
	    !kf_buf_puts(&reply->reasoning,
			 kf_json_str(entry, "reasoning", "")))
		return kf_fail(err, KF_E_LIMIT,
			       "the recorded reply is larger than %u bytes",
			       KF_REPLY_BYTES);
	return KF_OK;
}

/* Which ones: their bytes are the asker's to keep. */
static json_t *pictures_of(const struct kf_ask *ask)
{
	json_t *list = json_array();

	for (size_t i = 0; i < ask->picture_count; i++) {
		const struct kf_picture *p = &ask->picture[i];
		char hash[KF_HASH_HEX];

		kf_hash_hex(p->png, p->bytes, hash);
		json_array_append_new(list, json_pack("{s:o, s:s, s:I}",
			"path", kf_text_string(p->path), "sha256", hash,
			"bytes", (json_int_t)p->bytes));
	}
	return list;
}

json_t *kf_replay_entry(const struct kf_ask *ask, const struct kf_reply *reply)
{
	char *prompt = kf_text_join(ask);
	char hash[KF_HASH_HEX];
	json_t *entry = json_object();

	kf_hash_hex(prompt, strlen(prompt), hash);
	free(prompt);
	json_object_set_new(entry, "problem", kf_text_string(ask->problem));
	json_object_set_new(entry, "attempt", json_integer(ask->attempt));
	if (ask->agent)
		json_object_set_new(entry, "agent", json_string(ask->agent));
	json_object_set_new(entry, "finish", json_string(
			    kf_reply_finish_name(reply->finish)));
	if (reply->finish_text[0])
		json_object_set_new(entry, "finish_text",
				    kf_text_string(reply->finish_text));
	json_object_set_new(entry, "text",
			    kf_text_string(kf_buf_str(&reply->text)));
	if (reply->reasoning.len)
		json_object_set_new(entry, "reasoning", kf_text_string(
				    kf_buf_str(&reply->reasoning)));
	if (reply->tokens_reported) {
		json_object_set_new(entry, "tokens_in", json_integer(
				    (json_int_t)reply->tokens_in));
		json_object_set_new(entry, "tokens_out", json_integer(
				    (json_int_t)reply->tokens_out));
	}
	json_object_set_new(entry, "took_ns",
			    json_integer((json_int_t)reply->took_ns));
	json_object_set_new(entry, "tries", json_integer(reply->tries));
	if (reply->model[0])
		json_object_set_new(entry, "model",
				    kf_text_string(reply->model));
	if (reply->note[0])
		json_object_set_new(entry, "note",
				    kf_text_string(reply->note));
	json_object_set_new(entry, "prompt_sha256", json_string(hash));
	if (ask->picture_count)
		json_object_set_new(entry, "pictures", pictures_of(ask));
	return entry;
}

/* --- the provider: replay:FILE -------------------------------------------- */

struct state { char *path; struct kf_replay replay; };

static enum kf_code replay_open(const char *argument, void **state,
				struct kf_err *err)
{
	struct state *s = kf_alloc(sizeof(*s));

	*state = s;
	s->path = kf_strdup(argument);
	if (!kf_path_exists(argument))
		return kf_fail(err, KF_E_INPUT, "no file %s to replay from",
			       argument);
	return kf_replay_read(argument, &s->replay, err);
}

static void replay_close(void *state)
{
	struct state *s = state;

	if (!s)
		return;
	kf_replay_release(&s->replay);
	free(s->path);
	free(s);
}

static enum kf_code replay_ask(void *state, const struct kf_ask *ask,
			       struct kf_reply *reply, struct kf_err *err)
{
	const struct state *s = state;
	const json_t *entry = kf_replay_find(&s->replay, ask);
	const char *whose = ask->agent ? ask->agent : "";
	enum kf_code code;

	reply->tries = 1;
	if (ask->cancel && *ask->cancel)
		return kf_fail(err, KF_E_CANCELED, "canceled");
	if (!entry && s->replay.damaged_line)
		return kf_fail(err, KF_E_UNAVAIL,
			       "%s has no reply for %s, attempt %u%s%s (its "
			       "last line, %zu, is cut off)", s->path,
			       ask->problem, ask->attempt, whose[0] ? ", " :
			       "", whose, s->replay.damaged_line);
	if (!entry)
		return kf_fail(err, KF_E_UNAVAIL,
			       "%s has no reply for %s, attempt %u%s%s",
			       s->path, ask->problem, ask->attempt,
			       whose[0] ? ", " : "", whose);
	code = kf_replay_fill(entry, reply, err);
	if (!code && s->replay.damaged_line)
		kf_text_note(reply, "line %zu of the recording is cut off",
			     s->replay.damaged_line);
	return code;
}

const struct kf_provider kf_provider_replay = {
	.abi = KF_PROVIDER_ABI,
	.name = "replay",
	.usage = "replay:FILE, recorded replies, by problem and attempt",
	.argument_is_path = true,
	.open = replay_open,
	.ask = replay_ask,
	.close = replay_close,
};
