/*
 * The store of a run: what goes in comes out, stages only grow, and what is
 * wrong with a file is a sentence.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <math.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/store.h"
#include "store_fixture.h"

static struct kf_store *open_store(struct fixture *f, enum kf_store_mode mode)
{
	struct kf_store *store;

	if (kf_store_open(f->run, mode, &store, &f->err))
		fail_msg("%s", f->err.text);
	return store;
}

static void assert_refused(struct fixture *f, enum kf_store_mode mode,
			   enum kf_code code, const char *words)
{
	struct kf_store *store = (struct kf_store *)f;

	f->err.text[0] = '\0';
	assert_int_equal(kf_store_open(f->run, mode, &store, &f->err), code);
	assert_null(store);
	if (!strstr(f->err.text, words))
		fail_msg("'%s' does not say '%s'", f->err.text, words);
}

/* Adds a problem and an asked attempt; returns the attempt's id. */
static int64_t ask(struct fixture *f, struct kf_store *store)
{
	int64_t problem, attempt;

	assert_int_equal(kf_store_problem_add(store, "softmax", "cafe", NULL,
					      &problem, &f->err), KF_OK);
	assert_int_equal(asked(store, problem, 1, "prompt", &attempt,
			       &f->err), KF_OK);
	return attempt;
}

static enum kf_code reply(struct fixture *f, struct kf_store *store,
			  int64_t attempt, const char *text)
{
	struct kf_store_reply it = {
		.text = text, .text_len = strlen(text),
		.finish = "stop", .model = "some-model",
		.tokens_in = 10, .tokens_out = 20, .took_ns = 30, .tries = 2,
	};

	return kf_store_reply(store, attempt, &it, &f->err);
}

static char *object_path(struct fixture *f, const char *hash)
{
	return kf_format("%s/objects/%.2s/%s", f->run, hash, hash);
}

static void write_file(const char *path, const char *bytes, size_t len)
{
	FILE *file = fopen(path, "wb");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, len, file), len);
	fclose(file);
}

static void run_sql(struct fixture *f, const char *text)
{
	char *path = kf_path_join(f->run, "run.db");
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	free(path);
}

/* --- what goes in comes out ----------------------------------------------- */

static void test_an_attempt_goes_through_its_stages(void **state)
{
	struct fixture *f = *state;
	struct kf_store *store = open_store(f, KF_STORE_CREATE);
	json_t *source = json_pack("[{s:s, s:s}]", "name", "program.c", "text",
				   "int kf_forward;");
	json_t *verdict = json_pack("{s:s}", "state", "correct");
	struct kf_store_reply it = {
		.text = "answer", .text_len = 6, .reasoning = "hm",
		.reasoning_len = 2, .finish = "stop", .model = "some-model",
		.tokens_in = 11, .tokens_out = 22, .took_ns = 33, .tries = 1,
	};
	struct kf_attempt_row *rows;
	struct kf_buf text = { .max = 100 };
	int64_t id = ask(f, store);
	size_t count;

	assert_int_equal(kf_store_reply(store, id, &it, &f->err), KF_OK);
	assert_int_equal(kf_store_source(store, id, source, &f->err), KF_OK);
	assert_int_equal(kf_store_verdict(store, id, verdict, "correct", "",
					  1e6, 2e6, 2.0, &f->err), KF_OK);
	kf_store_close(store);

	store = open_store(f, KF_STORE_READ);
	assert_int_equal(kf_store_attempts(store, 0, &rows, &count, &f->err),
			 KF_OK);
	assert_int_equal(count, 1);
	assert_int_equal(rows[0].stage, KF_STAGE_JUDGED);
	assert_string_equal(rows[0].problem, "softmax");
	assert_string_equal(rows[0].kind, "generate");
	assert_string_equal(rows[0].state, "correct");
	assert_string_equal(rows[0].model, "some-model");
	assert_string_equal(rows[0].verdict_json, "{\"state\":\"correct\"}");
	assert_true(rows[0].speedup == 2.0);
	assert_int_equal(rows[0].tokens_out, 22);
	assert_int_equal(strlen(rows[0].replied_at), 20);
	assert_non_null(strstr(rows[0].source_json, "program.c"));
	assert_int_equal(kf_store_get(store, rows[0].reply_hash, &text,
				      &f->err), KF_OK);
	assert_string_equal(kf_buf_str(&text), "answer");
	assert_int_equal(kf_store_get(store, rows[0].reasoning_hash, &text,
				      &f->err), KF_OK);
	assert_string_equal(kf_buf_str(&text), "hm");
	kf_attempt_rows_free(rows, count);
	kf_buf_release(&text);
	kf_store_close(store);
	json_decref(source);
	json_decref(verdict);
}

static void test_stages_only_grow(void **state)
{
	struct fixture *f = *state;
	struct kf_store *store = open_store(f, KF_STORE_CREATE);
	json_t *verdict = json_object(), *source = json_array();
	int64_t id = ask(f, store), again;
	struct kf_attempt_row *rows;
	size_t count;

	assert_int_equal(ask(f, store), id);	/* a kill before the reply */
	assert_int_equal(reply(f, store, id, "first"), KF_OK);
	assert_int_equal(reply(f, store, id, "second"), KF_E_INPUT);
	assert_int_equal(asked(store, 1, 1, "p", &again, &f->err), KF_E_INPUT);
	assert_int_equal(kf_store_verdict(store, id, verdict, "mismatch",
					  "values", (double)NAN, (double)NAN,
					  (double)NAN, &f->err), KF_OK);
	assert_int_equal(kf_store_verdict(store, id, verdict, "correct", "",
					  1, 1, 1, &f->err), KF_E_INPUT);
	assert_int_equal(kf_store_source(store, id, source, &f->err),
			 KF_E_INPUT);
	assert_int_equal(kf_store_attempts(store, 1, &rows, &count, &f->err),
			 KF_OK);
	assert_int_equal(count, 1);
	assert_string_equal(rows[0].state, "mismatch");
	assert_true(isnan(rows[0].time_ns));
	kf_attempt_rows_free(rows, count);
	assert_int_equal(kf_store_attempts(store, 99, &rows, &count, &f->err),
			 KF_OK);
	assert_int_equal(count, 0);
	assert_int_equal(reply(f, store, 99, "to nobody"), KF_E_INPUT);
	kf_store_close(store);
	json_decref(verdict);
	json_decref(source);
}

static void test_attempts_come_by_problem_and_number(void **state)
{
	static const struct { const char *problem; int number; } order[] = {
		{ "b", 2 }, { "a", 1 }, { "b", 1 }, { "b", 10 }, { "b", 3 },
	};
	static const unsigned want[] = { 1, 2, 3, 10, 1 };
	struct fixture *f = *state;
	struct kf_store *store = open_store(f, KF_STORE_CREATE);
	struct kf_attempt_row *rows;
	int64_t problem, id;
	json_t *problems;
	size_t count;

	for (size_t i = 0; i < KF_COUNT(order); i++) {
		assert_int_equal(kf_store_problem_add(store, order[i].problem,
				 "00", NULL, &problem, &f->err), KF_OK);
		assert_int_equal(asked(store, problem,
				       (unsigned)order[i].number, "", &id,
				       &f->err), KF_OK);
	}
	assert_int_equal(kf_store_attempts(store, 0, &rows, &count, &f->err),
			 KF_OK);
	assert_int_equal(count, KF_COUNT(want));
	for (size_t i = 0; i < count; i++)
		assert_int_equal(rows[i].number, want[i]);
	kf_attempt_rows_free(rows, count);
	assert_int_equal(kf_store_problems(store, &problems, &f->err), KF_OK);
	assert_int_equal(json_array_size(problems), 2);
	assert_string_equal(kf_json_str(json_array_get(problems, 0), "name",
					""), "b");
	json_decref(problems);
	kf_store_close(store);
}

static void test_settings_are_written_once(void **state)
{
	struct fixture *f = *state;
	struct kf_store *store = open_store(f, KF_STORE_CREATE);
	json_t *settings = json_pack("{s:i}", "attempts", 5), *got;

	assert_int_equal(kf_store_settings(store, &got, &f->err), KF_E_INPUT);
	assert_non_null(strstr(f->err.text, "nothing to go on with"));
	assert_int_equal(kf_store_settings_set(store, settings, &f->err),
			 KF_OK);
	assert_int_equal(kf_store_settings_set(store, settings, &f->err),
			 KF_E_INPUT);
	assert_int_equal(kf_store_settings(store, &got, &f->err), KF_OK);
	assert_true(json_equal(settings, got));
	json_decref(got);
	json_decref(settings);
	kf_store_close(store);
}

/* --- objects -------------------------------------------------------------- */

static void test_objects_are_kept_once_and_checked(void **state)
{
	struct fixture *f = *state;
	struct kf_store *store = open_store(f, KF_STORE_CREATE);
	char hash[KF_HASH_HEX], same[KF_HASH_HEX];
	struct kf_buf text = { .max = 100 };
	struct stat before, after;
	char *path;

	assert_int_equal(kf_store_put(store, "a\0b", 3, hash, &f->err), KF_OK);
	path = object_path(f, hash);
	assert_int_equal(stat(path, &before), 0);
	assert_int_equal(kf_store_put(store, "a\0b", 3, same, &f->err), KF_OK);
	assert_int_equal(stat(path, &after), 0);
	assert_string_equal(hash, same);
	assert_int_equal(before.st_ino, after.st_ino);

	write_file(path, "a\0c", 3);
	assert_int_equal(kf_store_get(store, hash, &text, &f->err), KF_E_IO);
	assert_non_null(strstr(f->err.text, path));
	assert_int_equal(text.len, 0);
	/* Putting it again heals it. */
	assert_int_equal(kf_store_put(store, "a\0b", 3, same, &f->err), KF_OK);
	assert_int_equal(kf_store_get(store, hash, &text, &f->err), KF_OK);
	assert_int_equal(text.len, 3);

	assert_int_equal(unlink(path), 0);
	assert_int_equal(kf_store_get(store, hash, &text, &f->err), KF_E_IO);
	assert_non_null(strstr(f->err.text, path));
	assert_int_equal(kf_store_get(store, "../../etc/passwd", &text,
				      &f->err), KF_E_INPUT);
	kf_buf_release(&text);
	free(path);
	kf_store_close(store);
}

/* --- opening -------------------------------------------------------------- */

static void test_one_writer_at_a_time(void **state)
{
	struct fixture *f = *state;
	struct kf_store *store = open_store(f, KF_STORE_CREATE), *reader;
	int64_t id = ask(f, store);
	struct kf_attempt_row *rows;
	char words[64];
	size_t count;

	snprintf(words, sizeof(words), "in use by process %ld",
		 (long)getpid());
	assert_refused(f, KF_STORE_WRITE, KF_E_UNAVAIL, words);
	assert_refused(f, KF_STORE_CREATE, KF_E_UNAVAIL, words);
	/* Readers are welcome and see what was committed. */
	reader = open_store(f, KF_STORE_READ);
	assert_int_equal(reply(f, store, id, "now"), KF_OK);
	assert_int_equal(kf_store_attempts(reader, 0, &rows, &count, &f->err),
			 KF_OK);
	assert_int_equal(rows[0].stage, KF_STAGE_REPLIED);
	kf_attempt_rows_free(rows, count);
	assert_int_equal(reply(f, reader, id, "no"), KF_E_INPUT);
	kf_store_close(reader);
	kf_store_close(store);
	kf_store_close(open_store(f, KF_STORE_WRITE));
}

static void test_folders_that_are_no_run_are_refused(void **state)
{
	struct fixture *f = *state;

	assert_refused(f, KF_STORE_READ, KF_E_INPUT, "is not a run");
	assert_refused(f, KF_STORE_WRITE, KF_E_INPUT, "is not a run");
	kf_store_close(open_store(f, KF_STORE_CREATE));
	run_sql(f, "INSERT INTO run VALUES (1, '', '{}')");
	assert_refused(f, KF_STORE_CREATE, KF_E_INPUT, "already holds a run");
	run_sql(f, "PRAGMA application_id = 5");
	assert_refused(f, KF_STORE_READ, KF_E_INPUT, "not a run of kforge");
	assert_refused(f, KF_STORE_WRITE, KF_E_INPUT, "not a run of kforge");
}

static void test_a_kill_during_creation_is_no_obstacle(void **state)
{
	struct fixture *f = *state;
	char *path = kf_path_join(f->run, "run.db");

	assert_int_equal(mkdir(f->run, 0777), 0);
	write_file(path, "", 0);
	kf_store_close(open_store(f, KF_STORE_CREATE));
	kf_store_close(open_store(f, KF_STORE_WRITE));
	free(path);
}

static void test_a_run_that_came_to_nothing_is_removed(void **state)
{
	struct fixture *f = *state;
	struct kf_store *store;

	assert_int_equal(kf_store_open(f->run, KF_STORE_CREATE, &store,
				       &f->err), KF_OK);
	kf_store_discard(store);
	assert_false(kf_path_exists(f->run));
}

static void test_a_discarded_run_spares_what_lay_there_before(void **state)
{
	struct fixture *f = *state;
	char *objects = kf_path_join(f->run, "objects");
	char *mine = kf_path_join(objects, "mine");
	struct kf_store *store;

	assert_int_equal(kf_mkdir_p(objects, &f->err), KF_OK);
	assert_int_equal(kf_file_write(mine, "x", 1, &f->err), KF_OK);
	assert_int_equal(kf_store_open(f->run, KF_STORE_CREATE, &store,
				       &f->err), KF_OK);
	kf_store_discard(store);
	assert_true(kf_path_exists(mine));
	free(mine);
	free(objects);
}

static void test_a_folder_of_something_else_is_refused(void **state)
{
	struct fixture *f = *state;
	char *work = kf_path_join(f->run, "work");
	char *objects = kf_path_join(f->run, "objects");

	assert_int_equal(kf_mkdir_p(work, &f->err), KF_OK);
	assert_refused(f, KF_STORE_CREATE, KF_E_INPUT, "holds work, which is "
		       "not a run's");
	assert_false(kf_path_exists(objects));
	free(objects);
	free(work);
}

static void test_a_newer_schema_is_refused(void **state)
{
	struct fixture *f = *state;

	kf_store_close(open_store(f, KF_STORE_CREATE));
	run_sql(f, "PRAGMA user_version = 999");
	assert_refused(f, KF_STORE_WRITE, KF_E_INPUT,
		       "has version 999 and this kforge knows up to version");
	assert_non_null(strstr(f->err.text, "use a newer kforge"));
	assert_refused(f, KF_STORE_READ, KF_E_INPUT, "999");
}

static void test_health_of_a_problem_is_kept(void **state)
{
	struct fixture *f = *state;
	struct kf_store *store = open_store(f, KF_STORE_CREATE);
	json_t *problems = NULL, *row;
	json_t *health = json_pack("{s:b, s:s}", "healthy", 0,
				   "reason", "zeros");
	int64_t one, two;

	assert_int_equal(kf_store_problem_add(store, "a", "cafe", NULL, &one,
					      &f->err), KF_OK);
	assert_int_equal(kf_store_problem_add(store, "b", "babe", NULL, &two,
					      &f->err), KF_OK);
	for (int i = 0; i < 2; i++)
		assert_int_equal(kf_store_problem_health(store, two, health,
							 &f->err), KF_OK);
	kf_store_close(store);

	store = open_store(f, KF_STORE_READ);
	assert_int_equal(kf_store_problem_health(store, two, health, &f->err),
			 KF_E_INPUT);
	assert_int_equal(kf_store_problems(store, &problems, &f->err), KF_OK);
	row = json_array_get(problems, 0);
	assert_true(json_is_null(json_object_get(row, "health")));
	row = json_array_get(problems, 1);
	assert_true(json_equal(json_object_get(row, "health"), health));
	json_decref(problems);
	json_decref(health);
	kf_store_close(store);
}

static void test_a_damaged_file_is_a_sentence(void **state)
{
	struct fixture *f = *state;
	struct kf_store *store = open_store(f, KF_STORE_CREATE);
	char *path = kf_path_join(f->run, "run.db");
	struct kf_buf good = { .max = 1u << 20 };
	struct kf_rng rng = { .state = 3 };

	assert_int_equal(reply(f, store, ask(f, store), "r"), KF_OK);
	kf_store_close(store);
	assert_int_equal(kf_file_read(path, &good, &f->err), KF_OK);

	write_file(path, "this is no database, just a few words of text", 45);
	assert_refused(f, KF_STORE_WRITE, KF_E_IO, "objects/");
	assert_refused(f, KF_STORE_READ, KF_E_IO, "run.db");
	write_file(path, good.data, good.len / 2);
	assert_refused(f, KF_STORE_WRITE, KF_E_IO, "run.db");
	write_file(path, good.data, 4096);
	assert_refused(f, KF_STORE_READ, KF_E_IO, "run.db");

	/* Any rubbish behind the header: refused or read, never a crash. */
	for (int round = 0; round < 40; round++) {
		struct kf_attempt_row *rows;
		char *bytes = kf_strndup(good.data, good.len);
		size_t count;

		for (int i = 0; i < 60; i++)
			bytes[100 + kf_rng_below(&rng, good.len - 100)] =
				(char)kf_rng_next(&rng);
		write_file(path, bytes, good.len);
		if (kf_store_open(f->run, KF_STORE_READ, &store,
				  &f->err) == KF_OK &&
		    kf_store_attempts(store, 0, &rows, &count,
				      &f->err) == KF_OK)
			kf_attempt_rows_free(rows, count);
		kf_store_close(store);
		free(bytes);
	}
	kf_buf_release(&good);
	free(path);
}

/* --- places that cannot be written ---------------------------------------- */

/* Runs body in a child without root's rights over files; its result. */
static int as_nobody(struct fixture *f, int (*body)(struct fixture *f))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		if (geteuid() == 0 && setuid(65534))
			_exit(99);
		_exit(body(f));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int read_one_attempt(struct fixture *f)
{
	struct kf_attempt_row *rows;
	struct kf_store *store;
	size_t count;

	if (kf_store_open(f->run, KF_STORE_READ, &store, &f->err)) {
		print_error("%s\n", f->err.text);
		return 1;
	}
	if (kf_store_attempts(store, 0, &rows, &count, &f->err) || count != 1)
		return 2;
	kf_attempt_rows_free(rows, count);
	kf_store_close(store);
	return 0;
}

static int refuse_to_write(struct fixture *f)
{
	struct kf_store *store;

	return kf_store_open(f->run, KF_STORE_WRITE, &store, &f->err) !=
	       KF_E_IO;
}

static void test_a_folder_that_cannot_be_written_is_read(void **state)
{
	struct fixture *f = *state;
	struct kf_store *store;

	/* A name with characters that mean something in SQLite's names. */
	free(f->run);
	f->run = kf_path_join(f->dir, "a?b#c%41 d");
	store = open_store(f, KF_STORE_CREATE);
	ask(f, store);
	kf_store_close(store);
	assert_int_equal(chmod(f->dir, 0755), 0);
	assert_int_equal(chmod(f->run, 0555), 0);
	assert_int_equal(as_nobody(f, read_one_attempt), 0);
	if (geteuid() == 0)	/* else the lock is the owner's own file */
		assert_int_equal(as_nobody(f, refuse_to_write), 0);
	assert_int_equal(chmod(f->run, 0755), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_an_attempt_goes_through_its_stages),
		TEST(test_stages_only_grow),
		TEST(test_attempts_come_by_problem_and_number),
		TEST(test_settings_are_written_once),
		TEST(test_objects_are_kept_once_and_checked),
		TEST(test_one_writer_at_a_time),
		TEST(test_folders_that_are_no_run_are_refused),
		TEST(test_a_kill_during_creation_is_no_obstacle),
		TEST(test_a_run_that_came_to_nothing_is_removed),
		TEST(test_a_discarded_run_spares_what_lay_there_before),
		TEST(test_a_folder_of_something_else_is_refused),
		TEST(test_a_newer_schema_is_refused),
		TEST(test_health_of_a_problem_is_kept),
		TEST(test_a_damaged_file_is_a_sentence),
		TEST(test_a_folder_that_cannot_be_written_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
