#include "store/internal.h"

#include <math.h>

/* What each kind of trouble means to the user. The sentence is followed by
 * SQLite's own words. */
static const struct {
	int result;		/* primary code */
	enum kf_code code;
	const char *way_out;
} troubles[] = {
	{ SQLITE_CORRUPT, KF_E_IO, "the file is damaged; prompts and replies "
	  "are still under objects/" },
	{ SQLITE_NOTADB, KF_E_IO, "the file is damaged or not a run; prompts "
	  "and replies are still under objects/" },
	{ SQLITE_FULL, KF_E_IO, "the disk is full; what was stored before is "
	  "intact" },
	{ SQLITE_BUSY, KF_E_UNAVAIL, "another process holds it" },
	{ SQLITE_LOCKED, KF_E_UNAVAIL, "another process holds it" },
	{ SQLITE_TOOBIG, KF_E_LIMIT, "the value is too large" },
	{ SQLITE_CONSTRAINT, KF_E_INPUT, "the value does not fit" },
};

enum kf_code kf_sql_fail(struct kf_store *store, int result, const char *what,
			 struct kf_err *err)
{
	const char *words = sqlite3_errstr(result);

	if (store->db && sqlite3_errcode(store->db) != SQLITE_OK)
		words = sqlite3_errmsg(store->db);
	for (size_t i = 0; i < KF_COUNT(troubles); i++)
		if ((result & 0xff) == troubles[i].result)
			return kf_fail(err, troubles[i].code,
				       "cannot %s in %s: %s (%s)", what,
				       store->db_path, troubles[i].way_out,
				       words);
	return kf_fail(err, KF_E_IO, "cannot %s in %s: %s", what,
		       store->db_path, words);
}

static bool is_good(const struct kf_sql *sql)
{
	return sql->result == SQLITE_OK || sql->result == SQLITE_ROW;
}

void kf_sql_begin(struct kf_sql *sql, struct kf_store *store,
		  const char *text)
{
	*sql = (struct kf_sql) { .store = store };
	sql->result = sqlite3_prepare_v2(store->db, text, -1, &sql->statement,
					 NULL);
}

void kf_sql_text(struct kf_sql *sql, const char *text)
{
	sql->bound++;
	if (is_good(sql))
		sql->result = sqlite3_bind_text(sql->statement, sql->bound,
						text, -1, SQLITE_TRANSIENT);
}

void kf_sql_int(struct kf_sql *sql, int64_t value)
{
	sql->bound++;
	if (is_good(sql))
		sql->result = sqlite3_bind_int64(sql->statement, sql->bound,
						 value);
}

void kf_sql_real(struct kf_sql *sql, double value)
{
	sql->bound++;
	if (is_good(sql) && !isnan(value))
		sql->result = sqlite3_bind_double(sql->statement, sql->bound,
						  value);
}

bool kf_sql_row(struct kf_sql *sql)
{
	if (is_good(sql))
		sql->result = sqlite3_step(sql->statement);
	return sql->result == SQLITE_ROW;
}

int64_t kf_sql_get_int(struct kf_sql *sql, int column)
{
	return sqlite3_column_int64(sql->statement, column);
}

double kf_sql_get_real(struct kf_sql *sql, int column)
{
	if (sqlite3_column_type(sql->statement, column) == SQLITE_NULL)
		return (double)NAN;
	return sqlite3_column_double(sql->statement, column);
}

char *kf_sql_get_text(struct kf_sql *sql, int column)
{
	return kf_strdup((const char *)sqlite3_column_text(sql->statement,
							   column));
}

enum kf_code kf_sql_end(struct kf_sql *sql, const char *what,
			struct kf_err *err)
{
	enum kf_code code = KF_OK;

	/* Statements without rows are run here. */
	while (is_good(sql))
		sql->result = sqlite3_step(sql->statement);
	if (sql->result != SQLITE_DONE)
		code = kf_sql_fail(sql->store, sql->result, what, err);
	sqlite3_finalize(sql->statement);
	sql->statement = NULL;
	return code;
}

enum kf_code kf_sql_list(struct kf_sql *sql, kf_sql_row_fn *row,
			 const char *what, json_t **out, struct kf_err *err)
{
	json_t *list = json_array();
	enum kf_code code = KF_OK, end;

	*out = NULL;
	while (!code && kf_sql_row(sql))
		code = row(sql, list, err);
	end = kf_sql_end(sql, what, code ? NULL : err);
	if (!code)
		code = end;
	if (code)
		json_decref(list);
	else
		*out = list;
	return code;
}

enum kf_code kf_sql_run(struct kf_store *store, const char *text,
			const char *what, struct kf_err *err)
{
	int result = sqlite3_exec(store->db, text, NULL, NULL, NULL);

	return result == SQLITE_OK ? KF_OK
				   : kf_sql_fail(store, result, what, err);
}
