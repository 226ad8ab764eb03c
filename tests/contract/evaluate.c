/*
 * evaluate.c - small real programs through the real judge: builder, sandbox,
 * runner, values, times. Each tests/data/evaluate/NAME.c begins with a comment
 * that says what must become of it: state, reason (or several, with | between),
 * and a word that the next prompt must hold.
 *
 * The problem, out = relu(x w^T + b), is made here, so no Python is needed.
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

#define ROWS	24
#define DEPTH	64
#define COLS	44
#define SETS	6
#define STOCK	24
#define FOLDER	"tests/data/evaluate"

/* --- the problem ----------------------------------------------------------*/

struct data {
	float x[ROWS * DEPTH], w[COLS * DEPTH], b[COLS];
	float expect[ROWS * COLS], react[ROWS * COLS], noise[ROWS * COLS];
	double exact[ROWS * COLS];
	const void *in[1], *weight[2], *out[1];
	const double *exact_list[1];
	const float *react_list[1], *noise_list[1];
};

struct fixture {
	char folder[64];
	struct kf_platform *cpu;
	struct kf_problem problem;
	struct kf_bundle bundle;
	struct kf_tensor_info in, weight[2], out;
	struct kf_case set[SETS], stock[STOCK];
	struct data *data;
};

static char name_of[][8] = { "x", "fc.w", "fc.b", "out0", "linear" };

static struct kf_tensor_info matrix(char *name, int64_t rows, int64_t cols)
{
	return (struct kf_tensor_info) {
		.name = name, .dtype = KF_F32, .rank = cols ? 2 : 1,
		.shape = { rows, cols }, .numel = rows * (cols ? cols : 1),
		.bytes = sizeof(float) * (size_t)(rows * (cols ? cols : 1)),
	};
}

/* The value in double and in float, and how both react to small changes. */
static void reference(struct data *d, int i, int j)
{
	double y = (double)d->b[j], g = y * y;
	float r = d->b[j];
	int at = i * COLS + j;

	for (int k = 0; k < DEPTH; k++) {
		double term = (double)d->x[i * DEPTH + k] *
			(double)d->w[j * DEPTH + k];

		y += term;
		g += 2 * term * term;
		r += d->x[i * DEPTH + k] * d->w[j * DEPTH + k];
	}
	d->exact[at] = y > 0 ? y : 0;
	d->expect[at] = r > 0 ? r : 0;
	d->react[at] = y > 0 ? (float)sqrt(g) : 0;
	d->noise[at] = (float)fabs((double)r - y) + 1e-8f;
}

static void change_inputs(struct data *d, const char *kind, struct kf_rng *rng)
{
	for (int i = 0; i < ROWS * DEPTH; i++) {
		double x = kf_rng_double(rng);

		if (strcmp(kind, "zero_mean") == 0)
			x = 2 * x - 1;
		else if (strcmp(kind, "wide") == 0)
			x = (2 * x - 1) * exp(6 * kf_rng_double(rng) - 3);
		else if (strcmp(kind, "tail") == 0)
			x *= i % DEPTH >= DEPTH - DEPTH / 8 ? 8 : 1;
		else if (strcmp(kind, "small") == 0)
			x *= 1e-3;
		d->x[i] = (float)x;
	}
}

static void make_case(struct fixture *f, struct kf_case *kase, struct data *d,
		      const char *kind, struct kf_rng *rng)
{
	bool own = d == f->data || strcmp(kind, "weights") == 0;

	change_inputs(d, kind, rng);
	for (int i = 0; i < COLS * DEPTH; i++)
		d->w[i] = own ? (float)(kf_rng_double(rng) - 0.5) / 8 :
			f->data->w[i];
	for (int i = 0; i < COLS; i++)
		d->b[i] = own ? (float)(kf_rng_double(rng) - 0.5) :
			f->data->b[i];
	for (int i = 0; i < ROWS; i++)
		for (int j = 0; j < COLS; j++)
			reference(d, i, j);
	d->in[0] = d->x;
	d->weight[0] = d->w;
	d->weight[1] = d->b;
	d->out[0] = d->expect;
	d->exact_list[0] = d->exact;
	d->react_list[0] = d->react;
	d->noise_list[0] = d->noise;
	*kase = (struct kf_case) {
		.kind = kind, .in = d->in, .expect = d->out,
		.exact = d->exact_list,
		.weight = strcmp(kind, "weights") ? NULL : d->weight,
		.react = strcmp(kind, "stock") ? d->react_list : NULL,
		.noise = strcmp(kind, "stock") ? d->noise_list : NULL,
	};
}

static void make_bundle(struct fixture *f)
{
	static const char *const kind[SETS] = { "declared", "zero_mean", "wide",
						"tail", "small", "weights" };
	struct kf_rng rng = { 20 };

	f->data = kf_alloc((SETS + STOCK) * sizeof(f->data[0]));
	for (size_t i = 0; i < SETS; i++)
		make_case(f, &f->set[i], &f->data[i], kind[i], &rng);
	for (size_t i = 0; i < STOCK; i++)
		make_case(f, &f->stock[i], &f->data[SETS + i], "stock", &rng);
	f->in = matrix(name_of[0], ROWS, DEPTH);
	f->weight[0] = matrix(name_of[1], COLS, DEPTH);
	f->weight[1] = matrix(name_of[2], COLS, 0);
	f->out = matrix(name_of[3], ROWS, COLS);
	f->problem.name = name_of[4];
	f->bundle = (struct kf_bundle) {
		.in = &f->in, .weight = f->weight, .out = &f->out,
		.in_count = 1, .weight_count = 2, .out_count = 1,
		.weight_data = f->data->weight,
		.set = f->set, .set_count = SETS,
		.stock = f->stock, .stock_count = STOCK,
		.flops = 2.0 * ROWS * COLS * DEPTH, .bytes = 1e5,
		.has_exact = true,
	};
}

static int set_up(void **state)
{
	struct fixture *f = kf_alloc(sizeof(*f));
	struct kf_err err = { 0 };

	*state = f;
	snprintf(f->folder, sizeof(f->folder), "/tmp/kforge-evaluate-XXXXXX");
	if (!mkdtemp(f->folder))
		return -1;
	if (kf_platform_load("cpu", &f->cpu, &err)) {
		print_error("%s\n", err.text);
		return -1;
	}
	make_bundle(f);
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	kf_platform_free(f->cpu);
	kf_remove_tree(f->folder, NULL);
	free(f->data);
	free(f);
	return 0;
}

/* --- judging --------------------------------------------------------------*/

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
	char *work = kf_format("%s/work", source);
	struct kf_evaluate_request req = {
		.platform = f->cpu, .device_id = "cpu:0",
		.problem = &f->problem, .bundle = &f->bundle,
		.baseline_stored_ns = KF_NS_PER_MS,
		.source_dir = source, .work_dir = work,
		.call_count_fixed = 100, .threads = 2,
		.tier_min = KF_TIER_WEAK,
		.call_timeout_ns = 2 * KF_NS_PER_S,
	};
	struct kf_err err = { 0 };

	if (kf_mkdir_p(work, &err) || kf_evaluate(&req, out, &err))
		fail_msg("%s: %s", name, err.text);
	free(work);
	free(source);
}

/* The first line: "/" "* STATE REASON|REASON WORD". */
static void expect(const char *name, const char *text,
		   const struct kf_verdict *v)
{
	char state[32] = "", reason[64] = "", word[64] = "", *reasons, *got;
	int given = sscanf(text, "/* %31s %63s %63s", state, reason, word);

	if (given < 2)
		fail_msg("%s: says not what to expect", name);
	reasons = kf_format("|%s|", strcmp(reason, "-") ? reason : "");
	got = kf_format("|%s|", v->reason);
	if (given < 3 || word[0] == '*')
		word[0] = '\0';
	if (strcmp(kf_state_name(v->state), state) != 0 ||
	    !strstr(reasons, got) ||
	    !strstr(kf_buf_str(&v->text), word))
		fail_msg("%s: %s (%s) instead of %s (%s), %s\n%s", name,
			 kf_state_name(v->state), v->reason, state, reason,
			 word, kf_buf_str(&v->text));
	free(got);
	free(reasons);
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
