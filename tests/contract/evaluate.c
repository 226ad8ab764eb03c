/*
 * evaluate.c - small real programs through the real judge: builder, sandbox,
 * runner, values, times. Each tests/data/evaluate/NAME.c begins with a comment
 * that says what must become of it: state, reason (or several, with | between),
 * and a word that the next prompt must hold.
 */
#include "evaluate_world.h"

#define FOLDER	"tests/data/evaluate"

static int set_up(void **state)
{
	struct fixture *f = kf_alloc(sizeof(*f));
	struct kf_err err = { 0 };

	*state = f;
	if (world_init(f))
		return -1;
	snprintf(f->device.id, sizeof(f->device.id), "cpu:0");
	if (kf_platform_load("cpu", &f->platform, &err)) {
		print_error("%s\n", err.text);
		return -1;
	}
	return 0;
}

static int tear_down(void **state)
{
	world_release(*state);
	free(*state);
	return 0;
}

/* linear.h and the program, as program.c in a folder of its own. */
static char *write_program(struct fixture *f, const char *name,
			   struct kf_buf *text)
{
	char *folder = kf_format("%s/%s", f->folder, name);
	char *from = kf_format(FOLDER "/%s.c", name);
	char *to = kf_format("%s/program.c", folder);
	struct kf_buf all = { .max = 1u << 20 };
	struct kf_err err = { 0 };

	if (kf_mkdir_p(folder, &err) ||
	    kf_file_read(FOLDER "/linear.h", &all, &err) ||
	    kf_file_read(from, text, &err))
		fail_msg("%s: %s", name, err.text);
	kf_buf_add(&all, text->data, text->len);
	if (kf_file_write(to, all.data, all.len, &err))
		fail_msg("%s: %s", name, err.text);
	kf_buf_release(&all);
	free(from);
	free(to);
	return folder;
}

static void judge(struct fixture *f, const char *name, struct kf_buf *text,
		  struct kf_verdict *out)
{
	char *source = write_program(f, name, text);

	judge_folder(f, source, 100, out);
	free(source);
}

static void test_each_program_gets_what_it_deserves(void **state)
{
	DIR *dir = opendir(FOLDER);
	struct dirent *entry;

	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		struct kf_buf text = { .max = 1u << 20 };
		size_t len = strlen(entry->d_name);
		struct kf_verdict v;
		char *name;

		if (len < 3 || strcmp(entry->d_name + len - 2, ".c") != 0)
			continue;
		name = kf_strndup(entry->d_name, len - 2);
		judge(*state, name, &text, &v);
		print_message("# %s: %s %s\n%s", name, kf_state_name(v.state),
			      v.reason, kf_buf_str(&v.text));
		expect(name, kf_buf_str(&text), &v);
		kf_verdict_release(&v);
		kf_buf_release(&text);
		free(name);
	}
	closedir(dir);
}

static void test_a_good_program_has_times_and_an_account(void **state)
{
	struct kf_buf text = { .max = 1u << 20 };
	struct kf_verdict v;

	judge(*state, "good", &text, &v);
	assert_int_equal(v.state, KF_CORRECT);
	assert_int_equal(v.call_count, 100);
	assert_true(v.time_ns > 0 && v.time_ns < 1e8);
	assert_true(v.speedup.ratio > 0);
	assert_true(v.kernelbench_good && v.in_process);
	assert_int_not_equal(v.tier, KF_TIER_NONE);
	assert_int_equal(strlen(v.artefact_hash), KF_HASH_HEX - 1);
	assert_int_equal(v.took_ns, v.compiler_ns + v.candidate_ns +
			 v.baseline_took_ns + v.ours_ns);
	print_message("# compiler %.1f ms, candidate %.1f ms, ours %.1f ms\n",
		      (double)v.compiler_ns / 1e6,
		      (double)v.candidate_ns / 1e6, (double)v.ours_ns / 1e6);
	kf_verdict_release(&v);
	kf_buf_release(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_program_gets_what_it_deserves),
		cmocka_unit_test(test_a_good_program_has_times_and_an_account),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
