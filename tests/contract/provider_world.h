/*
 * provider_world.h - what the contract suites of providers share: a folder with
 * files to reply from, a scripted server, and a question to ask.
 */
#ifndef KF_PROVIDER_WORLD_H
#define KF_PROVIDER_WORLD_H

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <kforge/provider.h>

#include "base/base.h"

#define KEY "sk-test-0123456789abcdefghijklmnopqrstuvwxyz"
#define SOON_NS (10 * KF_NS_PER_S)	/* nothing here takes as long */
/* A second is promised; another one for a machine that has more to do. */
#define A_SECOND_NS (2 * KF_NS_PER_S)

/* With what an exact transport must not touch. */
static const char words[] =
	"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x9a\x80\r\n\tx = \"\\n\"; \x0c<think>"
	"```c\nint a;\n```\n\n data: [DONE]\n";

struct world {
	char dir[64];
	pid_t server;
	int server_stdin;
	char url[64];
};

static inline void write_file(const struct world *w, const char *name,
			      const char *bytes, size_t len)
{
	char *path = kf_path_join(w->dir, name);

	assert_int_equal(kf_file_write(path, bytes, len, NULL), KF_OK);
	free(path);
}

/* "DIR" in a model's name becomes the folder of this run. */
static inline char *placed(const struct world *w, const char *name)
{
	const char *at = strstr(name, "DIR");

	if (!at)
		return kf_strdup(name);
	return kf_format("%.*s%s%s", (int)(at - name), name, w->dir, at + 3);
}

static inline struct kf_model *open_model(const struct world *w,
					  const char *name, const char *record)
{
	char *full = placed(w, name);
	struct kf_model *model = NULL;
	struct kf_err err = { 0 };

	if (kf_model_open(full, record, &model, &err))
		fail_msg("%s: %s", full, err.text);
	free(full);
	return model;
}

static inline struct kf_message user_says(const char *text)
{
	return (struct kf_message) { KF_ROLE_USER, text };
}

static inline struct kf_ask ask_of(const struct kf_message *message)
{
	return (struct kf_ask) {
		.problem = "softmax",
		.attempt = 1,
		.message = message,
		.message_count = 1,
		.temperature = (double)NAN,
		.timeout_ns = SOON_NS,
	};
}

/* One question to a model of this name. */
static inline enum kf_code ask_once(const struct world *w, const char *name,
				    const struct kf_ask *ask,
				    struct kf_reply *reply, struct kf_err *err)
{
	struct kf_model *model = open_model(w, name, NULL);
	enum kf_code code = kf_model_ask(model, ask, reply, err);

	kf_model_free(model);
	return code;
}

struct heard { unsigned lines; char last[512]; };

static inline void hear(void *arg, const char *line)
{
	struct heard *heard = arg;

	heard->lines++;
	snprintf(heard->last, sizeof(heard->last), "%s", line);
}

/* A thread that cancels. */
static inline void *set_soon(void *arg)
{
	kf_sleep_ns(100 * KF_NS_PER_MS);
	*(volatile int *)arg = 1;
	return NULL;
}

static inline void start_server(struct world *w)
{
	const char *python = getenv("KFORGE_PYTHON");
	int in[2], out[2];
	char port[16] = "";
	size_t len = 0;

	if (pipe(in) || pipe(out))
		abort();
	w->server = fork();
	if (w->server == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		close(in[1]);
		close(out[0]);
		execlp(python ? python : "python3", "python3",
		       "tests/contract/openai_server.py", (char *)NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	w->server_stdin = in[1];
	/* To its line end: the server dies if it cannot print it all. */
	while (len < sizeof(port) - 1 && !strchr(port, '\n') &&
	       read(out[0], port + len, 1) == 1)
		len++;
	close(out[0]);
	port[strcspn(port, "\n")] = '\0';
	snprintf(w->url, sizeof(w->url), "http://127.0.0.1:%s/v1/", port);
}

static inline void write_replay(const struct world *w, const char *name,
				const char *text, size_t len)
{
	struct kf_buf line = { .max = len * 6 + 1000 };

	kf_buf_puts(&line, "{\"kforge_replay\":1}\n{\"problem\":\"softmax\","
		    "\"attempt\":1,\"text\":\"");
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c < 32 || c == '"' || c == '\\')
			kf_buf_printf(&line, "\\u%04x", c);
		else
			kf_buf_add(&line, &text[i], 1);
	}
	kf_buf_puts(&line, "\"}\n");
	write_file(w, name, line.data, line.len);
	kf_buf_release(&line);
}

static inline int world_begin(void **state)
{
	struct world *w = kf_alloc(sizeof(*w));
	size_t large_len = KF_REPLY_BYTES + 1;
	char *large = kf_alloc(large_len);
	char path[96];

	*state = w;
	snprintf(w->dir, sizeof(w->dir), "/tmp/kforge-provider-XXXXXX");
	if (!mkdtemp(w->dir))
		return 1;
	memset(large, 'x', large_len);
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", w->dir,
			 i ? "slow" : "flood");
		if (mkdir(path, 0777))
			return 1;
	}
	write_file(w, "softmax.1.reply.md", words, sizeof(words) - 1);
	write_file(w, "flood/softmax.1.reply.md", large, large_len);
	write_replay(w, "replay", words, sizeof(words) - 1);
	write_replay(w, "flood.replay", large, large_len);
	free(large);
	start_server(w);
	if (strstr(w->url, ":/v1/")) {
		fprintf(stderr, "openai_server.py does not start; is there a "
			"Python (KFORGE_PYTHON)?\n");
		return 1;
	}
	setenv("KFORGE_OPENAI_BASE_URL", w->url, 1);
	setenv("OPENAI_API_KEY", KEY, 1);
	setenv("no_proxy", "127.0.0.1", 1);
	unsetenv("KFORGE_RETRIES");
	unsetenv("KFORGE_STALL_SECONDS");
	return 0;
}

static inline int world_end(void **state)
{
	struct world *w = *state;

	close(w->server_stdin);
	if (w->server > 0)
		waitpid(w->server, NULL, 0);
	(void)kf_remove_tree(w->dir, NULL);
	free(w);
	return 0;
}

#endif
