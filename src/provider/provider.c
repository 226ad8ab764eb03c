/*
 * provider.c - the checks in front of every provider, and the wrapping that
 * all share: text made valid, time taken, replies recorded.
 */
#include "base/base.h"
#include "provider/providers.h"
#include "provider/record.h"
#include "provider/replay.h"
#include "provider/text.h"

#define ROOM_BYTES (1u << 20)	/* reserved before an ask */

struct kf_model {
	const struct kf_provider *provider;
	void *state;
	struct kf_record *record;	/* NULL: not recorded */
	struct kf_record *kept;		/* NULL: replies are not kept */
	struct kf_replay arrived;	/* what a killed session kept */
};

uint64_t kf_tokens_estimate(size_t bytes)
{
	return (2 * (uint64_t)bytes + 6) / 7;
}

void kf_reply_release(struct kf_reply *reply)
{
	kf_buf_release(&reply->text);
	kf_buf_release(&reply->reasoning);
}

static const struct kf_provider *provider_by_name(const char *name, size_t len)
{
	for (size_t i = 0; kf_providers[i]; i++)
		if (strlen(kf_providers[i]->name) == len &&
		    memcmp(kf_providers[i]->name, name, len) == 0)
			return kf_providers[i];
	return NULL;
}

bool kf_model_path(const char *name, const char **path)
{
	const char *colon = strchr(name, ':');
	const struct kf_provider *provider = colon ?
		provider_by_name(name, (size_t)(colon - name)) : NULL;

	if (!provider || !provider->argument_is_path || !colon[1])
		return false;
	*path = colon + 1;
	return true;
}

static enum kf_code fail_unknown(const char *name, struct kf_err *err)
{
	struct kf_buf known = { .max = 256 };
	enum kf_code code;

	for (size_t i = 0; kf_providers[i]; i++)
		kf_buf_printf(&known, "%s%s", i ? ", " : "",
			      kf_providers[i]->name);
	code = kf_fail(err, KF_E_INPUT,
		       "model '%.200s' names no known provider: write "
		       "PROVIDER:ARGUMENT with one of %s, for example "
		       "openai:gpt-5", name, kf_buf_str(&known));
	kf_buf_release(&known);
	return code;
}

enum kf_code kf_model_open(const char *name, const char *record_path,
			   struct kf_model **out, struct kf_err *err)
{
	const char *colon = strchr(name, ':');
	const struct kf_provider *provider = colon ?
		provider_by_name(name, (size_t)(colon - name)) : NULL;
	struct kf_model *model;
	enum kf_code code;

	*out = NULL;
	if (!provider)
		return fail_unknown(name, err);
	if (!colon[1 + strspn(colon + 1, " \t")])
		return kf_fail(err, KF_E_INPUT,
			       "nothing stands after '%s:', the form is %s",
			       provider->name, provider->usage);
	model = kf_alloc(sizeof(*model));
	model->provider = provider;
	code = provider->open(colon + 1, &model->state, err);
	if (!code && record_path)
		code = kf_record_open(record_path, &model->record, err);
	if (code)
		kf_model_free(model);
	else
		*out = model;
	return code;
}

static enum kf_code check_pictures(const struct kf_ask *ask,
				   struct kf_err *err)
{
	if (ask->picture_count > KF_PICTURES_MAX)
		return kf_fail(err, KF_E_LIMIT, "%zu pictures are too many for "
			       "one question, which takes %u",
			       ask->picture_count, KF_PICTURES_MAX);
	for (size_t i = 0; i < ask->picture_count; i++) {
		const struct kf_picture *p = &ask->picture[i];

		if (p->bytes > KF_PICTURE_BYTES)
			return kf_fail(err, KF_E_LIMIT, "the picture %s has "
				       "%zu bytes, and a model gets pictures "
				       "of up to %u: make it smaller", p->path,
				       p->bytes, KF_PICTURE_BYTES);
		if (p->path[0] != '/' || !kf_text_is_png(p->png, p->bytes))
			return kf_fail(err, KF_E_INPUT, "%s is no picture that "
				       "a model gets: it must be a PNG file",
				       p->path);
	}
	return KF_OK;
}

static enum kf_code check_ask(const struct kf_ask *ask, struct kf_err *err)
{
	const char *wrong = NULL;

	if (!ask->problem || !ask->problem[0] || !ask->attempt)
		wrong = "no problem or attempt is named";
	else if (!ask->message_count)
		wrong = "there is no message";
	else if (!ask->timeout_ns)
		wrong = "no deadline is given";
	for (size_t i = 0; !wrong && i < ask->message_count; i++)
		if (!ask->message[i].text ||
		    (unsigned)ask->message[i].role > KF_ROLE_ASSISTANT)
			wrong = "a message has no text or role";
	if (wrong)
		return kf_fail(err, KF_E_INPUT, "the model cannot be asked: "
			       "%s", wrong);
	return check_pictures(ask, err);
}

/* What was over the ceiling has been dropped. The rest was paid for. */
static void note_cut(struct kf_reply *reply)
{
	reply->finish = KF_REPLY_LENGTH;
	kf_text_note(reply, "the reply was cut at %u bytes", KF_REPLY_BYTES);
}

/* Swaps in a copy without invalid bytes, if there are any. */
static void repair(struct kf_reply *reply, struct kf_buf *buf)
{
	struct kf_buf clean = { .max = buf->max };

	if (!kf_utf8_repair(kf_buf_str(buf), buf->len, &clean))
		note_cut(reply);
	kf_buf_release(buf);
	*buf = clean;
}

static bool is_full(const struct kf_buf *buf)
{
	return buf->len == buf->max;
}

static enum kf_code ask_provider(const struct kf_model *model,
				 const struct kf_ask *ask,
				 struct kf_reply *reply, struct kf_err *err)
{
	struct kf_err trouble = { 0 };
	enum kf_code code = model->provider->ask(model->state, ask, reply,
						 &trouble);

	if (code == KF_E_LIMIT &&
	    (is_full(&reply->text) || is_full(&reply->reasoning))) {
		reply->text.len = kf_utf8_cut(kf_buf_str(&reply->text),
					      reply->text.len);
		note_cut(reply);
		code = KF_OK;
	}
	if (code && err)
		*err = trouble;
	if (!code) {
		repair(reply, &reply->text);
		repair(reply, &reply->reasoning);
	}
	return code;
}

static void record_reply(const struct kf_model *model, const struct kf_ask *ask,
			 struct kf_reply *reply)
{
	struct kf_err err = { 0 };

	if (!model->record ||
	    kf_record_add(model->record, ask, reply, &err) == KF_OK)
		return;
	kf_text_note(reply, "the reply was not recorded: %s", err.text);
	if (ask->notice)
		ask->notice(ask->notice_arg, err.text);
}

/* Whoever cannot keep it stores it, or fails there. */
static void keep_reply(const struct kf_model *model, const struct kf_ask *ask,
		       struct kf_reply *reply)
{
	struct kf_err err = { 0 };

	if (model->kept && kf_record_add(model->kept, ask, reply, &err) &&
	    ask->notice)
		ask->notice(ask->notice_arg, err.text);
}

static enum kf_code get_reply(const struct kf_model *model,
			      const struct kf_ask *ask,
			      struct kf_reply *reply, struct kf_err *err)
{
	const json_t *entry = kf_replay_find(&model->arrived, ask);
	uint64_t start_ns = kf_now_ns();
	enum kf_code code = KF_OK;

	if (entry)
		return kf_replay_fill(entry, reply, err);
	if (model->kept)
		code = kf_record_reserve(model->kept, ROOM_BYTES, err);
	if (!code)
		code = ask_provider(model, ask, reply, err);
	reply->took_ns = kf_now_ns() - start_ns;
	if (!code)
		keep_reply(model, ask, reply);
	return code;
}

enum kf_code kf_model_ask(struct kf_model *model, const struct kf_ask *ask,
			  struct kf_reply *reply, struct kf_err *err)
{
	enum kf_code code;

	*reply = (struct kf_reply) {
		.text.max = KF_REPLY_BYTES,
		.reasoning.max = KF_REPLY_BYTES,
	};
	code = check_ask(ask, err);
	if (!code)
		code = get_reply(model, ask, reply, err);
	if (!code)
		record_reply(model, ask, reply);
	return code;
}

enum kf_code kf_model_keep(struct kf_model *model, const char *path,
			   struct kf_err *err)
{
	struct kf_err why = { 0 };

	if (kf_record_open(path, &model->kept, &why) == KF_OK &&
	    kf_replay_read(path, &model->arrived, &why) == KF_OK)
		return KF_OK;
	if (why.code == KF_E_INPUT)
		return kf_fail(err, why.code, "%s; remove this file to go on: "
			       "at most one reply is in it", why.text);
	return kf_fail(err, why.code, "%s", why.text);
}

void kf_model_stored(struct kf_model *model)
{
	if (model->kept)
		kf_record_clear(model->kept);
}

void kf_model_free(struct kf_model *model)
{
	if (!model)
		return;
	model->provider->close(model->state);
	kf_record_close(model->record);
	kf_record_close(model->kept);
	kf_replay_release(&model->arrived);
	free(model);
}
