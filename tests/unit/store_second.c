/* The promises of store/second.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "store/second.h"
#include "store_fixture.h"

struct two {
	struct kf_store *store;
	int64_t problem, id[2];
};

/* A run with two attempts that were judged correct. */
static struct two open_two(struct fixture *f)
{
	json_t *verdict = json_pack("{s:s}", "state", "correct");
	struct two two = { 0 };

	assert_int_equal(kf_store_open(f->run, KF_STORE_CREATE, &two.store,
				       &f->err), KF_OK);
	assert_int_equal(kf_store_problem_add(two.store, "softmax", "hash",
					      NULL, &two.problem, &f->err),
			 KF_OK);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(asked(two.store, two.problem, i + 1, "write",
				       &two.id[i], &f->err), KF_OK);
		assert_int_equal(kf_store_verdict(two.store, two.id[i],
				verdict, "correct", "", 1e6, (double)NAN,
				(double)NAN, &f->err), KF_OK);
	}
	json_decref(verdict);
	return two;
}

static char *second_of(struct fixture *f, const struct two *two, size_t i)
{
	struct kf_attempt_row *rows;
	char *text;
	size_t count;

	assert_int_equal(kf_store_attempts(two->store, two->problem, &rows,
					   &count, &f->err), KF_OK);
	assert_int_equal(count, 2);
	text = kf_strdup(rows[i].second_json);
	assert_string_equal(rows[i].state, "correct");
	assert_true(rows[i].time_ns == 1e6);
	kf_attempt_rows_free(rows, count);
	return text;
}

static void test_all_come_or_none(void **state)
{
	struct fixture *f = *state;
	struct two two = open_two(f);
	json_t *verdict = json_pack("{s:s}", "state", "mismatch");
	struct kf_store_second row[2] = {
		{ two.id[0], "mismatch", "values", 0, (double)NAN,
		  (double)NAN, (double)NAN, verdict },
		{ 1000, "correct", "", 1, 2e6, 4e6, 2, verdict },
	};
	char *text;

	/* There is no attempt 1000. */
	assert_int_not_equal(kf_store_seconds(two.store, row, 2, &f->err),
			     KF_OK);
	assert_null(second_of(f, &two, 0));

	row[1].attempt_id = two.id[1];
	assert_int_equal(kf_store_seconds(two.store, row, 2, &f->err), KF_OK);
	text = second_of(f, &two, 1);
	assert_string_equal(text, "{\"state\":\"mismatch\"}");
	free(text);
	/* What is there is final. */
	assert_int_not_equal(kf_store_seconds(two.store, row, 1, &f->err),
			     KF_OK);
	json_decref(verdict);
	kf_store_close(two.store);
}

static void test_a_seed_is_drawn_once(void **state)
{
	struct fixture *f = *state;
	struct two two = open_two(f);
	uint64_t seed;

	assert_int_equal(kf_store_second_seed(two.store, two.problem, 42,
					      &seed, &f->err), KF_OK);
	assert_int_equal(seed, 42);
	assert_int_equal(kf_store_second_seed(two.store, two.problem, 43,
					      &seed, &f->err), KF_OK);
	assert_int_equal(seed, 42);
	kf_store_close(two.store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_all_come_or_none, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_a_seed_is_drawn_once,
						set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
