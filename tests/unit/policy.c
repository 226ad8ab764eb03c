/* What to do next, from the attempts so far. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "loop/policy.h"

#define ATTEMPTS_MAX 6

struct row {
	const char *what;
	struct kf_policy_attempt attempt[ATTEMPTS_MAX];
	size_t count;
	unsigned attempt_max, start_count;
	double target;
	enum kf_policy_kind kind;
	size_t best;
	bool plateau, near_bound;
};

#define FAILED { KF_MISMATCH, (double)NAN, (double)NAN, (double)NAN, false }
#define CORRECT_AT(ns, x) { KF_CORRECT, ns, x, x, true }
#define CORRECT_NOISY(ns, x, low) { KF_CORRECT, ns, x, low, false }
#define CORRECT_ALONE(ns) { KF_CORRECT, ns, (double)NAN, (double)NAN, false }
#define NO_TARGET ((double)NAN)
#define NONE KF_POLICY_NO_ATTEMPT

static const struct row rows[] = {
	{ "nothing yet", { FAILED }, 0, 5, 0, NO_TARGET, KF_POLICY_GENERATE, NONE, false, false },
	{ "one failure is repaired", { FAILED }, 1, 5, 0, NO_TARGET, KF_POLICY_REPAIR, NONE, false, false },
	{ "a correct one is optimised", { FAILED, CORRECT_AT(10, 1) }, 2, 5, 0, NO_TARGET, KF_POLICY_OPTIMIZE, 1, false, false },
	{ "a later failure keeps the best", { CORRECT_AT(10, 1), FAILED }, 2, 5, 0, NO_TARGET, KF_POLICY_OPTIMIZE, 0, false, false },
	{ "all attempts used", { FAILED, FAILED }, 2, 2, 0, NO_TARGET, KF_POLICY_STOP_ATTEMPTS, NONE, false, false },
	{ "a given program does not count", { CORRECT_AT(10, 1), FAILED }, 2, 2, 1, NO_TARGET, KF_POLICY_OPTIMIZE, 0, false, false },
	{ "target reached", { CORRECT_AT(10, 2) }, 1, 5, 0, 2, KF_POLICY_STOP_TARGET, 0, false, false },
	{ "target not reached", { CORRECT_AT(10, 1.9) }, 1, 5, 0, 2, KF_POLICY_OPTIMIZE, 0, false, false },
	{ "only the lower end reaches a target", { CORRECT_NOISY(10, 3, 1.5) }, 1, 5, 0, 2, KF_POLICY_OPTIMIZE, 0, false, false },
	{ "a speed-up without an interval reaches a target", { CORRECT_NOISY(10, 3, (double)NAN) }, 1, 5, 0, 2, KF_POLICY_STOP_TARGET, 0, false, false },
	{ "an unknown speed-up reaches no target", { CORRECT_ALONE(10) }, 1, 5, 0, 2, KF_POLICY_OPTIMIZE, 0, false, false },
	{ "the speed-up decides, not the time", { CORRECT_AT(10, 1), CORRECT_AT(11, 1.5) }, 2, 5, 0, NO_TARGET, KF_POLICY_OPTIMIZE, 1, false, false },
	{ "the time decides without speed-ups", { CORRECT_ALONE(10), CORRECT_ALONE(9) }, 2, 5, 0, NO_TARGET, KF_POLICY_OPTIMIZE, 1, false, false },
	{ "a disturbed baseline makes no best one", { CORRECT_NOISY(10, 90, 40), CORRECT_AT(9, 2) }, 2, 5, 0, NO_TARGET, KF_POLICY_OPTIMIZE, 1, false, false },
	{ "two tries without gain", { CORRECT_AT(10, 2), CORRECT_AT(10, 2.01), FAILED }, 3, 5, 0, NO_TARGET, KF_POLICY_OPTIMIZE, 1, true, false },
	{ "a gain within the last two", { CORRECT_AT(10, 2), FAILED, CORRECT_AT(5, 4) }, 3, 5, 0, NO_TARGET, KF_POLICY_OPTIMIZE, 2, false, false },
	{ "memory allows no more", { FAILED, CORRECT_AT(10, 1) }, 2, 5, 0, NO_TARGET, KF_POLICY_STOP_BOUND, 1, false, true },
	{ "the target is told before the bound", { CORRECT_AT(10, 2) }, 1, 5, 0, 2, KF_POLICY_STOP_TARGET, 0, false, true },
	{ "first correct ones are no plateau", { FAILED, CORRECT_AT(10, 2), CORRECT_AT(10, 2) }, 3, 5, 0, NO_TARGET, KF_POLICY_OPTIMIZE, 1, false, false },
};

static void test_each_history_has_its_next_step(void **state)
{
	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		const struct row *r = &rows[i];
		struct kf_policy_rules rules = {
			.attempt_max = r->attempt_max,
			.start_count = r->start_count,
			.target_speedup = r->target,
			.near_bound = r->near_bound,
		};
		struct kf_policy_next next = kf_policy_decide(&rules,
				r->attempt, r->count);

		if (next.kind != r->kind || next.best != r->best ||
		    next.plateau != r->plateau)
			print_error("row: %s\n", r->what);
		assert_int_equal(next.kind, r->kind);
		assert_int_equal(next.best, r->best);
		assert_int_equal(next.plateau, r->plateau);
		assert_int_equal(next.previous, r->count ? r->count - 1 : NONE);
	}
}

static void test_every_kind_has_a_name(void **state)
{
	(void)state;
	for (int kind = 0; kind <= KF_POLICY_STOP_BOUND; kind++)
		assert_non_null(kf_policy_kind_name((enum kf_policy_kind)kind));
	assert_true(kf_policy_stops(KF_POLICY_STOP_TARGET));
	assert_false(kf_policy_stops(KF_POLICY_OPTIMIZE));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_history_has_its_next_step),
		cmocka_unit_test(test_every_kind_has_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
