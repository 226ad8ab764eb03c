/*
 * cproblem.c - problems in C through the whole of it: compiled and run in
 * their sandboxes, made into bundles, judged against. No Python takes part:
 * the spec names one that is not there.
 *
 * Each tests/data/cproblem/refused/NAME.c begins with a comment that says with
 * which code, and in which words, it must be refused as a reference.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants those first */
#include <cmocka.h>
#include <dirent.h>
#include <math.h>
#include <unistd.h>

#include "evaluate/evaluate.h"
#include "problem/problem.h"

#define FOLDER "tests/data/cproblem"
#define REFUSED FOLDER "/refused"

struct fixture {
	char folder[64];
	struct kf_problem_spec spec;
};

static int set_up(void **state)
{
	struct fixture *f = kf_alloc(sizeof(*f));

	*state = f;
	snprintf(f->folder, sizeof(f->folder), "/tmp/kforge-cproblem-XXXXXX");
	f->spec = (struct kf_problem_spec) {
		.path = FOLDER "/softmax", .size = "test",
		.python = "/nonexistent/python", .cache_path = f->folder,
		.threads = 2, .tier_min = KF_TIER_WEAK,
		.timeout_ns = 60 * KF_NS_PER_S,
		.memory_bytes = UINT64_C(1) << 30,
	};
	return mkdtemp(f->folder) ? 0 : -1;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	kf_remove_tree(f->folder, NULL);
	free(f);
	return 0;
}

static void open_good(const struct kf_problem_spec *spec,
		      struct kf_problem *problem, struct kf_bundle *bundle)
{
	struct kf_err err = { 0 };

	if (kf_problem_read(spec, problem, &err) ||
	    kf_bundle_open(spec, problem, bundle, &err))
		fail_msg("%s", err.text);
}

static void close_both(struct kf_problem *problem, struct kf_bundle *bundle)
{
	kf_bundle_release(bundle);
	kf_problem_release(problem);
}

/* --- bundles ------------------------------------------------------------- */

static void check_case(const struct kf_bundle *b, const struct kf_case *c)
{
	const float *expect = c->expect[0], *react = c->react[0];
	const double *exact = c->exact[0];

	for (int64_t i = 0; i < b->out[0].numel; i++) {
		assert_true(isfinite(exact[i]) && react[i] >= 0);
		assert_true(fabs((double)expect[i] - exact[i]) <=
			    1e-5 * fabs(exact[i]) + 1e-7);
		assert_true(c->noise[0][i] >= 0 && c->noise[0][i] < 1e-3f);
	}
}

/* One set repeats the first but for a few elements, and the outputs follow. */
static void check_changed(const struct kf_bundle *b)
{
	const float *first = b->set[0].in[0], *now = b->set[1].in[0];
	int64_t count = 0;

	assert_string_equal(b->set[1].kind, "changed");
	for (int64_t i = 0; i < b->in[0].numel; i++)
		count += memcmp(&first[i], &now[i], sizeof(now[i])) != 0;
	assert_int_equal(count, 1);
	assert_memory_not_equal(b->set[0].expect[0], b->set[1].expect[0],
				b->out[0].bytes);
}

static void test_a_bundle_is_made_without_python(void **state)
{
	struct fixture *f = *state;
	struct kf_problem problem;
	struct kf_bundle b;

	open_good(&f->spec, &problem, &b);
	assert_true(b.made_now && b.has_exact);
	assert_int_equal(b.set_count, 9);
	assert_int_equal(b.stock_count, 64);
	assert_int_equal(b.in[0].shape[0], 4);
	assert_int_equal(b.in[0].shape[1], 30);
	assert_string_equal(b.in[0].name, "x");
	assert_string_equal(b.weight[0].name, "gamma");
	assert_true(b.in[0].matters && b.weight[0].matters);
	assert_true(b.flops == 5.0 * 4 * 30);
	assert_true(b.bytes == 4.0 * (120 + 30 + 120));
	for (size_t i = 0; i < b.set_count; i++)
		check_case(&b, &b.set[i]);
	check_changed(&b);
	assert_non_null(b.set[8].weight);
	assert_null(b.stock[0].exact[0]);
	close_both(&problem, &b);
	open_good(&f->spec, &problem, &b);
	assert_false(b.made_now);
	close_both(&problem, &b);
}

static void test_double_needs_one_reference(void **state)
{
	struct fixture *f = *state;
	struct kf_problem_spec spec = f->spec;
	struct kf_problem problem;
	struct kf_bundle b;

	spec.dtype = KF_F64;
	open_good(&spec, &problem, &b);
	assert_int_equal(b.out[0].dtype, KF_F64);
	assert_memory_equal(b.set[0].expect[0], b.set[0].exact[0],
			    b.out[0].bytes);
	assert_true(b.set[0].noise[0][0] <= 0);
	close_both(&problem, &b);
}

/* masked: an input that does not matter, one of whole numbers, a domain that
 * four kinds of sets leave, no weights, an output of whole numbers. */
static void test_what_a_problem_may_have(void **state)
{
	struct fixture *f = *state;
	struct kf_problem_spec spec = f->spec;
	struct kf_problem problem;
	struct kf_bundle b;
	json_t *dropped;

	spec.path = FOLDER "/masked/problem.json";
	spec.size = NULL;
	open_good(&spec, &problem, &b);
	assert_string_equal(problem.name, "masked");
	assert_int_equal(b.in[1].dtype, KF_I32);
	assert_true(b.in[0].matters && b.in[1].matters);
	assert_false(b.in[2].matters);
	assert_int_equal(b.scalar_count, 2);
	assert_true(b.scalar[0].f == 0.5);
	assert_int_equal(b.scalar[1].i, 9);
	dropped = json_object_get(b.info, "dropped");
	assert_int_equal(json_array_size(dropped), 5);
	assert_non_null(strstr(kf_json_str(json_array_get(dropped, 0),
					   "reason", ""),
			       "input x leaves its domain"));
	assert_null(b.set[0].exact[1]);
	assert_non_null(b.set[0].expect[1]);
	close_both(&problem, &b);
}

/* --- references that cannot be used -------------------------------------- */

/* The file as the reference of refused/problem.json. */
static char *make_problem(struct fixture *f, const char *name,
			  struct kf_buf *text)
{
	char *folder = kf_format("%s/problems/%s", f->folder, name);
	char *from = kf_format(REFUSED "/%s.c", name);
	char *to = kf_path_join(folder, "reference.c");
	char *json = kf_path_join(folder, "problem.json");
	struct kf_buf described = { .max = 1u << 16 };

	assert_int_equal(kf_mkdir_p(folder, NULL), KF_OK);
	assert_int_equal(kf_file_read(from, text, NULL), KF_OK);
	assert_int_equal(kf_file_read(REFUSED "/problem.json", &described,
				      NULL), KF_OK);
	assert_int_equal(kf_file_write(to, text->data, text->len, NULL),
			 KF_OK);
	assert_int_equal(kf_file_write(json, described.data, described.len,
				       NULL), KF_OK);
	kf_buf_release(&described);
	free(json);
	free(to);
	free(from);
	return folder;
}

/* The first line: "/" "* CODE: WORDS *" "/". */
static void check_refused(const char *name, const char *text,
			  enum kf_code code, const char *sentence)
{
	const char *colon = strstr(text, ": ");
	const char *end = strstr(text, " */");
	char *words;

	assert_true(colon && end && colon < end);
	words = kf_strndup(colon + 2, (size_t)(end - colon - 2));
	if (strncmp(text + 3, kf_code_name(code),
		    strlen(kf_code_name(code))) != 0 ||
	    !strstr(sentence, words) || !strstr(sentence, name))
		fail_msg("%s: refused as %s: %s", name, kf_code_name(code),
			 sentence);
	free(words);
}

static void refuse(struct fixture *f, const char *name)
{
	struct kf_problem_spec spec = f->spec;
	struct kf_buf text = { .max = 1u << 16 };
	char *folder = make_problem(f, name, &text);
	struct kf_err err = { 0 };
	struct kf_problem problem;
	struct kf_bundle b;
	enum kf_code code;

	spec.path = folder;
	spec.size = NULL;
	if (strncmp(text.data, "/* timeout", 10) == 0)
		spec.timeout_ns = KF_NS_PER_S;
	assert_int_equal(kf_problem_read(&spec, &problem, &err), KF_OK);
	code = kf_bundle_open(&spec, &problem, &b, &err);
	check_refused(name, text.data, code, err.text);
	assert_true(b.refusal.kind[0]);
	close_both(&problem, &b);
	kf_buf_release(&text);
	free(folder);
}

static void test_a_bad_reference_is_refused_in_words(void **state)
{
	DIR *dir = opendir(REFUSED);
	struct dirent *entry;
	unsigned count = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		size_t len = strlen(entry->d_name);
		char *name;

		if (len < 3 || strcmp(entry->d_name + len - 2, ".c") != 0)
			continue;
		name = kf_strndup(entry->d_name, len - 2);
		refuse(*state, name);
		count++;
		free(name);
	}
	closedir(dir);
	assert_true(count > 0);
}

/* The locks of bundles, and nothing else, are left of what was refused. */
static void test_nothing_half_made_stays(void **state)
{
	struct fixture *f = *state;
	char *bundles = kf_path_join(f->folder, "bundles");
	DIR *dir = opendir(bundles);
	struct dirent *entry;

	assert_non_null(dir);
	while ((entry = readdir(dir)))
		assert_null(strstr(entry->d_name, ".tmp-"));
	closedir(dir);
	free(bundles);
}

/* --- judging ------------------------------------------------------------- */

static void judge(struct fixture *f, const char *program,
		  struct kf_verdict *out)
{
	char *folder = realpath(FOLDER, NULL);
	char *source = kf_path_join(folder ? folder : "", program);
	char *work = kf_format("%s/work-%s", f->folder, program);
	struct kf_platform *cpu = NULL;
	struct kf_baseline *baseline = NULL;
	struct kf_err err = { 0 };
	struct kf_problem problem;
	struct kf_bundle b;
	struct kf_evaluate_request req;

	open_good(&f->spec, &problem, &b);
	if (kf_platform_load("cpu", &cpu, &err) ||
	    kf_baseline_start(&f->spec, &problem, &b, &baseline, &err) ||
	    kf_mkdir_p(work, &err))
		fail_msg("%s", err.text);
	req = (struct kf_evaluate_request) {
		.platform = cpu, .device_id = "cpu:0", .problem = &problem,
		.bundle = &b, .baseline = baseline, .source_dir = source,
		.work_dir = work, .call_count_fixed = 90, .threads = 2,
		.tier_min = KF_TIER_WEAK,
	};
	if (kf_evaluate(&req, out, &err))
		fail_msg("%s: %s", program, err.text);
	kf_baseline_free(baseline);
	kf_platform_free(cpu);
	close_both(&problem, &b);
	free(work);
	free(source);
	free(folder);
}

static void test_a_program_is_set_against_the_reference(void **state)
{
	struct kf_buf words = { .max = 1u << 16 };
	struct kf_verdict v;
	json_t *json;

	judge(*state, "program", &v);
	assert_int_equal(v.state, KF_CORRECT);
	assert_true(v.baseline_live && v.baseline_ns > 0);
	assert_true(v.speedup.ratio > 0);
	kf_verdict_explain(&v, &words);
	assert_non_null(strstr(kf_buf_str(&words), ", reference "));
	assert_null(strstr(kf_buf_str(&words), "PyTorch"));
	json = kf_verdict_to_json(&v);
	assert_string_equal(kf_json_str(json, "baseline", ""), "reference");
	json_decref(json);
	kf_buf_release(&words);
	kf_verdict_release(&v);
}

static void test_a_wrong_program_is_a_mismatch(void **state)
{
	struct kf_verdict v;

	judge(*state, "wrong", &v);
	assert_int_equal(v.state, KF_MISMATCH);
	assert_string_equal(v.reason, "values");
	kf_verdict_release(&v);
}

static size_t evicted_bytes;

static void count_evicted(const void *data, size_t bytes)
{
	assert_non_null(data);
	evicted_bytes += bytes;
}

/* How much leaves the caches before a call on this case? */
static size_t evicted_before(struct kf_baseline *baseline,
			     const struct kf_case *kase)
{
	uint64_t time_ns, delay_ns;

	evicted_bytes = 0;
	assert_int_equal(kf_baseline_time(baseline, &kase, 1, &time_ns,
					  &delay_ns, NULL), KF_OK);
	return evicted_bytes;
}

static void test_a_baseline_times_every_kind_of_case(void **state)
{
	struct fixture *f = *state;
	struct kf_baseline *baseline;
	uint64_t time_ns[3], delay_ns[3];
	const struct kf_case *cases[3];
	struct kf_err err = { 0 };
	size_t in_bytes = 0;
	struct kf_problem problem;
	struct kf_bundle b;

	open_good(&f->spec, &problem, &b);
	cases[0] = &b.set[0];
	cases[1] = &b.set[6];	/* with weights of its own */
	cases[2] = &b.stock[0];
	if (kf_baseline_start(&f->spec, &problem, &b, &baseline, &err) ||
	    kf_baseline_time(baseline, cases, 3, time_ns, delay_ns, &err))
		fail_msg("%s", err.text);
	for (size_t i = 0; i < 3; i++)
		assert_true(time_ns[i] > 0 && time_ns[i] < KF_NS_PER_S);
	assert_true(kf_baseline_about(baseline)->ready_ns > 0);
	kf_baseline_evict(baseline, count_evicted);
	for (size_t i = 0; i < b.in_count; i++)
		in_bytes += b.in[i].bytes;
	assert_int_equal(evicted_before(baseline, &b.stock[1]), in_bytes);
	kf_baseline_evict(baseline, NULL);
	assert_int_equal(evicted_before(baseline, &b.stock[2]), 0);
	kf_baseline_free(baseline);
	close_both(&problem, &b);
}

static void test_a_baseline_of_other_values_is_our_trouble(void **state)
{
	struct fixture *f = *state;
	struct kf_baseline *baseline;
	struct kf_err err = { 0 };
	struct kf_problem problem;
	struct kf_bundle b;
	const void **in;

	open_good(&f->spec, &problem, &b);
	in = b.set[0].in;
	b.set[0].in = b.set[1].in;	/* expected is what it was */
	b.set[1].in = in;
	if (kf_baseline_start(&f->spec, &problem, &b, &baseline, &err))
		fail_msg("%s", err.text);
	assert_int_equal(kf_baseline_time(baseline, NULL, 0, NULL, NULL, &err),
			 KF_E_UNAVAIL);
	assert_non_null(strstr(err.text, "gives other values"));
	assert_non_null(strstr(err.text, "--baseline none"));
	kf_baseline_free(baseline);
	close_both(&problem, &b);
}

static void test_a_baseline_is_stored_by_its_command(void **state)
{
	struct fixture *f = *state;
	struct kf_problem_spec spec = f->spec;
	struct kf_platform *cpu = NULL;
	static char more[] = "-DOTHER";
	struct kf_problem problem;
	char *command[64], at[32];
	struct kf_platform other;
	json_t *told;
	uint64_t time_ns;
	size_t i = 0;

	assert_int_equal(kf_problem_read(&spec, &problem, NULL), KF_OK);
	assert_int_equal(kf_platform_load("cpu", &cpu, NULL), KF_OK);
	spec.platform = cpu;
	assert_int_equal(kf_baseline_store(&spec, &problem, 4321, NULL,
					   NULL), KF_OK);
	assert_true(kf_baseline_stored(&spec, &problem, &time_ns, at, &told));
	assert_null(told);
	assert_int_equal(time_ns, 4321);
	for (; cpu->command[i] && i + 2 < KF_COUNT(command); i++)
		command[i] = cpu->command[i];
	command[i] = more;
	command[i + 1] = NULL;
	other = *cpu;
	other.command = command;
	spec.platform = &other;
	assert_false(kf_baseline_stored(&spec, &problem, &time_ns, at, &told));
	kf_platform_free(cpu);
	kf_problem_release(&problem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_bundle_is_made_without_python),
		cmocka_unit_test(test_double_needs_one_reference),
		cmocka_unit_test(test_what_a_problem_may_have),
		cmocka_unit_test(test_a_bad_reference_is_refused_in_words),
		cmocka_unit_test(test_nothing_half_made_stays),
		cmocka_unit_test(test_a_program_is_set_against_the_reference),
		cmocka_unit_test(test_a_wrong_program_is_a_mismatch),
		cmocka_unit_test(test_a_baseline_times_every_kind_of_case),
		cmocka_unit_test(
			test_a_baseline_of_other_values_is_our_trouble),
		cmocka_unit_test(test_a_baseline_is_stored_by_its_command),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
