/* Second judgements: each problem's in one transaction. */
#include "store/second.h"

#include "store/internal.h"

enum kf_code kf_store_second_seed(struct kf_store *store, int64_t problem_id,
		uint64_t proposed, uint64_t *out, struct kf_err *err)
{
	struct kf_sql sql;
	enum kf_code code;

	*out = 0;
	kf_sql_begin(&sql, store, "INSERT OR IGNORE INTO second_seed "
		     "(problem_id, seed) VALUES (?, ?)");
	kf_sql_int(&sql, problem_id);
	kf_sql_int(&sql, (int64_t)proposed);
	code = kf_sql_end(&sql, "store the seed of second judgements", err);
	if (code)
		return code;
	kf_sql_begin(&sql, store, "SELECT seed FROM second_seed "
		     "WHERE problem_id = ?");
	kf_sql_int(&sql, problem_id);
	if (kf_sql_row(&sql))
		*out = (uint64_t)kf_sql_get_int(&sql, 0);
	return kf_sql_end(&sql, "read the seed of second judgements", err);
}

static enum kf_code insert(struct kf_store *store,
			   const struct kf_store_second *second,
			   struct kf_err *err)
{
	char *text = kf_json_text(second->verdict);
	struct kf_sql sql;
	enum kf_code code;
	char now[32];

	kf_time_iso(now);
	kf_sql_begin(&sql, store, "INSERT INTO second (attempt_id, judged_at, "
		     "state, reason, place, time_ns, baseline_ns, speedup, "
		     "verdict) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)");
	kf_sql_int(&sql, second->attempt_id);
	kf_sql_text(&sql, now);
	kf_sql_text(&sql, second->state);
	kf_sql_text(&sql, second->reason);
	kf_sql_int(&sql, second->place);
	kf_sql_real(&sql, second->time_ns);
	kf_sql_real(&sql, second->baseline_ns);
	kf_sql_real(&sql, second->speedup);
	kf_sql_text(&sql, text);
	code = kf_sql_end(&sql, "store a second judgement", err);
	free(text);
	return code;
}

enum kf_code kf_store_seconds(struct kf_store *store,
		const struct kf_store_second *second, size_t count,
		struct kf_err *err)
{
	enum kf_code code = kf_store_writable(store, err);

	if (code)
		return code;
	code = kf_sql_run(store, "BEGIN IMMEDIATE",
			  "begin second judgements", err);
	if (code)
		return code;
	for (size_t i = 0; !code && i < count; i++)
		code = insert(store, &second[i], err);
	if (!code)
		code = kf_sql_run(store, "COMMIT", "store second judgements",
				  err);
	if (code)
		sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
	return code;
}
