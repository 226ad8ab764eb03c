/* health.c - is a problem worth working on? Bundles made by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "evaluate/health.h"

#define ROWS 4
#define COLS 48
#define N (ROWS * COLS)
#define SETS 4

/* declared, declared, wide, weights */
struct world {
	struct kf_tensor_info in, weight, out[2];
	struct kf_case set[SETS];
	float x[SETS][N], y[2][SETS][N];
	double exact[2][SETS][N];
	float react[2][SETS][N], noise[2][SETS][N];
	const void *in_at[SETS], *expect_at[SETS][2];
	const double *exact_at[SETS][2];
	const float *react_at[SETS][2], *noise_at[SETS][2];
	struct kf_bundle bundle;
	struct kf_health health;
	struct kf_err err;
};

/* What the problem computes: element i of set s, from its input. */
typedef double function(int s, int i, const float *x);

static struct kf_tensor_info matrix(const char *name)
{
	return (struct kf_tensor_info) {
		.name = (char *)(uintptr_t)name, .dtype = KF_F32, .rank = 2,
		.shape = { ROWS, COLS }, .numel = N, .bytes = 4 * N,
		.matters = true,
	};
}

static void fill_output(struct world *w, int o, function *f)
{
	for (int s = 0; s < SETS; s++)
		for (int i = 0; i < N; i++) {
			double y = f(s, i, w->x[s]);

			w->exact[o][s][i] = y;
			w->y[o][s][i] = (float)y;
			w->react[o][s][i] = (float)fabs(y);
			w->noise[o][s][i] =
				fabsf((float)(fabs(y - (double)w->y[o][s][i])));
		}
}

static void fill_set(struct world *w, int s)
{
	static const char *const kind[SETS] = {
		"declared", "declared", "wide", "weights",
	};
	struct kf_rng rng = { .state = 77 + (uint64_t)s };

	for (int i = 0; i < N; i++)
		w->x[s][i] = (float)((double)kf_rng_below(&rng, 2000) / 1000 -
				     1);
	w->in_at[s] = w->x[s];
	for (int o = 0; o < 2; o++) {
		w->expect_at[s][o] = w->y[o][s];
		w->exact_at[s][o] = w->exact[o][s];
		w->react_at[s][o] = w->react[o][s];
		w->noise_at[s][o] = w->noise[o][s];
	}
	w->set[s] = (struct kf_case) {
		.kind = kind[s], .in = &w->in_at[s],
		.expect = w->expect_at[s], .exact = w->exact_at[s],
		.react = w->react_at[s], .noise = w->noise_at[s],
	};
}

/* second: NULL, or what the second output is. */
static struct world *world_new(function *first, function *second)
{
	struct world *w = kf_alloc(sizeof(*w));

	w->in = matrix("x");
	w->weight = matrix("fc.bias");
	w->out[0] = matrix("out0");
	w->out[1] = matrix("out1");
	for (int s = 0; s < SETS; s++)
		fill_set(w, s);
	fill_output(w, 0, first);
	if (second)
		fill_output(w, 1, second);
	w->bundle = (struct kf_bundle) {
		.in = &w->in, .in_count = 1,
		.weight = &w->weight, .weight_count = 1,
		.out = w->out, .out_count = second ? 2 : 1,
		.set = w->set, .set_count = SETS, .has_exact = true,
	};
	return w;
}

static struct kf_health *check(struct world *w)
{
	struct kf_health_limits limits = { 0 };

	kf_health_release(&w->health);
	assert_int_equal(kf_health_check(&w->bundle, &limits, &w->health,
					 &w->err), KF_OK);
	return &w->health;
}

static void world_free(struct world *w)
{
	kf_health_release(&w->health);
	json_decref(w->bundle.info);
	free(w);
}

static bool has(const json_t *list, const char *part)
{
	const json_t *text;
	size_t i;

	json_array_foreach(list, i, text)
		if (strstr(json_string_value(text), part))
			return true;
	return false;
}

/* --- what problems compute ------------------------------------------------ */

static double twice(int s, int i, const float *x)
{
	(void)s;
	return 2 * (double)x[i];
}

static double nothing(int s, int i, const float *x)
{
	(void)s;
	(void)i;
	(void)x;
	return 0;
}

static double one(int s, int i, const float *x)
{
	(void)s;
	(void)i;
	(void)x;
	return 1;
}

static double third(int s, int i, const float *x)
{
	(void)s;
	(void)i;
	(void)x;
	return 1.0 / 3;
}

static double table(int s, int i, const float *x)
{
	(void)s;
	(void)x;
	return sin(i);
}

static double same_in_set(int s, int i, const float *x)
{
	(void)s;
	(void)i;
	return (double)x[0];
}

static double first_of_row(int s, int i, const float *x)
{
	(void)s;
	return (double)x[i / COLS * COLS];
}

static double itself(int s, int i, const float *x)
{
	(void)s;
	return (double)x[i];
}

/* A layer whose own weights are zeros. */
static double zero_weights(int s, int i, const float *x)
{
	return s == 3 ? 2 * (double)x[i] : 0;
}

/* One number on declared inputs, not on wide ones. */
static double flat_when_declared(int s, int i, const float *x)
{
	return s == 2 ? (double)x[i] : 0.25;
}

static double tiny(int s, int i, const float *x)
{
	(void)s;
	return 1e-6 * (double)x[i];
}

/* --- tests ---------------------------------------------------------------- */

static void test_an_honest_problem_is_healthy(void **state)
{
	struct world *w = world_new(twice, NULL);
	struct kf_health *h = check(w);

	(void)state;
	assert_true(h->healthy);
	assert_true(h->complete);
	assert_string_equal(h->reason, "");
	assert_string_equal(h->text, "");
	assert_int_equal(json_array_size(h->notes), 0);
	assert_int_equal(json_array_size(h->kernelbench), 0);
	assert_true(h->magnitude > 1.5 && h->magnitude <= 2);
	assert_true(h->between_seeds > 1);
	world_free(w);
}

static void test_each_trivial_answer_is_named(void **state)
{
	static const struct {
		function *f;
		const char *reason, *words;
	} row[] = {
		{ nothing, "zeros", "all zeros would be judged correct on all "
		  "4 sets" },
		{ one, "ones", "all ones would be judged correct on all 4" },
		{ third, "constant", "one number, the same for every element "
		  "and set, would be judged correct" },
		{ table, "same", "the first set's output, whatever the input, "
		  "would be judged correct on all 4 sets" },
		{ same_in_set, "mean", "one number for every element of a "
		  "set, its mean, would" },
		{ first_of_row, "row_mean", "one number for every row, its "
		  "mean, would" },
		{ itself, "copy", "a copy of input x would be judged correct" },
		{ zero_weights, "zeros", "all zeros would be judged correct on "
		  "the 3 sets that have the problem's own weights" },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(row); i++) {
		struct world *w = world_new(row[i].f, NULL);
		struct kf_health *h = check(w);

		if (!strstr(h->text, row[i].words))
			print_message("# row %zu: %s: %s\n", i, h->reason,
				      h->text);
		assert_false(h->healthy);
		assert_string_equal(h->reason, row[i].reason);
		assert_non_null(strstr(h->text, row[i].words));
		world_free(w);
	}
}

static void test_declared_inputs_alone_are_a_note(void **state)
{
	struct world *w = world_new(flat_when_declared, NULL);
	struct kf_health *h = check(w);

	(void)state;
	assert_true(h->healthy);
	assert_true(has(h->notes, "on declared inputs alone would be judged "
			"correct: constant, same, mean, row_mean; other "
			"kinds of data refuse that"));
	world_free(w);
}

static void test_what_kernelbench_lets_pass_is_a_note(void **state)
{
	struct world *w = world_new(tiny, NULL);
	struct kf_health *h = check(w);

	(void)state;
	assert_true(h->healthy);
	assert_true(has(h->kernelbench, "zeros"));
	assert_true(has(h->notes, "KernelBench's tolerance would let pass: "
			"zeros, constant, "));
	assert_false(has(h->kernelbench, "ones"));
	world_free(w);
}

static void test_inputs_must_matter(void **state)
{
	struct world *w = world_new(twice, NULL);
	struct kf_tensor_info in[2] = { w->in, w->in };
	static char mask[] = "mask";

	(void)state;
	w->in.matters = false;
	assert_string_equal(check(w)->reason, "no_input_matters");
	assert_non_null(strstr(w->health.text, "its input does not matter"));

	in[1].name = mask;
	in[1].matters = false;
	w->bundle.in = in;
	w->bundle.in_count = 2;
	for (int s = 0; s < SETS; s++) {
		const void **both = kf_alloc(2 * sizeof(both[0]));

		both[0] = both[1] = w->x[s];
		w->set[s].in = both;
	}
	assert_true(check(w)->healthy);
	assert_true(has(w->health.notes, "input mask does not matter"));
	in[0].matters = false;
	assert_string_equal(check(w)->reason, "no_input_matters");
	assert_non_null(strstr(w->health.text, "none of its inputs"));
	for (int s = 0; s < SETS; s++)
		free(w->set[s].in);
	world_free(w);
}

static void test_no_input_matters_tells_more_than_same(void **state)
{
	struct world *w = world_new(table, NULL);

	(void)state;
	w->in.matters = false;
	assert_string_equal(check(w)->reason, "no_input_matters");
	world_free(w);
	w = world_new(nothing, NULL);
	w->in.matters = false;
	assert_string_equal(check(w)->reason, "zeros");
	world_free(w);
}

static void test_idle_weights_are_noted(void **state)
{
	struct world *w = world_new(twice, NULL);
	struct kf_tensor_info weight[8];

	(void)state;
	for (int i = 0; i < 8; i++) {
		weight[i] = w->weight;
		weight[i].matters = i == 0;
	}
	w->bundle.weight = weight;
	w->bundle.weight_count = 2;
	assert_true(check(w)->healthy);
	assert_true(has(w->health.notes, "weight fc.bias does not matter"));
	w->bundle.weight_count = 8;
	assert_true(check(w)->healthy);
	assert_true(has(w->health.notes, "weights fc.bias, fc.bias, fc.bias, "
			"fc.bias, fc.bias and 2 more do not matter"));
	world_free(w);
}

static void test_all_outputs_count_together(void **state)
{
	struct world *w = world_new(twice, nothing);

	(void)state;
	assert_true(check(w)->healthy);
	assert_true(has(w->health.notes, "output 1 has an answer without "
			"work"));
	world_free(w);
	w = world_new(itself, nothing);
	assert_string_equal(check(w)->reason, "mixed");
	world_free(w);
}

static void test_a_single_number_is_not_its_own_mean(void **state)
{
	struct world *w = world_new(twice, NULL);

	(void)state;
	w->out[0].rank = 0;
	w->out[0].numel = 1;
	w->out[0].bytes = 4;
	assert_true(check(w)->healthy);
	world_free(w);
}

/* With one set everything is the same for all sets. */
static void test_one_set_proves_no_sameness(void **state)
{
	struct world *w = world_new(twice, NULL);

	(void)state;
	w->bundle.set_count = 1;
	assert_true(check(w)->healthy);
	assert_true(isnan(w->health.between_seeds));
	world_free(w);
}

static void test_integers_must_be_equal(void **state)
{
	struct world *w = world_new(twice, NULL);
	int64_t *index = kf_alloc(N * sizeof(*index));

	(void)state;
	w->out[0].dtype = KF_I64;
	w->out[0].bytes = N * sizeof(*index);
	for (int s = 0; s < SETS; s++) {
		w->expect_at[s][0] = index;
		w->exact_at[s][0] = NULL;
		w->react_at[s][0] = w->noise_at[s][0] = NULL;
	}
	assert_string_equal(check(w)->reason, "zeros");
	for (int i = 0; i < N; i++)
		index[i] = i % 2;
	assert_string_equal(check(w)->reason, "same");
	free(index);
	world_free(w);
}

static void test_half_types_are_filled_rightly(void **state)
{
	static const struct { enum kf_dtype dtype; uint16_t one, third; }
	row[] = {
		{ KF_F16, 0x3c00, 0x3555 }, { KF_BF16, 0x3f80, 0x3eab },
	};

	(void)state;
	for (size_t r = 0; r < KF_COUNT(row); r++) {
		struct world *w = world_new(third, NULL);
		uint16_t *half = kf_alloc(N * sizeof(*half));

		w->out[0].dtype = row[r].dtype;
		w->out[0].bytes = N * sizeof(*half);
		for (int s = 0; s < SETS; s++)
			w->expect_at[s][0] = half;
		for (int i = 0; i < N; i++)
			half[i] = row[r].third;
		assert_string_equal(check(w)->reason, "constant");
		assert_true(has(w->health.kernelbench, "constant"));
		fill_output(w, 0, one);
		for (int i = 0; i < N; i++)
			half[i] = row[r].one;
		assert_string_equal(check(w)->reason, "ones");
		assert_true(has(w->health.kernelbench, "ones"));
		free(half);
		world_free(w);
	}
}

/* Whatever is in it, a check ends; what was not tried is not held against
 * it. */
static void test_a_deadline_ends_the_check(void **state)
{
	struct world *w = world_new(nothing, NULL);
	struct kf_health_limits limits = { .timeout_ns = 1 };
	volatile int cancel = 1;

	(void)state;
	assert_int_equal(kf_health_check(&w->bundle, &limits, &w->health,
					 &w->err), KF_OK);
	assert_false(w->health.complete);
	assert_true(w->health.healthy);
	assert_true(has(w->health.notes, "cut short"));
	kf_health_release(&w->health);
	limits = (struct kf_health_limits) { .cancel = &cancel };
	assert_int_equal(kf_health_check(&w->bundle, &limits, &w->health,
					 &w->err), KF_E_CANCELED);
	world_free(w);
}

static void test_names_that_a_problem_chose_stay_text(void **state)
{
	struct world *w = world_new(itself, NULL);
	static char name[] = "a\xff\x1b[31m";

	(void)state;
	w->in.name = name;
	w->bundle.info = json_pack("{s:[s]}", "notes", "line\nand another");
	assert_string_equal(check(w)->reason, "copy");
	assert_null(strchr(w->health.text, '\x1b'));
	assert_null(strchr(w->health.text, '\xff'));
	world_free(w);
}

static void test_refusals_that_are_about_health(void **state)
{
	static const struct { const char *kind; bool unhealthy; } row[] = {
		{ "random", true }, { "nondeterministic", true },
		{ "non_finite", true }, { "exception", false },
		{ "memory", false }, { "", false },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(row); i++) {
		struct kf_refusal refusal = { .ratio = (double)NAN };
		struct kf_health health;

		snprintf(refusal.kind, sizeof(refusal.kind), "%s",
			 row[i].kind);
		assert_int_equal(kf_health_of_refusal(&refusal, "why",
						      &health),
				 row[i].unhealthy);
		assert_false(health.healthy);
		assert_string_equal(health.text, row[i].unhealthy ? "why" : "");
		kf_health_release(&health);
	}
}

static void test_what_was_found_is_kept(void **state)
{
	struct world *w = world_new(tiny, NULL);
	char folder[] = "/tmp/kforge-health-XXXXXX";
	struct kf_health back;
	char *place, *path;

	(void)state;
	assert_non_null(mkdtemp(folder));
	place = kf_path_join(folder, "key");
	w->bundle.place = place;
	assert_false(kf_health_stored(place, &back));
	kf_health_store(place, check(w));
	assert_true(kf_health_stored(place, &back));
	assert_true(back.healthy && back.complete);
	assert_true(json_equal(back.notes, w->health.notes));
	assert_true(json_equal(back.kernelbench, w->health.kernelbench));
	kf_health_release(&back);

	/* It is asked for, not made again: this bundle would be unhealthy. */
	fill_output(w, 0, nothing);
	assert_int_equal(kf_health_open(&w->bundle,
		&(struct kf_health_limits) { 0 }, &back, &w->err), KF_OK);
	assert_true(back.healthy);
	kf_health_release(&back);

	path = kf_format("%s.health.json", place);
	assert_int_equal(kf_file_write(path, "{\"version\": 0, \"healthy\": "
				       "true}", 31, NULL), KF_OK);
	assert_false(kf_health_stored(place, &back));
	assert_int_equal(kf_file_write(path, "rubbish", 7, NULL), KF_OK);
	assert_int_equal(kf_health_open(&w->bundle,
		&(struct kf_health_limits) { 0 }, &back, &w->err), KF_OK);
	assert_string_equal(back.reason, "zeros");
	kf_health_release(&back);
	assert_int_equal(kf_remove_tree(folder, NULL), KF_OK);
	free(path);
	free(place);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_honest_problem_is_healthy),
		cmocka_unit_test(test_each_trivial_answer_is_named),
		cmocka_unit_test(test_declared_inputs_alone_are_a_note),
		cmocka_unit_test(test_what_kernelbench_lets_pass_is_a_note),
		cmocka_unit_test(test_inputs_must_matter),
		cmocka_unit_test(test_no_input_matters_tells_more_than_same),
		cmocka_unit_test(test_idle_weights_are_noted),
		cmocka_unit_test(test_all_outputs_count_together),
		cmocka_unit_test(test_a_single_number_is_not_its_own_mean),
		cmocka_unit_test(test_one_set_proves_no_sameness),
		cmocka_unit_test(test_integers_must_be_equal),
		cmocka_unit_test(test_half_types_are_filled_rightly),
		cmocka_unit_test(test_a_deadline_ends_the_check),
		cmocka_unit_test(test_names_that_a_problem_chose_stay_text),
		cmocka_unit_test(test_refusals_that_are_about_health),
		cmocka_unit_test(test_what_was_found_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
