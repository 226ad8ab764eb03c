/* What each tool's output becomes. The files below tests/data/profile/ are
 * written after the documented formats of several versions. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "profile/read.h"

static void take(kf_profile_read_fn *reader, const char *text, size_t len,
		 const char *said, unsigned calls, struct kf_profile *out)
{
	*out = (struct kf_profile) { .call_count = calls };
	reader(&(struct kf_profile_bytes) { text, len, said }, out);
	assert_int_not_equal(out->end, KF_PROFILE_NONE);
}

static void take_file(kf_profile_read_fn *reader, const char *name,
		      unsigned calls, struct kf_profile *out)
{
	struct kf_buf text = { .max = 1u << 20 };
	char *path = kf_format("tests/data/profile/%s", name);
	struct kf_err err = { 0 };

	if (kf_file_read(path, &text, &err))
		fail_msg("%s", err.text);
	take(reader, kf_buf_str(&text), text.len, "", calls, out);
	kf_buf_release(&text);
	free(path);
}

static void want(const struct kf_profile *p, const char *kernel,
		 const char *name, double value)
{
	double got = kf_metrics_value(&p->metrics, kernel, name);

	if (!(fabs(got - value) <= 1e-9 * fabs(value) + 1e-12))
		fail_msg("%s of '%s' is %g, not %g", name, kernel ? kernel :
			 "", got, value);
}

static void absent(const struct kf_profile *p, const char *kernel,
		   const char *name)
{
	if (kf_metrics_find(&p->metrics, kernel, name))
		fail_msg("%s was never measured, and is there", name);
}

static const char *why_missing(const struct kf_profile *p, const char *what)
{
	for (size_t i = 0; i < p->missing_count; i++)
		if (strcmp(p->missing[i].what, what) == 0)
			return p->missing[i].why;
	return NULL;
}

/* --- how it ended --------------------------------------------------------- */

static void test_each_file_has_its_end(void **state)
{
	static const struct {
		const char *name;
		kf_profile_read_fn *reader;
		enum kf_profile_end end;
	} rows[] = {
		{ "perf.csv", kf_read_perf, KF_PROFILE_PARTIAL },
		{ "perf_no_counters.csv", kf_read_perf, KF_PROFILE_PARTIAL },
		{ "perf_old.csv", kf_read_perf, KF_PROFILE_GOOD },
		{ "perf_hybrid.csv", kf_read_perf, KF_PROFILE_PARTIAL },
		{ "perf_denied.txt", kf_read_perf, KF_PROFILE_DENIED },
		{ "table.csv", kf_read_perf, KF_PROFILE_FORMAT },
		{ "callgrind.out", kf_read_callgrind, KF_PROFILE_GOOD },
		{ "table.csv", kf_read_callgrind, KF_PROFILE_FORMAT },
		{ "ncu_raw.csv", kf_read_ncu, KF_PROFILE_PARTIAL },
		{ "ncu_rows.csv", kf_read_ncu, KF_PROFILE_PARTIAL },
		{ "ncu_denied.txt", kf_read_ncu, KF_PROFILE_DENIED },
		{ "ncu_none.txt", kf_read_ncu, KF_PROFILE_EMPTY },
		{ "ncu_other.txt", kf_read_ncu, KF_PROFILE_FORMAT },
		{ "nsys_sum.csv", kf_read_nsys, KF_PROFILE_GOOD },
		{ "nsys_sum_old.csv", kf_read_nsys, KF_PROFILE_GOOD },
		{ "nsys_sum_us.csv", kf_read_nsys, KF_PROFILE_GOOD },
		{ "nsys_trace.csv", kf_read_nsys, KF_PROFILE_PARTIAL },
		{ "nsys_graph.csv", kf_read_nsys, KF_PROFILE_PARTIAL },
		{ "nsys_empty.txt", kf_read_nsys, KF_PROFILE_EMPTY },
		{ "ncu_denied.txt", kf_read_nsys, KF_PROFILE_DENIED },
		{ "ncu_other.txt", kf_read_nsys, KF_PROFILE_FORMAT },
		{ "launches.csv", kf_read_launches, KF_PROFILE_GOOD },
		{ "launches_lost.csv", kf_read_launches, KF_PROFILE_PARTIAL },
		{ "ncu_other.txt", kf_read_launches, KF_PROFILE_FORMAT },
		{ "cupti.csv", kf_read_cupti, KF_PROFILE_PARTIAL },
		{ "cupti_denied.txt", kf_read_cupti, KF_PROFILE_DENIED },
		{ "cupti_empty.csv", kf_read_cupti, KF_PROFILE_EMPTY },
		{ "cupti_absent.txt", kf_read_cupti, KF_PROFILE_ABSENT },
		{ "table.csv", kf_read_table, KF_PROFILE_PARTIAL },
		{ "table.json", kf_read_table, KF_PROFILE_PARTIAL },
		{ "ncu_other.txt", kf_read_table, KF_PROFILE_FORMAT },
		{ "compiler.txt", kf_read_compiler, KF_PROFILE_GOOD },
		{ "ncu_other.txt", kf_read_compiler, KF_PROFILE_EMPTY },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		unsigned calls = rows[i].reader == kf_read_nsys ? 2 :
			strcmp(rows[i].name, "launches.csv") == 0 ||
			strcmp(rows[i].name, "cupti.csv") == 0 ? 3 : 1;
		struct kf_profile p;

		take_file(rows[i].reader, rows[i].name, calls, &p);
		if (p.end != rows[i].end)
			fail_msg("%s ends as %s, not as %s", rows[i].name,
				 kf_profile_end_name(p.end),
				 kf_profile_end_name(rows[i].end));
		kf_profile_release(&p);
	}
}

static void test_nothing_is_empty_and_no_reader_trips(void **state)
{
	static kf_profile_read_fn *const readers[] = {
		kf_read_perf, kf_read_callgrind, kf_read_ncu, kf_read_nsys,
		kf_read_launches, kf_read_cupti, kf_read_table,
		kf_read_compiler,
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(readers); i++) {
		struct kf_profile p;

		take(readers[i], "", 0, "", 1, &p);
		assert_int_equal(p.end, KF_PROFILE_EMPTY);
		assert_int_equal(p.metrics.count, 0);
		kf_profile_release(&p);
	}
}

static void test_what_was_said_beside_it_tells_of_permissions(void **state)
{
	static const char said[] = "==ERROR== ERR_NVGPUCTRPERM - The user\n";
	struct kf_profile p;

	(void)state;
	take(kf_read_ncu, "", 0, said, 1, &p);
	assert_int_equal(p.end, KF_PROFILE_DENIED);
	kf_profile_release(&p);
}

/* --- perf ----------------------------------------------------------------- */

static void test_perf_counts_are_of_one_call(void **state)
{
	struct kf_profile p;

	(void)state;
	take_file(kf_read_perf, "perf.csv", 10, &p);
	want(&p, NULL, "cpu_time", 24.65e6);
	want(&p, NULL, "cycles", 8e7);
	want(&p, NULL, "instructions_per_cycle", 2);
	want(&p, NULL, "page_faults", 4);
	want(&p, NULL, "migrations", 0);
	absent(&p, NULL, "tlb_misses");
	assert_non_null(strstr(why_missing(&p, "tlb_misses"),
			       "does not count it"));
	kf_profile_release(&p);
}

static void test_perf_without_counters_goes_on(void **state)
{
	struct kf_profile p;

	(void)state;
	take_file(kf_read_perf, "perf_no_counters.csv", 1, &p);
	want(&p, NULL, "cpu_time", 60.96e6);
	absent(&p, NULL, "cycles");
	absent(&p, NULL, "instructions_per_cycle");
	assert_non_null(why_missing(&p, "cache_misses"));
	kf_profile_release(&p);
}

static void test_perf_of_other_versions_and_processors(void **state)
{
	struct kf_profile p;

	(void)state;
	take_file(kf_read_perf, "perf_old.csv", 1, &p);
	want(&p, NULL, "cpu_time", 123.4e6);
	want(&p, NULL, "instructions_per_cycle", 0.8);
	kf_profile_release(&p);
	take_file(kf_read_perf, "perf_hybrid.csv", 1, &p);
	want(&p, NULL, "cycles", 1500);
	want(&p, NULL, "instructions", 3000);
	assert_non_null(why_missing(&p, "exact counts"));
	kf_profile_release(&p);
}

/* --- callgrind ------------------------------------------------------------ */

static void test_callgrind_gives_what_functions_cost_themselves(void **state)
{
	struct kf_profile p;

	(void)state;
	take_file(kf_read_callgrind, "callgrind.out", 1, &p);
	want(&p, NULL, "instructions", 1500);
	want(&p, "expf", "instructions", 1000);
	want(&p, "kf_forward", "instructions", 500);
	want(&p, NULL, "l1_read_misses_simulated", 20);
	want(&p, "program.c:8", "instructions", 400);
	want(&p, "program.c:6", "instructions", 100);
	assert_int_equal(p.kernel_count, 2);
	assert_string_equal(p.kernel[0].name, "expf");
	assert_true(fabs(p.kernel[0].share - 2 / 3.0) < 1e-9);
	assert_string_equal(p.share_of, "instructions");
	assert_true(isnan(p.kernel[0].time_ns));
	kf_profile_release(&p);
}

/* --- Nsight Compute ------------------------------------------------------- */

static void test_ncu_columns_are_bound_by_name(void **state)
{
	struct kf_profile p;

	(void)state;
	take_file(kf_read_ncu, "ncu_raw.csv", 1, &p);
	want(&p, "axpb", "time", 40e3);
	want(&p, "axpb", "dram_bytes_read", 64.2e6);
	want(&p, "reduce", "registers", 64);
	want(&p, "reduce", "bank_conflicts", 3000);
	want(&p, NULL, "time", 50e3);
	want(&p, NULL, "launches", 2);
	/* Percentages count by time. */
	want(&p, NULL, "dram_throughput", (80.5 * 40 + 20.0 * 10) / 50);
	absent(&p, NULL, "registers");
	absent(&p, "axpb", "stall_memory");
	assert_non_null(strstr(why_missing(&p, "stall_memory"),
			       "no such metric"));
	assert_int_equal(p.kernel_count, 2);
	assert_true(fabs(p.kernel[0].share - 0.8) < 1e-9);
	kf_profile_release(&p);
}

static void test_ncu_values_that_are_none_stay_missing(void **state)
{
	struct kf_profile p;

	(void)state;
	take_file(kf_read_ncu, "ncu_rows.csv", 2, &p);
	want(&p, "axpb", "time", (2500 + 7500) / 2.0);
	want(&p, "axpb", "dram_bytes_read", 20e3 / 2);
	absent(&p, "axpb", "compute_throughput");
	absent(&p, "axpb", "warps_eligible");
	assert_non_null(strstr(why_missing(&p, "compute_throughput"),
			       "gave no value"));
	assert_non_null(strstr(why_missing(&p, "warps_eligible"),
			       "gave no value"));
	assert_int_equal(p.kernel[0].launches, 1);
	kf_profile_release(&p);
}

/* Columns that are new, gone, or in another order change nothing. */
static void test_ncu_of_a_version_with_other_columns(void **state)
{
	static const char text[] =
		"\"ID\",\"Kernel Name\",\"New Column\","
		"\"gpu__time_duration.sum\",\"Another\"\n"
		"\"\",\"\",\"\",\"ns\",\"\"\n"
		"\"0\",\"k\",\"x\",\"100\",\"y\"\n"
		"\"ID\",\"gpu__time_duration.sum\",\"Kernel Name\"\n"
		"\"\",\"us\",\"\"\n"
		"\"1\",\"0.5\",\"k\"\n";
	struct kf_profile p;

	(void)state;
	take(kf_read_ncu, text, sizeof(text) - 1, "", 1, &p);
	want(&p, "k", "time", 600);
	assert_int_equal(p.kernel[0].launches, 2);
	kf_profile_release(&p);
}

/* --- Nsight Systems ------------------------------------------------------- */

static void test_nsys_takes_units_from_the_header(void **state)
{
	struct kf_profile p;

	(void)state;
	take_file(kf_read_nsys, "nsys_sum.csv", 10, &p);
	want(&p, "axpb", "time", 30e3);
	want(&p, "reduce", "launches", 1);
	want(&p, NULL, "time", 40e3);
	assert_int_equal(p.end, KF_PROFILE_GOOD);
	kf_profile_release(&p);
	take_file(kf_read_nsys, "nsys_sum_old.csv", 10, &p);
	want(&p, "axpb", "time", 30e3);
	kf_profile_release(&p);
	take_file(kf_read_nsys, "nsys_sum_us.csv", 10, &p);
	want(&p, "axpb", "time", 130050);
	kf_profile_release(&p);
}

static void test_nsys_drops_lost_stamps_and_what_is_not_the_programs(
							void **state)
{
	struct kf_profile p;

	(void)state;
	take_file(kf_read_nsys, "nsys_trace.csv", 2, &p);
	want(&p, "axpb", "time", 3100);
	absent(&p, "kf_digest", "time");
	absent(&p, "[CUDA memset]", "time");
	absent(&p, NULL, "launch_gap");	/* a launch is lost */
	assert_non_null(why_missing(&p, "some launches' times"));
	assert_non_null(strstr(why_missing(&p, "some launches"),
			       "no multiple"));
	kf_profile_release(&p);
}

static void test_nsys_gaps_are_those_within_calls(void **state)
{
	static const char text[] =
		"Start (us),Duration (us),Name\n"
		"1,3,a\n6,1,b\n" "50,3,a\n54,1,b\n";
	struct kf_profile p;

	(void)state;
	take(kf_read_nsys, text, sizeof(text) - 1, "", 2, &p);
	want(&p, NULL, "launch_gap", 1500);
	assert_int_equal(p.end, KF_PROFILE_GOOD);
	kf_profile_release(&p);
}

static void test_nsys_says_that_graphs_hide_their_kernels(void **state)
{
	struct kf_profile p;

	(void)state;
	take_file(kf_read_nsys, "nsys_graph.csv", 2, &p);
	assert_non_null(strstr(why_missing(&p, "per-kernel times"),
			       "one block"));
	kf_profile_release(&p);
}

/* --- our own -------------------------------------------------------------- */

static void test_the_first_call_warms_up(void **state)
{
	struct kf_profile p;

	(void)state;
	take_file(kf_read_launches, "launches.csv", 3, &p);
	want(&p, "axpb", "time", 5000);
	want(&p, "reduce", "time", 1000);
	want(&p, NULL, "launches", 2);
	want(&p, NULL, "launch_gap", 1000);
	want(&p, "reduce", "local_bytes", 16);
	want(&p, "reduce", "occupancy_possible", 25);
	kf_profile_release(&p);
}

static void test_launches_that_were_lost_are_told(void **state)
{
	struct kf_profile p;

	(void)state;
	take_file(kf_read_launches, "launches.csv", 4, &p);
	assert_int_equal(p.end, KF_PROFILE_PARTIAL);
	assert_non_null(why_missing(&p, "some calls"));
	kf_profile_release(&p);
	take_file(kf_read_launches, "launches_lost.csv", 1, &p);
	absent(&p, "axpb", "time");
	absent(&p, NULL, "time");
	absent(&p, "axpb", "registers");
	want(&p, "axpb", "groups", 132);
	assert_non_null(why_missing(&p, "some launches' times"));
	kf_profile_release(&p);
}

static void test_records_have_bytes_gaps_and_what_was_lost(void **state)
{
	struct kf_profile p;

	(void)state;
	take_file(kf_read_cupti, "cupti.csv", 3, &p);
	want(&p, "axpb", "time", 4500);
	want(&p, "kf_zero", "copied_bytes", 6144);
	want(&p, "kf_zero", "launches", 2);
	want(&p, NULL, "launch_gap", 1250);
	absent(&p, "axpb", "copied_bytes");
	absent(&p, "axpb", "occupancy_possible");
	assert_string_equal(why_missing(&p, "lost events"), "the tool lost 7 "
			    "events: it had no room for them");
	kf_profile_release(&p);
	/* Lost ones are told where nothing else is. */
	take_file(kf_read_cupti, "cupti_empty.csv", 1, &p);
	assert_non_null(why_missing(&p, "lost events"));
	kf_profile_release(&p);
	take_file(kf_read_cupti, "cupti_absent.txt", 1, &p);
	assert_non_null(strstr(why_missing(&p, "cupti"), "is not there"));
	kf_profile_release(&p);
}

/* Events that lie between operations only cannot show gaps: no gap is told,
 * rather than none. */
static void test_touching_events_are_no_gap_of_zero(void **state)
{
	static const char text[] = "call,name,start_ns,end_ns\n"
		"1,a,0,10\n1,b,10,30\n";
	struct kf_profile p;

	(void)state;
	take(kf_read_launches, text, sizeof(text) - 1, "", 1, &p);
	want(&p, NULL, "time", 30);
	absent(&p, NULL, "launch_gap");
	kf_profile_release(&p);
}

/* --- any tool ------------------------------------------------------------- */

static void test_tables_of_any_tool(void **state)
{
	struct kf_profile p;

	(void)state;
	take_file(kf_read_table, "table.csv", 1, &p);
	want(&p, NULL, "joules", 1.5);
	assert_string_equal(kf_metrics_find(&p.metrics, "", "joules")->unit,
			    "J");
	want(&p, "axpb", "dram_bytes_read", 2.5 * 1048576);
	want(&p, "axpb", "time", 12500);
	absent(&p, NULL, "watts");
	assert_non_null(why_missing(&p, "watts"));
	assert_true(p.kernel[0].time_ns == 12500);
	kf_profile_release(&p);
	take_file(kf_read_table, "table.json", 1, &p);
	want(&p, "axpb", "time", 5e5);
	assert_non_null(why_missing(&p, "joules"));
	kf_profile_release(&p);
}

static void test_facts_of_a_compiler(void **state)
{
	struct kf_profile p;

	(void)state;
	take_file(kf_read_compiler, "compiler.txt", 1, &p);
	want(&p, "axpb", "registers", 24);
	want(&p, "axpb", "spill_bytes", 0);
	want(&p, "big", "registers", 255);
	want(&p, "big", "shared_bytes", 16384);
	want(&p, "big", "stack_bytes", 512);
	want(&p, "big", "spill_bytes", 480);
	kf_profile_release(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_file_has_its_end),
		cmocka_unit_test(test_nothing_is_empty_and_no_reader_trips),
		cmocka_unit_test(
			test_what_was_said_beside_it_tells_of_permissions),
		cmocka_unit_test(test_perf_counts_are_of_one_call),
		cmocka_unit_test(test_perf_without_counters_goes_on),
		cmocka_unit_test(test_perf_of_other_versions_and_processors),
		cmocka_unit_test(
			test_callgrind_gives_what_functions_cost_themselves),
		cmocka_unit_test(test_ncu_columns_are_bound_by_name),
		cmocka_unit_test(test_ncu_values_that_are_none_stay_missing),
		cmocka_unit_test(test_ncu_of_a_version_with_other_columns),
		cmocka_unit_test(test_nsys_takes_units_from_the_header),
		cmocka_unit_test(
		test_nsys_drops_lost_stamps_and_what_is_not_the_programs),
		cmocka_unit_test(test_nsys_gaps_are_those_within_calls),
		cmocka_unit_test(test_nsys_says_that_graphs_hide_their_kernels),
		cmocka_unit_test(test_the_first_call_warms_up),
		cmocka_unit_test(test_launches_that_were_lost_are_told),
		cmocka_unit_test(
			test_records_have_bytes_gaps_and_what_was_lost),
		cmocka_unit_test(test_touching_events_are_no_gap_of_zero),
		cmocka_unit_test(test_tables_of_any_tool),
		cmocka_unit_test(test_facts_of_a_compiler),
	};

	return cmocka_run_group_tests_name("profile_read", tests, NULL, NULL);
}
