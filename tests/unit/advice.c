/* Advice: what a model's answer must be, and what the rules say without one. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "advice/advice.h"
#include "profile/rules.h"

#define CHANGE "Pad each row of the tile by one element."
#define EVIDENCE "[{\"counter\":\"bank_conflicts\",\"kernel\":\"axpb\"}]"

static const char file_name[] = "program.c", file_text[] = "a\nb\nc\n";

struct fixture {
	struct kf_source_file file;
	struct kf_prompt_attempt best;
	struct kf_prompt_request prompt;
	struct kf_profile profile;
	struct kf_roofline roofline;
	struct kf_advice_request req;
};

static struct kf_profile_kernel *add_kernel(struct kf_profile *profile,
					    const char *name)
{
	profile->kernel = kf_alloc(sizeof(profile->kernel[0]));
	profile->kernel_count = 1;
	profile->kernel[0] = (struct kf_profile_kernel) {
		.name = kf_strdup(name), .share = 0.9, .time_ns = 900,
		.launches = 1,
	};
	return &profile->kernel[0];
}

/* Two kernels' worth of counters: bank conflicts weigh most, spills less. */
static int set_up(void **state)
{
	struct fixture *f = kf_alloc(sizeof(*f));

	f->file = (struct kf_source_file) {
		.name = (char *)(uintptr_t)file_name,
		.text = (char *)(uintptr_t)file_text,
		.len = sizeof(file_text) - 1,
	};
	f->best = (struct kf_prompt_attempt) {
		.number = 1, .state = "correct", .file = &f->file,
		.file_count = 1,
	};
	f->prompt.best = &f->best;
	add_kernel(&f->profile, "axpb");
	kf_metrics_add(&f->profile.metrics, "axpb", "bank_conflicts", 900,
		       "count");
	kf_metrics_add(&f->profile.metrics, "axpb", "shared_passes", 1000,
		       "count");
	kf_metrics_add(&f->profile.metrics, "axpb", "spill_bytes", 64, "byte");
	f->roofline = (struct kf_roofline) {
		.time_ns = (double)NAN, .memory_share = 0.4,
		.compute_share = (double)NAN, .share = (double)NAN,
		.memory_ns = (double)NAN, .compute_ns = (double)NAN,
		.bytes = (double)NAN, .flops = (double)NAN,
		.bytes_per_s = (double)NAN, .flops_per_s = (double)NAN,
		.matrix_flops_per_s = (double)NAN, .cache_bytes = (double)NAN,
	};
	f->req = (struct kf_advice_request) {
		.prompt = &f->prompt, .profile = &f->profile,
		.roofline = &f->roofline, .page = "the page",
	};
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	kf_profile_release(&f->profile);
	free(f);
	return 0;
}

#define ANSWER(bottleneck, evidence, change, gain) \
	"{\"bottleneck\":\"" bottleneck "\",\"evidence\":" evidence "," \
	"\"change\":\"" change "\",\"expected_gain\":" gain "}"

static const struct { const char *reply, *why; } rows[] = {
	{ ANSWER("bank conflicts", EVIDENCE, CHANGE, "1.4"), "" },
	{ "I think so:\n```json\n" ANSWER("latency", EVIDENCE, CHANGE, "1") "\n```\nThat is {all}.", "" },
	{ "Thus " ANSWER("latency", "[{\"line\":\"program.c:3\"}]", CHANGE, "2") ".", "" },
	{ ANSWER("bandwidth", "[{\"counter\":\"memory_share\"}]", CHANGE, "2"), "" },
	{ ANSWER("spills", "[{\"counter\":\"spill_bytes\"}]", CHANGE, "2"), "" },
	{ "", "no JSON object was found" },
	{ "no idea", "no JSON object was found" },
	{ "{\"bottleneck\":", "no JSON object was found" },
	{ "[1]", "no JSON object was found" },
	{ ANSWER("memory", EVIDENCE, CHANGE, "2"), "\"bottleneck\" must be one of \"bandwidth\"" },
	{ ANSWER("unknown", EVIDENCE, CHANGE, "2"), "\"bottleneck\" must be one of" },
	{ ANSWER("latency", "[]", CHANGE, "2"), "\"evidence\" must be a list of 1 to 6" },
	{ ANSWER("latency", "\"x\"", CHANGE, "2"), "\"evidence\" must be a list" },
	{ ANSWER("latency", "[1]", CHANGE, "2"), "each entry of \"evidence\" must be an object" },
	{ ANSWER("latency", "[{}]", CHANGE, "2"), "neither \"counter\" nor \"line\"" },
	{ ANSWER("latency", "[{},{},{},{},{},{},{}]", CHANGE, "2"), "1 to 6" },
	{ ANSWER("latency", "[{\"counter\":\"dram_throughput\"}]", CHANGE, "2"), "no counter \"dram_throughput\" in the profile" },
	{ ANSWER("latency", "[{\"counter\":\"compute_share\"}]", CHANGE, "2"), "no counter \"compute_share\"" },
	{ ANSWER("latency", "[{\"counter\":\"spill_bytes\",\"kernel\":\"other\"}]", CHANGE, "2"), "of kernel other" },
	{ ANSWER("latency", "[{\"line\":\"program.c:4\"}]", CHANGE, "2"), "no line \"program.c:4\"" },
	{ ANSWER("latency", "[{\"line\":\"program.c:0\"}]", CHANGE, "2"), "no line" },
	{ ANSWER("latency", "[{\"line\":\"other.c:1\"}]", CHANGE, "2"), "no line" },
	{ ANSWER("latency", "[{\"line\":\"3\"}]", CHANGE, "2"), "no line" },
	{ ANSWER("latency", EVIDENCE, "tile", "2"), "\"change\" says too little" },
	{ ANSWER("latency", EVIDENCE, CHANGE, "0.9"), "\"expected_gain\" must be a number" },
	{ ANSWER("latency", EVIDENCE, CHANGE, "\"1.3x\""), "\"expected_gain\" must be a number" },
	{ ANSWER("latency", EVIDENCE, CHANGE, "1e9"), "\"expected_gain\" must be a number" },
	{ "{\"bottleneck\":\"latency\",\"evidence\":" EVIDENCE ",\"expected_gain\":2}", "\"change\" must be a string" },
	{ "{\"bottleneck\":\"latency\",\"evidence\":" EVIDENCE ",\"change\":\"" CHANGE "\",\"expected_gain\":2,\"keep\":1}", "\"keep\" must be a string" },
};

static void test_each_answer_is_used_or_told_what_is_wrong(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		char why[KF_ADVICE_WHY_BYTES];
		struct kf_advice advice;
		bool good = kf_advice_read(&f->req, rows[i].reply,
					   strlen(rows[i].reply), &advice,
					   why);

		if (good != !rows[i].why[0] || !strstr(why, rows[i].why))
			fail_msg("row %zu: %s '%s'", i, good ? "used" :
				 "refused", why);
		assert_int_equal(advice.source, good ? KF_ADVICE_MODEL :
				 KF_ADVICE_NONE);
		kf_advice_release(&advice);
	}
}

static void test_a_text_that_is_too_long_is_refused(void **state)
{
	struct fixture *f = *state;
	char *change = kf_alloc(KF_ADVICE_TEXT_BYTES + 2), *reply;
	char why[KF_ADVICE_WHY_BYTES];
	struct kf_advice advice;

	memset(change, 'x', KF_ADVICE_TEXT_BYTES + 1);
	reply = kf_format(ANSWER("latency", EVIDENCE, "%s", "2"), change);
	assert_false(kf_advice_read(&f->req, reply, strlen(reply), &advice,
				    why));
	assert_non_null(strstr(why, "longer than 2000 bytes"));
	kf_advice_release(&advice);
	free(reply);
	free(change);
}

static void test_what_is_cited_gets_its_measured_value(void **state)
{
	struct fixture *f = *state;
	char why[KF_ADVICE_WHY_BYTES];
	struct kf_advice advice;
	const json_t *cited;
	json_t *json;

	assert_true(kf_advice_read(&f->req, rows[4].reply,
				   strlen(rows[4].reply), &advice, why));
	assert_string_equal(advice.evidence[0].kernel, "axpb");
	assert_true(advice.evidence[0].value == 64);
	json = kf_advice_to_json(&advice);
	assert_string_equal(kf_json_str(json, "source", ""), "model");
	assert_string_equal(kf_json_str(json, "bottleneck", ""), "spills");
	assert_string_equal(kf_json_str(json, "change", ""), CHANGE);
	assert_true(kf_json_real(json, "expected_gain", 0) == 2);
	cited = json_array_get(json_object_get(json, "evidence"), 0);
	assert_string_equal(kf_json_str(cited, "counter", ""), "spill_bytes");
	assert_true(kf_json_real(cited, "value", 0) == 64);
	assert_true(json_is_null(json_object_get(cited, "line")));
	json_decref(json);
	kf_advice_release(&advice);
}

static void test_the_rules_name_the_heaviest_finding(void **state)
{
	struct fixture *f = *state;
	struct kf_advice advice;

	kf_advice_by_rules(&f->req, &advice);
	assert_int_equal(advice.source, KF_ADVICE_RULES);
	assert_int_equal(advice.bottleneck, KF_CLASS_BANK_CONFLICTS);
	assert_non_null(strstr(advice.change, "axpb: "));
	assert_non_null(strstr(advice.change, "pad rows"));
	assert_true(advice.expected_gain > 1 && advice.expected_gain <= 4);
	assert_string_equal(advice.evidence[0].counter, "bank_conflicts");
	assert_true(advice.evidence[0].value == 900);
	kf_advice_release(&advice);
}

static void test_what_was_tried_in_vain_is_not_said_again(void **state)
{
	struct fixture *f = *state;
	struct kf_advice_tried tried = { KF_CLASS_BANK_CONFLICTS, NULL, 1.01 };
	struct kf_advice first, next;

	kf_advice_by_rules(&f->req, &first);
	tried.change = first.change;
	f->req.tried = &tried;
	f->req.tried_count = 1;
	kf_advice_by_rules(&f->req, &next);
	assert_int_equal(next.bottleneck, KF_CLASS_SPILLS);
	kf_advice_release(&next);
	tried.gain = (double)NAN;	/* the program was not correct */
	kf_advice_by_rules(&f->req, &next);
	assert_int_equal(next.bottleneck, KF_CLASS_SPILLS);
	kf_advice_release(&next);
	tried.gain = 1.3;		/* it helped: there may be more */
	kf_advice_by_rules(&f->req, &next);
	assert_int_equal(next.bottleneck, KF_CLASS_BANK_CONFLICTS);
	kf_advice_release(&next);
	kf_advice_release(&first);
}

static void test_on_a_plateau_the_rules_are_silent(void **state)
{
	struct fixture *f = *state;
	struct kf_advice advice;

	f->prompt.plateau = true;
	kf_advice_by_rules(&f->req, &advice);
	assert_int_equal(advice.source, KF_ADVICE_NONE);
	assert_int_equal(advice.bottleneck, KF_CLASS_BANK_CONFLICTS);
	assert_null(advice.change);
	kf_advice_release(&advice);
}

static void test_nothing_measured_is_nothing_said(void **state)
{
	struct fixture *f = *state;
	struct kf_profile empty = { 0 };
	struct kf_advice advice;

	f->req.profile = &empty;
	kf_advice_by_rules(&f->req, &advice);
	assert_int_equal(advice.source, KF_ADVICE_NONE);
	kf_advice_release(&advice);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		T(test_each_answer_is_used_or_told_what_is_wrong),
		T(test_a_text_that_is_too_long_is_refused),
		T(test_what_is_cited_gets_its_measured_value),
		T(test_the_rules_name_the_heaviest_finding),
		T(test_what_was_tried_in_vain_is_not_said_again),
		T(test_on_a_plateau_the_rules_are_silent),
		T(test_nothing_measured_is_nothing_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
