/*
 * exec:COMMAND - a command of the user's: prompt on stdin, reply on stdout.
 */
#include "base/base.h"
#include "provider/providers.h"
#include "provider/text.h"

#define STDERR_BYTES (64u << 10)

static enum kf_code exec_open(const char *argument, void **state,
			      struct kf_err *err)
{
	(void)err;
	*state = kf_strdup(argument);
	return KF_OK;
}

static void exec_close(void *state)
{
	free(state);
}

static bool is_ours(const char *entry)
{
	return strncmp(entry, "KFORGE_PROBLEM=", 15) == 0 ||
		strncmp(entry, "KFORGE_ATTEMPT=", 15) == 0 ||
		strncmp(entry, "KFORGE_AGENT=", 13) == 0;
}

#define OWN 3

/* The inherited environment with ours in it. own: their text, owned. */
static const char **make_environment(const struct kf_ask *ask, char *own[OWN])
{
	extern char **environ;
	const char **env;
	size_t count = 0, n = 0;

	while (environ && environ[count])
		count++;
	own[0] = kf_format("KFORGE_PROBLEM=%s", ask->problem);
	own[1] = kf_format("KFORGE_ATTEMPT=%u", ask->attempt);
	own[2] = kf_format("KFORGE_AGENT=%s",
			   ask->agent ? ask->agent : "generator");
	env = kf_alloc((count + OWN + 1) * sizeof(*env));
	for (size_t i = 0; i < count; i++)
		if (!is_ours(environ[i]))
			env[n++] = environ[i];
	for (size_t i = 0; i < OWN; i++)
		env[n++] = own[i];
	return env;
}

/* The last line of stderr that is not empty, fit for a sentence. */
static void last_words(const struct kf_buf *errout, char out[256])
{
	const char *text = kf_buf_str(errout);
	size_t end = errout->len, start;

	while (end && strchr(" \t\r\n", text[end - 1]))
		end--;
	start = end;
	while (start && text[start - 1] != '\n')
		start--;
	kf_text_quote(text + start, end - start, getenv("OPENAI_API_KEY"),
		      out, 256);
}

static enum kf_code judge_end(const struct kf_proc_end *end,
			      const struct kf_ask *ask,
			      const struct kf_buf *errout, struct kf_err *err)
{
	char words[256];

	if (end->canceled)
		return kf_fail(err, KF_E_CANCELED,
			       "canceled while the model's command ran");
	if (end->timed_out)
		return kf_fail(err, KF_E_TIMEOUT,
			       "the model's command had not ended after %.0f s",
			       (double)ask->timeout_ns / (double)KF_NS_PER_S);
	if (end->full)
		return kf_fail(err, KF_E_LIMIT,
			       "the reply of the model's command is larger "
			       "than %u bytes", KF_REPLY_BYTES);
	last_words(errout, words);
	if (end->signal)
		return kf_fail(err, KF_E_UNAVAIL,
			       "signal %d killed the model's command%s%s",
			       end->signal, words[0] ? ": " : "", words);
	if (end->exit_code)
		return kf_fail(err, KF_E_UNAVAIL,
			       "the model's command ended with status %d%s%s",
			       end->exit_code, words[0] ? ": " : "", words);
	return KF_OK;
}

static enum kf_code exec_ask(void *state, const struct kf_ask *ask,
			     struct kf_reply *reply, struct kf_err *err)
{
	const char *const argv[] = { "/bin/sh", "-c", state, NULL };
	struct kf_buf errout = { .max = STDERR_BYTES };
	char *prompt = kf_text_join_files(ask);
	char *own[OWN];
	const char **env = make_environment(ask, own);
	struct kf_proc_spec spec = {
		.argv = argv,
		.env = env,
		.stdin_bytes = prompt,
		.stdin_len = strlen(prompt),
		.timeout_ns = ask->timeout_ns,
		.cancel = ask->cancel,
		.stop_when_full = true,
	};
	struct kf_proc_end end;
	enum kf_code code;

	reply->tries = 1;
	code = kf_proc_run(&spec, &reply->text, &errout, &end, err);
	if (!code)
		code = judge_end(&end, ask, &errout, err);
	if (!code) {
		reply->finish = KF_REPLY_STOP;
		if (ask->progress)
			ask->progress(ask->progress_arg, reply->text.len, 0);
	}
	kf_buf_release(&errout);
	free(prompt);
	for (size_t i = 0; i < OWN; i++)
		free(own[i]);
	free(env);
	return code;
}

const struct kf_provider kf_provider_exec = {
	.abi = KF_PROVIDER_ABI,
	.name = "exec",
	.usage = "exec:COMMAND, run by /bin/sh: prompt on stdin, reply on "
		"stdout",
	.open = exec_open,
	.ask = exec_ask,
	.close = exec_close,
};
