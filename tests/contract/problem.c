/*
 * problem.c - from a PyTorch file to a bundle and a baseline, through the
 * sandbox, with the Python and torch of this machine.
 *
 * Skipped without torch, unless KF_MUST_RUN names "torch".
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "platform/platform.h"
#include "problem/bundle_use.h"
#include "problem/problem.h"

#define TINY "tests/data/problem/tiny.py"

struct place {
	char folder[32];
	struct kf_problem_spec spec;
};

static int set_up(void **state)
{
	struct place *p = kf_alloc(sizeof(*p));
	char version[32], *python = NULL;
	struct kf_err err = { 0 };

	snprintf(p->folder, sizeof(p->folder), "/tmp/kforge-test-XXXXXX");
	if (!mkdtemp(p->folder))
		return -1;
	p->spec = (struct kf_problem_spec) {
		.path = TINY, .cache_path = p->folder, .threads = 2,
		.tier_min = KF_TIER_MEDIUM, .timeout_ns = 120 * KF_NS_PER_S,
		.memory_bytes = UINT64_C(2) << 30,
	};
	*state = p;
	if (kf_python_find(NULL, &python, version, &err))
		p->spec.path = NULL;	/* marks that there is no torch */
	free(python);
	return 0;
}

static int tear_down(void **state)
{
	struct place *p = *state;
	enum kf_code code = kf_remove_tree(p->folder, NULL);

	free(p);
	return (int)code;
}

static void need_torch(const struct place *p)
{
	const char *must = getenv("KF_MUST_RUN");

	if (p->spec.path)
		return;
	assert_false(must && strstr(must, "torch"));
	skip();
}

/* Writes a problem file of its own into the folder and names it in spec. */
static char *write_problem(const struct place *p, const char *text)
{
	char *path = kf_path_join(p->folder, "mine.py");

	assert_int_equal(kf_file_write(path, text, strlen(text), NULL),
			 KF_OK);
	return path;
}

static enum kf_code open_bundle(const struct kf_problem_spec *spec,
				struct kf_bundle *bundle, struct kf_err *err)
{
	struct kf_problem problem;
	enum kf_code code = kf_problem_read(spec, &problem, err);

	*bundle = (struct kf_bundle) { 0 };
	if (!code)
		code = kf_bundle_open(spec, &problem, bundle, err);
	kf_problem_release(&problem);
	return code;
}

static void open_good(const struct kf_problem_spec *spec,
		      struct kf_bundle *bundle)
{
	struct kf_err err = { 0 };

	if (open_bundle(spec, bundle, &err))
		print_message("# %s\n", err.text);
	assert_non_null(bundle->folder);
}

/* Entries of the cache's bundles/ that are not locks. */
static size_t count_entries(const struct place *p)
{
	char *path = kf_path_join(p->folder, "bundles");
	DIR *dir = opendir(path);
	struct dirent *entry;
	size_t count = 0;

	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] != '.' &&
		    !strstr(entry->d_name, ".lock") &&
		    !strstr(entry->d_name, ".used"))
			count++;
	}
	if (dir)
		closedir(dir);
	free(path);
	return count;
}

/* Training-mode batch norm with random weights, by hand. */
static void check_values(const struct kf_bundle *b, const struct kf_case *c)
{
	const float *x = c->in[0];
	const void *const *weight = c->weight ? c->weight : b->weight_data;
	const float *gamma = weight[2], *beta = weight[3];

	for (int j = 0; j < 10; j++) {
		double mean = 0, square = 0;

		for (int i = 0; i < 6; i++)
			mean += (double)x[10 * i + j] / 6;
		for (int i = 0; i < 6; i++)
			square += pow((double)x[10 * i + j] - mean, 2) / 6;
		for (int i = 0; i < 6; i++) {
			double y = ((double)x[10 * i + j] - mean) /
				sqrt(square + 1e-5) * (double)gamma[j] +
				(double)beta[j];

			assert_true(fabs(3 * y - c->exact[0][10 * i + 9 - j])
				    < 1e-9 * (1 + fabs(y)));
		}
	}
}

static void test_bundle_tells_what_the_problem_is(void **state)
{
	struct place *p = *state;
	struct kf_bundle b;

	need_torch(p);
	open_good(&p->spec, &b);
	assert_true(b.made_now);
	assert_int_equal(b.in_count, 2);
	assert_string_equal(b.in[0].name, "x");
	assert_int_equal(b.in[0].shape[0], 6);
	assert_int_equal(b.in[1].dtype, KF_DTYPE_NONE);
	assert_int_equal(b.scalar_count, 2);
	assert_int_equal(b.scalar[0].kind, 'i');
	assert_int_equal(b.scalar[0].i, 3);
	assert_int_equal(b.scalar[1].kind, 'b');
	assert_int_equal(b.weight_count, 7);
	assert_string_equal(b.weight[0].name, "mask");
	assert_true(b.weight[0].structural);
	assert_string_equal(b.weight[1].name, "order");
	assert_string_equal(b.weight[2].name, "norm.weight");
	assert_false(b.weight[2].structural);
	assert_int_equal(b.out_count, 2);
	assert_int_equal(b.out[1].dtype, KF_I64);
	assert_true(b.has_exact);
	assert_int_equal(b.set_count, 9);
	assert_int_equal(b.stock_count, 64);
	assert_int_equal(count_entries(p), 1);
	kf_bundle_release(&b);
}

static void test_values_are_the_functions_own(void **state)
{
	struct place *p = *state;
	struct kf_bundle b;

	need_torch(p);
	open_good(&p->spec, &b);
	assert_false(b.made_now);
	for (size_t i = 0; i < b.set_count; i++) {
		const struct kf_case *c = &b.set[i];

		check_values(&b, c);
		assert_null(c->exact[1]);
		assert_null(c->react[1]);
		assert_non_null(c->react[0]);
		assert_non_null(c->noise[0]);
		assert_null(c->in[1]);
		assert_true((c->weight != NULL) ==
			    (strcmp(c->kind, "weights") == 0));
	}
	for (size_t i = 0; i < b.stock_count; i++) {
		assert_string_equal(b.stock[i].kind, "stock");
		assert_null(b.stock[i].react[0]);
		for (size_t j = 0; j < i; j++)
			assert_true(b.stock[i].seed != b.stock[j].seed);
	}
	kf_bundle_release(&b);
}

static void test_a_bundle_that_is_open_is_not_removed(void **state)
{
	struct place *p = *state;
	char *folder = kf_path_join(p->folder, "bundles");
	struct kf_bundle b;
	uint64_t bytes;

	open_good(&p->spec, &b);
	assert_int_equal(kf_bundle_trim_to(folder, 0, 0, &bytes), 0);
	assert_int_equal(count_entries(p), 1);
	kf_bundle_release(&b);
	assert_int_equal(kf_bundle_trim_to(folder, 0, 0, &bytes), 1);
	assert_int_equal(count_entries(p), 0);
	free(folder);
}

static void test_damaged_entry_is_made_again(void **state)
{
	struct place *p = *state;
	struct kf_bundle b;
	char *path;

	need_torch(p);
	open_good(&p->spec, &b);
	path = kf_path_join(b.folder, "oracle/stock-03.safetensors");
	kf_bundle_release(&b);
	assert_int_equal(truncate(path, 100), 0);
	open_good(&p->spec, &b);
	assert_true(b.made_now);
	assert_int_equal(count_entries(p), 1);
	kf_bundle_release(&b);
	free(path);
}

/* Two processes at once: one makes it, the other waits and uses it. */
static void test_two_at_once_make_it_once(void **state)
{
	struct place *p = *state;
	const char *set[] = { "ROWS=4" };
	int made = 0;
	pid_t child[2];

	need_torch(p);
	p->spec.set = set;
	p->spec.set_count = 1;
	for (int i = 0; i < 2; i++) {
		child[i] = fork();
		if (child[i] == 0) {
			struct kf_bundle b;
			enum kf_code code = open_bundle(&p->spec, &b, NULL);

			_exit(code ? 2 : b.made_now);
		}
		assert_true(child[i] > 0);
	}
	for (int i = 0; i < 2; i++) {
		int status;

		assert_int_equal(waitpid(child[i], &status, 0), child[i]);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
		made += WEXITSTATUS(status);
	}
	assert_int_equal(made, 1);
	p->spec.set_count = 0;
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

static void test_baseline_times_every_kind_of_case(void **state)
{
	struct place *p = *state;
	const struct kf_case *cases[8];
	uint64_t time_ns[8] = { 0 }, delay_ns[8] = { 0 };
	struct kf_baseline *baseline = NULL;
	struct kf_problem problem;
	struct kf_err err = { 0 };
	struct kf_bundle b;

	need_torch(p);
	open_good(&p->spec, &b);
	assert_int_equal(kf_problem_read(&p->spec, &problem, &err), KF_OK);
	assert_int_equal(kf_baseline_start(&p->spec, &problem, &b, &baseline,
					   &err), KF_OK);
	for (size_t i = 0; i < 7; i++)
		cases[i] = &b.set[i];
	cases[7] = &b.stock[5];
	if (kf_baseline_time(baseline, cases, 8, time_ns, delay_ns,
			     &err))
		print_message("# %s\n", err.text);
	for (size_t i = 0; i < 8; i++)
		assert_true(time_ns[i] > 0 && time_ns[i] < 5 * KF_NS_PER_S);
	assert_true(kf_baseline_about(baseline)->ready_ns > 0);
	assert_int_equal(kf_baseline_about(baseline)->threads, 2);
	kf_baseline_evict(baseline, count_evicted);
	assert_true(evicted_before(baseline, &b.stock[1]) >= b.in[0].bytes);
	kf_baseline_evict(baseline, NULL);
	assert_int_equal(evicted_before(baseline, &b.stock[2]), 0);
	kf_baseline_free(baseline);
	kf_problem_release(&problem);
	kf_bundle_release(&b);
}

static void test_stored_baseline_belongs_to_its_threads(void **state)
{
	struct place *p = *state;
	struct kf_problem problem;
	json_t *about = json_pack("{s:s}", "way", "compile"), *told;
	char measured_at[32];
	uint64_t time_ns;

	need_torch(p);
	assert_int_equal(kf_problem_read(&p->spec, &problem, NULL), KF_OK);
	assert_false(kf_baseline_stored(&p->spec, &problem, &time_ns,
					measured_at, &told));
	assert_null(told);
	assert_int_equal(kf_baseline_store(&p->spec, &problem, 12345, NULL,
					   NULL), KF_OK);
	assert_int_equal(kf_baseline_store(&p->spec, &problem, 12346, about,
					   NULL), KF_OK);
	assert_true(kf_baseline_stored(&p->spec, &problem, &time_ns,
				       measured_at, &told));
	assert_int_equal(time_ns, 12346);
	assert_true(json_equal(told, about));
	json_decref(told);
	json_decref(about);
	assert_int_equal(strlen(measured_at), 20);
	p->spec.threads = 1;
	assert_false(kf_baseline_stored(&p->spec, &problem, &time_ns,
					measured_at, &told));
	p->spec.threads = 2;
	kf_problem_release(&problem);
}

#define PLAIN "import torch\n" \
	"class Model(torch.nn.Module):\n" \
	"    def forward(self, x):\n" \
	"        return x * 2\n" \
	"def get_inputs():\n" \
	"    return [torch.randn(8)]\n"

static void no_torch_env(const char *device_id, kf_driver_env_fn *add,
			 void *arg)
{
	(void)device_id;
	(void)add;
	(void)arg;
}

/* A device on which references are compiled: torch's processor. */
static const struct kf_driver fake_driver = {
	.torch_device = "cpu", .torch_env = no_torch_env,
};
static const struct kf_platform fake_platform = { .driver = &fake_driver };

/* What a baseline tells of itself once it is ready; for the caller to free. */
static json_t *told_by_baseline(const struct kf_problem_spec *spec,
				const struct kf_problem *problem)
{
	struct kf_baseline *baseline = NULL;
	struct kf_err err = { 0 };
	struct kf_bundle b = { 0 };
	json_t *told;

	if (kf_bundle_open(spec, problem, &b, &err) ||
	    kf_baseline_start(spec, problem, &b, &baseline, &err) ||
	    kf_baseline_time(baseline, NULL, 0, NULL, NULL, &err))
		print_message("# %s\n", err.text);
	told = json_deep_copy(kf_baseline_about(baseline)->about);
	kf_baseline_free(baseline);
	kf_bundle_release(&b);
	return told;
}

static void test_what_does_not_compile_says_why_and_is_not_kept(void **state)
{
	struct place *p = *state;
	struct kf_problem_spec spec = p->spec;
	struct kf_problem problem;
	char measured_at[32], *path;
	json_t *told, *kept;
	uint64_t time_ns;

	need_torch(p);
	path = write_problem(p, PLAIN "torch.compile = lambda m: 1 / 0\n");
	spec.path = path;
	spec.platform = &fake_platform;
	spec.device_name = "a fake";
	assert_int_equal(kf_problem_read(&spec, &problem, NULL), KF_OK);
	told = told_by_baseline(&spec, &problem);
	assert_string_equal(kf_json_str(told, "compile_error", ""),
			    "ZeroDivisionError: division by zero");
	assert_int_equal(kf_baseline_store(&spec, &problem, 12345, told, NULL),
			 KF_OK);
	assert_false(kf_baseline_stored(&spec, &problem, &time_ns, measured_at,
					&kept));
	json_object_del(told, "compile_error");
	assert_int_equal(kf_baseline_store(&spec, &problem, 12345, told, NULL),
			 KF_OK);
	assert_true(kf_baseline_stored(&spec, &problem, &time_ns, measured_at,
				       &kept));
	json_decref(kept);
	json_decref(told);
	kf_problem_release(&problem);
	free(path);
}

static void test_bad_problems_are_one_sentence_and_leave_nothing(void **state)
{
	static const struct {
		const char *what, *text;
		uint64_t timeout_s;
		enum kf_code code;
		const char *words;
	} rows[] = {
		{ "no Model", "x = 1\n", 120, KF_E_INPUT,
		  "problem mine: mine.py defines no class Model" },
		{ "exception", "import torch\nraise ValueError('oh\\nno')\n",
		  120, KF_E_INPUT, "mine.py, line 2: ValueError: oh no" },
		{ "leaves without a word", "import os\nos._exit(0)\n", 120,
		  KF_E_INPUT, "ended without a result" },
		{ "crash", "import ctypes\nctypes.string_at(0)\n", 120,
		  KF_E_INPUT, "crashed (signal 11)" },
		{ "eats memory", PLAIN "x = torch.ones(1 << 30)\n"
		  "y = torch.ones(1 << 30)\n", 120, KF_E_LIMIT, "memory" },
		{ "never ends", "while True:\n    pass\n", 4, KF_E_TIMEOUT,
		  "longer than 4 s" },
		{ "reads a file of this machine",
		  "print(open('/etc/passwd').read())\n", 120, KF_E_INPUT,
		  "FileNotFoundError" },
	};
	struct place *p = *state;
	size_t before;

	need_torch(p);
	before = count_entries(p);
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct kf_problem_spec spec = p->spec;
		char *path = write_problem(p, rows[i].text);
		struct kf_err err = { 0 };
		struct kf_bundle b;
		enum kf_code code;

		spec.path = path;
		spec.timeout_ns = rows[i].timeout_s * KF_NS_PER_S;
		code = open_bundle(&spec, &b, &err);
		if (code != rows[i].code || !strstr(err.text, rows[i].words))
			print_message("# %s: %d %s\n", rows[i].what, code,
				      err.text);
		assert_int_equal(code, rows[i].code);
		assert_non_null(strstr(err.text, rows[i].words));
		assert_null(strchr(err.text, '\n'));
		assert_null(b.folder);
		kf_bundle_release(&b);
		assert_int_equal(count_entries(p), before);
		free(path);
	}
}

static void test_what_a_problem_prints_is_nobodys_result(void **state)
{
	struct place *p = *state;
	struct kf_problem_spec spec = p->spec;
	char *path;
	struct kf_bundle b;

	need_torch(p);
	path = write_problem(p, PLAIN
		"import sys\n"
		"print('{\"error\": {\"kind\": \"x\"}}\\n' * 200000)\n"
		"sys.stderr.write('x' * 5000000)\n");
	spec.path = path;
	open_good(&spec, &b);
	kf_bundle_release(&b);
	free(path);
}

static void test_cancel_stops_it(void **state)
{
	static const volatile int stop = 1;
	struct place *p = *state;
	struct kf_problem_spec spec = p->spec;
	const char *set[] = { "ROWS=5" };
	struct kf_err err = { 0 };
	struct kf_bundle b;

	need_torch(p);
	spec.cancel = &stop;
	spec.set = set;
	spec.set_count = 1;
	assert_int_equal(open_bundle(&spec, &b, &err), KF_E_CANCELED);
	assert_null(b.folder);
	kf_bundle_release(&b);
}

static void test_no_torch_says_what_to_install(void **state)
{
	struct kf_err err = { 0 };
	char version[32], *path;

	(void)state;
	assert_int_equal(kf_python_find("/nonexistent/python", &path, version,
					&err), KF_E_UNAVAIL);
	assert_non_null(strstr(err.text, "/nonexistent/python"));
	assert_null(path);
	assert_int_equal(kf_python_find("/bin/true", &path, version, &err),
			 KF_E_UNAVAIL);
	assert_non_null(strstr(err.text, "not a working Python"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bundle_tells_what_the_problem_is),
		cmocka_unit_test(test_values_are_the_functions_own),
		cmocka_unit_test(test_a_bundle_that_is_open_is_not_removed),
		cmocka_unit_test(test_damaged_entry_is_made_again),
		cmocka_unit_test(test_two_at_once_make_it_once),
		cmocka_unit_test(test_baseline_times_every_kind_of_case),
		cmocka_unit_test(test_stored_baseline_belongs_to_its_threads),
		cmocka_unit_test(
			test_what_does_not_compile_says_why_and_is_not_kept),
		cmocka_unit_test(
			test_bad_problems_are_one_sentence_and_leave_nothing),
		cmocka_unit_test(test_what_a_problem_prints_is_nobodys_result),
		cmocka_unit_test(test_cancel_stops_it),
		cmocka_unit_test(test_no_torch_says_what_to_install),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
