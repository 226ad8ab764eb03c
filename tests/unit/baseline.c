/* baseline.c - the lives of a baseline; its kind is this file's own, so the
 * linker takes no other from libkforge.a. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "problem/baseline.h"
#include "problem/kind.h"

/* What the next calls do, from this one on. */
static struct {
	unsigned started, freed, failures, warmed, cold_failures;
	enum kf_code code;
	const char *later_way;		/* of all processes but the first */
} script;

static enum kf_code warm(struct kf_baseline_process *process,
			 struct kf_err *err)
{
	(void)process;
	script.warmed++;
	if (!script.cold_failures)
		return KF_OK;
	script.cold_failures--;
	return kf_fail(err, script.code, "it has no memory");
}

static enum kf_code ready(struct kf_baseline_process *process,
			  struct kf_err *err)
{
	(void)err;
	snprintf(process->info.way, sizeof(process->info.way), "%s",
		 script.started > 1 && script.later_way ? script.later_way :
		 "eager");
	return KF_OK;
}

static enum kf_code time_case(struct kf_baseline_process *process,
			      const struct kf_case *kase, uint64_t *time_ns,
			      uint64_t *delay_ns, struct kf_err *err)
{
	(void)process;
	(void)kase;
	*time_ns = 1000 + script.started;
	*delay_ns = 0;
	if (!script.failures)
		return KF_OK;
	script.failures--;
	return kf_fail(err, script.code, "it was killed");
}

static void release(struct kf_baseline_process *process)
{
	script.freed++;
	free(process);
}

static enum kf_code start(const struct kf_problem_spec *spec,
			  const struct kf_problem *problem,
			  const struct kf_bundle *bundle,
			  struct kf_baseline_process **out, struct kf_err *err)
{
	static const struct kf_baseline_table table = {
		.warm = warm, .ready = ready, .time = time_case, .free = release,
	};

	(void)spec;
	(void)bundle;
	(void)err;
	*out = kf_alloc(sizeof(**out));
	(*out)->table = &table;
	(*out)->name = kf_strdup(problem->name);
	script.started++;
	return KF_OK;
}

static const struct kf_problem_table kind = { .start = start };
const struct kf_problem_table *const kf_problem_tables[KF_PROBLEM_KINDS] = {
	&kind, &kind,
};

static char name[] = "relu";
static const struct kf_problem problem = { .name = name };
static const struct kf_problem_spec spec;
static const struct kf_bundle bundle;

static struct kf_baseline *begin(void)
{
	struct kf_baseline *baseline;

	memset(&script, 0, sizeof(script));
	script.code = KF_E_INPUT;
	assert_int_equal(kf_baseline_start(&spec, &problem, &bundle, &baseline,
					   NULL), KF_OK);
	return baseline;
}

/* Two cases; *first_ns tells which process it was that timed the first. */
static enum kf_code time_two(struct kf_baseline *baseline, uint64_t *first_ns,
			     struct kf_err *err)
{
	static const struct kf_case some;
	const struct kf_case *cases[] = { &some, &some };
	uint64_t time_ns[2], delay_ns[2];
	enum kf_code code = kf_baseline_time(baseline, cases, 2, time_ns,
					     delay_ns, err);

	*first_ns = time_ns[0];
	return code;
}

static void test_one_failure_is_followed_by_another_process(void **state)
{
	struct kf_baseline *baseline = begin();
	uint64_t first_ns;

	(void)state;
	script.failures = 1;
	assert_int_equal(time_two(baseline, &first_ns, NULL), KF_OK);
	assert_int_equal(first_ns, 1002);	/* all of them anew */
	assert_int_equal(script.freed, 1);
	assert_int_equal(time_two(baseline, &first_ns, NULL), KF_OK);
	kf_baseline_free(baseline);
	assert_int_equal(script.freed, script.started);
}

static void test_after_a_second_failure_it_is_dead(void **state)
{
	struct kf_baseline *baseline = begin();
	struct kf_err err = { 0 };
	uint64_t first_ns;

	(void)state;
	script.failures = 2;
	assert_int_equal(time_two(baseline, &first_ns, &err), KF_E_INPUT);
	assert_string_equal(err.text, "it was killed");
	assert_int_equal(time_two(baseline, &first_ns, &err), KF_E_UNAVAIL);
	assert_non_null(strstr(err.text, "it was killed"));
	assert_string_equal(kf_baseline_about(baseline)->way, "");
	assert_int_equal(script.started, 2);
	assert_int_equal(script.freed, 2);
	kf_baseline_free(baseline);
	assert_int_equal(script.freed, 2);
}

static void test_what_fails_when_it_warms_up_is_started_again(void **state)
{
	struct kf_baseline *baseline = begin();
	struct kf_err err = { 0 };
	uint64_t first_ns;

	(void)state;
	script.cold_failures = 1;
	kf_baseline_warm(baseline);
	assert_int_equal(script.warmed, 1);
	assert_int_equal(script.started, 2);
	assert_int_equal(time_two(baseline, &first_ns, &err), KF_OK);
	assert_int_equal(first_ns, 1002);
	kf_baseline_free(baseline);

	baseline = begin();
	script.code = KF_E_CANCELED;
	script.cold_failures = 1;
	kf_baseline_warm(baseline);
	assert_int_equal(script.started, 1);
	kf_baseline_free(baseline);

	baseline = begin();	/* what fails twice is dead, and says why */
	script.cold_failures = 2;
	kf_baseline_warm(baseline);
	kf_baseline_warm(baseline);
	assert_int_equal(time_two(baseline, &first_ns, &err), KF_E_UNAVAIL);
	assert_non_null(strstr(err.text, "no memory"));
	kf_baseline_warm(baseline);
	kf_baseline_free(baseline);
	assert_int_equal(script.freed, script.started);
}

static void test_one_that_was_stopped_is_not_started_again(void **state)
{
	struct kf_baseline *baseline = begin();
	struct kf_err err = { 0 };
	uint64_t first_ns;

	(void)state;
	script.failures = 1;
	script.code = KF_E_CANCELED;
	assert_int_equal(time_two(baseline, &first_ns, &err), KF_E_CANCELED);
	assert_int_equal(script.started, 1);
	kf_baseline_free(baseline);
}

/* Times of both would be mixed: the judgement is to begin again. */
static void test_another_way_of_timing_is_trouble_once(void **state)
{
	struct kf_baseline *baseline = begin();
	struct kf_err err = { 0 };
	uint64_t first_ns;

	(void)state;
	assert_int_equal(time_two(baseline, &first_ns, &err), KF_OK);
	script.failures = 1;
	script.later_way = "compile";
	assert_int_equal(time_two(baseline, &first_ns, &err), KF_E_IO);
	assert_non_null(strstr(err.text, "compile instead of eager"));
	assert_int_equal(time_two(baseline, &first_ns, &err), KF_OK);
	kf_baseline_free(baseline);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_one_failure_is_followed_by_another_process),
		cmocka_unit_test(test_after_a_second_failure_it_is_dead),
		cmocka_unit_test(
			test_one_that_was_stopped_is_not_started_again),
		cmocka_unit_test(test_another_way_of_timing_is_trouble_once),
		cmocka_unit_test(
			test_what_fails_when_it_warms_up_is_started_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
