/* job.c - jobs as JSON: what is read, what is refused, what is written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <unistd.h>

#include "executor/job.h"

#define GOOD "\"kforge_job\": 1, \"problem\": \"p.py\", "
#define FILES "\"files\": [\"program.c\"]"

static int make_folder(void **state)
{
	char *dir = kf_strdup("/tmp/kforge-test-XXXXXX");

	*state = dir;
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_folder(void **state)
{
	enum kf_code code = kf_remove_tree(*state, NULL);

	free(*state);
	return (int)code;
}

static void put(const char *dir, const char *name, const char *text)
{
	char *path = kf_path_join(dir, name);

	assert_int_equal(kf_file_write(path, text, strlen(text), NULL),
			 KF_OK);
	free(path);
}

static bool there(const char *dir, const char *name)
{
	char *path = kf_path_join(dir, name);
	bool found = kf_path_exists(path);

	free(path);
	return found;
}

static enum kf_code parse(const char *text, enum kf_job_form form,
			  struct kf_job *job, struct kf_err *err)
{
	json_t *json = NULL;
	enum kf_code code;

	assert_int_equal(kf_json_parse(text, strlen(text), "test", &json,
				       err), KF_OK);
	code = kf_job_from_json(json, form, "job.json", job, err);
	json_decref(json);
	return code;
}

static void test_every_member_is_read(void **state)
{
	static const char text[] = "{ " GOOD FILES ", "
		"\"problem_hash\": \"abc\", \"set\": [\"ROWS=3\", \"N=4\"], "
		"\"size\": \"test\", \"dtype\": \"float64\", "
		"\"platform\": \"cpu:1\", \"rules\": \"kernelbench\", "
		"\"baseline\": \"none\", \"stop_after\": \"values\", "
		"\"sandbox\": \"weak\", \"seed\": 9007199254740993, "
		"\"calls\": 40, \"threads\": 2, \"limits\": { "
		"\"build_s\": 5, \"build_mib\": 100, \"run_mib\": 200, "
		"\"call_s\": 3 } }";
	struct kf_err err = { 0 };
	struct kf_job job;

	(void)state;
	assert_int_equal(parse(text, KF_JOB_FOLDER, &job, &err), KF_OK);
	assert_string_equal(job.problem, "p.py");
	assert_string_equal(job.problem_hash, "abc");
	assert_int_equal(job.set_count, 2);
	assert_string_equal(job.set[1], "N=4");
	assert_string_equal(job.size, "test");
	assert_int_equal(job.dtype, KF_F64);
	assert_string_equal(job.platform, "cpu:1");
	assert_int_equal(job.file_count, 1);
	assert_string_equal(job.file[0].name, "program.c");
	assert_null(job.file[0].text);
	assert_int_equal(job.rules, KF_RULES_KERNELBENCH);
	assert_int_equal(job.baseline, KF_BASELINE_NONE);
	assert_int_equal(job.stop_after, KF_REACH_VALUES);
	assert_int_equal(job.sandbox, KF_TIER_WEAK);
	assert_true(job.seed == UINT64_C(9007199254740993));
	assert_int_equal(job.calls, 40);
	assert_int_equal(job.threads, 2);
	assert_int_equal(job.limits.build_s, 5);
	assert_int_equal(job.limits.build_mib, 100);
	assert_int_equal(job.limits.run_mib, 200);
	assert_int_equal(job.limits.call_s, 3);
	kf_job_release(&job);
}

static void test_what_is_left_out_has_a_default(void **state)
{
	struct kf_err err = { 0 };
	struct kf_job job;

	(void)state;
	assert_int_equal(parse("{ " GOOD FILES " }", KF_JOB_FOLDER, &job,
			       &err), KF_OK);
	assert_string_equal(job.platform, "cpu");
	assert_int_equal(job.sandbox, KF_TIER_MEDIUM);
	assert_int_equal(job.baseline, KF_BASELINE_LIVE);
	assert_int_equal(job.stop_after, KF_REACH_NONE);
	assert_true(!job.seed && !job.calls && !job.threads);
	kf_job_release(&job);
}

static void test_a_job_comes_back_as_it_was_written(void **state)
{
	static const char *const row[] = {
		"{ " GOOD FILES " }",
		"{ " GOOD "\"reply\": \"reply.md\", \"seed\": 7 }",
		"{ " GOOD FILES ", \"set\": [\"A=1\"], \"limits\": "
		"{ \"call_s\": 3 }, \"stop_after\": \"build\", \"dtype\": "
		"\"float32\", \"size\": \"gpu\", \"threads\": 3 }",
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(row); i++) {
		struct kf_err err = { 0 };
		struct kf_job job, again;
		json_t *first, *second;

		assert_int_equal(parse(row[i], KF_JOB_FOLDER, &job, &err),
				 KF_OK);
		first = kf_job_to_json(&job);
		assert_int_equal(kf_job_from_json(first, KF_JOB_FOLDER, "it",
						  &again, &err), KF_OK);
		second = kf_job_to_json(&again);
		assert_true(json_equal(first, second));
		json_decref(first);
		json_decref(second);
		kf_job_release(&job);
		kf_job_release(&again);
	}
}

static void test_a_bad_job_is_refused_by_name(void **state)
{
	static const struct { const char *text, *word; } row[] = {
		{ "[]", "not a JSON object" },
		{ "3", "not a JSON object" },
		{ "{}", "kforge_job" },
		{ "{ \"kforge_job\": \"1\" }", "kforge_job" },
		{ "{ \"kforge_job\": 2 }", "version 2" },
		{ "{ \"kforge_job\": 1, " FILES " }", "problem" },
		{ "{ \"kforge_job\": 1, \"problem\": \"\", " FILES " }",
		  "problem" },
		{ "{ \"kforge_job\": 1, \"problem\": 3, " FILES " }",
		  "\"problem\" wants a string" },
		{ "{ " GOOD "\"seed\": 1 }", "either" },
		{ "{ " GOOD FILES ", \"reply\": \"r.md\" }", "either" },
		{ "{ " GOOD "\"reply\": \"../r.md\" }", "plain name" },
		{ "{ " GOOD "\"files\": \"program.c\" }", "list of names" },
		{ "{ " GOOD "\"files\": {} }", "list of names" },
		{ "{ " GOOD "\"files\": [] }", "not 0" },
		{ "{ " GOOD "\"files\": [3] }", "plain names" },
		{ "{ " GOOD "\"files\": [\"../p.c\"] }", "plain names" },
		{ "{ " GOOD "\"files\": [\"/etc/passwd\"] }", "plain names" },
		{ "{ " GOOD "\"files\": [\".hidden\"] }", "plain names" },
		{ "{ " GOOD "\"files\": [\"job.json\"] }", "plain names" },
		{ "{ " GOOD "\"files\": [\"result.json\"] }", "plain names" },
		{ "{ " GOOD "\"files\": [\"a.c\", \"a.c\"] }", "twice" },
		{ "{ " GOOD FILES ", \"id\": 3 }", "unknown member \"id\"" },
		{ "{ " GOOD FILES ", \"sede\": 3 }", "\"sede\"" },
		{ "{ " GOOD FILES ", \"seed\": -1 }", "\"seed\"" },
		{ "{ " GOOD FILES ", \"seed\": 1.5 }", "\"seed\"" },
		{ "{ " GOOD FILES ", \"seed\": \"1\" }", "\"seed\"" },
		{ "{ " GOOD FILES ", \"calls\": 100000001 }", "at most" },
		{ "{ " GOOD FILES ", \"threads\": 5000 }", "at most" },
		{ "{ " GOOD FILES ", \"set\": \"A=1\" }", "list of strings" },
		{ "{ " GOOD FILES ", \"set\": [1] }", "list of strings" },
		{ "{ " GOOD FILES ", \"rules\": \"mine\" }", "kernelbench" },
		{ "{ " GOOD FILES ", \"rules\": 1 }", "kernelbench" },
		{ "{ " GOOD FILES ", \"baseline\": \"x\" }", "stored" },
		{ "{ " GOOD FILES ", \"stop_after\": \"x\" }", "values" },
		{ "{ " GOOD FILES ", \"sandbox\": \"no\" }", "strict" },
		{ "{ " GOOD FILES ", \"dtype\": \"half\" }", "float64" },
		{ "{ " GOOD FILES ", \"size\": 3 }", "\"size\"" },
		{ "{ " GOOD FILES ", \"limits\": 3 }", "\"limits\"" },
		{ "{ " GOOD FILES ", \"limits\": { \"x\": 1 } }", "\"x\"" },
		{ "{ " GOOD FILES ", \"limits\": { \"call_s\": -1 } }",
		  "call_s" },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(row); i++) {
		struct kf_err err = { 0 };
		struct kf_job job;
		enum kf_code code = parse(row[i].text, KF_JOB_FOLDER, &job,
					  &err);

		if (code != KF_E_INPUT || !strstr(err.text, row[i].word))
			fail_msg("%s gave %s: %s", row[i].text,
				 kf_code_name(code), err.text);
		assert_null(job.problem);
	}
}

static void test_a_line_holds_texts_and_may_lack_a_problem(void **state)
{
	struct kf_err err = { 0 };
	struct kf_job job;

	(void)state;
	assert_int_equal(parse("{ \"id\": [1], \"files\": { \"program.c\": "
			       "\"int x;\" } }", KF_JOB_LINE, &job, &err),
			 KF_OK);
	assert_string_equal(job.file[0].text, "int x;");
	assert_int_equal(job.file[0].len, 6);
	assert_null(job.problem);
	kf_job_release(&job);
	assert_int_equal(parse("{ \"files\": { \"program.c\": 3 } }",
			       KF_JOB_LINE, &job, &err), KF_E_INPUT);
	assert_int_equal(parse("{ \"files\": [\"program.c\"] }", KF_JOB_LINE,
			       &job, &err), KF_E_INPUT);
	assert_int_equal(parse("{ \"kforge_job\": 2, \"reply\": \"x\" }",
			       KF_JOB_LINE, &job, &err), KF_E_INPUT);
}

static void test_a_folder_without_a_job_is_refused(void **state)
{
	const char *dir = *state;
	struct kf_err err = { 0 };
	struct kf_job job;

	assert_int_equal(kf_job_read(dir, NULL, &job, &err), KF_E_INPUT);
	assert_non_null(strstr(err.text, "job.json"));
	put(dir, "job.json", "{ \"kforge_job\": 1, ");
	assert_int_equal(kf_job_read(dir, NULL, &job, &err), KF_E_INPUT);
	assert_non_null(strstr(err.text, "not valid JSON"));
	put(dir, "job.json", "{ \"kforge_job\": 1, \"kforge_job\": 1 }");
	assert_int_equal(kf_job_read(dir, NULL, &job, &err), KF_E_INPUT);
}

static void test_a_written_job_is_whole_and_has_no_old_result(void **state)
{
	const char *dir = *state;
	char name[] = "program.c", text[] = "int x;\n";
	char problem_name[] = "relu", source[] = "x = 1\n";
	struct kf_source_file file = { name, text, strlen(text) };
	struct kf_candidate candidate = { .file = &file, .file_count = 1 };
	struct kf_problem problem = { .name = problem_name, .source = source,
				      .hash = "1234" };
	char platform[] = "cpu", size[] = "test";
	struct kf_job job = { .platform = platform, .size = size, .seed = 3,
			      .sandbox = KF_TIER_MEDIUM }, read;
	struct kf_err err = { 0 };

	put(dir, "result.json", "{}");
	put(dir, "error.json", "{}");
	assert_int_equal(kf_job_write(dir, &job, &candidate, &problem, &err),
			 KF_OK);
	assert_false(there(dir, "result.json"));
	assert_false(there(dir, "error.json"));
	assert_true(there(dir, "problem/relu.py"));
	assert_int_equal(kf_job_read(dir, NULL, &read, &err), KF_OK);
	assert_string_equal(read.problem, "problem/relu.py");
	assert_string_equal(read.problem_hash, "1234");
	assert_null(read.size);		/* it is in the problem already */
	assert_int_equal(read.seed, 3);
	assert_string_equal(read.file[0].name, "program.c");
	assert_true(there(dir, "program.c"));
	kf_job_release(&read);
}

/* What is copied may come in any order, and may never come whole. */
static void test_a_job_has_come_when_its_files_have(void **state)
{
	const char *dir = *state;
	const uint64_t hour_ns = 3600 * KF_NS_PER_S, long_ns = KF_JOB_COPY_NS;
	struct kf_job_copy copy = { 0 };

	put(dir, "job.json", "{ " GOOD);
	assert_false(kf_job_has_come(dir, hour_ns, &copy));
	put(dir, "job.json", "{ " GOOD FILES " }");
	assert_false(kf_job_has_come(dir, hour_ns + long_ns, &copy));
	put(dir, "program.c", "int x;");
	assert_false(kf_job_has_come(dir, hour_ns + 2 * long_ns, &copy));
	assert_false(kf_job_has_come(dir, hour_ns + 3 * long_ns - 1, &copy));
	assert_true(kf_job_has_come(dir, hour_ns + 3 * long_ns, &copy));
	put(dir, ".program.c.part", "int");	/* it goes on after all */
	assert_false(kf_job_has_come(dir, hour_ns + 4 * long_ns, &copy));
	put(dir, "p.py", "");
	copy = (struct kf_job_copy) { 0 };
	assert_true(kf_job_has_come(dir, hour_ns, &copy));
	/* Nothing that comes would make these good. */
	put(dir, "job.json", "{ \"kforge_job\": 1, \"fils\": [] }");
	assert_true(kf_job_has_come(dir, hour_ns, &copy));
	put(dir, "job.json", "{ \"kforge_job\": 1, \"problem\": "
	    "\"/nowhere.py\", " FILES " }");
	assert_true(kf_job_has_come(dir, hour_ns, &copy));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_member_is_read),
		cmocka_unit_test(test_what_is_left_out_has_a_default),
		cmocka_unit_test(test_a_job_comes_back_as_it_was_written),
		cmocka_unit_test(test_a_bad_job_is_refused_by_name),
		cmocka_unit_test(
			test_a_line_holds_texts_and_may_lack_a_problem),
		cmocka_unit_test_setup_teardown(
			test_a_folder_without_a_job_is_refused, make_folder,
			remove_folder),
		cmocka_unit_test_setup_teardown(
			test_a_written_job_is_whole_and_has_no_old_result,
			make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(
			test_a_job_has_come_when_its_files_have, make_folder,
			remove_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
