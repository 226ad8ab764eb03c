/*
 * The schema, as a list of steps: step i brings a file from version i to
 * version i + 1. A step that was released never changes; docs/store.md says
 * what every table and column holds.
 */
#include "store/internal.h"

#define APPLICATION_ID 0x6b666f72	/* "kfor", in the file's header */

static const char *const steps[] = {
	/* 0 -> 1 */
	"CREATE TABLE run ("
	"	id INTEGER PRIMARY KEY CHECK (id = 1),"
	"	created_at TEXT NOT NULL,"
	"	settings TEXT NOT NULL"
	") STRICT;"
	"CREATE TABLE problem ("
	"	id INTEGER PRIMARY KEY,"
	"	name TEXT NOT NULL UNIQUE,"
	"	hash TEXT NOT NULL,"
	"	info TEXT NOT NULL"
	") STRICT;"
	"CREATE TABLE attempt ("
	"	id INTEGER PRIMARY KEY,"
	"	problem_id INTEGER NOT NULL REFERENCES problem (id),"
	"	number INTEGER NOT NULL CHECK (number >= 0),"
	"	stage INTEGER NOT NULL CHECK (stage BETWEEN 1 AND 4),"
	"	kind TEXT NOT NULL,"
	"	prompt_hash TEXT NOT NULL,"
	"	asked_at TEXT NOT NULL,"
	"	reply_hash TEXT CHECK (reply_hash IS NULL OR stage >= 2),"
	"	reasoning_hash TEXT,"
	"	replied_at TEXT,"
	"	finish TEXT,"
	"	model TEXT,"
	"	tokens_in INTEGER NOT NULL DEFAULT 0,"
	"	tokens_out INTEGER NOT NULL DEFAULT 0,"
	"	took_ns INTEGER NOT NULL DEFAULT 0,"
	"	tries INTEGER NOT NULL DEFAULT 0,"
	"	source TEXT,"
	"	verdict TEXT CHECK ((verdict IS NULL) = (stage < 4)),"
	"	state TEXT,"
	"	reason TEXT,"
	"	time_ns REAL,"
	"	baseline_ns REAL,"
	"	speedup REAL,"
	"	judged_at TEXT,"
	"	UNIQUE (problem_id, number)"
	") STRICT;",
	/* 1 -> 2: whether a problem is healthy, and whether it was passed
	 * over for that */
	"ALTER TABLE problem ADD COLUMN health TEXT;",
	/* 2 -> 3 */
	"ALTER TABLE attempt ADD COLUMN parent_id INTEGER REFERENCES attempt (id);",
	/* 3 -> 4: profiles, and the analysis agent */
	"CREATE TABLE profile ("
	"	attempt_id INTEGER PRIMARY KEY REFERENCES attempt (id),"
	"	made_at TEXT NOT NULL,"
	"	end TEXT NOT NULL,"
	"	bottleneck TEXT NOT NULL,"
	"	page_hash TEXT NOT NULL,"
	"	profile_hash TEXT NOT NULL,"
	"	roofline TEXT NOT NULL"
	") STRICT;"
	"CREATE TABLE advice_reply ("
	"	problem_id INTEGER NOT NULL REFERENCES problem (id),"
	"	number INTEGER NOT NULL CHECK (number >= 1),"
	"	turn INTEGER NOT NULL CHECK (turn BETWEEN 1 AND 2),"
	"	prompt_hash TEXT NOT NULL,"
	"	reply_hash TEXT NOT NULL,"
	"	replied_at TEXT NOT NULL,"
	"	finish TEXT,"
	"	model TEXT,"
	"	tokens_in INTEGER NOT NULL,"
	"	tokens_out INTEGER NOT NULL,"
	"	took_ns INTEGER NOT NULL,"
	"	tries INTEGER NOT NULL,"
	"	PRIMARY KEY (problem_id, number, turn)"
	") STRICT;"
	"CREATE TABLE advice ("
	"	problem_id INTEGER NOT NULL REFERENCES problem (id),"
	"	number INTEGER NOT NULL CHECK (number >= 1),"
	"	base_id INTEGER NOT NULL REFERENCES attempt (id),"
	"	given_at TEXT NOT NULL,"
	"	source TEXT NOT NULL,"
	"	bottleneck TEXT NOT NULL,"
	"	expected_gain REAL,"
	"	advice TEXT NOT NULL,"
	"	PRIMARY KEY (problem_id, number)"
	") STRICT;"
	"CREATE TABLE advice_counter ("
	"	problem_id INTEGER NOT NULL,"
	"	number INTEGER NOT NULL,"
	"	kernel TEXT NOT NULL,"
	"	name TEXT NOT NULL,"
	"	value REAL,"
	"	PRIMARY KEY (problem_id, number, kernel, name),"
	"	FOREIGN KEY (problem_id, number)"
	"		REFERENCES advice (problem_id, number)"
	") STRICT;"
	"CREATE VIEW advice_gain AS"
	"	SELECT advice.*, coalesce(t.state, '') AS state,"
	"	CASE WHEN t.state = 'correct' THEN"
	"		coalesce(t.speedup / b.speedup, b.time_ns / t.time_ns)"
	"	END AS gain"
	"	FROM advice JOIN attempt b ON b.id = advice.base_id"
	"	LEFT JOIN attempt t ON t.problem_id = advice.problem_id"
	"		AND t.number = advice.number AND t.stage = 4;",
	/* 4 -> 5: the best programs of a run, judged once more at its end */
	"CREATE TABLE second_seed ("
	"	problem_id INTEGER PRIMARY KEY REFERENCES problem (id),"
	"	seed INTEGER NOT NULL CHECK (seed > 0)"
	") STRICT;"
	"CREATE TABLE second ("
	"	attempt_id INTEGER PRIMARY KEY REFERENCES attempt (id),"
	"	judged_at TEXT NOT NULL,"
	"	state TEXT NOT NULL,"
	"	reason TEXT NOT NULL,"
	"	place INTEGER NOT NULL CHECK (place >= 0),"
	"	time_ns REAL,"
	"	baseline_ns REAL,"
	"	speedup REAL,"
	"	verdict TEXT NOT NULL"
	") STRICT;",
};

#define VERSION ((int64_t)KF_COUNT(steps))

static enum kf_code read_number(struct kf_store *store, const char *query,
				int64_t *out, struct kf_err *err)
{
	struct kf_sql sql;

	*out = 0;
	kf_sql_begin(&sql, store, query);
	if (kf_sql_row(&sql))
		*out = kf_sql_get_int(&sql, 0);
	return kf_sql_end(&sql, "read the schema's version", err);
}

/* Every step or none: a kill half way leaves the older file. */
static enum kf_code migrate(struct kf_store *store, int64_t from,
			    struct kf_err *err)
{
	char number[128];
	enum kf_code code = kf_sql_run(store, "BEGIN IMMEDIATE",
				       "begin a migration", err);

	if (code)
		return code;
	for (int64_t i = from; i < VERSION && !code; i++)
		code = kf_sql_run(store, steps[i], "make the tables", err);
	snprintf(number, sizeof(number), "PRAGMA application_id = %d;"
		 "PRAGMA user_version = %lld;", APPLICATION_ID,
		 (long long)VERSION);
	if (!code)
		code = kf_sql_run(store, number, "note the version", err);
	if (!code)
		code = kf_sql_run(store, "COMMIT", "finish a migration", err);
	if (code)
		sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
	return code;
}

static enum kf_code check_health(struct kf_store *store, struct kf_err *err)
{
	enum kf_code code = KF_OK;
	struct kf_sql sql;
	const char *finding = "no answer";
	char *words = NULL;

	kf_sql_begin(&sql, store, "PRAGMA quick_check(1)");
	if (kf_sql_row(&sql))
		words = kf_sql_get_text(&sql, 0);
	code = kf_sql_end(&sql, "check", err);
	/* SQLite heads its finding with a line of its own. */
	if (words)
		finding = strrchr(words, '\n') ? strrchr(words, '\n') + 1 :
			  words;
	if (!code && strcmp(finding, "ok") != 0)
		code = kf_fail(err, KF_E_IO, "%s is damaged (%s); prompts and "
			       "replies are still under objects/",
			       store->db_path, finding);
	free(words);
	return code;
}

/* A reader brings a copy up to date and leaves the file alone. */
static enum kf_code copy_to_memory(struct kf_store *store, struct kf_err *err)
{
	sqlite3 *memory = NULL;
	sqlite3_backup *backup;
	enum kf_code code = KF_OK;
	int result = sqlite3_open(":memory:", &memory);

	backup = result == SQLITE_OK ?
		 sqlite3_backup_init(memory, "main", store->db, "main") : NULL;
	if (backup)
		sqlite3_backup_step(backup, -1);
	if (!backup || sqlite3_backup_finish(backup) != SQLITE_OK) {
		code = kf_fail(err, KF_E_IO, "cannot copy %s to read its older "
			       "version: %s", store->db_path,
			       sqlite3_errmsg(memory));
		sqlite3_close(memory);
		return code;
	}
	sqlite3_close(store->db);
	store->db = memory;
	return KF_OK;
}

static enum kf_code refuse_foreign(struct kf_store *store, struct kf_err *err)
{
	int64_t tables;
	enum kf_code code = read_number(store, "SELECT count(*) FROM "
					"sqlite_master", &tables, err);

	if (!code && !tables)
		return kf_store_fail_unbegun(store, err);
	return code ? code : kf_fail(err, KF_E_INPUT, "%s is not a run of "
				     "kforge", store->db_path);
}

enum kf_code kf_schema_check(struct kf_store *store, struct kf_err *err)
{
	int64_t version, application;
	enum kf_code code = read_number(store, "PRAGMA user_version", &version,
					err);

	if (!code)
		code = read_number(store, "PRAGMA application_id",
				   &application, err);
	if (code)
		return code;
	if (application != APPLICATION_ID)
		return refuse_foreign(store, err);
	if (version > VERSION)
		return kf_fail(err, KF_E_INPUT, "%s has version %lld and this "
			       "kforge knows up to version %lld; use a newer "
			       "kforge", store->db_path, (long long)version,
			       (long long)VERSION);
	code = check_health(store, err);
	if (code || version == VERSION)
		return code;
	if (!store->writable)
		code = copy_to_memory(store, err);
	return code ? code : migrate(store, version, err);
}

/* A run that was killed before its settings were there holds nothing yet. */
enum kf_code kf_schema_create(struct kf_store *store, struct kf_err *err)
{
	int64_t count;
	enum kf_code code = read_number(store, "SELECT count(*) FROM "
					"sqlite_master", &count, err);

	if (code)
		return code;
	if (count) {
		code = kf_schema_check(store, err);
		if (!code)
			code = read_number(store, "SELECT count(*) FROM run",
					   &count, err);
		if (!code && count)
			code = kf_fail(err, KF_E_INPUT, "%s already holds a "
				       "run; resume it, or name another "
				       "folder", store->dir);
		return code;
	}
	/* Kept in the file from here on; not possible inside a transaction. */
	code = kf_sql_run(store, "PRAGMA journal_mode = WAL",
			  "choose the journal", err);
	return code ? code : migrate(store, 0, err);
}
