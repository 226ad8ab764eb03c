/*
 * Problems and attempts. Every change is one statement, and so one
 * transaction; objects are on disk before the row that names them.
 */
#include "store/store.h"

#include "store/internal.h"

/* --- problems ------------------------------------------------------------- */

static enum kf_code find_problem(struct kf_store *store, const char *name,
				 int64_t *id, struct kf_err *err)
{
	struct kf_sql sql;

	*id = 0;
	kf_sql_begin(&sql, store, "SELECT id FROM problem WHERE name = ?");
	kf_sql_text(&sql, name);
	if (kf_sql_row(&sql))
		*id = kf_sql_get_int(&sql, 0);
	return kf_sql_end(&sql, "look for a problem", err);
}

enum kf_code kf_store_problem_add(struct kf_store *store, const char *name,
		const char *hash, const json_t *info, int64_t *id,
		struct kf_err *err)
{
	enum kf_code code = find_problem(store, name, id, err);
	struct kf_sql sql;
	char *text;

	if (code || *id)
		return code;
	code = kf_store_writable(store, err);
	if (code)
		return code;
	text = info ? kf_json_text(info) : kf_strdup("{}");
	kf_sql_begin(&sql, store, "INSERT INTO problem (name, hash, info) "
		     "VALUES (?, ?, ?)");
	kf_sql_text(&sql, name);
	kf_sql_text(&sql, hash);
	kf_sql_text(&sql, text);
	code = kf_sql_end(&sql, "store a problem", err);
	if (!code)
		*id = sqlite3_last_insert_rowid(store->db);
	free(text);
	return code;
}

enum kf_code kf_store_problem_health(struct kf_store *store,
		int64_t problem_id, const json_t *health, struct kf_err *err)
{
	enum kf_code code = kf_store_writable(store, err);
	struct kf_sql sql;
	char *text;

	if (code)
		return code;
	text = kf_json_text(health);
	kf_sql_begin(&sql, store, "UPDATE problem SET health = ? "
		     "WHERE id = ?");
	kf_sql_text(&sql, text);
	kf_sql_int(&sql, problem_id);
	code = kf_sql_end(&sql, "store a problem's health", err);
	free(text);
	return code;
}

/* The current row's problem as JSON. */
static enum kf_code problem_json(struct kf_sql *sql, json_t *list,
				 struct kf_err *err)
{
	char *name = kf_sql_get_text(sql, 1);
	char *hash = kf_sql_get_text(sql, 2);
	char *text = kf_sql_get_text(sql, 3);
	char *health_text = kf_sql_get_text(sql, 4);
	json_t *info = NULL, *health = NULL;
	enum kf_code code = kf_json_parse(text, strlen(text),
					  "the info of a problem", &info, err);

	if (!code && health_text)
		code = kf_json_parse(health_text, strlen(health_text),
				     "the health of a problem", &health, err);
	if (!code)
		json_array_append_new(list, json_pack(
			"{s:I, s:o, s:o, s:O, s:o}",
			"id", (json_int_t)kf_sql_get_int(sql, 0),
			"name", kf_json_string(name, strlen(name)),
			"hash", kf_json_string(hash, strlen(hash)),
			"info", info,
			"health", health ? json_incref(health) :
			json_null()));
	json_decref(health);
	json_decref(info);
	free(health_text);
	free(text);
	free(hash);
	free(name);
	return code;
}

enum kf_code kf_store_problems(struct kf_store *store, json_t **out,
			       struct kf_err *err)
{
	struct kf_sql sql;

	kf_sql_begin(&sql, store, "SELECT id, name, hash, info, health "
		     "FROM problem ORDER BY id");
	return kf_sql_list(&sql, problem_json, "read the problems", out, err);
}

/* --- stages --------------------------------------------------------------- */

static enum kf_code find_attempt(struct kf_store *store, int64_t problem_id,
				 unsigned number, int64_t *id,
				 struct kf_err *err)
{
	struct kf_sql sql;

	*id = 0;
	kf_sql_begin(&sql, store, "SELECT id FROM attempt "
		     "WHERE problem_id = ? AND number = ?");
	kf_sql_int(&sql, problem_id);
	kf_sql_int(&sql, number);
	if (kf_sql_row(&sql))
		*id = kf_sql_get_int(&sql, 0);
	return kf_sql_end(&sql, "look for an attempt", err);
}

/* Ends a statement that must have changed exactly one row: its WHERE names the
 * stages from which the step is allowed. */
static enum kf_code end_step(struct kf_sql *sql, const char *what,
			     int64_t attempt_id, struct kf_err *err)
{
	struct kf_store *store = sql->store;
	enum kf_code code = kf_sql_end(sql, what, err);

	if (code || sqlite3_changes(store->db) == 1)
		return code;
	return kf_fail(err, KF_E_INPUT, "cannot %s: attempt %lld of run %s "
		       "does not exist or is past that stage", what,
		       (long long)attempt_id, store->dir);
}

static enum kf_code insert_asked(struct kf_store *store,
				 const struct kf_store_ask *ask,
				 const char *hash, int64_t *id,
				 struct kf_err *err)
{
	enum kf_code code;
	struct kf_sql sql;
	char now[32];

	kf_time_iso(now);
	kf_sql_begin(&sql, store, "INSERT INTO attempt (problem_id, number, "
		     "stage, kind, parent_id, prompt_hash, asked_at) "
		     "VALUES (?, ?, 1, ?, nullif(?, 0), ?, ?)");
	kf_sql_int(&sql, ask->problem_id);
	kf_sql_int(&sql, ask->number);
	kf_sql_text(&sql, ask->kind);
	kf_sql_int(&sql, ask->parent_id);
	kf_sql_text(&sql, hash);
	kf_sql_text(&sql, now);
	code = kf_sql_end(&sql, "store the prompt", err);
	if (!code)
		*id = sqlite3_last_insert_rowid(store->db);
	return code;
}

static enum kf_code update_asked(struct kf_store *store, int64_t id,
				 const struct kf_store_ask *ask,
				 const char *hash, struct kf_err *err)
{
	struct kf_sql sql;
	char now[32];

	kf_time_iso(now);
	kf_sql_begin(&sql, store, "UPDATE attempt SET kind = ?, "
		     "parent_id = nullif(?, 0), prompt_hash = ?, asked_at = ? "
		     "WHERE id = ? AND stage = 1");
	kf_sql_text(&sql, ask->kind);
	kf_sql_int(&sql, ask->parent_id);
	kf_sql_text(&sql, hash);
	kf_sql_text(&sql, now);
	kf_sql_int(&sql, id);
	return end_step(&sql, "ask again", id, err);
}

enum kf_code kf_store_asked(struct kf_store *store,
		const struct kf_store_ask *ask, int64_t *attempt_id,
		struct kf_err *err)
{
	char hash[KF_HASH_HEX];
	enum kf_code code;

	*attempt_id = 0;
	code = kf_store_put(store, ask->prompt, ask->prompt_len, hash, err);
	if (!code)
		code = find_attempt(store, ask->problem_id, ask->number,
				    attempt_id, err);
	if (code)
		return code;
	if (*attempt_id)
		return update_asked(store, *attempt_id, ask, hash, err);
	return insert_asked(store, ask, hash, attempt_id, err);
}

enum kf_code kf_store_reply(struct kf_store *store, int64_t attempt_id,
		const struct kf_store_reply *reply, struct kf_err *err)
{
	char hash[KF_HASH_HEX], reasoning[KF_HASH_HEX] = "";
	struct kf_sql sql;
	enum kf_code code;
	char now[32];

	code = kf_store_put(store, reply->text, reply->text_len, hash, err);
	if (!code && reply->reasoning)
		code = kf_store_put(store, reply->reasoning,
				    reply->reasoning_len, reasoning, err);
	if (code)
		return code;
	kf_time_iso(now);
	kf_sql_begin(&sql, store, "UPDATE attempt SET stage = 2, "
		     "reply_hash = ?, reasoning_hash = ?, replied_at = ?, "
		     "finish = ?, model = ?, tokens_in = ?, tokens_out = ?, "
		     "took_ns = ?, tries = ? WHERE id = ? AND stage = 1");
	kf_sql_text(&sql, hash);
	kf_sql_text(&sql, reasoning[0] ? reasoning : NULL);
	kf_sql_text(&sql, now);
	kf_sql_text(&sql, reply->finish);
	kf_sql_text(&sql, reply->model);
	kf_sql_int(&sql, (int64_t)reply->tokens_in);
	kf_sql_int(&sql, (int64_t)reply->tokens_out);
	kf_sql_int(&sql, (int64_t)reply->took_ns);
	kf_sql_int(&sql, reply->tries);
	kf_sql_int(&sql, attempt_id);
	return end_step(&sql, "store the reply", attempt_id, err);
}

/* Stores one file's text; adds its name and hash to list. */
static enum kf_code put_source(struct kf_store *store, const json_t *file,
			       json_t *list, struct kf_err *err)
{
	const char *name = kf_json_str(file, "name", NULL);
	const json_t *text = json_object_get(file, "text");
	char hash[KF_HASH_HEX];
	enum kf_code code;

	if (!name || !json_is_string(text))
		return kf_fail(err, KF_E_INPUT,
			       "a source needs a name and a text");
	code = kf_store_put(store, json_string_value(text),
			    json_string_length(text), hash, err);
	if (!code)
		json_array_append_new(list, json_pack("{s:s, s:s}", "name",
						      name, "hash", hash));
	return code;
}

enum kf_code kf_store_source(struct kf_store *store, int64_t attempt_id,
		const json_t *source, struct kf_err *err)
{
	enum kf_code code = KF_OK;
	json_t *list = json_array();
	struct kf_sql sql;
	char *text;

	for (size_t i = 0; i < json_array_size(source) && !code; i++)
		code = put_source(store, json_array_get(source, i), list, err);
	if (!code)
		code = kf_store_writable(store, err);
	text = kf_json_text(list);
	json_decref(list);
	if (code)
		goto out;
	kf_sql_begin(&sql, store, "UPDATE attempt SET stage = 3, source = ? "
		     "WHERE id = ? AND stage < 4");
	kf_sql_text(&sql, text);
	kf_sql_int(&sql, attempt_id);
	code = end_step(&sql, "store the source", attempt_id, err);
out:
	free(text);
	return code;
}

enum kf_code kf_store_verdict(struct kf_store *store, int64_t attempt_id,
		const json_t *verdict, const char *state, const char *reason,
		double time_ns, double baseline_ns, double speedup,
		struct kf_err *err)
{
	enum kf_code code = kf_store_writable(store, err);
	struct kf_sql sql;
	char now[32];
	char *text;

	if (code)
		return code;
	kf_time_iso(now);
	text = kf_json_text(verdict);
	kf_sql_begin(&sql, store, "UPDATE attempt SET stage = 4, verdict = ?, "
		     "state = ?, reason = ?, time_ns = ?, baseline_ns = ?, "
		     "speedup = ?, judged_at = ? WHERE id = ? AND stage < 4");
	kf_sql_text(&sql, text);
	kf_sql_text(&sql, state);
	kf_sql_text(&sql, reason);
	kf_sql_real(&sql, time_ns);
	kf_sql_real(&sql, baseline_ns);
	kf_sql_real(&sql, speedup);
	kf_sql_text(&sql, now);
	kf_sql_int(&sql, attempt_id);
	code = end_step(&sql, "store the verdict", attempt_id, err);
	free(text);
	return code;
}

/* --- reading -------------------------------------------------------------- */

#define ATTEMPT_COLUMNS "attempt.id, problem_id, coalesce(parent_id, 0), " \
	"problem.name, number, stage, " \
	"kind, prompt_hash, reply_hash, reasoning_hash, source, " \
	"attempt.verdict, second.verdict, " \
	"coalesce(attempt.state, ''), coalesce(attempt.reason, ''), " \
	"attempt.time_ns, attempt.baseline_ns, attempt.speedup, " \
	"tokens_in, tokens_out, took_ns, tries, " \
	"coalesce(finish, ''), coalesce(model, ''), asked_at, " \
	"coalesce(replied_at, ''), coalesce(attempt.judged_at, '')"

static void read_row(struct kf_sql *sql, struct kf_attempt_row *row)
{
	int i = 0;

	row->id = kf_sql_get_int(sql, i++);
	row->problem_id = kf_sql_get_int(sql, i++);
	row->parent_id = kf_sql_get_int(sql, i++);
	row->problem = kf_sql_get_text(sql, i++);
	row->number = (unsigned)kf_sql_get_int(sql, i++);
	row->stage = (enum kf_attempt_stage)kf_sql_get_int(sql, i++);
	row->kind = kf_sql_get_text(sql, i++);
	row->prompt_hash = kf_sql_get_text(sql, i++);
	row->reply_hash = kf_sql_get_text(sql, i++);
	row->reasoning_hash = kf_sql_get_text(sql, i++);
	row->source_json = kf_sql_get_text(sql, i++);
	row->verdict_json = kf_sql_get_text(sql, i++);
	row->second_json = kf_sql_get_text(sql, i++);
	row->state = kf_sql_get_text(sql, i++);
	row->reason = kf_sql_get_text(sql, i++);
	row->time_ns = kf_sql_get_real(sql, i++);
	row->baseline_ns = kf_sql_get_real(sql, i++);
	row->speedup = kf_sql_get_real(sql, i++);
	row->tokens_in = (uint64_t)kf_sql_get_int(sql, i++);
	row->tokens_out = (uint64_t)kf_sql_get_int(sql, i++);
	row->took_ns = (uint64_t)kf_sql_get_int(sql, i++);
	row->tries = (unsigned)kf_sql_get_int(sql, i++);
	row->finish = kf_sql_get_text(sql, i++);
	row->model = kf_sql_get_text(sql, i++);
	row->asked_at = kf_sql_get_text(sql, i++);
	row->replied_at = kf_sql_get_text(sql, i++);
	row->judged_at = kf_sql_get_text(sql, i++);
}

static void row_release(struct kf_attempt_row *row)
{
	char *const text[] = {
		row->problem, row->kind, row->prompt_hash, row->reply_hash,
		row->reasoning_hash, row->source_json, row->verdict_json,
		row->second_json, row->state, row->reason, row->finish,
		row->model, row->asked_at, row->replied_at, row->judged_at,
	};

	for (size_t i = 0; i < KF_COUNT(text); i++)
		free(text[i]);
}

void kf_attempt_rows_free(struct kf_attempt_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		row_release(&rows[i]);
	free(rows);
}

enum kf_code kf_store_attempts(struct kf_store *store, int64_t problem_id,
		struct kf_attempt_row **rows, size_t *count,
		struct kf_err *err)
{
	enum kf_code code;
	struct kf_sql sql;
	size_t cap = 0;

	*rows = NULL;
	*count = 0;
	kf_sql_begin(&sql, store, "SELECT " ATTEMPT_COLUMNS " FROM attempt "
		     "JOIN problem ON problem.id = problem_id "
		     "LEFT JOIN second ON second.attempt_id = attempt.id "
		     "WHERE ?1 = 0 OR problem_id = ?1 "
		     "ORDER BY problem_id, number");
	kf_sql_int(&sql, problem_id);
	while (kf_sql_row(&sql)) {
		if (*count == cap) {
			cap = cap ? 2 * cap : 16;
			*rows = kf_realloc(*rows, cap * sizeof(**rows));
		}
		read_row(&sql, &(*rows)[*count]);
		++*count;
	}
	code = kf_sql_end(&sql, "read the attempts", err);
	if (code) {
		kf_attempt_rows_free(*rows, *count);
		*rows = NULL;
		*count = 0;
	}
	return code;
}
