/*
 * evaluate_parts.c - two-part programs through the real judge, on an OpenCL
 * device: builder, recorder, device runner, values, times. Each
 * tests/data/two_part/NAME.c is a host.c whose first line says what must become
 * of it; its kernels are NAME.cl, or kernels.cl. Skipped where OpenCL has no
 * device; KF_MUST_RUN=opencl makes that a failure.
 */
#include "evaluate_world.h"

#define FOLDER	"tests/data/two_part"
#define CALLS	24		/* sets, and a block or so */

/* host.h and NAME.c as host.c, and its kernels, in a folder of its own. */
static char *write_program(struct fixture *f, const char *name,
			   struct kf_buf *text)
{
	char *folder = kf_format("%s/%s", f->folder, name);
	char *from = kf_format(FOLDER "/%s.c", name);
	char *own = kf_format(FOLDER "/%s.cl", name);
	char *host = kf_path_join(folder, "host.c");
	char *kernels = kf_path_join(folder, "kernels.cl");
	struct kf_buf all = { .max = 1u << 20 }, cl = { .max = 1u << 20 };
	struct kf_err err = { 0 };

	if (kf_mkdir_p(folder, &err) ||
	    kf_file_read(FOLDER "/host.h", &all, &err) ||
	    kf_file_read(from, text, &err) ||
	    kf_file_read(kf_path_exists(own) ? own : FOLDER "/kernels.cl", &cl,
			 &err))
		fail_msg("%s: %s", name, err.text);
	kf_buf_add(&all, text->data, text->len);
	if (kf_file_write(host, all.data, all.len, &err) ||
	    kf_file_write(kernels, cl.data, cl.len, &err))
		fail_msg("%s: %s", name, err.text);
	kf_buf_release(&all);
	kf_buf_release(&cl);
	free(kernels);
	free(host);
	free(own);
	free(from);
	return folder;
}

static void judge(struct fixture *f, const char *name, struct kf_buf *text,
		  struct kf_verdict *out)
{
	char *source = write_program(f, name, text);

	judge_folder(f, source, CALLS, out);
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

static void test_a_good_program_has_a_time_and_its_plan(void **state)
{
	const struct fixture *f = *state;
	struct kf_buf text = { .max = 1u << 20 };
	json_t *timing, *plan, *prepare;
	struct kf_verdict v;
	double wall_ns;

	judge(*state, "prepared", &text, &v);
	assert_int_equal(v.state, KF_CORRECT);
	assert_int_equal(v.call_count, CALLS);
	assert_int_equal(v.in_process, f->device.in_process);
	timing = json_object_get(v.evidence, "timing");
	/* A clock that the kernels could reach is not believed. */
	assert_string_equal(kf_json_str(timing, "clock", ""),
			    f->device.in_process ? "kforge" : "device");
	wall_ns = json_number_value(json_object_get(timing, "wall_ns_mean"));
	assert_true(v.time_ns > 0);
	if (!f->device.in_process)
		assert_true(v.time_ns <= 2 * wall_ns);
	/* Its kernels' threads are asked whether the machine was busy, where
	 * the system tells. */
	if (f->device.in_process && kf_path_exists("/proc/self/schedstat"))
		assert_true(json_integer_value(json_object_get(timing,
					"delay_ns_mean")) > 0);
	plan = json_object_get(v.evidence, "plan");
	prepare = json_object_get(v.evidence, "plan_prepare");
	assert_int_equal(json_array_size(plan), 2);
	assert_string_equal(kf_json_str(json_array_get(plan, 1), "launch", ""),
			    "finish");
	assert_int_equal(json_array_size(prepare), 1);
	print_message("# device %.1f us, wall %.1f us\n", v.time_ns / 1e3,
		      wall_ns / 1e3);
	kf_verdict_release(&v);
	kf_buf_release(&text);
}

/* --- the suite ------------------------------------------------------------ */

static int set_up(void **state)
{
	struct fixture *f = kf_alloc(sizeof(*f));
	struct kf_err err = { 0 };
	size_t count = 0;

	*state = f;
	if (world_init(f))
		return -1;
	if (kf_platform_load("opencl", &f->platform, &err) ||
	    kf_driver_find(f->platform->driver, &f->device, 1, NULL, &count,
			   &err)) {
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

/* Runs before each test. */
static int need_device(void **state)
{
	const struct fixture *f = *state;
	const char *must = getenv("KF_MUST_RUN");

	if (f->device.id[0])
		return 0;
	if (must && strstr(must, "opencl"))
		fail_msg("KF_MUST_RUN asks for opencl: no device here");
	print_message("# OpenCL has no device here\n");
	skip();
	return 0;
}

int main(void)
{
#define T(name) cmocka_unit_test_setup(name, need_device)
	const struct CMUnitTest tests[] = {
		T(test_each_program_gets_what_it_deserves),
		T(test_a_good_program_has_a_time_and_its_plan),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
