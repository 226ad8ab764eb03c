/*
 * provider.h - what kforge asks of a language model: a prompt in, a reply out.
 *
 * A provider is one constant table; a model is named PROVIDER:ARGUMENT
 * (openai:gpt-x, exec:COMMAND, manual:DIR, replay:FILE).
 *
 * Errors:    KF_E_UNAVAIL no key, cannot connect, service down after retries;
 *            KF_E_LIMIT over a ceiling or budget; KF_E_TIMEOUT; KF_E_CANCELED.
 *            What the model did (refused, cut off, empty) is in kf_reply.
 * Ownership: a reply's buffers are the caller's, and safe to release after a
 *            failure too (they may then hold the part that arrived).
 * Threads:   one call at a time per kf_model.
 * Secrets:   keys come from the environment only and never reach a log, an
 *            error sentence, a store or a process argument.
 */
#ifndef KF_PROVIDER_H
#define KF_PROVIDER_H

#include <kforge/base.h>

#define KF_PROVIDER_ABI 1

enum kf_message_role { KF_ROLE_SYSTEM, KF_ROLE_USER, KF_ROLE_ASSISTANT };
struct kf_message { enum kf_message_role role; const char *text; };

/* A PNG file that goes with the last message, to a model that sees. */
struct kf_picture {
	const char *path;		/* absolute; for whoever takes files */
	const void *png;		/* its bytes */
	size_t bytes;
};
#define KF_PICTURES_MAX		4u	/* of one question */
#define KF_PICTURE_BYTES	(1u << 20)	/* of each; KF_E_LIMIT beyond */
#define KF_PICTURE_TOKENS	2000u	/* of each; an estimate, for budgets */

struct kf_ask {
	const char *problem;		/* name; replay and manual address by it */
	unsigned attempt;		/* 1..; likewise */
	/* Who asks: NULL is the generation agent. "advisor" and "advisor_again"
	 * are the analysis agent, whose replies are kept apart. */
	const char *agent;
	const struct kf_message *message;
	size_t message_count;
	unsigned token_max;		/* ceiling of the reply; 0: provider's default */
	double temperature;		/* NaN: not sent */
	uint64_t timeout_ns;		/* whole call, retries included; 0 refused */
	const volatile int *cancel;	/* may be NULL */
	/* Called with bytes received so far, while streaming; may be NULL. */
	void (*progress)(void *arg, size_t reply_bytes, size_t reasoning_bytes);
	void *progress_arg;
	/* Called with a line worth the user's knowing while the call goes on
	 * ("waiting for DIR/softmax.1.reply.md"); may be NULL. */
	void (*notice)(void *arg, const char *line);
	void *notice_arg;
	const struct kf_picture *picture;
	size_t picture_count;		/* 0: the model gets no pictures */
};

enum kf_reply_finish {
	KF_REPLY_NONE,		/* the service did not say */
	KF_REPLY_STOP,
	KF_REPLY_LENGTH,	/* cut at a token limit */
	KF_REPLY_REFUSED,	/* content filter, refusal */
	KF_REPLY_OTHER,		/* a word we do not know; in finish_text */
};

/* More is not read: the reply then counts as cut at a limit, with a note. */
#define KF_REPLY_BYTES (16u << 20)

struct kf_reply {
	enum kf_reply_finish finish;
	char finish_text[48];
	struct kf_buf text;		/* max KF_REPLY_BYTES */
	struct kf_buf reasoning;	/* what came apart from the text */
	uint64_t tokens_in, tokens_out;	/* 0 unless reported */
	bool tokens_reported;
	unsigned tries;			/* requests sent, >= 1 */
	uint64_t took_ns;
	char model[96];			/* as the service names it; "" */
	char note[256];			/* what is odd about it; "" */
};
void kf_reply_release(struct kf_reply *reply);
const char *kf_reply_finish_name(enum kf_reply_finish finish);	/* "stop" ... */

struct kf_model;

struct kf_provider {
	unsigned abi;
	const char *name;		/* "openai" */
	const char *usage;		/* one line for `kforge models` and errors */
	bool needs_network;
	bool argument_is_path;		/* kept absolute, for a resume elsewhere */
	/* argument: what stands after "NAME:". */
	enum kf_code (*open)(const char *argument, void **state,
			     struct kf_err *err);
	enum kf_code (*ask)(void *state, const struct kf_ask *ask,
			    struct kf_reply *reply, struct kf_err *err);
	void (*close)(void *state);	/* NULL is allowed */
};

extern const struct kf_provider *const kf_providers[];	/* NULL-terminated */

/* Whether the name's argument is a path: then at *path, within the name. */
bool kf_model_path(const char *name, const char **path);
/* name: "openai:gpt-x"; record_path: NULL, or a file to which every ask and
 * reply is appended, in replay's format. Unknown names list the known ones. */
KF_MUST_CHECK enum kf_code kf_model_open(const char *name,
		const char *record_path, struct kf_model **out,
		struct kf_err *err);
/* *reply is set to its empty value first. The text is valid UTF-8 without NUL.
 * A record that cannot be written is a note in the reply, not a failure: the
 * reply is paid for. */
KF_MUST_CHECK enum kf_code kf_model_ask(struct kf_model *model,
		const struct kf_ask *ask, struct kf_reply *reply,
		struct kf_err *err);
void kf_model_free(struct kf_model *model);

/* Nothing paid for is lost: each reply is kept in a file of its own (path, in
 * replay's format) from the moment of its arrival until kf_model_stored says
 * that it is safe elsewhere. A reply that a kill left there answers its ask
 * again, and the service is not asked. Before each ask room is reserved, so
 * that a full disk is KF_E_IO before anything is paid for. */
KF_MUST_CHECK enum kf_code kf_model_keep(struct kf_model *model,
		const char *path, struct kf_err *err);
void kf_model_stored(struct kf_model *model);

/* An estimate for budgets and --dry-run: 3.5 bytes a token, rounded up. */
uint64_t kf_tokens_estimate(size_t bytes);

#endif
