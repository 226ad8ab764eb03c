/* positions.c - of equal elements each one's position is right, and nothing
 * else is. */
#include "evaluate/positions.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define SETS 2
#define ROWS 6
#define LENGTH 40
#define INNER 3
#define NUMEL (ROWS * LENGTH * INNER)
#define COUNT (ROWS * INNER)

struct world {
	struct kf_bundle bundle;
	struct kf_tensor_info in, out;
	struct kf_case set[SETS];
	const void *in_list[SETS][1], *expect_list[SETS][1];
	float x[SETS][ROWS][LENGTH][INNER];
	int64_t first[SETS][ROWS][INNER], last[SETS][ROWS][INNER];
	struct kf_positions positions;
};

/* Numbers 0..19 in rows of 40: the largest often comes more than once. */
static void fill_set(struct world *w, int s, struct kf_rng *rng, bool largest)
{
	float *x = &w->x[s][0][0][0];

	for (int i = 0; i < NUMEL; i++)
		x[i] = (float)kf_rng_below(rng, 20);
	for (int r = 0; r < ROWS; r++)
		for (int c = 0; c < INNER; c++) {
			int64_t *first = &w->first[s][r][c];
			int64_t *last = &w->last[s][r][c];

			for (int k = 1; k < LENGTH; k++) {
				float f = w->x[s][r][*first][c];
				float l = w->x[s][r][*last][c];
				float v = w->x[s][r][k][c];

				if (largest ? v > f : v < f)
					*first = k;
				if (largest ? v >= l : v <= l)
					*last = k;
			}
		}
}

static struct world *world_new(bool largest, bool keeps_axis)
{
	struct world *w = kf_alloc(sizeof(*w));
	struct kf_rng rng = { 5 };

	w->in = (struct kf_tensor_info) { .dtype = KF_F32, .rank = 3,
		.shape = { ROWS, LENGTH, INNER }, .numel = NUMEL };
	w->out = (struct kf_tensor_info) { .dtype = KF_I64, .rank = 2,
		.shape = { ROWS, INNER }, .numel = COUNT,
		.bytes = COUNT * sizeof(int64_t) };
	if (keeps_axis) {
		w->out.rank = 3;
		w->out.shape[1] = 1;
		w->out.shape[2] = INNER;
	}
	for (int s = 0; s < SETS; s++) {
		fill_set(w, s, &rng, largest);
		w->in_list[s][0] = w->x[s];
		w->expect_list[s][0] = w->first[s];
		w->set[s] = (struct kf_case) { .kind = "declared",
			.in = w->in_list[s], .expect = w->expect_list[s] };
	}
	w->bundle = (struct kf_bundle) { .in = &w->in, .in_count = 1,
		.out = &w->out, .out_count = 1, .set = w->set,
		.set_count = SETS };
	return w;
}

/* Are all positions those that are expected, or as right? */
static bool is_right(struct world *w, const void *got)
{
	void *settled = kf_positions_settled(&w->positions, &w->bundle,
					     &w->set[1], 0, got);
	bool right = settled && memcmp(settled, w->first[1],
				       sizeof(w->first[1])) == 0;

	free(settled);
	return right;
}

static void test_each_of_equal_elements_is_right(void **state)
{
	(void)state;
	for (int kind = 0; kind < 4; kind++) {
		struct world *w = world_new(kind & 1, kind & 2);

		assert_memory_not_equal(w->first[1], w->last[1],
					sizeof(w->last[1]));
		assert_true(is_right(w, w->last[1]));
		assert_true(w->positions.found);
		assert_int_equal(w->positions.axis, 1);
		assert_true(w->positions.largest == (kind & 1));
		free(w);
	}
}

static void test_no_other_position_is(void **state)
{
	static const int64_t wrong[] = { -1, LENGTH, INT64_MAX, INT64_MIN };
	struct world *w = world_new(true, false);
	int64_t *at = &w->last[1][ROWS - 1][INNER - 1];
	int64_t right = *at;

	(void)state;
	for (size_t i = 0; i < KF_COUNT(wrong); i++) {
		*at = wrong[i];
		assert_false(is_right(w, w->last[1]));
	}
	for (int64_t k = 0; k < LENGTH; k++) {
		float there = w->x[1][ROWS - 1][k][INNER - 1];
		float most = w->x[1][ROWS - 1][right][INNER - 1];

		*at = k;
		assert_true(is_right(w, w->last[1]) == !(there < most));
	}
	free(w);
}

static void test_what_is_not_always_a_position_is_none(void **state)
{
	struct world *w = world_new(true, false);

	(void)state;
	w->first[0][2][1] = (w->first[0][2][1] + 1) % LENGTH;
	w->x[0][2][w->first[0][2][1]][1] = -1;
	assert_false(is_right(w, w->last[1]));
	assert_true(w->positions.looked && !w->positions.found);
	free(w);
}

/* Of zeros any position is the largest's: the output may be anything. */
static void test_equal_elements_alone_prove_nothing(void **state)
{
	struct world *w = world_new(true, false);

	(void)state;
	memset(w->x, 0, sizeof(w->x));
	assert_false(is_right(w, w->last[1]));
	free(w);
}

static void test_other_outputs_are_let_alone(void **state)
{
	struct world *w = world_new(true, false);

	(void)state;
	w->bundle.condensed = true;
	assert_false(is_right(w, w->last[1]));
	w->bundle.condensed = false;
	w->out.dtype = KF_F64;
	assert_false(is_right(w, w->last[1]));
	w->out.dtype = KF_I64;
	w->out.shape[0] = INNER;
	w->out.shape[1] = ROWS;
	assert_false(is_right(w, w->last[1]));
	free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_of_equal_elements_is_right),
		cmocka_unit_test(test_no_other_position_is),
		cmocka_unit_test(test_what_is_not_always_a_position_is_none),
		cmocka_unit_test(test_equal_elements_alone_prove_nothing),
		cmocka_unit_test(test_other_outputs_are_let_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
