#include "store/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/internal.h"

#define BUSY_MS 5000
#define LOCK_TRIES 20		/* a look at the lock holds it for an instant */
#define LOCK_PAUSE_NS (10 * KF_NS_PER_MS)

/* --- the lock ------------------------------------------------------------- */

/* The process number that a writer left in the lock's file; "" if none. */
static void read_pid(int fd, char pid[32])
{
	ssize_t got = pread(fd, pid, 31, 0);

	pid[got > 0 ? got : 0] = '\0';
	pid[strspn(pid, "0123456789")] = '\0';
}

static enum kf_code refuse_locked(const struct kf_store *store, int fd,
				  struct kf_err *err)
{
	char pid[32];

	read_pid(fd, pid);
	return kf_fail(err, KF_E_UNAVAIL, "run %s is in use by process %s; "
		       "wait for its end, or stop it", store->dir,
		       pid[0] ? pid : "(unknown)");
}

static bool lock_soon(int fd)
{
	for (int i = 0; i < LOCK_TRIES; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return true;
		if (errno != EWOULDBLOCK)
			return false;
		kf_sleep_ns(LOCK_PAUSE_NS);
	}
	errno = EWOULDBLOCK;
	return false;
}

/* The lock is the kernel's and ends with the process; the number in the file
 * is for people. The file stays, for removing it would let two in. */
static enum kf_code take_lock(struct kf_store *store, struct kf_err *err)
{
	char *path = kf_path_join(store->dir, "lock");
	enum kf_code code = KF_OK;
	char pid[32];
	int len;

	store->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (store->lock_fd < 0) {
		code = kf_fail_errno(err, "cannot open %s", path);
	} else if (!lock_soon(store->lock_fd)) {
		code = errno == EWOULDBLOCK ?
			refuse_locked(store, store->lock_fd, err) :
			kf_fail_errno(err, "cannot lock %s", path);
	} else {
		len = snprintf(pid, sizeof(pid), "%ld\n", (long)getpid());
		if (ftruncate(store->lock_fd, 0) ||
		    pwrite(store->lock_fd, pid, (size_t)len, 0) != len)
			code = kf_fail_errno(err, "cannot write %s", path);
	}
	free(path);
	return code;
}

uint64_t kf_store_holder(const char *run_dir)
{
	char *path = kf_path_join(run_dir, "lock");
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint64_t holder = 0;
	char pid[32];

	free(path);
	if (fd < 0)
		return 0;
	if (flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK) {
		read_pid(fd, pid);
		if (!kf_parse_u64(pid, &holder) || !holder)
			holder = UINT64_MAX;
	}
	close(fd);
	return holder;
}

/* --- opening -------------------------------------------------------------- */

static enum kf_code open_db(struct kf_store *store, const char *name,
			    int flags, struct kf_err *err)
{
	int result = sqlite3_open_v2(name, &store->db, flags |
				     SQLITE_OPEN_NOMUTEX, NULL);

	if (result != SQLITE_OK)
		return kf_sql_fail(store, result, "open the run", err);
	sqlite3_extended_result_codes(store->db, 1);
	sqlite3_busy_timeout(store->db, BUSY_MS);
	/* The file may be anybody's: nothing in it is trusted code. */
	sqlite3_db_config(store->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(store->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	return KF_OK;
}

/* What a run that was stopped before it had begun may have left. */
static bool is_of_a_run(const char *name, bool has_db)
{
	static const char *const with_db[] = {
		"best", "work", "profiles", "arrived.jsonl", "advised.jsonl",
	};

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
	    strcmp(name, "objects") == 0 || strcmp(name, "lock") == 0 ||
	    strncmp(name, "run.db", 6) == 0)
		return true;
	for (size_t i = 0; has_db && i < KF_COUNT(with_db); i++)
		if (strcmp(name, with_db[i]) == 0)
			return true;
	return false;
}

/* A run writes and removes by name, so a new one takes no folder that holds
 * anything else. */
static enum kf_code check_folder(const struct kf_store *store,
				 struct kf_err *err)
{
	DIR *dir = opendir(store->dir);
	bool has_db = kf_path_exists(store->db_path);
	const struct dirent *entry;
	enum kf_code code = KF_OK;

	while (dir && !code && (entry = readdir(dir)))
		if (!is_of_a_run(entry->d_name, has_db))
			code = kf_fail(err, KF_E_INPUT, "%s holds %s, which "
				       "is not a run's, so no run begins "
				       "there: --out DIR names another place",
				       store->dir, entry->d_name);
	if (dir)
		closedir(dir);
	return code;
}

static enum kf_code open_writer(struct kf_store *store, bool create,
				struct kf_err *err)
{
	enum kf_code code = KF_OK;
	char *objects = kf_path_join(store->dir, "objects");

	store->writable = true;
	/* A folder that does not exist yet is as good as an empty one. */
	store->alone = create && (kf_path_is_empty(store->dir) ||
				  (!kf_path_exists(store->dir) &&
				   errno == ENOENT));
	if (create)
		code = check_folder(store, err);
	if (create && !code)
		code = kf_mkdir_p(objects, err);
	if (!code)
		code = take_lock(store, err);
	if (!code)
		code = open_db(store, store->db_path, SQLITE_OPEN_READWRITE |
			       (create ? SQLITE_OPEN_CREATE : 0), err);
	if (!code)
		code = kf_sql_run(store, "PRAGMA synchronous = FULL;"
				  "PRAGMA foreign_keys = ON;", "open the run",
				  err);
	if (!code)
		code = create ? kf_schema_create(store, err)
			      : kf_schema_check(store, err);
	if (!code && create)
		code = kf_folder_sync(store->dir, err);
	if (!code && !create)
		kf_objects_sweep(store);
	free(objects);
	return code;
}

static bool has_wal(const struct kf_store *store)
{
	char *path = kf_format("%s-wal", store->db_path);
	struct stat st;
	bool has = stat(path, &st) == 0 && st.st_size > 0;

	free(path);
	return has;
}

/* SQLite's name for a file that nobody can change, so that it needs no files
 * beside it. */
static char *immutable_name(const char *path)
{
	struct kf_buf name = { .max = 1u << 16 };
	char *copy;

	kf_buf_puts(&name, "file:");
	for (; *path; path++) {
		if (strchr("?#%", *path))
			kf_buf_printf(&name, "%%%02x", (unsigned)*path);
		else
			kf_buf_add(&name, path, 1);
	}
	kf_buf_puts(&name, "?immutable=1");
	copy = kf_strdup(kf_buf_str(&name));
	kf_buf_release(&name);
	return copy;
}

static enum kf_code reopen(struct kf_store *store, const char *name, int flags,
			   struct kf_err *err)
{
	sqlite3_close(store->db);
	store->db = NULL;
	return open_db(store, name, flags, err);
}

/* Whether the file can be read this way. SQLite may need to make files beside
 * it, which the folder may forbid. */
static bool can_read(struct kf_store *store)
{
	int result = sqlite3_exec(store->db, "SELECT count(*) FROM "
				  "sqlite_master", NULL, NULL, NULL) & 0xff;

	return result != SQLITE_CANTOPEN && result != SQLITE_READONLY &&
	       result != SQLITE_PERM;
}

/* Opened for writing, and told not to, it removes at its end the files that
 * it made beside the database. Where the folder forbids that, and no writer
 * left a log, the file is complete by itself. */
static enum kf_code open_reader(struct kf_store *store, struct kf_err *err)
{
	enum kf_code code = KF_OK;
	char *name;

	if (open_db(store, store->db_path, SQLITE_OPEN_READWRITE, NULL) ||
	    !can_read(store))
		code = reopen(store, store->db_path, SQLITE_OPEN_READONLY,
			      err);
	if (code)
		return code;
	if (!can_read(store) && !has_wal(store)) {
		name = immutable_name(store->db_path);
		code = reopen(store, name, SQLITE_OPEN_READONLY |
			      SQLITE_OPEN_URI, err);
		free(name);
	}
	if (!code)
		code = kf_schema_check(store, err);
	return code ? code : kf_sql_run(store, "PRAGMA query_only = ON",
					"open the run", err);
}

static enum kf_code open_any(struct kf_store *store, enum kf_store_mode mode,
			     struct kf_err *err)
{
	if (mode != KF_STORE_CREATE && !kf_path_exists(store->db_path))
		return kf_fail(err, KF_E_INPUT, "%s is not a run: it has no "
			       "run.db", store->dir);
	if (mode == KF_STORE_READ)
		return open_reader(store, err);
	return open_writer(store, mode == KF_STORE_CREATE, err);
}

enum kf_code kf_store_open(const char *run_dir, enum kf_store_mode mode,
			   struct kf_store **out, struct kf_err *err)
{
	struct kf_store *store = kf_alloc(sizeof(*store));
	enum kf_code code;

	*out = NULL;
	store->dir = kf_strdup(run_dir);
	store->db_path = kf_path_join(run_dir, "run.db");
	store->lock_fd = -1;
	code = open_any(store, mode, err);
	if (code)
		kf_store_close(store);
	else
		*out = store;
	return code;
}

void kf_store_close(struct kf_store *store)
{
	if (!store)
		return;
	/* Every statement is finalized where it began, so this cannot fail. */
	sqlite3_close(store->db);
	if (store->lock_fd >= 0)
		close(store->lock_fd);
	free(store->db_path);
	free(store->dir);
	free(store);
}

void kf_store_discard(struct kf_store *store)
{
	sqlite3_close(store->db);
	store->db = NULL;
	if (store->alone)
		(void)!kf_remove_tree(store->dir, NULL);
	kf_store_close(store);
}

const char *kf_store_dir(const struct kf_store *store)
{
	return store->dir;
}

enum kf_code kf_store_fail_unbegun(const struct kf_store *store,
				   struct kf_err *err)
{
	return kf_fail(err, KF_E_INPUT, "run %s was stopped before it had "
		       "begun, so there is nothing to go on with; begin again "
		       "with `kforge run`, with the same folder if you like",
		       store->dir);
}

enum kf_code kf_store_writable(const struct kf_store *store,
			       struct kf_err *err)
{
	if (store->writable)
		return KF_OK;
	return kf_fail(err, KF_E_INPUT, "run %s is open for reading only",
		       store->dir);
}

/* --- settings ------------------------------------------------------------- */

enum kf_code kf_store_settings_set(struct kf_store *store,
				   const json_t *settings, struct kf_err *err)
{
	enum kf_code code = kf_store_writable(store, err);
	struct kf_sql sql;
	char now[32];
	char *text;

	if (code)
		return code;
	kf_time_iso(now);
	text = kf_json_text(settings);
	kf_sql_begin(&sql, store, "INSERT INTO run (id, created_at, settings) "
		     "VALUES (1, ?, ?)");
	kf_sql_text(&sql, now);
	kf_sql_text(&sql, text);
	code = kf_sql_end(&sql, "store the settings", err);
	if (code == KF_E_INPUT)
		code = kf_fail(err, KF_E_INPUT, "run %s already has its "
			       "settings", store->dir);
	free(text);
	return code;
}

enum kf_code kf_store_settings(struct kf_store *store, json_t **out,
			       struct kf_err *err)
{
	struct kf_sql sql;
	enum kf_code code;
	char *text = NULL;

	*out = NULL;
	kf_sql_begin(&sql, store, "SELECT settings FROM run");
	if (kf_sql_row(&sql))
		text = kf_sql_get_text(&sql, 0);
	code = kf_sql_end(&sql, "read the settings", err);
	if (!code && text)
		code = kf_json_parse(text, strlen(text),
				     "the settings of the run", out, err);
	else if (!code)
		code = kf_store_fail_unbegun(store, err);
	free(text);
	return code;
}
