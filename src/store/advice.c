/* Profiles and advice. Every change is one transaction; objects are on disk
 * before the row that names them. */
#include "store/advice.h"

#include "store/internal.h"

/* --- profiles ------------------------------------------------------------- */

static enum kf_code put_json(struct kf_store *store, const json_t *json,
			     char hash[KF_HASH_HEX], struct kf_err *err)
{
	char *text = kf_json_text(json);
	enum kf_code code = kf_store_put(store, text, strlen(text), hash, err);

	free(text);
	return code;
}

enum kf_code kf_store_profile(struct kf_store *store, int64_t attempt_id,
		const struct kf_store_profile *profile, struct kf_err *err)
{
	char page[KF_HASH_HEX], whole[KF_HASH_HEX], now[32];
	struct kf_sql sql;
	enum kf_code code;
	char *roofline;

	code = kf_store_put(store, profile->page, profile->page_len, page,
			    err);
	if (!code)
		code = put_json(store, profile->profile, whole, err);
	if (code)
		return code;
	kf_time_iso(now);
	roofline = kf_json_text(profile->roofline);
	kf_sql_begin(&sql, store, "INSERT OR REPLACE INTO profile "
		     "(attempt_id, made_at, end, bottleneck, page_hash, "
		     "profile_hash, roofline) VALUES (?, ?, ?, ?, ?, ?, ?)");
	kf_sql_int(&sql, attempt_id);
	kf_sql_text(&sql, now);
	kf_sql_text(&sql, profile->end);
	kf_sql_text(&sql, profile->bottleneck);
	kf_sql_text(&sql, page);
	kf_sql_text(&sql, whole);
	kf_sql_text(&sql, roofline);
	code = kf_sql_end(&sql, "store a profile", err);
	free(roofline);
	return code;
}

static enum kf_code get_text(struct kf_store *store, const char *hash,
			     struct kf_buf *out, struct kf_err *err)
{
	*out = (struct kf_buf) { .max = KF_STORE_OBJECT_BYTES };
	return kf_store_get(store, hash, out, err);
}

struct profile_row {
	char *made_at, *end, *bottleneck, *page_hash, *profile_hash, *roofline;
	bool there;
};

static enum kf_code find_profile(struct kf_store *store, int64_t attempt_id,
				 struct profile_row *row, struct kf_err *err)
{
	struct kf_sql sql;

	*row = (struct profile_row) { 0 };
	kf_sql_begin(&sql, store, "SELECT made_at, end, bottleneck, page_hash, "
		     "profile_hash, roofline FROM profile "
		     "WHERE attempt_id = ?");
	kf_sql_int(&sql, attempt_id);
	if (kf_sql_row(&sql)) {
		row->there = true;
		row->made_at = kf_sql_get_text(&sql, 0);
		row->end = kf_sql_get_text(&sql, 1);
		row->bottleneck = kf_sql_get_text(&sql, 2);
		row->page_hash = kf_sql_get_text(&sql, 3);
		row->profile_hash = kf_sql_get_text(&sql, 4);
		row->roofline = kf_sql_get_text(&sql, 5);
	}
	return kf_sql_end(&sql, "read a profile", err);
}

static void profile_row_release(struct profile_row *row)
{
	free(row->made_at);
	free(row->end);
	free(row->bottleneck);
	free(row->page_hash);
	free(row->profile_hash);
	free(row->roofline);
}

enum kf_code kf_store_profile_of(struct kf_store *store, int64_t attempt_id,
		json_t **out, struct kf_err *err)
{
	struct kf_buf page = { 0 }, whole = { 0 };
	json_t *profile = NULL, *roofline = NULL;
	struct profile_row row;
	enum kf_code code = find_profile(store, attempt_id, &row, err);

	*out = NULL;
	if (code || !row.there)
		goto out;
	code = get_text(store, row.page_hash, &page, err);
	if (!code)
		code = get_text(store, row.profile_hash, &whole, err);
	if (!code)
		code = kf_json_parse(kf_buf_str(&whole), whole.len,
				     "a stored profile", &profile, err);
	if (!code)
		code = kf_json_parse(row.roofline, strlen(row.roofline),
				     "a stored roofline", &roofline, err);
	if (!code)
		*out = json_pack("{s:s, s:s, s:s, s:o, s:O, s:O}",
				 "made_at", row.made_at, "end", row.end,
				 "bottleneck", row.bottleneck, "page",
				 kf_json_string(kf_buf_str(&page), page.len),
				 "profile", profile, "roofline", roofline);
out:
	json_decref(roofline);
	json_decref(profile);
	kf_buf_release(&whole);
	kf_buf_release(&page);
	profile_row_release(&row);
	return code;
}

enum kf_code kf_store_roofline(struct kf_store *store, int64_t problem_id,
			       json_t **out, struct kf_err *err)
{
	char *text = NULL;
	struct kf_sql sql;
	enum kf_code code;

	*out = NULL;
	kf_sql_begin(&sql, store, "SELECT f.roofline FROM profile f "
		     "JOIN attempt a ON a.id = f.attempt_id "
		     "WHERE a.problem_id = ? ORDER BY a.number DESC LIMIT 1");
	kf_sql_int(&sql, problem_id);
	if (kf_sql_row(&sql))
		text = kf_sql_get_text(&sql, 0);
	code = kf_sql_end(&sql, "read a roofline", err);
	if (!code && text)
		code = kf_json_parse(text, strlen(text), "a stored roofline",
				     out, err);
	free(text);
	return code;
}

/* --- replies of the analysis agent ---------------------------------------- */

enum kf_code kf_store_advice_reply(struct kf_store *store,
		struct kf_advice_for whom, unsigned turn, const char *prompt,
		const struct kf_store_reply *reply, struct kf_err *err)
{
	char asked[KF_HASH_HEX], hash[KF_HASH_HEX], now[32];
	struct kf_sql sql;
	enum kf_code code;

	code = kf_store_put(store, prompt, strlen(prompt), asked, err);
	if (!code)
		code = kf_store_put(store, reply->text, reply->text_len, hash,
				    err);
	if (code)
		return code;
	kf_time_iso(now);
	kf_sql_begin(&sql, store, "INSERT INTO advice_reply (problem_id, "
		     "number, turn, prompt_hash, reply_hash, replied_at, "
		     "finish, model, tokens_in, tokens_out, took_ns, tries) "
		     "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
	kf_sql_int(&sql, whom.problem_id);
	kf_sql_int(&sql, whom.number);
	kf_sql_int(&sql, turn);
	kf_sql_text(&sql, asked);
	kf_sql_text(&sql, hash);
	kf_sql_text(&sql, now);
	kf_sql_text(&sql, reply->finish);
	kf_sql_text(&sql, reply->model);
	kf_sql_int(&sql, (int64_t)reply->tokens_in);
	kf_sql_int(&sql, (int64_t)reply->tokens_out);
	kf_sql_int(&sql, (int64_t)reply->took_ns);
	kf_sql_int(&sql, reply->tries);
	return kf_sql_end(&sql, "store the analysis agent's reply", err);
}

enum kf_code kf_store_advice_replied(struct kf_store *store,
		struct kf_advice_for whom, unsigned turn, struct kf_buf *out,
		bool *there, struct kf_err *err)
{
	struct kf_sql sql;
	enum kf_code code;
	char *hash = NULL;

	kf_sql_begin(&sql, store, "SELECT reply_hash FROM advice_reply "
		     "WHERE problem_id = ? AND number = ? AND turn = ?");
	kf_sql_int(&sql, whom.problem_id);
	kf_sql_int(&sql, whom.number);
	kf_sql_int(&sql, turn);
	if (kf_sql_row(&sql))
		hash = kf_sql_get_text(&sql, 0);
	code = kf_sql_end(&sql, "read the analysis agent's reply", err);
	*there = !code && hash;
	if (*there)
		code = kf_store_get(store, hash, out, err);
	free(hash);
	return code;
}

enum kf_code kf_store_advice_used(struct kf_store *store, int64_t problem_id,
		uint64_t *tokens, unsigned *replies, struct kf_err *err)
{
	struct kf_sql sql;

	*tokens = 0;
	*replies = 0;
	kf_sql_begin(&sql, store, "SELECT coalesce(sum(tokens_in + "
		     "tokens_out), 0), count(*) FROM advice_reply "
		     "WHERE ?1 = 0 OR problem_id = ?1");
	kf_sql_int(&sql, problem_id);
	if (kf_sql_row(&sql)) {
		*tokens = (uint64_t)kf_sql_get_int(&sql, 0);
		*replies = (unsigned)kf_sql_get_int(&sql, 1);
	}
	return kf_sql_end(&sql, "count the analysis agent's tokens", err);
}

enum kf_code kf_store_used(struct kf_store *store, int64_t problem_id,
		struct kf_store_used used[KF_STORE_AGENTS], struct kf_err *err)
{
	static const char *const question[KF_STORE_AGENTS] = {
		[KF_STORE_GENERATOR] = "SELECT coalesce(sum(tokens_in), 0), "
			"coalesce(sum(tokens_out), 0), count(replied_at) "
			"FROM attempt WHERE problem_id = ?",
		[KF_STORE_ADVISOR] = "SELECT coalesce(sum(tokens_in), 0), "
			"coalesce(sum(tokens_out), 0), count(*) "
			"FROM advice_reply WHERE problem_id = ?",
	};
	enum kf_code code = KF_OK;

	for (int i = 0; !code && i < KF_STORE_AGENTS; i++) {
		struct kf_sql sql;

		used[i] = (struct kf_store_used) { 0 };
		kf_sql_begin(&sql, store, question[i]);
		kf_sql_int(&sql, problem_id);
		if (kf_sql_row(&sql))
			used[i] = (struct kf_store_used) {
				(uint64_t)kf_sql_get_int(&sql, 0),
				(uint64_t)kf_sql_get_int(&sql, 1),
				(unsigned)kf_sql_get_int(&sql, 2),
			};
		code = kf_sql_end(&sql, "count an agent's tokens", err);
	}
	return code;
}

/* --- advice --------------------------------------------------------------- */

static enum kf_code insert_advice(struct kf_store *store,
				  struct kf_advice_for whom,
				  const struct kf_store_advice *advice,
				  struct kf_err *err)
{
	char *text = kf_json_text(advice->advice);
	struct kf_sql sql;
	enum kf_code code;
	char now[32];

	kf_time_iso(now);
	kf_sql_begin(&sql, store, "INSERT INTO advice (problem_id, number, "
		     "base_id, given_at, source, bottleneck, expected_gain, "
		     "advice) VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
	kf_sql_int(&sql, whom.problem_id);
	kf_sql_int(&sql, whom.number);
	kf_sql_int(&sql, advice->base_id);
	kf_sql_text(&sql, now);
	kf_sql_text(&sql, advice->source);
	kf_sql_text(&sql, advice->bottleneck);
	kf_sql_real(&sql, advice->expected_gain);
	kf_sql_text(&sql, text);
	code = kf_sql_end(&sql, "store the advice", err);
	free(text);
	return code;
}

static enum kf_code insert_counter(struct kf_store *store,
				   struct kf_advice_for whom,
				   const struct kf_store_counter *counter,
				   struct kf_err *err)
{
	struct kf_sql sql;

	kf_sql_begin(&sql, store, "INSERT OR IGNORE INTO advice_counter "
		     "(problem_id, number, kernel, name, value) "
		     "VALUES (?, ?, ?, ?, ?)");
	kf_sql_int(&sql, whom.problem_id);
	kf_sql_int(&sql, whom.number);
	kf_sql_text(&sql, counter->kernel);
	kf_sql_text(&sql, counter->name);
	kf_sql_real(&sql, counter->value);
	return kf_sql_end(&sql, "store a counter of the advice", err);
}

enum kf_code kf_store_advice(struct kf_store *store, struct kf_advice_for whom,
		const struct kf_store_advice *advice, struct kf_err *err)
{
	enum kf_code code = kf_store_writable(store, err);

	if (!code)
		code = kf_sql_run(store, "BEGIN IMMEDIATE", "begin an advice",
				  err);
	if (code)
		return code;
	code = insert_advice(store, whom, advice, err);
	for (size_t i = 0; !code && i < advice->counter_count; i++)
		code = insert_counter(store, whom, &advice->counter[i], err);
	if (!code)
		code = kf_sql_run(store, "COMMIT", "finish an advice", err);
	if (code)
		sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
	return code;
}

static enum kf_code counters_of(struct kf_store *store,
				struct kf_advice_for whom, json_t *list,
				struct kf_err *err)
{
	struct kf_sql sql;

	kf_sql_begin(&sql, store, "SELECT kernel, name, value "
		     "FROM advice_counter WHERE problem_id = ? "
		     "AND number = ? ORDER BY rowid");
	kf_sql_int(&sql, whom.problem_id);
	kf_sql_int(&sql, whom.number);
	while (kf_sql_row(&sql)) {
		char *kernel = kf_sql_get_text(&sql, 0);
		char *name = kf_sql_get_text(&sql, 1);

		json_array_append_new(list, json_pack("{s:o, s:o, s:o}",
			"kernel", kf_json_string(kernel, strlen(kernel)),
			"name", kf_json_string(name, strlen(name)), "value",
			kf_json_number(kf_sql_get_real(&sql, 2))));
		free(name);
		free(kernel);
	}
	return kf_sql_end(&sql, "read the counters of an advice", err);
}

/* The current row of the statement below as JSON. */
static enum kf_code advice_json(struct kf_sql *sql, json_t *list,
				struct kf_err *err)
{
	static const struct { const char *key; int column; } texts[] = {
		{ "problem", 2 }, { "source", 4 }, { "bottleneck", 5 },
		{ "state", 8 }, { "given_at", 10 },
	};
	struct kf_advice_for whom = {
		kf_sql_get_int(sql, 0), (unsigned)kf_sql_get_int(sql, 1),
	};
	json_t *o = json_object(), *counters = json_array(), *advice = NULL;
	char *text = kf_sql_get_text(sql, 7);
	enum kf_code code;

	json_object_set_new(o, "number", json_integer(whom.number));
	json_object_set_new(o, "base", json_integer(kf_sql_get_int(sql, 3)));
	json_object_set_new(o, "expected_gain",
			    kf_json_number(kf_sql_get_real(sql, 6)));
	json_object_set_new(o, "gain",
			    kf_json_number(kf_sql_get_real(sql, 9)));
	json_object_set_new(o, "counters", counters);
	for (size_t i = 0; i < KF_COUNT(texts); i++) {
		char *word = kf_sql_get_text(sql, texts[i].column);

		json_object_set_new(o, texts[i].key,
				    kf_json_string(word, strlen(word)));
		free(word);
	}
	code = kf_json_parse(text, strlen(text), "a stored advice", &advice,
			     err);
	json_object_set_new(o, "advice", advice ? advice : json_null());
	if (!code)
		code = counters_of(sql->store, whom, counters, err);
	json_array_append_new(list, o);
	free(text);
	return code;
}

enum kf_code kf_store_advices(struct kf_store *store, int64_t problem_id,
		json_t **out, struct kf_err *err)
{
	struct kf_sql sql;

	kf_sql_begin(&sql, store, "SELECT g.problem_id, g.number, p.name, "
		     "b.number, g.source, g.bottleneck, g.expected_gain, "
		     "g.advice, g.state, g.gain, g.given_at "
		     "FROM advice_gain g "
		     "JOIN problem p ON p.id = g.problem_id "
		     "JOIN attempt b ON b.id = g.base_id "
		     "WHERE ?1 = 0 OR g.problem_id = ?1 "
		     "ORDER BY g.problem_id, g.number");
	kf_sql_int(&sql, problem_id);
	return kf_sql_list(&sql, advice_json, "read the advice", out, err);
}
