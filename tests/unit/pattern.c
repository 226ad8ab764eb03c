/* What is wrong with an output is said in words, and only if it is so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "evaluate/compare.h"

#define MOST 40000
#define POISON UINT32_C(0xffa5c3e1)

struct plane {
	int rank;
	int64_t shape[4], n;
	float got[MOST], expect[MOST], react[MOST];
	double exact[MOST];
};

static struct plane *plane_new(int rank, const int64_t *shape)
{
	struct plane *p = kf_alloc(sizeof(*p));
	struct kf_rng rng = { 42 };

	p->rank = rank;
	p->n = 1;
	for (int a = 0; a < rank; a++) {
		p->shape[a] = shape[a];
		p->n *= shape[a];
	}
	assert_true(p->n <= MOST);
	for (int64_t i = 0; i < p->n; i++) {
		p->exact[i] = 4 * kf_rng_double(&rng) - 2;
		p->expect[i] = p->got[i] = (float)p->exact[i];
		p->react[i] = 1;
	}
	return p;
}

static void compare(struct plane *p, struct kf_compare *out)
{
	struct kf_compare_request req = {
		.dtype = KF_F32, .rank = p->rank, .got = p->got,
		.expect = p->expect, .exact = p->exact, .react = p->react,
		.limit = kf_compare_limit(KF_F32, "declared"),
		.poison = POISON,
	};

	memcpy(req.shape, p->shape, sizeof(p->shape));
	kf_compare_run(&req, out);
}

/* --- ways to be wrong; i is flat, r and c are the last two axes ---------- */

typedef void spoil(struct plane *p, int64_t i, int64_t r, int64_t c);

static void all_zero(struct plane *p, int64_t i, int64_t r, int64_t c)
{
	(void)r;
	(void)c;
	p->got[i] = 0;
}

static void all_seven(struct plane *p, int64_t i, int64_t r, int64_t c)
{
	(void)r;
	(void)c;
	p->got[i] = 7;
}

static void doubled(struct plane *p, int64_t i, int64_t r, int64_t c)
{
	(void)r;
	(void)c;
	p->got[i] = 2 * p->expect[i];
}

static void flipped(struct plane *p, int64_t i, int64_t r, int64_t c)
{
	(void)r;
	(void)c;
	p->got[i] = -p->expect[i];
}

static void plus_one(struct plane *p, int64_t i, int64_t r, int64_t c)
{
	(void)r;
	(void)c;
	p->got[i] = p->expect[i] + 1;
}

static void tail_of_rows(struct plane *p, int64_t i, int64_t r, int64_t c)
{
	(void)r;
	if (c >= 96)
		p->got[i] = 0;
}

static void row_three(struct plane *p, int64_t i, int64_t r, int64_t c)
{
	(void)c;
	if (r == 3)
		p->got[i] += 1 + (float)(i % 7);
}

static void column_five(struct plane *p, int64_t i, int64_t r, int64_t c)
{
	(void)r;
	if (c == 5)
		p->got[i] += 1 + (float)(i % 7);
}

static void odd_columns(struct plane *p, int64_t i, int64_t r, int64_t c)
{
	(void)r;
	if (c % 2)
		p->got[i] += 1 + (float)(i % 7);
}

static void all_but_first_row(struct plane *p, int64_t i, int64_t r, int64_t c)
{
	(void)c;
	if (r)
		p->got[i] += 1 + (float)(i % 7);
}

static void end_of_all(struct plane *p, int64_t i, int64_t r, int64_t c)
{
	(void)r;
	(void)c;
	if (i >= p->n - 150)
		p->got[i] += 1 + (float)(i % 7);
}

static void rows_reversed(struct plane *p, int64_t i, int64_t r, int64_t c)
{
	int64_t rows = p->shape[p->rank - 2], cols = p->shape[p->rank - 1];

	p->got[i] = p->expect[i - r * cols - c + (rows - 1 - r) * cols + c];
}

static void left_by_one(struct plane *p, int64_t i, int64_t r, int64_t c)
{
	(void)r;
	p->got[i] = c + 1 < p->shape[p->rank - 1] ? p->expect[i + 1] : 0;
}

static void down_by_one(struct plane *p, int64_t i, int64_t r, int64_t c)
{
	(void)c;
	p->got[i] = r ? p->expect[i - p->shape[p->rank - 1]] : 0;
}

static void axes_swapped(struct plane *p, int64_t i, int64_t r, int64_t c)
{
	int64_t rows = p->shape[p->rank - 2], cols = p->shape[p->rank - 1];
	int64_t start = i - r * cols - c;

	p->got[start + c * rows + r] = p->expect[i];
}

static void nan_last_row(struct plane *p, int64_t i, int64_t r, int64_t c)
{
	(void)c;
	if (r == p->shape[p->rank - 2] - 1)
		p->got[i] = NAN;
}

static void unwritten_tail(struct plane *p, int64_t i, int64_t r, int64_t c)
{
	const uint32_t poison = POISON;

	(void)r;
	if (c >= p->shape[p->rank - 1] - 4)
		memcpy(&p->got[i], &poison, sizeof(poison));
}

static void half_inside(struct plane *p, int64_t i, int64_t r, int64_t c)
{
	(void)r;
	(void)c;
	p->got[i] += (i % 2 ? 1 : -1) * 0x1p-11f *
		(0.5f + (float)(i % 5) / 4);
}

static void sum_cut_short(struct plane *p, int64_t i, int64_t r, int64_t c)
{
	(void)r;
	(void)c;
	p->got[i] = p->expect[i] * (0.9f + 0.08f * (float)(i % 11) / 11);
}

static void random_places(struct plane *p, int64_t i, int64_t r, int64_t c)
{
	(void)r;
	(void)c;
	if ((uint64_t)i * UINT64_C(0x9e3779b97f4a7c15) >> 60 == 0)
		p->got[i] += 1 + (float)((i * 31) % 17);
}

static void test_patterns_are_named(void **state)
{
	static const struct {
		spoil *how;
		int rank;
		int64_t shape[4];
		const char *says[2];
	} rows[] = {
		{ all_zero, 2, { 50, 100 }, { "every element is wrong", "all zero" } },
		{ all_seven, 2, { 50, 100 }, { "the same value, 7", NULL } },
		{ doubled, 2, { 50, 100 }, { "2 times the expected", NULL } },
		{ flipped, 2, { 50, 100 }, { "sign is flipped", NULL } },
		{ plus_one, 2, { 50, 100 }, { "every element is wrong", "by the same amount, +1" } },
		{ tail_of_rows, 2, { 50, 100 }, { "only the last 4 elements of every row (the remainder beyond a multiple of 8, 16, 32)", "all zero" } },
		{ row_three, 2, { 50, 100 }, { "only row 3", NULL } },
		{ column_five, 2, { 50, 100 }, { "only column 5", NULL } },
		{ odd_columns, 2, { 50, 100 }, { "every 2nd index along axis 1, from 1 on", NULL } },
		{ all_but_first_row, 2, { 50, 100 }, { "right: only row 0", NULL } },
		{ end_of_all, 2, { 50, 100 }, { "the last 150 elements of the whole output", NULL } },
		{ end_of_all, 1, { 5000 }, { "the last 150 elements", NULL } },
		{ rows_reversed, 2, { 50, 100 }, { "another row", NULL } },
		{ left_by_one, 2, { 50, 100 }, { "shifted by one along axis 1 (index i holds what belongs at i + 1)", NULL } },
		{ down_by_one, 2, { 50, 100 }, { "shifted by one along axis 0 (index i holds what belongs at i - 1)", NULL } },
		{ axes_swapped, 2, { 64, 64 }, { "transposed (axes 0 and 1 swapped)", NULL } },
		{ axes_swapped, 3, { 3, 20, 30 }, { "transposed (axes 1 and 2 swapped)", NULL } },
		{ nan_last_row, 2, { 50, 100 }, { "only row 49", "NaN" } },
		{ unwritten_tail, 2, { 50, 100 }, { "not written: only the last 4 elements of every row", NULL } },
		{ half_inside, 2, { 50, 100 }, { "lower precision", NULL } },
		{ sum_cut_short, 2, { 50, 100 }, { "too small", "leave terms out" } },
		{ row_three, 4, { 2, 3, 10, 20 }, { "only row 3", NULL } },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct plane *p = plane_new(rows[i].rank, rows[i].shape);
		int64_t cols = p->shape[p->rank - 1];
		int64_t high = p->rank > 1 ? p->shape[p->rank - 2] : 1;
		struct kf_compare out;

		for (int64_t k = 0; k < p->n; k++)
			rows[i].how(p, k, k / cols % high, k % cols);
		compare(p, &out);
		assert_int_not_equal(out.end, KF_COMPARE_GOOD);
		for (int s = 0; s < 2 && rows[i].says[s]; s++)
			if (!strstr(out.pattern, rows[i].says[s]))
				fail_msg("row %zu says \"%s\", not \"%s\"", i,
					 out.pattern, rows[i].says[s]);
		free(p);
	}
}

static void test_no_pattern_where_there_is_none(void **state)
{
	static const int64_t shape[2] = { 100, 100 };
	struct plane *p = plane_new(2, shape);
	struct kf_compare out;

	(void)state;
	for (int64_t i = 0; i < p->n; i++)
		random_places(p, i, 0, 0);
	compare(p, &out);
	assert_true(out.wrong_count > 100);
	assert_string_equal(out.pattern, "");
	free(p);
}

static void test_batch_item_and_channel_have_names(void **state)
{
	static const int64_t shape[4] = { 3, 4, 8, 9 };
	struct plane *p = plane_new(4, shape);
	struct kf_compare out;

	(void)state;
	for (int64_t i = 2 * 4 * 72; i < p->n; i++)
		p->got[i] += 1 + (float)(i % 7);
	compare(p, &out);
	assert_non_null(strstr(out.pattern, "only batch item 2"));
	memcpy(p->got, p->expect, sizeof(p->got));
	for (int64_t i = 0; i < p->n; i++)
		if (i / 72 % 4 == 1)
			p->got[i] += 1 + (float)(i % 7);
	compare(p, &out);
	assert_non_null(strstr(out.pattern, "only channel 1"));
	free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_patterns_are_named),
		cmocka_unit_test(test_no_pattern_where_there_is_none),
		cmocka_unit_test(test_batch_item_and_channel_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
