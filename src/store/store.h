/*
 * store.h - the truth about a run: one folder with one SQLite file and the
 * files it names. The only folder of the source that knows SQL.
 *
 *	RUN/run.db		SQLite, WAL, STRICT tables, synchronous=FULL
 *	RUN/objects/ab/abcd...	prompts, replies, sources, logs, by SHA-256
 *	RUN/best/PROBLEM/	the best program of each problem, by name
 *	RUN/work/		scratch of attempts; may be deleted
 *
 * Nothing paid for is lost: kf_store_reply returns only when the reply's bytes
 * and the row that names them are on disk.
 * One writer: an advisory lock on RUN/lock, held while the store is open for
 * writing; a second writer gets KF_E_UNAVAIL with the first one's pid.
 * An older schema is migrated by the next writer, a newer one refused; a
 * damaged file is a sentence, never a crash.
 */
#ifndef KF_STORE_H
#define KF_STORE_H

#include "base/json.h"

struct kf_store;

enum kf_store_mode {
	KF_STORE_CREATE,	/* makes the folder; KF_E_INPUT if it already
				   holds a run, or anything that is no run's */
	KF_STORE_WRITE,		/* migrates an older schema */
	KF_STORE_READ,		/* takes no lock: works beside a writer, and on
				   a folder that cannot be written */
};

KF_MUST_CHECK enum kf_code kf_store_open(const char *run_dir,
		enum kf_store_mode mode, struct kf_store **out,
		struct kf_err *err);
void kf_store_close(struct kf_store *store);	/* NULL is allowed */
/* Closes a store that was created just now, for a run that came to nothing,
 * and removes its folder, unless that held something else before. */
void kf_store_discard(struct kf_store *store);
const char *kf_store_dir(const struct kf_store *store);
/* The process that has the run open for writing now: 0 if there is none,
 * UINT64_MAX if its number is not known. */
uint64_t kf_store_holder(const char *run_dir);

/* The run's settings (what was asked for), as JSON; written once: a second time
 * is KF_E_INPUT. Reading them before that is KF_E_INPUT, too: the run was
 * stopped before it had begun. */
enum kf_code kf_store_settings_set(struct kf_store *store,
		const json_t *settings, struct kf_err *err);
enum kf_code kf_store_settings(struct kf_store *store, json_t **out,
			       struct kf_err *err);

#define KF_STORE_OBJECT_BYTES (64u << 20)	/* more is not read back */

/* Content objects. hash is filled in; storing the same bytes twice is free. A
 * damaged or missing object is KF_E_IO and the sentence names its file; one
 * larger than out->max is KF_E_LIMIT. */
enum kf_code kf_store_put(struct kf_store *store, const void *bytes, size_t len,
			  char hash[KF_HASH_HEX], struct kf_err *err);
enum kf_code kf_store_get(struct kf_store *store, const char *hash,
			  struct kf_buf *out, struct kf_err *err);

/* Problems of the run, in order. Adding one of the same name is a no-op that
 * gives its id; whoever minds a changed problem compares the hash. */
enum kf_code kf_store_problem_add(struct kf_store *store, const char *name,
		const char *hash, const json_t *info, int64_t *id,
		struct kf_err *err);

/* What was found of the problem's health, as JSON; a later one replaces it. */
enum kf_code kf_store_problem_health(struct kf_store *store,
		int64_t problem_id, const json_t *health, struct kf_err *err);

/* How far an attempt has come; only ever grows. */
enum kf_attempt_stage {
	KF_STAGE_ASKED = 1,	/* prompt stored */
	KF_STAGE_REPLIED = 2,	/* reply stored: never asked again */
	KF_STAGE_EXTRACTED = 3,
	KF_STAGE_JUDGED = 4,	/* verdict stored: final */
};

struct kf_attempt_row {		/* strings owned by the row list */
	int64_t id, problem_id;
	int64_t parent_id;		/* the attempt it was to better or repair;
					   0: none, or not known */
	char *problem;
	unsigned number;		/* 1.. within the problem; 0: given, not asked */
	enum kf_attempt_stage stage;
	char *kind;			/* "start", "generate", "repair", "optimize" */
	char *prompt_hash, *reply_hash;	/* NULL if none */
	char *reasoning_hash;		/* NULL if none */
	char *source_json;		/* [{"name","hash"}], NULL if none */
	char *verdict_json;		/* NULL until judged */
	char *second_json;		/* store/second.h; NULL: judged once only */
	char *state, *reason;		/* "" until judged */
	double time_ns, baseline_ns, speedup;	/* NaN if unknown */
	uint64_t tokens_in, tokens_out;
	uint64_t took_ns;		/* of the provider's call */
	unsigned tries;
	char *finish, *model;		/* provider's words, "" if none */
	char *asked_at, *replied_at, *judged_at;	/* "" until then */
};
void kf_attempt_rows_free(struct kf_attempt_row *rows, size_t count);

/* Asking again (after a kill before the reply came) replaces the prompt and
 * gives the same id; an attempt that has its reply is KF_E_INPUT. */
struct kf_store_ask {
	int64_t problem_id;
	unsigned number;
	const char *kind;
	int64_t parent_id;		/* 0: none */
	const char *prompt;
	size_t prompt_len;
};
enum kf_code kf_store_asked(struct kf_store *store,
		const struct kf_store_ask *ask, int64_t *attempt_id,
		struct kf_err *err);

struct kf_store_reply {
	const char *text;
	size_t text_len;
	const char *reasoning;		/* may be NULL */
	size_t reasoning_len;
	const char *finish, *model;
	uint64_t tokens_in, tokens_out, took_ns;
	unsigned tries;
};
/* Durable when it returns KF_OK. A second reply is KF_E_INPUT: what was paid
 * for is never overwritten. */
enum kf_code kf_store_reply(struct kf_store *store, int64_t attempt_id,
		const struct kf_store_reply *reply, struct kf_err *err);
/* source: [{"name","text"}], stored as objects. May be repeated until the
 * verdict; an attempt from --start has a source without a reply. */
enum kf_code kf_store_source(struct kf_store *store, int64_t attempt_id,
		const json_t *source, struct kf_err *err);
/* Final: a second verdict is KF_E_INPUT. Times that are unknown are NaN. */
enum kf_code kf_store_verdict(struct kf_store *store, int64_t attempt_id,
		const json_t *verdict, const char *state, const char *reason,
		double time_ns, double baseline_ns, double speedup,
		struct kf_err *err);

/* All attempts, by problem and number; of one problem if id is not 0. */
enum kf_code kf_store_attempts(struct kf_store *store, int64_t problem_id,
		struct kf_attempt_row **rows, size_t *count,
		struct kf_err *err);
/* [{"id","name","hash","info","health"}]; health is null until it is known. */
enum kf_code kf_store_problems(struct kf_store *store, json_t **out,
			       struct kf_err *err);

#endif
