/* The promises of explain.h: what a person is told, within 80 columns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "evaluate/explain.h"

static const char correct[] =
	"{'state': 'correct', 'reason': '', 'stop_after': 'time',"
	" 'text': 'The program is correct in all 120 calls.\n',"
	" 'time_ns': 1e6, 'baseline_ns': 2e6, 'baseline': 'eager',"
	" 'baseline_live': true, 'conclusive': true,"
	" 'speedup': {'ratio': 2.0, 'low': 1.99, 'high': 2.01,"
	"  'width': 0.01, 'blocks': 5},"
	" 'trust': 'in-process', 'sandbox': 'strong',"
	" 'compiler': 'gcc 12', 'prepare_ns': 5000,"
	" 'memory_bytes_peak': 1000000, 'calls': 120,"
	" 'took': {'all_ns': 1e9, 'compiler_ns': 5e8, 'candidate_ns': 2e8,"
	"  'baseline_ns': 2e8, 'ours_ns': 1e8},"
	" 'evidence': {'rules': {'decided_by': 'kforge', 'kforge': true,"
	"  'kernelbench': true}, 'sets': {'declared': 'good', 'wide': 'good'},"
	"  'q_max': 8, 'rms_max': 0.25, 'processes': 2, 'notes': [],"
	"  'timing': {'calls': 50, 'blocks': 5, 'disturbed': 1,"
	"   'handshake_ns': 9000, 'cold_ns': 3e6, 'baseline_cold_ns': 5e6,"
	"   'clocks': {'pairs': 6, 'changed': 1,"
	"    'core_mhz': [2990, 3190]}}}}";

static const char mismatch[] =
	"{'state': 'mismatch', 'reason': 'values',"
	" 'text': 'Output 0 is wrong.\nWorst elements:\n  (1)  2  3\n',"
	" 'trust': 'in-process', 'sandbox': 'weak', 'compiler': 'gcc 12',"
	" 'took': {'all_ns': 1e9, 'compiler_ns': 5e8, 'candidate_ns': 2e8,"
	"  'baseline_ns': 0, 'ours_ns': 3e8},"
	" 'evidence': {'rules': {'decided_by': 'kernelbench', 'kforge': false,"
	"  'kernelbench': false}, 'sets': {'declared': 'good',"
	"  'wide': 'values', 'tail': 'not run'},"
	"  'q_max': 320, 'rms_max': 0.25, 'processes': 1,"
	"  'notes': ['a note that goes on and on and on and on and on and on "
	"and on and on and on and on until it must be wrapped'],"
	"  'failure': {'set': 'wide', 'call': 3, 'timed': true,"
	"   'output': 0, 'type': 'float32', 'limit': 3.0517578125e-05,"
	"   'elements': 64, 'wrong': 2, 'unwritten': 0, 'non_finite': 1,"
	"   'blocks': 1, 'blocks_bad': 1, 'error_max_abs': 1.5,"
	"   'pattern': 'a single row is wrong', 'worst': ["
	"   {'index': '(3, 4)', 'expected': 1.0, 'got': 2.5, 'q': 320.0,"
	"    'bound': 0.1, 'bound_from': 'reaction'},"
	"   {'index': '(3, 5)', 'expected': 1.0, 'got': 'inf', 'q': 'inf',"
	"    'bound': 0.1, 'bound_from': 'noise'},"
	"   {'index': '(9, 9)', 'expected': 1.0, 'got': 1.0, 'q': 1.0,"
	"    'bound': 0.1, 'bound_from': 'block'}]}}}";

/* JSON with ' for ", and newlines in strings. */
static char *explain(const char *text)
{
	struct kf_buf quoted = { .max = 1u << 16 }, out = { .max = 1u << 16 };
	struct kf_err err = { 0 };
	json_t *verdict = NULL;
	char *words;

	for (; *text; text++)
		kf_buf_puts(&quoted, *text == '\'' ? "\"" :
			    *text == '\n' ? "\\n" : (char[]) { *text, 0 });
	assert_int_equal(kf_json_parse(kf_buf_str(&quoted), quoted.len,
				       "verdict", &verdict, &err), KF_OK);
	kf_explain(verdict, &out);
	words = kf_strdup(kf_buf_str(&out));
	json_decref(verdict);
	kf_buf_release(&quoted);
	kf_buf_release(&out);
	return words;
}

static void assert_says(const char *text, const char *const *phrase,
			size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!strstr(text, phrase[i]))
			fail_msg("it does not say \"%s\":\n%s", phrase[i],
				 text);
}

static void assert_narrow(const char *text)
{
	while (*text) {
		size_t len = strcspn(text, "\n");

		if (len > 80)
			fail_msg("%zu columns: %.*s", len, (int)len, text);
		text += len + (text[len] == '\n');
	}
}

static void test_a_correct_program_says_how_its_time_came_about(void **state)
{
	static const char *const says[] = {
		"gcc 12 compiled it in 500 ms", "120 calls in 2 processes",
		"was off by 0.5 of what", "1 ms a call, the median of 50 timed",
		"each less 9 us", "PyTorch eager, 2 ms a call, in turn",
		"1.99 to 2.01", "1 pair of blocks taken again",
		"2990 to 3190 MHz; it changed",
		"3 ms a call whose inputs are in no cache; the baseline 5 ms",
		"conclusive  yes", "compiler       500 ms  50 %",
		"wide        good", "right; this one decides",
		"kforge compare",
	};
	char *text = explain(correct);

	(void)state;
	assert_says(text, says, KF_COUNT(says));
	assert_narrow(text);
	assert_null(strstr(text, "What failed"));
	assert_null(strstr(text, "Notes"));
	free(text);
}

static void test_a_mismatch_says_what_bounded_its_worst_elements(void **state)
{
	static const char *const says[] = {
		"mismatch: values", "Output 0 is wrong.",
		"call 3 of its process, on \"wide\"; one of the timed calls",
		"T = 2^-15", "a single row is wrong",
		"its reaction to inputs", "the reference's error",
		"        20  its reaction", "wide        values",
		"tail        not run", "wrong; this one decides",
		"Begin with the kind of data that fails",
	};
	char *text = explain(mismatch);

	(void)state;
	assert_says(text, says, KF_COUNT(says));
	assert_narrow(text);
	/* Told once, in the table; and the third is right. */
	assert_null(strstr(text, "(1)  2  3"));
	assert_null(strstr(text, "(9, 9)"));
	free(text);
}

static void test_what_was_not_recorded_is_left_out(void **state)
{
	static const char *const texts[] = {
		"{}", "{'state': 'correct'}", "{'state': 'none'}",
		"{'state': 'generation_failure', 'reason': 'no_code'}",
		"{'state': 'mismatch', 'reason': 'values', 'evidence': {}}",
		("{'state': 'mismatch', 'reason': 'x', 'evidence':"
		 " {'failure': {'elements': 3}, 'notes': [4], 'sets': 7}}"),
		"{'state': 5, 'text': [], 'took': 'long', 'evidence': []}",
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(texts); i++) {
		char *text = explain(texts[i]);

		assert_narrow(text);
		assert_null(strstr(text, "nan"));
		assert_null(strstr(text, "(null)"));
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_a_correct_program_says_how_its_time_came_about),
		cmocka_unit_test(
			test_a_mismatch_says_what_bounded_its_worst_elements),
		cmocka_unit_test(test_what_was_not_recorded_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
