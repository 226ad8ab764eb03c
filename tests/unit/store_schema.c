/*
 * Stores that are older, unfinished, held by others or hold what a kill left:
 * what becomes of them when they are opened.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sqlite3.h>
#include <unistd.h>

#include "store/store.h"
#include "store_fixture.h"

static struct kf_store *open_good(struct fixture *f, enum kf_store_mode mode)
{
	struct kf_store *store;

	if (kf_store_open(f->run, mode, &store, &f->err))
		fail_msg("%s", f->err.text);
	return store;
}

static int64_t version_of(struct fixture *f)
{
	char *path = kf_path_join(f->run, "run.db");
	sqlite3_stmt *statement;
	int64_t version;
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &statement, NULL);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	version = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	sqlite3_close(db);
	free(path);
	return version;
}

/* A run with the store of an older kforge, from its recorded text. */
static void make_older(struct fixture *f, int64_t version)
{
	char *recorded = kf_format("tests/data/store/version-%lld.sql",
				   (long long)version);
	char *path = kf_path_join(f->run, "run.db");
	char *objects = kf_path_join(f->run, "objects");
	struct kf_buf text = { .max = 1u << 20 };
	sqlite3 *db;

	assert_int_equal(kf_remove_tree(f->run, &f->err), KF_OK);
	assert_int_equal(kf_mkdir_p(objects, &f->err), KF_OK);
	if (kf_file_read(recorded, &text, &f->err))
		fail_msg("%s; record one", f->err.text);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	sqlite3_exec(db, "PRAGMA journal_mode = WAL", NULL, NULL, NULL);
	assert_int_equal(sqlite3_exec(db, kf_buf_str(&text), NULL, NULL,
				      NULL), SQLITE_OK);
	sqlite3_close(db);
	kf_buf_release(&text);
	free(objects);
	free(path);
	free(recorded);
}

static void assert_has_its_attempts(struct fixture *f,
				    enum kf_store_mode mode)
{
	struct kf_store *store = open_good(f, mode);
	struct kf_attempt_row *rows;
	json_t *settings, *problems, *problem;
	size_t count;

	assert_int_equal(kf_store_problems(store, &problems, &f->err), KF_OK);
	problem = json_array_get(problems, 0);
	assert_string_equal(kf_json_str(problem, "name", ""), "scale_shift");
	assert_true(json_is_null(json_object_get(problem, "health")));
	json_decref(problems);
	assert_int_equal(kf_store_attempts(store, 0, &rows, &count, &f->err),
			 KF_OK);
	assert_int_equal(count, 2);
	assert_string_equal(rows[1].state, "correct");
	assert_string_equal(rows[1].kind, "repair");
	assert_true(rows[1].time_ns > 0);
	assert_int_equal(kf_store_settings(store, &settings, &f->err), KF_OK);
	assert_int_equal(kf_json_int(settings, "attempts", 0), 2);
	json_decref(settings);
	kf_attempt_rows_free(rows, count);
	kf_store_close(store);
}

/* A version that a step brings up to date has its recorded store here. */
static void test_every_older_version_opens(void **state)
{
	struct fixture *f = *state;
	int64_t newest;

	kf_store_close(open_good(f, KF_STORE_CREATE));
	newest = version_of(f);
	assert_true(newest > 1);
	for (int64_t version = 1; version < newest; version++) {
		make_older(f, version);
		assert_has_its_attempts(f, KF_STORE_READ);
		assert_int_equal(version_of(f), version);
		assert_has_its_attempts(f, KF_STORE_WRITE);
		assert_int_equal(version_of(f), newest);
		assert_has_its_attempts(f, KF_STORE_READ);
	}
}

/* --- runs that never began ------------------------------------------------ */

static void test_a_run_without_settings_is_begun_anew(void **state)
{
	struct fixture *f = *state;
	struct kf_store *store = open_good(f, KF_STORE_CREATE);
	json_t *settings = json_object();

	kf_store_close(store);		/* killed before its settings */
	store = open_good(f, KF_STORE_CREATE);
	assert_int_equal(kf_store_settings_set(store, settings, &f->err),
			 KF_OK);
	kf_store_close(store);
	assert_int_equal(kf_store_open(f->run, KF_STORE_CREATE, &store,
				       &f->err), KF_E_INPUT);
	assert_non_null(strstr(f->err.text, "already holds a run"));
	json_decref(settings);
}

static void test_an_empty_file_is_a_run_that_never_began(void **state)
{
	struct fixture *f = *state;
	char *path = kf_path_join(f->run, "run.db");
	struct kf_store *store;

	assert_int_equal(kf_mkdir_p(f->run, &f->err), KF_OK);
	assert_int_equal(kf_file_write(path, "", 0, &f->err), KF_OK);
	assert_int_equal(kf_store_open(f->run, KF_STORE_READ, &store,
				       &f->err), KF_E_INPUT);
	assert_non_null(strstr(f->err.text, "nothing to go on with"));
	kf_store_close(open_good(f, KF_STORE_CREATE));
	free(path);
}

/* --- holders and leftovers ------------------------------------------------ */

static void test_the_holder_is_told_while_there_is_one(void **state)
{
	struct fixture *f = *state;
	struct kf_store *store;

	assert_int_equal(kf_store_holder(f->run), 0);
	store = open_good(f, KF_STORE_CREATE);
	assert_int_equal(kf_store_holder(f->run), getpid());
	kf_store_close(store);
	assert_int_equal(kf_store_holder(f->run), 0);
}

static void test_parents_are_kept(void **state)
{
	struct fixture *f = *state;
	struct kf_store *store = open_good(f, KF_STORE_CREATE);
	struct kf_store_ask ask = { .number = 2, .kind = "repair",
				    .prompt = "" };
	struct kf_attempt_row *rows;
	int64_t first, second;
	size_t count;

	assert_int_equal(kf_store_problem_add(store, "p", "00", NULL,
					      &ask.problem_id, &f->err),
			 KF_OK);
	assert_int_equal(asked(store, ask.problem_id, 1, "", &first, &f->err),
			 KF_OK);
	ask.parent_id = first;
	assert_int_equal(kf_store_asked(store, &ask, &second, &f->err), KF_OK);
	assert_int_equal(kf_store_attempts(store, 0, &rows, &count, &f->err),
			 KF_OK);
	assert_int_equal(rows[0].parent_id, 0);
	assert_int_equal(rows[1].parent_id, first);
	kf_attempt_rows_free(rows, count);
	kf_store_close(store);
}

static void test_a_writer_sweeps_what_a_kill_left(void **state)
{
	struct fixture *f = *state;
	char *folder = kf_path_join(f->run, "objects/ab");
	char *left = kf_path_join(folder, "abcd.tmp-123456");
	char *whole = kf_path_join(folder, "abcd");

	kf_store_close(open_good(f, KF_STORE_CREATE));
	assert_int_equal(kf_mkdir_p(folder, &f->err), KF_OK);
	assert_int_equal(kf_file_write(left, "x", 1, &f->err), KF_OK);
	assert_int_equal(kf_file_write(whole, "x", 1, &f->err), KF_OK);
	kf_store_close(open_good(f, KF_STORE_READ));
	assert_true(kf_path_exists(left));
	kf_store_close(open_good(f, KF_STORE_WRITE));
	assert_false(kf_path_exists(left));
	assert_true(kf_path_exists(whole));
	free(whole);
	free(left);
	free(folder);
}

static void test_a_reader_leaves_no_files(void **state)
{
	struct fixture *f = *state;
	char *wal = kf_path_join(f->run, "run.db-wal");
	char *shm = kf_path_join(f->run, "run.db-shm");

	kf_store_close(open_good(f, KF_STORE_CREATE));
	kf_store_close(open_good(f, KF_STORE_READ));
	assert_false(kf_path_exists(wal));
	assert_false(kf_path_exists(shm));
	free(shm);
	free(wal);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_every_older_version_opens),
		TEST(test_a_run_without_settings_is_begun_anew),
		TEST(test_an_empty_file_is_a_run_that_never_began),
		TEST(test_the_holder_is_told_while_there_is_one),
		TEST(test_parents_are_kept),
		TEST(test_a_writer_sweeps_what_a_kill_left),
		TEST(test_a_reader_leaves_no_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
