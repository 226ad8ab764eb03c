/* What the store keeps of profiles and of the analysis agent. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/advice.h"
#include "store_fixture.h"

#define GOOD(call) assert_int_equal(call, KF_OK)

/* A problem with its first attempt judged. */
static struct kf_store *begin(struct fixture *f, int64_t *problem,
			      int64_t *attempt)
{
	struct kf_store *store;
	json_t *verdict = json_object();

	GOOD(kf_store_open(f->run, KF_STORE_CREATE, &store, &f->err));
	GOOD(kf_store_problem_add(store, "p", "00", NULL, problem, &f->err));
	GOOD(asked(store, *problem, 1, "", attempt, &f->err));
	GOOD(kf_store_verdict(store, *attempt, verdict, "correct", "", 1000,
			      (double)NAN, (double)NAN, &f->err));
	json_decref(verdict);
	return store;
}

static void test_a_profile_comes_back_whole(void **state)
{
	struct fixture *f = *state;
	json_t *roofline = json_pack("{s:f}", "time_ns", 1000.0);
	json_t *profile = json_pack("{s:s}", "end", "good"), *back;
	struct kf_store_profile row = {
		.end = "good", .bottleneck = "latency", .page = "the page\n",
		.page_len = 9, .profile = profile, .roofline = roofline,
	};
	int64_t problem, attempt;
	struct kf_store *store = begin(f, &problem, &attempt);

	GOOD(kf_store_profile_of(store, attempt, &back, &f->err));
	assert_null(back);
	GOOD(kf_store_profile(store, attempt, &row, &f->err));
	row.bottleneck = "bandwidth";	/* taken again */
	GOOD(kf_store_profile(store, attempt, &row, &f->err));
	GOOD(kf_store_profile_of(store, attempt, &back, &f->err));
	assert_string_equal(kf_json_str(back, "bottleneck", ""), "bandwidth");
	assert_string_equal(kf_json_str(back, "page", ""), "the page\n");
	assert_true(json_equal(json_object_get(back, "profile"), profile));
	assert_true(json_equal(json_object_get(back, "roofline"), roofline));
	json_decref(back);
	GOOD(kf_store_roofline(store, problem, &back, &f->err));
	assert_true(json_equal(back, roofline));
	json_decref(back);
	GOOD(kf_store_roofline(store, 99, &back, &f->err));
	assert_null(back);
	json_decref(profile);
	json_decref(roofline);
	kf_store_close(store);
}

static void test_a_reply_of_the_advisor_is_kept_once(void **state)
{
	struct fixture *f = *state;
	struct kf_store_reply reply = {
		.text = "advice", .text_len = 6, .finish = "stop",
		.model = "m", .tokens_in = 30, .tokens_out = 12,
	};
	struct kf_buf text = { .max = 100 };
	struct kf_advice_for whom = { 0, 2 };
	int64_t attempt;
	struct kf_store *store = begin(f, &whom.problem_id, &attempt);
	struct kf_store_used used[KF_STORE_AGENTS];
	uint64_t tokens;
	unsigned replies;
	bool there;

	GOOD(kf_store_advice_reply(store, whom, 1, "asked", &reply, &f->err));
	assert_int_not_equal(kf_store_advice_reply(store, whom, 1, "asked",
						   &reply, &f->err), KF_OK);
	GOOD(kf_store_advice_replied(store, whom, 2, &text, &there, &f->err));
	assert_false(there);
	GOOD(kf_store_advice_reply(store, whom, 2, "again", &reply, &f->err));
	GOOD(kf_store_advice_replied(store, whom, 1, &text, &there, &f->err));
	assert_true(there);
	assert_string_equal(kf_buf_str(&text), "advice");
	GOOD(kf_store_advice_used(store, 0, &tokens, &replies, &f->err));
	assert_int_equal(tokens, 84);
	assert_int_equal(replies, 2);
	GOOD(kf_store_used(store, whom.problem_id, used, &f->err));
	assert_int_equal(used[KF_STORE_ADVISOR].replies, 2);
	assert_int_equal(used[KF_STORE_ADVISOR].tokens_in +
			 used[KF_STORE_ADVISOR].tokens_out, 84);
	assert_int_equal(used[KF_STORE_GENERATOR].replies, 0);
	kf_buf_release(&text);
	kf_store_close(store);
}

/* Judges attempt 2 as told; the gain that its advice then has. */
static double gain_after(struct fixture *f, const char *state, double time_ns)
{
	const struct kf_store_counter counter[] = {
		{ "", "dram_throughput", 81.5 }, { "k", "registers", 40 },
		{ "k", "registers", 40 },
	};
	json_t *json = json_pack("{s:s}", "change", "tile"), *list;
	const json_t *counters;
	struct kf_store_advice advice = {
		.source = "rules", .bottleneck = "bandwidth",
		.expected_gain = 1.5, .advice = json,
		.counter = counter, .counter_count = KF_COUNT(counter),
	};
	struct kf_advice_for whom = { 0, 2 };
	int64_t attempt;
	struct kf_store *store = begin(f, &whom.problem_id, &advice.base_id);
	double gain;

	GOOD(kf_store_advice(store, whom, &advice, &f->err));
	assert_int_not_equal(kf_store_advice(store, whom, &advice, &f->err),
			     KF_OK);
	GOOD(kf_store_advices(store, 0, &list, &f->err));
	assert_true(json_is_null(json_object_get(json_array_get(list, 0),
						 "gain")));
	json_decref(list);
	GOOD(asked(store, whom.problem_id, 2, "", &attempt, &f->err));
	GOOD(kf_store_verdict(store, attempt, json, state, "", time_ns,
			      (double)NAN, (double)NAN, &f->err));
	GOOD(kf_store_advices(store, whom.problem_id, &list, &f->err));
	assert_int_equal(json_array_size(list), 1);
	gain = kf_json_real(json_array_get(list, 0), "gain", 0);
	counters = json_object_get(json_array_get(list, 0), "counters");
	assert_int_equal(json_array_size(counters), 2);
	assert_string_equal(kf_json_str(json_array_get(counters, 1), "kernel",
					""), "k");
	assert_int_equal(kf_json_int(json_array_get(list, 0), "base", 0), 1);
	assert_string_equal(kf_json_str(json_array_get(list, 0), "state", ""),
			    state);
	json_decref(list);
	json_decref(json);
	kf_store_close(store);
	return gain;
}

static void test_advice_is_kept_with_the_gain_that_followed(void **state)
{
	assert_true(gain_after(*state, "correct", 500) == 2);
}

static void test_a_wrong_program_is_no_gain(void **state)
{
	assert_true(gain_after(*state, "mismatch", (double)NAN) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		T(test_a_profile_comes_back_whole),
		T(test_a_reply_of_the_advisor_is_kept_once),
		T(test_advice_is_kept_with_the_gain_that_followed),
		T(test_a_wrong_program_is_no_gain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
