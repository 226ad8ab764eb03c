/*
 * record.c - small host parts of two-part programs through the real recorder:
 * sandbox, runner, plans. Each tests/data/record/NAME.c begins with a comment
 * that says what must become of it: "good", or a reason (or several, with |
 * between) and what its sentence must hold (likewise). What a good one asks for
 * stands in NAME.json.
 *
 * All of them include <kforge/launch.h> and must compile without a warning.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants those first */
#include <cmocka.h>
#include <dirent.h>
#include <unistd.h>

#include "base/json.h"
#include "evaluate/record.h"

#define FOLDER		"tests/data/record"
#define MEMORY_MAX	(1u << 20)
#define OPERATIONS	16u		/* of a plan that are looked at */

struct fixture {
	char folder[64];
	struct kf_bundle bundle;
	struct kf_tensor_info in[2], weight[2], out;
	struct kf_scalar_info scalar;
};

static char name_of[][12] = { "x", "mask", "fc.weight", "fc.bias", "out0" };

static struct kf_tensor_info matrix(char *name, int64_t rows, int64_t cols)
{
	return (struct kf_tensor_info) {
		.name = name, .dtype = KF_F32, .rank = cols ? 2 : 1,
		.shape = { rows, cols }, .numel = rows * (cols ? cols : 1),
		.bytes = sizeof(float) * (size_t)(rows * (cols ? cols : 1)),
	};
}

static int set_up(void **state)
{
	struct fixture *f = kf_alloc(sizeof(*f));

	*state = f;
	snprintf(f->folder, sizeof(f->folder), "/tmp/kforge-record-XXXXXX");
	if (!mkdtemp(f->folder))
		return -1;
	f->in[0] = matrix(name_of[0], 24, 64);
	f->in[1] = (struct kf_tensor_info) { .name = name_of[1] };
	f->weight[0] = matrix(name_of[2], 44, 64);
	f->weight[1] = matrix(name_of[3], 44, 0);
	f->out = matrix(name_of[4], 24, 44);
	f->scalar = (struct kf_scalar_info) { 'i', 3, 3 };
	f->bundle = (struct kf_bundle) {
		.in = f->in, .weight = f->weight, .out = &f->out,
		.in_count = 2, .weight_count = 2, .out_count = 1,
		.scalar = &f->scalar, .scalar_count = 1,
	};
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	kf_remove_tree(f->folder, NULL);
	free(f);
	return 0;
}

/* --- compiling and recording --------------------------------------------- */

/* False: there is no such compiler. */
static bool compile(const char *compiler, const char *name, const char *out)
{
	char *source = kf_format(FOLDER "/%s.c", name);
	char *found = kf_proc_which(compiler);
	const char *const argv[] = {
		compiler, "-std=c11", "-D_GNU_SOURCE", "-O1", "-Wall",
		"-Wextra", "-Werror", "-Iinclude", "-fPIC", "-shared", "-o",
		out, source, NULL,
	};
	const struct kf_proc_spec spec = {
		.argv = argv, .timeout_ns = 60 * KF_NS_PER_S,
	};
	struct kf_buf words = { .max = 1u << 16 };
	struct kf_proc_end end = { 0 };
	struct kf_err err = { 0 };

	if (found && kf_proc_run(&spec, &words, &words, &end, &err))
		fail_msg("%s: %s", name, err.text);
	if (end.exit_code || end.signal)
		fail_msg("%s %s: %s", compiler, name, kf_buf_str(&words));
	kf_buf_release(&words);
	free(source);
	free(found);
	return found;
}

/* Only sleeps.c shall not come back in time. */
static uint64_t wall_of(const char *name)
{
	return (strcmp(name, "sleeps") ? 30 : 2) * KF_NS_PER_S;
}

static uint64_t record(struct fixture *f, const char *name,
		       const struct kf_buf *host, struct kf_plans *plans,
		       struct kf_call_end *end)
{
	const struct kf_record_job job = {
		.host = host->data, .host_bytes = host->len,
		.bundle = &f->bundle, .work_dir = f->folder,
		.memory_max = MEMORY_MAX, .cpu_ns = KF_NS_PER_S,
		.wall_ns = wall_of(name),
		.tier_min = KF_TIER_WEAK,
	};
	uint64_t start_ns = kf_now_ns();
	struct kf_err err = { 0 };

	if (kf_record_run(&job, plans, end, &err))
		fail_msg("%s: %s", name, err.text);
	return kf_now_ns() - start_ns;
}

static void compile_and_read(struct fixture *f, const char *name,
			     struct kf_buf *host)
{
	char *path = kf_format("%s/%s.so", f->folder, name);
	struct kf_err err = { 0 };

	*host = (struct kf_buf) { .max = 1u << 20 };
	compile("gcc", name, path);
	if (kf_file_read(path, host, &err))
		fail_msg("%s: %s", name, err.text);
	free(path);
}

/* --- what is expected ---------------------------------------------------- */

static const char *reason_of(const struct kf_call_end *end)
{
	static const char *const names[] = {
		[KF_CALL_GOOD] = "good", [KF_CALL_RC] = "nonzero_return",
		[KF_CALL_LOAD] = "load", [KF_CALL_SIGNAL] = "signal",
		[KF_CALL_TIMEOUT] = "timeout", [KF_CALL_CPU] = "cpu_time",
		[KF_CALL_MEMORY] = "memory",
		[KF_CALL_VIOLATION] = "violation",
		[KF_CALL_EXITED] = "exited", [KF_CALL_PROTOCOL] = "tampering",
		[KF_CALL_LAUNCH] = "launch",
		[KF_CALL_NOT_REPEATABLE] = "not_repeatable",
	};

	return names[end->state];
}

/* Each of the words|between bars is in the text. */
static bool holds_all(const char *text, const char *words)
{
	bool all = true;

	for (const char *at = words; *at && all; at += *at == '|') {
		size_t len = strcspn(at, "|");

		all = memmem(text, strlen(text), at, len) != NULL;
		at += len;
	}
	return all;
}

static void expect_plans(const char *name, const struct kf_plans *plans)
{
	char *path = kf_format(FOLDER "/%s.json", name), *text;
	json_t *got = json_object(), *want = NULL;
	struct kf_err err = { 0 };

	if (plans->has_prepare)
		json_object_set_new(got, "prepare", kf_plan_to_json(
				    &plans->prepare, OPERATIONS));
	json_object_set_new(got, "forward",
			    kf_plan_to_json(&plans->forward, OPERATIONS));
	text = json_dumps(got, JSON_INDENT(2));
	if (kf_json_read(path, &want, &err))
		print_error("%s\n", err.text);
	if (!json_equal(got, want))
		fail_msg("%s asks for\n%s", name, text);
	json_decref(want);
	json_decref(got);
	free(text);
	free(path);
}

static void expect(const char *name, const char *first,
		   const struct kf_plans *plans, const struct kf_call_end *end)
{
	char reasons[64] = "", words[128] = "", *list, *got;

	if (sscanf(first, "/* %63s %127[^*]", reasons, words) < 1)
		fail_msg("%s: says not what to expect", name);
	words[strcspn(words, "*")] = '\0';
	while (words[0] && words[strlen(words) - 1] == ' ')
		words[strlen(words) - 1] = '\0';
	list = kf_format("|%s|", reasons);
	got = kf_format("|%s|", reason_of(end));
	if (!strstr(list, got))
		fail_msg("%s: %s instead of %s: %s", name, reason_of(end),
			 reasons, end->text);
	if (end->state == KF_CALL_GOOD)
		expect_plans(name, plans);
	else if (!holds_all(end->text, words))
		fail_msg("%s: not %s: %s", name, words, end->text);
	if (end->state != KF_CALL_GOOD && plans->forward.op_count)
		fail_msg("%s: plans of a program that failed", name);
	free(got);
	free(list);
}

static void test_each_host_part_gets_what_it_deserves(void **state)
{
	DIR *dir = opendir(FOLDER);
	struct dirent *entry;

	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		char *path = kf_format(FOLDER "/%s", entry->d_name), *name;
		struct kf_buf text = { .max = 1u << 16 }, host;
		size_t len = strlen(entry->d_name);
		struct kf_plans plans;
		struct kf_call_end end;

		if (len > 2 && strcmp(entry->d_name + len - 2, ".c") == 0) {
			name = kf_strndup(entry->d_name, len - 2);
			assert_int_equal(kf_file_read(path, &text, NULL),
					 KF_OK);
			compile_and_read(*state, name, &host);
			record(*state, name, &host, &plans, &end);
			print_message("# %s: %s %s\n", name, reason_of(&end),
				      end.text);
			expect(name, kf_buf_str(&text), &plans, &end);
			kf_plans_release(&plans);
			kf_buf_release(&host);
			free(name);
		}
		kf_buf_release(&text);
		free(path);
	}
	closedir(dir);
}

static void test_launch_h_has_no_warnings_with_clang(void **state)
{
	static const char *const names[] = { "everything", "simple",
					     "tensor_map", "half_cluster" };
	const struct fixture *f = *state;
	char *out = kf_format("%s/clang.so", f->folder);

	for (size_t i = 0; i < KF_COUNT(names); i++)
		if (!compile("clang", names[i], out)) {
			print_message("# no clang here\n");
			skip();
		}
	free(out);
}

/* A shared object that is none is the program's: it came from its compiler. */
static void test_what_is_no_library_cannot_be_loaded(void **state)
{
	char text[] = "this is no program";
	const struct kf_buf host = { text, strlen(text), 0, 0 };
	struct kf_plans plans;
	struct kf_call_end end;

	record(*state, "text", &host, &plans, &end);
	assert_int_equal(end.state, KF_CALL_LOAD);
	assert_non_null(strstr(end.text, "cannot be loaded"));
	kf_plans_release(&plans);
}

static void test_what_is_printed_by_a_failure_is_kept(void **state)
{
	struct kf_buf host;
	struct kf_plans plans;
	struct kf_call_end end;

	compile_and_read(*state, "prints_and_returns", &host);
	record(*state, "prints_and_returns", &host, &plans, &end);
	assert_int_equal(end.state, KF_CALL_RC);
	assert_string_equal(end.output, "shape 24\n");
	kf_plans_release(&plans);
	kf_buf_release(&host);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void test_both_recordings_take_a_moment(void **state)
{
	uint64_t took_ns[11];
	struct kf_buf host;

	compile_and_read(*state, "everything", &host);
	for (size_t i = 0; i < KF_COUNT(took_ns); i++) {
		struct kf_plans plans;
		struct kf_call_end end;

		took_ns[i] = record(*state, "everything", &host, &plans,
				    &end);
		kf_plans_release(&plans);
	}
	qsort(took_ns, KF_COUNT(took_ns), sizeof(took_ns[0]), by_value);
	print_message("# both: %.1f ms, at best %.1f ms\n",
		      (double)took_ns[KF_COUNT(took_ns) / 2] * 1e-6,
		      (double)took_ns[0] * 1e-6);
	assert_true(took_ns[0] < 500 * KF_NS_PER_MS);
	kf_buf_release(&host);
}

static void test_a_recording_has_a_deadline(void **state)
{
	const struct fixture *f = *state;
	const struct kf_record_job job = { .bundle = &f->bundle,
					   .work_dir = f->folder };
	struct kf_plans plans;
	struct kf_call_end end;
	struct kf_err err;

	assert_int_equal(kf_record_run(&job, &plans, &end, &err), KF_E_INPUT);
	assert_non_null(strstr(err.text, "deadline"));
	kf_plans_release(&plans);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_host_part_gets_what_it_deserves),
		cmocka_unit_test(test_launch_h_has_no_warnings_with_clang),
		cmocka_unit_test(test_what_is_no_library_cannot_be_loaded),
		cmocka_unit_test(test_what_is_printed_by_a_failure_is_kept),
		cmocka_unit_test(test_both_recordings_take_a_moment),
		cmocka_unit_test(test_a_recording_has_a_deadline),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
