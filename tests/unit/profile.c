/* Profiles, rooflines, rules and the page: what is counted under which name,
 * and what is made of it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "profile/profiler.h"
#include "profile/rules.h"

static const double nan_value = (double)NAN;

/* --- metrics -------------------------------------------------------------- */

static void test_units_are_one(void **state)
{
	static const struct { const char *text, *shared; double factor; }
	rows[] = {
		{ "msec", "ns", 1e6 }, { "usecond", "ns", 1e3 },
		{ "ns", "ns", 1 }, { "Mbyte", "byte", 1e6 },
		{ "KiB", "byte", 1024 }, { "GB/s", "byte/s", 1e9 },
		{ "Gbyte/second", "byte/s", 1e9 },
		{ "byte/nsecond", "byte/s", 1e9 }, { "Kinst", "count", 1e3 },
		{ "%", "%", 1 }, { "furlong", "furlong", 1 },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		double value = 2;

		assert_string_equal(kf_metric_unit(rows[i].text, &value),
				    rows[i].shared);
		assert_true(fabs(value - 2 * rows[i].factor) <
			    1e-9 * rows[i].factor);
	}
}

static void test_what_is_not_finite_is_not_there(void **state)
{
	struct kf_metrics m = { 0 };

	(void)state;
	assert_false(kf_metrics_add(&m, NULL, "time", nan_value, "ns"));
	assert_false(kf_metrics_add(&m, NULL, "time", (double)INFINITY, "ns"));
	assert_int_equal(m.count, 0);
	assert_true(isnan(kf_metrics_value(&m, NULL, "time")));
	assert_true(kf_metrics_add(&m, "k", "time", 1, "ns"));
	assert_null(kf_metrics_find(&m, NULL, "time"));
	assert_true(kf_metrics_add(&m, "k", "time", 2, "ns"));
	assert_int_equal(m.count, 1);
	assert_true(kf_metrics_value(&m, "k", "time") == 2);
	kf_metrics_release(&m);
}

static void test_a_hidden_set_is_not_there(void **state)
{
	struct kf_profile p = { 0 };
	static const struct { const char *kernel, *name, *set; } rows[] = {
		{ "", "time", "times" }, { "k", "cycles", "processor" },
		{ "k", "dram_throughput", "throughput" },
		{ "k", "l2_hit_rate", "memory" }, { "k", "waves", "occupancy" },
		{ "k", "stall_pipe", "stalls" }, { "k", "registers", "static" },
		{ "program.c:7", "instructions", "kernels" },
		{ "", "a_tools_own", "other" },
	};

	(void)state;
	assert_int_equal(KF_COUNT(rows), KF_METRIC_SETS);
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		unsigned set = kf_metric_set_by_name(rows[i].set);

		assert_string_equal(kf_metric_set_name(set), rows[i].set);
		for (size_t k = 0; k < KF_COUNT(rows); k++)
			assert_true(kf_metrics_add(&p.metrics, rows[k].kernel,
						   rows[k].name, 1, "count"));
		kf_profile_add_kernel(&p, "k");
		kf_profile_hide(&p, 1u << set);
		assert_int_equal(p.metrics.count, KF_COUNT(rows) - 1);
		assert_null(kf_metrics_find(&p.metrics, rows[i].kernel,
					    rows[i].name));
		assert_int_equal(p.kernel_count, set != KF_SET_KERNELS);
	}
	assert_int_equal(kf_metric_set_by_name("none"), KF_METRIC_SETS);
	kf_profile_release(&p);
}

static void test_shared_names_are_told_once(void **state)
{
	(void)state;
	for (size_t i = 0; kf_metric_row(i); i++) {
		const struct kf_metric_about *row = kf_metric_row(i);

		assert_ptr_equal(kf_metric_about(row->name), row);
		assert_true(row->says[0] && row->unit[0]);
	}
	assert_null(kf_metric_about("no such thing"));
}

/* --- profiles ------------------------------------------------------------- */

static void add_kernel(struct kf_profile *p, const char *name, double time_ns)
{
	kf_profile_add_kernel(p, name)->time_ns = time_ns;
	kf_profile_share_times(p);
}

static void test_of_two_profilers_the_earlier_one_stands(void **state)
{
	struct kf_profile a = { .end = KF_PROFILE_GOOD };
	struct kf_profile b = { .end = KF_PROFILE_ABSENT };
	struct kf_profile sum = { 0 };

	(void)state;
	kf_metrics_add(&a.metrics, NULL, "cycles", 1, "count");
	kf_metrics_add(&b.metrics, NULL, "cycles", 2, "count");
	kf_metrics_add(&b.metrics, NULL, "instructions", 3, "count");
	add_kernel(&b, "k", 10);
	kf_profile_add_source(&a, "a");
	kf_profile_add_source(&b, "b");
	kf_profile_add_missing(&b, "b", "it is not there");
	kf_profile_merge(&sum, &a);
	assert_int_equal(sum.end, KF_PROFILE_GOOD);
	kf_profile_merge(&sum, &b);
	assert_int_equal(sum.end, KF_PROFILE_PARTIAL);
	assert_true(kf_metrics_value(&sum.metrics, NULL, "cycles") == 1);
	assert_true(kf_metrics_value(&sum.metrics, NULL, "instructions") == 3);
	assert_int_equal(sum.kernel_count, 1);
	assert_string_equal(sum.source, "a");
	assert_int_equal(sum.missing_count, 1);
	kf_profile_release(&a);
	kf_profile_release(&b);
	kf_profile_release(&sum);
}

static void test_a_profile_comes_back_from_its_json(void **state)
{
	struct kf_profile p = { .end = KF_PROFILE_PARTIAL, .call_count = 7 };
	struct kf_profile back;
	json_t *json, *again;

	(void)state;
	add_kernel(&p, "axpb", 12.5);
	add_kernel(&p, "fill", nan_value);
	p.kernel[0].launches = 2;
	kf_metrics_add(&p.metrics, "axpb", "time", 12.5, "ns");
	kf_metrics_add(&p.metrics, NULL, "launches", 3, "count");
	kf_profile_add_missing(&p, "cycles", "not here");
	kf_profile_add_picture(&p, "/x/timeline.png");
	kf_profile_add_source(&p, "perf");
	p.raw_path = kf_strdup("/x");
	json = kf_profile_json(&p);
	assert_int_equal(kf_profile_from_json(json, &back, NULL), KF_OK);
	again = kf_profile_json(&back);
	assert_true(json_equal(json, again));
	assert_true(isnan(back.kernel[1].time_ns));
	json_decref(json);
	json_decref(again);
	kf_profile_release(&p);
	kf_profile_release(&back);
	json = json_object();
	assert_int_equal(kf_profile_from_json(json, &back, NULL), KF_E_INPUT);
	kf_profile_release(&back);
	json_decref(json);
}

/* --- rooflines ------------------------------------------------------------ */

/* 1 GB and 1 GFLOP on a device of 100 GB/s and 10 TFLOP/s: 10 ms for bytes. */
static void make_roofline(double time_ns, uint64_t cache_bytes,
			  struct kf_roofline *out)
{
	struct kf_bundle bundle = { .bytes = 1e9, .flops = 1e9 };
	struct kf_device_info device = { .ceiling = {
		.bytes_per_s = 100e9, .flops_per_s = 10e12,
		.cache_bytes = cache_bytes,
	} };

	kf_roofline_make(&bundle, &device, time_ns, NULL, out);
}

static void test_bounds_and_shares(void **state)
{
	struct kf_roofline r;

	(void)state;
	make_roofline(20e6, 1 << 20, &r);
	assert_true(fabs(r.memory_ns - 10e6) < 1);
	assert_true(fabs(r.compute_ns - 0.1e6) < 1);
	assert_int_equal(r.bound, KF_CLASS_BANDWIDTH);
	assert_true(fabs(r.share - 0.5) < 1e-9);
	assert_false(r.cached);
	kf_roofline_release(&r);
}

static void test_what_is_not_known_stays_unknown(void **state)
{
	struct kf_bundle bundle = { .bytes = 1e9, .flops = nan_value };
	struct kf_device_info device = { .units = 1 };
	struct kf_buf words = { .max = 4096 };
	struct kf_roofline r;
	char why[256];

	(void)state;
	kf_roofline_make(&bundle, &device, 1e6, NULL, &r);
	assert_true(isnan(r.memory_ns) && isnan(r.share) && isnan(r.flops));
	assert_int_equal(r.bound, KF_CLASS_UNKNOWN);
	assert_false(r.cached);
	assert_false(kf_roofline_reached(&r, why));
	kf_roofline_words(&r, &words);
	assert_non_null(strstr(kf_buf_str(&words), "was not measured"));
	assert_non_null(strstr(kf_buf_str(&words), "are not counted"));
	kf_buf_clear(&words);
	kf_roofline_svg(&r, "a <b> & \"c\"", &words);
	assert_non_null(strstr(kf_buf_str(&words),
			       "a &lt;b&gt; &amp; &quot;c&quot;"));
	kf_buf_release(&words);
	kf_roofline_release(&r);
}

static void test_under_five_per_cent_left_is_a_reason_to_stop(void **state)
{
	static const struct { double time_ns; uint64_t cache; bool reached; }
	rows[] = {
		{ 10.49e6, 1 << 20, true }, { 10.51e6, 1 << 20, false },
		{ 9e6, 1 << 20, true },
		{ 10.1e6, UINT64_C(2) << 30, false },	/* all in the cache */
		{ (double)NAN, 1 << 20, false },
	};
	char why[256];

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct kf_roofline r;

		make_roofline(rows[i].time_ns, rows[i].cache, &r);
		assert_int_equal(kf_roofline_reached(&r, why),
				 rows[i].reached);
		assert_int_equal(why[0] != '\0', rows[i].reached);
		kf_roofline_release(&r);
	}
}

/* Operations advise: a program may need fewer than the reference. */
static void test_the_compute_bound_stops_nothing(void **state)
{
	struct kf_bundle bundle = { .bytes = 1e6, .flops = 1e12 };
	struct kf_device_info device = { .ceiling = {
		.bytes_per_s = 100e9, .flops_per_s = 10e12 } };
	struct kf_roofline r;
	char why[256];

	(void)state;
	kf_roofline_make(&bundle, &device, 101e6, NULL, &r);
	assert_int_equal(r.bound, KF_CLASS_COMPUTE);
	assert_true(r.share > 0.98);
	assert_false(kf_roofline_reached(&r, why));
	kf_roofline_release(&r);
}

static void test_kernels_have_places_of_their_own(void **state)
{
	struct kf_bundle bundle = { .bytes = 1e9, .flops = 1e9 };
	struct kf_device_info device = { .ceiling = {
		.bytes_per_s = 100e9, .flops_per_s = 10e12 } };
	struct kf_profile p = { .end = KF_PROFILE_GOOD };
	struct kf_buf svg = { .max = 1u << 16 };
	struct kf_roofline r, back;
	json_t *json, *again;

	(void)state;
	add_kernel(&p, "k", 20e6);
	kf_metrics_add(&p.metrics, "k", "dram_bytes_read", 0.5e9, "byte");
	kf_metrics_add(&p.metrics, "k", "dram_bytes_written", 0.5e9, "byte");
	kf_metrics_add(&p.metrics, "k", "flops", 1e9, "count");
	kf_roofline_make(&bundle, &device, 25e6, &p, &r);
	assert_int_equal(r.point_count, 1);
	assert_true(fabs(r.point[0].share - 0.5) < 1e-9);
	kf_roofline_svg(&r, "title", &svg);
	assert_non_null(strstr(kf_buf_str(&svg), "the program"));
	assert_non_null(strstr(kf_buf_str(&svg), ">k</text>"));
	assert_null(strstr(kf_buf_str(&svg), "nan"));
	json = kf_roofline_json(&r);
	assert_int_equal(kf_roofline_from_json(json, &back, NULL), KF_OK);
	again = kf_roofline_json(&back);
	assert_true(json_equal(json, again));
	json_decref(json);
	json_decref(again);
	kf_roofline_release(&back);
	kf_roofline_release(&r);
	kf_buf_release(&svg);
	kf_profile_release(&p);
}

/* --- rules ---------------------------------------------------------------- */

struct given { const char *name; double value; };

/* Each rule by counters that show its trouble and nothing else. */
static const struct {
	const char *what;
	enum kf_profile_class which;
	const char *kernel;		/* counters of; "": of the program */
	struct given given[8];
	const char *says;
} rule_rows[] = {
	{ "gaps", KF_CLASS_LAUNCH, "", { { "launch_gap", 4000 }, { "time", 6000 }, { "launches", 1 } }, "nothing for 40 %" },
	{ "short launches", KF_CLASS_LAUNCH, "", { { "time", 20000 }, { "launches", 10 } }, "10 launches of 2.0 us" },
	{ "spills", KF_CLASS_SPILLS, "k", { { "spill_bytes", 64 }, { "registers", 255 } }, "64 bytes" },
	{ "banks", KF_CLASS_BANK_CONFLICTS, "k", { { "bank_conflicts", 700 }, { "shared_passes", 1000 } }, "70 %" },
	{ "unequal threads", KF_CLASS_IMBALANCE, "", { { "thread_imbalance", 2 } }, "2.00 times as long" },
	{ "idle threads", KF_CLASS_IMBALANCE, "", { { "threads", 8 }, { "cpus_used", 2 } }, "2.0 of 8 threads" },
	{ "last wave", KF_CLASS_IMBALANCE, "k", { { "waves", 1.1 } }, "1.10 times" },
	{ "too few groups", KF_CLASS_IMBALANCE, "k", { { "waves", 0.25 } }, "some units have none" },
	{ "occupancy", KF_CLASS_OCCUPANCY, "k", { { "occupancy", 12 }, { "occupancy_possible", 12.5 }, { "registers", 200 }, { "warps_eligible", 0.2 } }, "registers" },
	{ "scattered", KF_CLASS_BANDWIDTH, "k", { { "sectors_per_load", 32 } }, "32 sectors" },
	{ "misses", KF_CLASS_BANDWIDTH, "", { { "l1_misses", 90 }, { "l1_loads", 100 } }, "90 %" },
	{ "simulated misses", KF_CLASS_BANDWIDTH, "", { { "l1_read_misses_simulated", 90 }, { "data_reads", 100 } }, "90 %" },
	{ "at the bandwidth", KF_CLASS_BANDWIDTH, "k", { { "dram_throughput", 92 } }, "92 %" },
	{ "at the peak", KF_CLASS_COMPUTE, "k", { { "compute_throughput", 88 } }, "88 %" },
	{ "scalar exp", KF_CLASS_COMPUTE, "__expf_fma", { { "instructions", 1 } }, "expf of the C library" },
	{ "idle warps", KF_CLASS_COMPUTE, "k", { { "stall_barrier", 12 }, { "compute_throughput", 93 } }, "93 %" },
	{ "idle warps, memory", KF_CLASS_BANDWIDTH, "k", { { "stall_barrier", 3.6 }, { "dram_throughput", 81 } }, "81 %" },
	{ "stalls", KF_CLASS_LATENCY, "k", { { "stall_memory", 12 }, { "dram_throughput", 20 } }, "12.0 cycles" },
	{ "barriers", KF_CLASS_LATENCY, "k", { { "stall_barrier", 5 } }, "barriers" },
	{ "few instructions", KF_CLASS_LATENCY, "", { { "instructions_per_cycle", 0.4 } }, "0.40 instructions" },
	{ "predictions", KF_CLASS_LATENCY, "", { { "branch_misses", 10 }, { "branches", 100 }, { "instructions", 1000 } }, "10 %" },
	{ "pages", KF_CLASS_LATENCY, "", { { "page_faults", 10000 } }, "10000 page faults" },
};

static void apply(size_t row, bool with_trouble, struct kf_findings *out)
{
	struct kf_profile p = { .end = KF_PROFILE_GOOD };
	struct kf_roofline r;
	const char *kernel = rule_rows[row].kernel;

	make_roofline(20e6, UINT64_C(2) << 30, &r);
	add_kernel(&p, kernel[0] ? kernel : "k", 20e6);
	for (size_t i = 0; with_trouble && rule_rows[row].given[i].name; i++)
		kf_metrics_add(&p.metrics, kernel,
			       rule_rows[row].given[i].name,
			       rule_rows[row].given[i].value, "count");
	kf_rules_apply(&p, &r, out);
	kf_roofline_release(&r);
	kf_profile_release(&p);
}

static void test_each_rule_sees_its_own_trouble(void **state)
{
	struct kf_findings found;

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rule_rows); i++) {
		apply(i, true, &found);
		if (!found.count)
			fail_msg("%s: nothing is found", rule_rows[i].what);
		if (found.finding[0].which != rule_rows[i].which)
			fail_msg("%s: found %s", rule_rows[i].what,
				 kf_profile_class_name(
					 found.finding[0].which));
		if (!strstr(found.finding[0].text, rule_rows[i].says))
			fail_msg("%s: it says '%s'", rule_rows[i].what,
				 found.finding[0].text);
		assert_string_equal(found.finding[0].kernel,
				    rule_rows[i].kernel);
		assert_non_null(found.finding[0].change);
	}
}

/* What was not measured is no trouble. */
static void test_without_counters_nothing_is_found(void **state)
{
	struct kf_findings found;

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rule_rows); i++) {
		if (strcmp(rule_rows[i].what, "scalar exp") == 0)
			continue;	/* told by its name and share alone */
		apply(i, false, &found);
		assert_int_equal(found.count, 0);
	}
}

static void test_small_kernels_have_no_say(void **state)
{
	struct kf_profile p = { .end = KF_PROFILE_GOOD };
	struct kf_findings found;

	(void)state;
	add_kernel(&p, "large", 95);
	add_kernel(&p, "small", 5);
	kf_metrics_add(&p.metrics, "small", "spill_bytes", 4096, "byte");
	kf_rules_apply(&p, NULL, &found);
	assert_int_equal(found.count, 0);
	kf_profile_release(&p);
}

static void test_by_the_roofline_alone(void **state)
{
	struct kf_profile p = { .end = KF_PROFILE_NONE };
	struct kf_buf page = { .max = 1u << 16 };
	struct kf_roofline r;

	(void)state;
	make_roofline(12e6, 1 << 20, &r);
	assert_int_equal(kf_profile_reduce(&p, &r, &page),
			 KF_CLASS_BANDWIDTH);
	assert_non_null(strstr(kf_buf_str(&page), "83 % of the memory's"));
	kf_roofline_release(&r);
	make_roofline(200e6, 1 << 20, &r);
	assert_int_equal(kf_profile_reduce(&p, &r, &page), KF_CLASS_LATENCY);
	kf_roofline_release(&r);
	kf_buf_clear(&page);
	assert_int_equal(kf_profile_reduce(&p, NULL, &page),
			 KF_CLASS_UNKNOWN);
	kf_buf_release(&page);
}

static void test_faster_than_its_ceiling(void **state)
{
	static const double share[] = { 0.64, 1.05, 1.55 };
	struct kf_profile p = { .end = KF_PROFILE_NONE };
	struct kf_buf page = { .max = 1u << 16 };

	(void)state;
	for (size_t i = 0; i < KF_COUNT(share); i++) {
		struct kf_roofline r = {
			.compute_share = share[i], .share = share[i],
			.memory_share = 0.1, .bound = KF_CLASS_COMPUTE,
		};

		kf_buf_clear(&page);
		kf_profile_reduce(&p, &r, &page);
		assert_int_equal(!!strstr(kf_buf_str(&page), "of their peak"),
				 share[i] < 1.1);
	}
	kf_buf_release(&page);
}

/* --- the page ------------------------------------------------------------- */

static void test_the_page_has_evidence_and_what_is_missing(void **state)
{
	struct kf_profile p = { .end = KF_PROFILE_PARTIAL };
	struct kf_buf page = { .max = 1u << 16 };
	const char *text;

	(void)state;
	add_kernel(&p, "gemm", 1e6);
	kf_metrics_add(&p.metrics, "gemm", "spill_bytes", 480, "byte");
	kf_metrics_add(&p.metrics, "gemm", "registers", 255, "count");
	kf_profile_add_missing(&p, "cycles", "perf: not here");
	kf_profile_add_missing(&p, "instructions", "perf: not here");
	kf_profile_add_missing(&p, "ncu", "not allowed");
	assert_int_equal(kf_profile_reduce(&p, NULL, &page), KF_CLASS_SPILLS);
	text = kf_buf_str(&page);
	assert_non_null(strstr(text, "Bottleneck: spills"));
	assert_non_null(strstr(text, "spill_bytes = 480 B, registers = 255"));
	assert_non_null(strstr(text, "100.0 %  gemm: 1 ms"));
	assert_non_null(strstr(text, "cycles, instructions (perf: not here)"));
	assert_non_null(strstr(text, "ncu (not allowed)"));
	kf_buf_release(&page);
	kf_profile_release(&p);
}

static void test_the_page_stays_a_page(void **state)
{
	struct kf_profile p = { .end = KF_PROFILE_GOOD };
	struct kf_buf page = { .max = 1u << 16 };

	(void)state;
	for (int i = 0; i < 600; i++) {
		char *name = kf_format("counter_%d", i);

		kf_metrics_add(&p.metrics, NULL, name, i, "count");
		free(name);
	}
	kf_profile_reduce(&p, NULL, &page);
	assert_true(page.len <= KF_PROFILE_PAGE_BYTES);
	assert_true(page.len > KF_PROFILE_PAGE_BYTES / 2);
	assert_int_equal(page.data[page.len - 1], '\n');
	kf_buf_release(&page);
	kf_profile_release(&p);
}

/* --- profilers ------------------------------------------------------------ */

static void test_the_list_of_profilers(void **state)
{
	(void)state;
	for (size_t i = 0; kf_profilers[i]; i++) {
		const struct kf_profiler *p = kf_profilers[i];

		assert_int_equal(p->abi, KF_PROFILER_ABI);
		assert_ptr_equal(kf_profiler_by_name(p->name), p);
		assert_non_null(p->read);
		assert_true(p->one_part || p->two_part);
		assert_true(p->call_count && p->slower);
		assert_true(p->command ? p->install != NULL :
			    p->sample || p->trace);
		assert_true(p->result || p->after);
	}
	assert_null(kf_profiler_by_name("gprof"));
}

static void test_words_of_commands(void **state)
{
	static const char *const command[] = {
		"tool", "-p{pid}", "--out={out}/x", "{control}", "{run}", NULL
	};
	const struct kf_profiler_values values = {
		.out = "/o", .pid = 12, .control = "fd:3,4",
	};
	struct kf_profiler_words words;

	(void)state;
	kf_profiler_expand(command, &values, &words);
	assert_int_equal(words.count, 4);
	assert_string_equal(words.word[1], "-p12");
	assert_string_equal(words.word[2], "--out=/o/x");
	assert_string_equal(words.word[3], "fd:3,4");
	assert_null(words.word[4]);
	kf_profiler_words_release(&words);
}

static void test_commands_of_users(void **state)
{
	static const struct {
		const char *text;
		enum kf_code code;
		bool trace;	/* else the runner does not hear of the tool */
	} rows[] = {
		{ "tool --a {run}", KF_OK, true },
		{ "tool {pid}", KF_OK, false },
		{ "", KF_E_INPUT, false }, { "tool", KF_E_INPUT, false },
		{ "tool {pid} {run}", KF_E_INPUT, true },
		{ "tool {run} after", KF_E_INPUT, true },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct kf_profiler_words words;
		struct kf_profiler p;

		assert_int_equal(kf_profiler_of_command(rows[i].text, &p,
							&words, NULL),
				 rows[i].code);
		assert_int_equal(p.trace, rows[i].trace);
		kf_profiler_words_release(&words);
	}
}

/* A thread that works twice as long as two others, and one that is new. */
static void test_samples_become_figures_of_one_call(void **state)
{
	struct kf_sample_thread was[] = { { 1, 100, 0 }, { 2, 100, 0 } };
	struct kf_sample_thread is[] = {
		{ 1, 4100, 50 }, { 2, 2100, 50 }, { 3, 2000, 0 },
	};
	const struct kf_sample before = { was, 2, 10, 5 };
	const struct kf_sample after = { is, 3, 30, 9 };
	struct kf_profile p = { .call_count = 2 };
	struct kf_buf lines = { .max = 4096 };

	(void)state;
	kf_sample_write(&before, &after, 2, 4000, &lines);
	kf_read_table(&(struct kf_profile_bytes) {
		kf_buf_str(&lines), lines.len, "",
	}, &p);
	assert_int_equal(p.end, KF_PROFILE_GOOD);
	assert_true(kf_metrics_value(&p.metrics, NULL, "cpu_time") == 4000);
	assert_true(kf_metrics_value(&p.metrics, NULL, "cpus_used") == 2);
	assert_true(kf_metrics_value(&p.metrics, NULL, "thread_imbalance") ==
		    1.5);
	assert_true(kf_metrics_value(&p.metrics, NULL, "page_faults") == 10);
	assert_true(kf_metrics_value(&p.metrics, NULL, "threads") == 3);
	kf_profile_release(&p);
	kf_buf_release(&lines);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_units_are_one),
		cmocka_unit_test(test_what_is_not_finite_is_not_there),
		cmocka_unit_test(test_a_hidden_set_is_not_there),
		cmocka_unit_test(test_shared_names_are_told_once),
		cmocka_unit_test(test_of_two_profilers_the_earlier_one_stands),
		cmocka_unit_test(test_a_profile_comes_back_from_its_json),
		cmocka_unit_test(test_bounds_and_shares),
		cmocka_unit_test(test_what_is_not_known_stays_unknown),
		cmocka_unit_test(
			test_under_five_per_cent_left_is_a_reason_to_stop),
		cmocka_unit_test(test_the_compute_bound_stops_nothing),
		cmocka_unit_test(test_kernels_have_places_of_their_own),
		cmocka_unit_test(test_each_rule_sees_its_own_trouble),
		cmocka_unit_test(test_without_counters_nothing_is_found),
		cmocka_unit_test(test_small_kernels_have_no_say),
		cmocka_unit_test(test_by_the_roofline_alone),
		cmocka_unit_test(test_faster_than_its_ceiling),
		cmocka_unit_test(
			test_the_page_has_evidence_and_what_is_missing),
		cmocka_unit_test(test_the_page_stays_a_page),
		cmocka_unit_test(test_the_list_of_profilers),
		cmocka_unit_test(test_words_of_commands),
		cmocka_unit_test(test_commands_of_users),
		cmocka_unit_test(test_samples_become_figures_of_one_call),
	};

	return cmocka_run_group_tests_name("profile", tests, NULL, NULL);
}
