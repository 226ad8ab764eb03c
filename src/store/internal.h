/*
 * internal.h - what the files of the store share: its struct, and statements
 * of SQL in a form that keeps functions short.
 */
#ifndef KF_STORE_INTERNAL_H
#define KF_STORE_INTERNAL_H

#include <sqlite3.h>

#include "store/store.h"

struct kf_store {
	sqlite3 *db;
	char *dir;		/* owned */
	char *db_path;		/* owned */
	int lock_fd;		/* -1 when open for reading */
	bool writable;
	bool alone;		/* created in a folder with nothing else */
};

/* --- statements (sql.c) ------------------------------------------------------
 * kf_sql_begin, then one kf_sql_* per parameter in order, kf_sql_row until it
 * is false, kf_sql_end. A failure anywhere is kept and told by kf_sql_end. */
struct kf_sql {
	struct kf_store *store;
	sqlite3_stmt *statement;
	int bound, result;
};
void kf_sql_begin(struct kf_sql *sql, struct kf_store *store,
		  const char *text);
void kf_sql_text(struct kf_sql *sql, const char *text);	/* NULL is NULL */
void kf_sql_int(struct kf_sql *sql, int64_t value);
void kf_sql_real(struct kf_sql *sql, double value);	/* NaN is NULL */
bool kf_sql_row(struct kf_sql *sql);
int64_t kf_sql_get_int(struct kf_sql *sql, int column);
double kf_sql_get_real(struct kf_sql *sql, int column);	/* NULL is NaN */
/* A copy, caller frees; NULL when the column is. */
char *kf_sql_get_text(struct kf_sql *sql, int column);
/* what completes "cannot ...": "store the reply". */
enum kf_code kf_sql_end(struct kf_sql *sql, const char *what,
			struct kf_err *err);
/* All rows as a list, and the statement's end. Each is added by row; *out is
 * the caller's, NULL on failure. */
typedef enum kf_code kf_sql_row_fn(struct kf_sql *sql, json_t *list,
				   struct kf_err *err);
KF_MUST_CHECK enum kf_code kf_sql_list(struct kf_sql *sql, kf_sql_row_fn *row,
		const char *what, json_t **out, struct kf_err *err);
/* One or more statements without parameters and rows. */
enum kf_code kf_sql_run(struct kf_store *store, const char *text,
			const char *what, struct kf_err *err);
/* The sentence for a result of SQLite other than good. */
enum kf_code kf_sql_fail(struct kf_store *store, int result, const char *what,
			 struct kf_err *err);

/* --- schema (schema.c) ---------------------------------------------------- */
/* Fills a new file; KF_E_INPUT if it is not empty. */
enum kf_code kf_schema_create(struct kf_store *store, struct kf_err *err);
/* Refuses foreign, damaged and newer files; brings an older one up to date
 * where the store is writable, and refuses it where not. */
enum kf_code kf_schema_check(struct kf_store *store, struct kf_err *err);

/* Removes what a writer that was killed left under objects/. */
void kf_objects_sweep(const struct kf_store *store);

/* The sentence for a run that was stopped before its settings were stored. */
enum kf_code kf_store_fail_unbegun(const struct kf_store *store,
				   struct kf_err *err);
/* KF_E_INPUT for a store that is open for reading. */
enum kf_code kf_store_writable(const struct kf_store *store,
			       struct kf_err *err);
enum kf_code kf_folder_sync(const char *path, struct kf_err *err);

#endif
