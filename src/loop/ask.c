#include "loop/ask.h"

void kf_lane_tell(const struct kf_lane *lane, struct kf_event event)
{
	const struct kf_run *run = lane->run;

	event.problem = lane->target.problem.name;
	event.attempt_max = run->spec->attempt_max;
	if (run->watch && run->watch->event)
		run->watch->event(run->watch->arg, &event);
}

void kf_lane_notice(const struct kf_lane *lane,
		    const struct kf_attempt *attempt, const char *line)
{
	kf_lane_tell(lane, (struct kf_event) {
		.kind = KF_EVENT_NOTICE, .attempt = attempt, .line = line,
	});
}

struct listening {
	const struct kf_lane *lane;
	const struct kf_attempt *attempt;
};

static void on_progress(void *arg, size_t reply_bytes, size_t reasoning_bytes)
{
	const struct listening *l = arg;

	kf_lane_tell(l->lane, (struct kf_event) {
		.kind = KF_EVENT_PROGRESS, .attempt = l->attempt,
		.reply_bytes = reply_bytes, .reasoning_bytes = reasoning_bytes,
	});
}

static void on_notice(void *arg, const char *line)
{
	const struct listening *l = arg;

	kf_lane_notice(l->lane, l->attempt, line);
}

static uint64_t estimate(const struct kf_prompt *prompt)
{
	return kf_tokens_estimate(prompt->system_text.len +
				  prompt->user_text.len) +
		prompt->picture_count * KF_PICTURE_TOKENS;
}

unsigned kf_lane_token_ceiling(const struct kf_lane *lane,
			       const struct kf_prompt *prompt)
{
	const struct kf_run_spec *spec = lane->run->spec;
	unsigned most = spec->token_max ? spec->token_max : KF_REPLY_TOKENS;
	uint64_t used = lane->run->summary->tokens + estimate(prompt), left;

	if (!spec->budget_tokens)
		return most;
	if (used >= spec->budget_tokens)
		return 0;
	left = spec->budget_tokens - used;
	return left < most ? (unsigned)left : most;
}

enum kf_code kf_lane_ask(const struct kf_lane *lane,
			 const struct kf_question *question,
			 struct kf_reply *out, struct kf_err *err)
{
	const struct kf_run_spec *spec = lane->run->spec;
	struct kf_message message[] = {
		{ KF_ROLE_SYSTEM,
		  kf_buf_str(&question->prompt->system_text) },
		{ KF_ROLE_USER, kf_buf_str(&question->prompt->user_text) },
	};
	struct listening listening = { lane, question->attempt };
	struct kf_ask ask = {
		.problem = lane->target.problem.name,
		.attempt = question->attempt->number,
		.agent = question->agent,
		.message = message,
		.message_count = KF_COUNT(message),
		.token_max = question->token_max,
		.temperature = spec->temperature,
		.timeout_ns = spec->ask_timeout_ns,
		.cancel = spec->setup.cancel,
		.progress = on_progress,
		.progress_arg = &listening,
		.notice = on_notice,
		.notice_arg = &listening,
		.picture = question->pictures ? question->pictures->picture :
			NULL,
		.picture_count = question->pictures ?
			question->pictures->count : 0,
	};

	kf_lane_tell(lane, (struct kf_event) {
		.kind = KF_EVENT_ASK, .attempt = question->attempt,
		.line = question->agent,
	});
	return kf_model_ask(question->model, &ask, out, err);
}

struct kf_store_reply kf_reply_row(const struct kf_reply *reply,
				   const struct kf_prompt *prompt)
{
	bool reported = reply->tokens_reported;

	return (struct kf_store_reply) {
		.text = kf_buf_str(&reply->text),
		.text_len = reply->text.len,
		.reasoning = reply->reasoning.len ?
			kf_buf_str(&reply->reasoning) : NULL,
		.reasoning_len = reply->reasoning.len,
		.finish = kf_reply_finish_name(reply->finish),
		.model = reply->model,
		.tokens_in = reported ? reply->tokens_in : estimate(prompt),
		.tokens_out = reported ? reply->tokens_out :
			kf_tokens_estimate(reply->text.len +
					   reply->reasoning.len),
		.took_ns = reply->took_ns,
		.tries = reply->tries,
	};
}

char *kf_prompt_to_json(const struct kf_prompt *prompt, const json_t *pictures)
{
	json_t *object = json_object();
	char *text;

	json_object_set_new(object, "system",
			    kf_json_string(kf_buf_str(&prompt->system_text),
					   prompt->system_text.len));
	json_object_set_new(object, "user",
			    kf_json_string(kf_buf_str(&prompt->user_text),
					   prompt->user_text.len));
	if (json_array_size(pictures))
		json_object_set_new(object, "pictures",
				    json_deep_copy(pictures));
	text = kf_json_text(object);
	json_decref(object);
	return text;
}
