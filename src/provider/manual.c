/*
 * manual:DIR - a person, or anything else that reads and writes files. The
 * prompt is left as DIR/PROBLEM.N.prompt.md, the reply is awaited as
 * DIR/PROBLEM.N.reply.md.
 */
#include <ctype.h>
#include <errno.h>
#include <sys/stat.h>

#include "base/base.h"
#include "provider/providers.h"
#include "provider/text.h"

#define POLL_NS (200 * KF_NS_PER_MS)
#define SLICE_NS (50 * KF_NS_PER_MS)

static enum kf_code manual_open(const char *argument, void **state,
				struct kf_err *err)
{
	*state = kf_strdup(argument);
	return kf_mkdir_p(argument, err);
}

static void manual_close(void *state)
{
	free(state);
}

/* DIR/level1_softmax.3.reply.md for "level1/softmax": the name of a problem
 * must stay one file in this folder. Another agent has its name in it. */
static char *path_for(const char *dir, const struct kf_ask *ask,
		      const char *what)
{
	char *name = kf_format("%s.%u.%s%s%s.md", ask->problem, ask->attempt,
			       ask->agent ? ask->agent : "",
			       ask->agent ? "." : "", what);
	char *path;

	for (char *c = name; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("._-", *c))
			*c = '_';
	if (name[0] == '.')
		name[0] = '_';
	path = kf_path_join(dir, name);
	free(name);
	return path;
}

/* What must not have changed between two looks for a file to be finished. */
struct look { off_t size; struct timespec time; ino_t inode; };

static bool look_at(const char *path, struct look *look)
{
	struct stat st;

	*look = (struct look) { 0 };
	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return false;
	look->size = st.st_size;
	look->time = st.st_mtim;
	look->inode = st.st_ino;
	return true;
}

static bool same(const struct look *a, const struct look *b)
{
	return a->size == b->size && a->inode == b->inode &&
		a->time.tv_sec == b->time.tv_sec &&
		a->time.tv_nsec == b->time.tv_nsec;
}

static enum kf_code rest(const char *path, const struct kf_ask *ask,
			 uint64_t start_ns, struct kf_err *err)
{
	uint64_t until_ns = kf_now_ns() + POLL_NS;

	while (kf_now_ns() < until_ns) {
		if (ask->cancel && *ask->cancel)
			return kf_fail(err, KF_E_CANCELED,
				       "canceled while waiting for %s", path);
		if (kf_now_ns() - start_ns > ask->timeout_ns)
			return kf_fail(err, KF_E_TIMEOUT,
				       "no reply in %s after %.0f s", path,
				       (double)ask->timeout_ns /
				       (double)KF_NS_PER_S);
		kf_sleep_ns(SLICE_NS);
	}
	return KF_OK;
}

/* Returns when the file is there, not empty, and has been left alone between
 * two looks: an editor or a download may write it in pieces. */
static enum kf_code await(const char *path, const struct kf_ask *ask,
			  struct kf_err *err)
{
	uint64_t start_ns = kf_now_ns();
	struct look before, now;
	enum kf_code code;

	look_at(path, &before);
	for (;;) {
		code = rest(path, ask, start_ns, err);
		if (code)
			return code;
		if (look_at(path, &now) && now.size && same(&before, &now))
			return KF_OK;
		before = now;
	}
}

static void say_waiting(const struct kf_ask *ask, const char *prompt_path,
			const char *reply_path)
{
	char *line;

	if (!ask->notice)
		return;
	line = kf_format("prompt in %s, waiting for %s", prompt_path,
			 reply_path);
	ask->notice(ask->notice_arg, line);
	free(line);
}

static enum kf_code manual_ask(void *state, const struct kf_ask *ask,
			       struct kf_reply *reply, struct kf_err *err)
{
	char *prompt_path = path_for(state, ask, "prompt");
	char *reply_path = path_for(state, ask, "reply");
	char *prompt = kf_text_join_files(ask);
	enum kf_code code;

	reply->tries = 1;
	if (kf_path_exists(reply_path))
		kf_text_note(reply, "the reply was there before it was asked "
			     "for");
	code = kf_file_write(prompt_path, prompt, strlen(prompt), err);
	if (code)
		goto out;
	say_waiting(ask, prompt_path, reply_path);
	code = await(reply_path, ask, err);
	if (!code)
		code = kf_file_read(reply_path, &reply->text, err);
	if (!code)
		reply->finish = KF_REPLY_STOP;
out:
	free(prompt);
	free(reply_path);
	free(prompt_path);
	return code;
}

const struct kf_provider kf_provider_manual = {
	.abi = KF_PROVIDER_ABI,
	.name = "manual",
	.usage = "manual:DIR, prompts and replies as files for a chat window",
	.argument_is_path = true,
	.open = manual_open,
	.ask = manual_ask,
	.close = manual_close,
};
