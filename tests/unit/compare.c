/* The promises of compare.h: what is right, what is wrong, how far. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <float.h>
#include <math.h>

#include "evaluate/compare_block.h"

#define POISON UINT32_C(0x7fc0dead)
#define SIDE 96

/* A request over SIDE x SIDE float32, everything right to the last bit. */
struct fixture {
	struct kf_compare_request req;
	float got[SIDE * SIDE], expect[SIDE * SIDE];
	float react[SIDE * SIDE], noise[SIDE * SIDE];
	double exact[SIDE * SIDE];
};

static struct fixture *fixture_new(uint64_t seed)
{
	struct fixture *f = kf_alloc(sizeof(*f));
	struct kf_rng rng = { seed };

	for (size_t i = 0; i < KF_COUNT(f->got); i++) {
		f->exact[i] = 2 * kf_rng_double(&rng) - 1;
		f->expect[i] = f->got[i] = (float)f->exact[i];
		f->react[i] = 0.5f;
		f->noise[i] = 1e-8f;
	}
	f->req = (struct kf_compare_request) {
		.dtype = KF_F32, .rank = 2, .shape = { SIDE, SIDE },
		.got = f->got, .expect = f->expect, .exact = f->exact,
		.react = f->react, .noise = f->noise,
		.limit = kf_compare_limit(KF_F32, "declared"),
		.poison = POISON,
	};
	return f;
}

static double error_of_size(double size, struct kf_rng *rng)
{
	return size * (kf_rng_double(rng) < 0.5 ? -1 : 1);
}

/* sigma of an element far from everything special in the fixture */
static double sigma_of(const struct fixture *f, size_t i)
{
	return fmax(fabs(f->exact[i]), 0.5);
}

static void test_exact_output_is_good(void **state)
{
	struct fixture *f = fixture_new(1);
	struct kf_compare out;

	(void)state;
	kf_compare_run(&f->req, &out);
	assert_int_equal(out.end, KF_COMPARE_GOOD);
	assert_int_equal(out.numel, SIDE * SIDE);
	assert_int_equal(out.block_count, 9);
	assert_int_equal(out.wrong_count, 0);
	assert_true(out.q_max < 0.01 && out.rms_max < 0.01);
	assert_string_equal(out.pattern, "");
	free(f);
}

static void test_what_hangs_on_no_number_is_open_where_it_is_said(void **state)
{
	static const struct { float reference, got; bool good; } rows[] = {
		{ (float)NAN, 7, true },
		{ (float)NAN, (float)INFINITY, true },
		{ (float)INFINITY, (float)INFINITY, true },
		{ (float)INFINITY, (float)NAN, true },
		{ (float)INFINITY, 7, false },
		{ (float)INFINITY, (float)-INFINITY, false },
		{ 0.5f, (float)NAN, true },
		{ 0.5f, (float)INFINITY, false },
		{ 0.5f, 7, false },
	};

	(void)state;
	assert_true(kf_compare_open("nan") && kf_compare_open("infinite"));
	assert_false(kf_compare_open("outliers"));
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct fixture *f = fixture_new(2);
		struct kf_compare out;
		size_t at = 17 * SIDE + 3;

		f->expect[at] = rows[i].reference;
		f->exact[at] = (double)rows[i].reference;
		f->got[at] = rows[i].got;
		f->req.nan_is_open = true;
		kf_compare_run(&f->req, &out);
		assert_int_equal(out.end == KF_COMPARE_GOOD, rows[i].good);
		f->req.nan_is_open = false;
		kf_compare_run(&f->req, &out);
		assert_int_equal(out.end == KF_COMPARE_GOOD, i == 2);
		free(f);
	}
}

static void set_off(struct fixture *f, size_t from, size_t count, double q)
{
	for (size_t i = from; i < from + count; i++)
		f->got[i] = (float)(f->exact[i] + q * f->req.limit *
				    sigma_of(f, i));
}

/* SIDE rows of SIDE: one of them may be off, more than 1 in 256. */
static void test_few_elements_may_be_nearly_ties(void **state)
{
	const double most = KF_TIE_MOST / kf_compare_limit(KF_F32, "large");
	const size_t most_rows = KF_TIE_ROWS - 1;
	const int64_t shape[] = { SIDE, SIDE }, few[] = { 9, 8, 1000 };
	const int64_t fewer[] = { (int64_t)most_rows, 1000 };
	const struct {
		size_t count, more;
		double q, q_of_more;
		bool good;
		int64_t wrong;
	} rows[] = {
		{ SIDE, 0, 17, 0, true, 0 },
		{ SIDE, 0, 3000, 0, true, 0 },
		{ SIDE, 0, 0.9 * most, 0, true, 0 },
		{ SIDE, 1, 17, 17, false, SIDE + 1 },
		{ SIDE * SIDE / 4, 0, 3000, 0, false, SIDE * SIDE / 4 },
		{ 1, 0, 1.1 * most, 0, false, 1 },
		/* Not alone: what is off by less makes its blocks wrong. */
		{ SIDE / 2, SIDE / 2, 17, 6, true, 0 },
		{ SIDE / 2, 1, 17, 1.1 * most, false, SIDE / 2 + 1 },
	};

	(void)state;
	assert_int_equal(kf_compare_ties("large", 2, shape), SIDE);
	assert_int_equal(kf_compare_ties("large", 3, few), 1000);
	assert_int_equal(kf_compare_ties("large", 2, fewer),
			 most_rows * 1000 / KF_TIES);
	assert_int_equal(kf_compare_ties("declared", 2, shape), 0);
	assert_int_equal(kf_compare_ties("stock", 2, shape), 0);
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct fixture *f = fixture_new(3);
		struct kf_compare out;

		f->req.limit = kf_compare_limit(KF_F32, "large");
		f->req.ties = kf_compare_ties("large", 2, shape);
		set_off(f, 0, rows[i].count, rows[i].q);
		set_off(f, rows[i].count, rows[i].more, rows[i].q_of_more);
		kf_compare_run(&f->req, &out);
		assert_int_equal(out.end == KF_COMPARE_GOOD, rows[i].good);
		assert_int_equal(out.tie_count, rows[i].good ?
				 rows[i].count + rows[i].more : 0);
		assert_int_equal(out.wrong_count, rows[i].wrong);
		assert_true(!rows[i].good || out.q_max < 1);
		f->req.ties = 0;
		kf_compare_run(&f->req, &out);
		assert_int_equal(out.end, KF_COMPARE_VALUES);
		free(f);
	}
}

/* What is off by what no tie explains counts, and what is right is no tie. */
static void test_ties_are_numbers_that_make_a_block_wrong(void **state)
{
	const uint32_t poison = POISON;
	struct fixture *f = fixture_new(4);
	struct kf_compare out;

	(void)state;
	f->req.limit = kf_compare_limit(KF_F32, "large");
	f->req.ties = SIDE;
	set_off(f, 0, 20, 4.9);
	kf_compare_run(&f->req, &out);
	assert_int_equal(out.end, KF_COMPARE_GOOD);
	assert_int_equal(out.tie_count, 0);
	assert_true(out.q_max > 4.5);
	set_off(f, 0, 20, 17);
	kf_compare_run(&f->req, &out);
	assert_int_equal(out.tie_count, 20);
	f->got[0] = (float)NAN;
	kf_compare_run(&f->req, &out);
	assert_int_equal(out.end, KF_COMPARE_NONFINITE);
	f->got[0] = (float)INFINITY;
	kf_compare_run(&f->req, &out);
	assert_int_equal(out.end, KF_COMPARE_NONFINITE);
	memcpy(&f->got[0], &poison, sizeof(poison));
	kf_compare_run(&f->req, &out);
	assert_int_not_equal(out.end, KF_COMPARE_GOOD);
	assert_int_equal(out.unwritten_count, 1);
	/* An overflow on the way to a value that is nearly too large itself. */
	f->exact[0] = 0x1.8p+127;
	f->expect[0] = (float)f->exact[0];
	f->got[0] = (float)INFINITY;
	kf_compare_run(&f->req, &out);
	assert_int_not_equal(out.end, KF_COMPARE_GOOD);
	free(f);
}

static void test_one_element_is_judged_on_its_own_scale(void **state)
{
	static const struct { double q; enum kf_compare_end end; } rows[] = {
		{ 15.5, KF_COMPARE_GOOD },
		{ 16.5, KF_COMPARE_VALUES },
		{ 1e6, KF_COMPARE_VALUES },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct fixture *f = fixture_new(2);
		struct kf_compare out;
		size_t at = 17 * SIDE + 3;

		f->got[at] = (float)(f->exact[at] + rows[i].q *
				     f->req.limit * sigma_of(f, at));
		kf_compare_run(&f->req, &out);
		assert_int_equal(out.end, rows[i].end);
		assert_int_equal(out.worst[0].index, rows[i].end ? at : 0);
		assert_true(fabs(out.q_max / rows[i].q - 1) < 0.01);
		free(f);
	}
}

static void test_small_errors_everywhere_are_refused(void **state)
{
	static const struct { double q; int64_t bad; } rows[] = {
		{ 0.95, 0 }, { 1.1, 9 }, { 7, 9 },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct fixture *f = fixture_new(3);
		struct kf_rng rng = { 4 };
		struct kf_compare out;

		for (size_t k = 0; k < KF_COUNT(f->got); k++)
			f->got[k] = (float)(f->exact[k] +
				error_of_size(rows[i].q * f->req.limit *
					      sigma_of(f, k), &rng));
		kf_compare_run(&f->req, &out);
		assert_int_equal(out.block_bad_count, rows[i].bad);
		assert_int_equal(out.wrong_count, 0);
		assert_int_equal(out.end, rows[i].bad ? KF_COMPARE_VALUES :
				 KF_COMPARE_GOOD);
		assert_true(fabs(out.rms_max * (1 + 15.0 / 1024) / rows[i].q -
				 1) < 0.01);
		free(f);
	}
}

static void test_small_blocks_may_be_further_off(void **state)
{
	/* n = 1: 16 T, n = 15: 2 T */
	static const struct { int64_t n; double q; bool good; } rows[] = {
		{ 1, 15, true }, { 1, 17, false },
		{ 15, 1.9, true }, { 15, 2.1, false },
		{ 1024, 0.98, true }, { 1024, 1.05, false },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct fixture *f = fixture_new(5);
		struct kf_compare out;

		f->req.rank = 1;
		f->req.shape[0] = rows[i].n;
		for (int64_t k = 0; k < rows[i].n; k++)
			f->got[k] = (float)(f->exact[k] + rows[i].q *
				f->req.limit * sigma_of(f, (size_t)k));
		kf_compare_run(&f->req, &out);
		assert_int_equal(out.end == KF_COMPARE_GOOD, rows[i].good);
		free(f);
	}
}

static void test_noise_of_the_reference_widens_the_scale(void **state)
{
	struct fixture *f = fixture_new(6);
	struct kf_compare out;

	(void)state;
	for (size_t i = 0; i < KF_COUNT(f->got); i++)
		f->got[i] += 1e-3f;
	kf_compare_run(&f->req, &out);
	assert_int_equal(out.end, KF_COMPARE_VALUES);
	for (size_t i = 0; i < KF_COUNT(f->got); i++)
		f->noise[i] = 1e-3f;
	kf_compare_run(&f->req, &out);
	assert_int_equal(out.end, KF_COMPARE_GOOD);
	free(f);
}

static void test_typical_figures_stand_in(void **state)
{
	struct kf_compare_typical typical;
	struct fixture *f = fixture_new(7);
	struct kf_compare out;

	(void)state;
	for (size_t i = 0; i < KF_COUNT(f->got); i++) {
		f->exact[i] = 0;
		f->got[i] = (float)(0.5 * f->req.limit * 0.5);
	}
	kf_compare_typical_make(2, f->req.shape, f->react, f->noise, &typical);
	assert_int_equal(typical.block_count, 9);
	f->req.react = f->req.noise = NULL;
	kf_compare_run(&f->req, &out);
	assert_int_equal(out.end, KF_COMPARE_VALUES);
	f->req.typical = &typical;
	kf_compare_run(&f->req, &out);
	assert_int_equal(out.end, KF_COMPARE_GOOD);
	kf_compare_typical_release(&typical);
	kf_compare_typical_release(&typical);
	free(f);
}

/* ReLU shuts a whole block in the one case, and not in the next. */
static void test_dead_blocks_may_live_again(void **state)
{
	const int64_t shape[] = { 64, 32 };
	float *react = kf_alloc(64 * 32 * sizeof(*react));
	float *noise = kf_alloc(64 * 32 * sizeof(*noise));
	struct kf_compare_typical typical;

	(void)state;
	for (size_t i = 0; i < 32 * 32; i++)
		react[i] = 1;
	kf_compare_typical_make(2, shape, react, noise, &typical);
	assert_int_equal(typical.block_count, 2);
	assert_float_equal(typical.react_rms[0], 1, 1e-6);
	assert_float_equal(typical.react_rms[1], sqrt(0.5) / 32, 1e-6);
	kf_compare_typical_release(&typical);
	free(noise);
	free(react);
}

static void test_blocks_never_span_batch_items(void **state)
{
	struct fixture *f = fixture_new(8);
	struct kf_compare out;
	const int64_t half = SIDE * SIDE / 2;

	(void)state;
	/* Item 0 is huge, item 1 tiny: were they one block, an error that is
	 * large for the second would drown in the first. */
	f->req.rank = 3;
	f->req.shape[0] = 2;
	f->req.shape[1] = SIDE / 2;
	f->req.shape[2] = SIDE;
	for (int64_t i = 0; i < 2 * half; i++) {
		f->exact[i] = i < half ? 1e6 : 1e-3;
		f->got[i] = (float)f->exact[i];
		f->react[i] = f->noise[i] = 0;
	}
	f->got[half + 5] = 0;
	kf_compare_run(&f->req, &out);
	assert_int_equal(out.end, KF_COMPARE_VALUES);
	assert_int_equal(out.wrong_count, 1);
	assert_int_equal(out.block_count, 2 * 2 * 3);
	free(f);
}

static void test_nonfinite_values_must_match(void **state)
{
	const double nan = (double)NAN, inf = (double)INFINITY, big = 1e39;
	const struct { double exact, expect, got; bool good; } rows[] = {
		{ 1, 1, nan, false },
		{ nan, nan, 1, false },
		{ nan, nan, nan, true },
		{ nan, nan, -nan, true },
		{ inf, inf, -inf, false },
		{ inf, inf, inf, true },
		{ -inf, -inf, -inf, true },
		{ 1, 1, inf, false },
		{ inf, inf, 1, false },
		{ big, inf, inf, true },		/* overflow, not error */
		{ big, inf, (double)FLT_MAX, true },	/* just before it */
		{ big, inf, 3, false },
		{ 5, inf, inf, true },	/* the reference overflowed on the way */
		{ 5, inf, 5, true },	/* and the candidate did better */
		{ 5, inf, 6, false },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct fixture *f = fixture_new(9);
		struct kf_compare out;
		size_t at = 40 * SIDE + 40;

		f->exact[at] = rows[i].exact;
		f->expect[at] = (float)rows[i].expect;
		f->got[at] = (float)rows[i].got;
		/* The neighbours must still be judged on a sane scale. */
		f->got[at + 1] = (float)(f->exact[at + 1] + 0.1);
		kf_compare_run(&f->req, &out);
		assert_int_equal(out.wrong_count, rows[i].good ? 1 : 2);
		f->got[at + 1] = (float)f->exact[at + 1];
		kf_compare_run(&f->req, &out);
		assert_int_equal(out.wrong_count, rows[i].good ? 0 : 1);
		assert_int_equal(out.end == KF_COMPARE_GOOD, rows[i].good);
		free(f);
	}
}

static void test_denormals_may_be_flushed(void **state)
{
	struct fixture *f = fixture_new(10);
	struct kf_compare out;

	(void)state;
	for (size_t i = 0; i < KF_COUNT(f->got); i++) {
		f->exact[i] = 3e-39;
		f->got[i] = f->react[i] = f->noise[i] = 0;
	}
	kf_compare_run(&f->req, &out);
	assert_int_equal(out.end, KF_COMPARE_GOOD);
	for (size_t i = 0; i < KF_COUNT(f->got); i++)
		f->exact[i] = 3e-30;
	kf_compare_run(&f->req, &out);
	assert_int_equal(out.end, KF_COMPARE_VALUES);
	free(f);
}

static void test_zero_outputs_are_judged(void **state)
{
	struct fixture *f = fixture_new(11);
	struct kf_compare out;

	(void)state;
	for (size_t i = 0; i < KF_COUNT(f->got); i++)
		f->exact[i] = f->got[i] = f->react[i] = f->noise[i] = 0;
	f->got[7] = -0.0f;
	kf_compare_run(&f->req, &out);
	assert_int_equal(out.end, KF_COMPARE_GOOD);
	f->got[7] = 1e-20f;
	kf_compare_run(&f->req, &out);
	assert_int_equal(out.end, KF_COMPARE_VALUES);
	free(f);
}

static void fill_poison(void *data, size_t bytes)
{
	const uint32_t poison = POISON;

	for (size_t i = 0; i < bytes; i++)
		((unsigned char *)data)[i] =
			((const unsigned char *)&poison)[i % 4];
}

static void test_unwritten_elements_are_named(void **state)
{
	static const struct {
		size_t poisoned, wrong; enum kf_compare_end end;
	} rows[] = {
		{ SIDE * SIDE, 0, KF_COMPARE_UNWRITTEN },
		{ 1, 0, KF_COMPARE_UNWRITTEN },
		{ 500, 500, KF_COMPARE_UNWRITTEN },
		{ 3, 5000, KF_COMPARE_VALUES },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct fixture *f = fixture_new(12);
		struct kf_compare out;
		size_t at = KF_COUNT(f->got) - rows[i].poisoned;

		fill_poison(f->got + at, 4 * rows[i].poisoned);
		for (size_t k = 0; k < rows[i].wrong; k++)
			f->got[k] += 1;
		kf_compare_run(&f->req, &out);
		assert_int_equal(out.end, rows[i].end);
		assert_int_equal(out.unwritten_count, rows[i].poisoned);
		free(f);
	}
}

static void test_integers_must_be_equal(void **state)
{
	static const enum kf_dtype types[] = {
		KF_BOOL, KF_U8, KF_I8, KF_I16, KF_I32, KF_I64,
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(types); i++) {
		unsigned char got[40 * 8] = { 0 }, expect[40 * 8] = { 0 };
		size_t size = kf_dtype_bytes(types[i]);
		struct kf_compare_request req = {
			.dtype = types[i], .rank = 2, .shape = { 5, 8 },
			.got = got, .expect = expect, .poison = POISON,
		};
		struct kf_compare out;

		for (size_t k = 0; k < 40; k++)
			got[k * size] = expect[k * size] = k % 2;
		kf_compare_run(&req, &out);
		assert_int_equal(out.end, KF_COMPARE_GOOD);
		got[13 * size] = 0;
		kf_compare_run(&req, &out);
		assert_int_equal(out.end, KF_COMPARE_VALUES);
		assert_int_equal(out.wrong_count, 1);
		assert_int_equal(out.worst[0].index, 13);
		assert_true(out.worst[0].got == 0 && out.worst[0].expect == 1);
		kf_compare_kernelbench(&req, &out);
		assert_int_equal(out.wrong_count, 1);
		fill_poison(got, sizeof(got));
		kf_compare_run(&req, &out);
		assert_int_equal(out.end, KF_COMPARE_UNWRITTEN);
	}
}

static void test_int64_beyond_double_is_not_rounded(void **state)
{
	int64_t got[2] = { INT64_MAX, INT64_MAX - 1 };
	int64_t expect[2] = { INT64_MAX, INT64_MAX };
	struct kf_compare_request req = {
		.dtype = KF_I64, .rank = 1, .shape = { 2 },
		.got = got, .expect = expect,
	};
	struct kf_compare out;

	(void)state;
	kf_compare_run(&req, &out);
	assert_int_equal(out.wrong_count, 1);
	assert_int_equal(out.worst[0].index, 1);
}

static void test_half_types_are_decoded_exactly(void **state)
{
	static const struct { enum kf_dtype type; uint16_t bits; double value; }
	rows[] = {
		{ KF_F16, 0x0000, 0 }, { KF_F16, 0x3c00, 1 },
		{ KF_F16, 0xc000, -2 }, { KF_F16, 0x7bff, 65504 },
		{ KF_F16, 0x0400, 0x1p-14 }, { KF_F16, 0x0001, 0x1p-24 },
		{ KF_F16, 0x83ff, -0x3ffp-24 }, { KF_F16, 0x3555, 0x555p-12 },
		{ KF_F16, 0x7c00, (double)INFINITY },
		{ KF_F16, 0xfc00, -(double)INFINITY },
		{ KF_BF16, 0x3f80, 1 }, { KF_BF16, 0xc040, -3 },
		{ KF_BF16, 0x0001, 0x1p-133 }, { KF_BF16, 0x7f7f, 0x1.fep127 },
		{ KF_BF16, 0xff80, -(double)INFINITY },
	};
	static const uint16_t half_nan = 0x7e01, bfloat_nan = 0x7fc0;

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++)
		assert_true(kf_element(rows[i].type, &rows[i].bits, 0) ==
			    rows[i].value);
	assert_true(isnan(kf_element(KF_F16, &half_nan, 0)));
	assert_true(isnan(kf_element(KF_BF16, &bfloat_nan, 0)));
}

static void test_half_outputs_have_their_own_limit(void **state)
{
	static const struct {
		enum kf_dtype type; uint16_t one, next, far;
	} rows[] = {
		{ KF_F16, 0x3c00, 0x3c01, 0x3d00 },
		{ KF_BF16, 0x3f80, 0x3f81, 0x3fc0 },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		uint16_t got[100], expect[100];
		double exact[100];
		struct kf_compare_request req = {
			.dtype = rows[i].type, .rank = 2, .shape = { 2, 50 },
			.got = got, .expect = expect, .exact = exact,
			.limit = kf_compare_limit(rows[i].type, "declared"),
		};
		struct kf_compare out;

		for (size_t k = 0; k < 100; k++) {
			exact[k] = 1;
			expect[k] = rows[i].one;
			got[k] = k % 2 ? rows[i].one : rows[i].next;
		}
		kf_compare_run(&req, &out);
		assert_int_equal(out.end, KF_COMPARE_GOOD);
		got[99] = rows[i].far;
		kf_compare_run(&req, &out);
		assert_int_equal(out.end, KF_COMPARE_VALUES);
		kf_compare_kernelbench(&req, &out);
		assert_int_equal(out.wrong_count, 1);
	}
}

static void test_double_is_judged_in_double(void **state)
{
	double got[2000], exact[2000];
	struct kf_compare_request req = {
		.dtype = KF_F64, .rank = 1, .shape = { 2000 },
		.got = got, .expect = exact, .exact = exact,
		.limit = kf_compare_limit(KF_F64, "small"),
	};
	struct kf_compare out;

	(void)state;
	for (size_t i = 0; i < 2000; i++)
		got[i] = exact[i] = 1 + (double)i;
	kf_compare_run(&req, &out);
	assert_int_equal(out.end, KF_COMPARE_GOOD);
	assert_int_equal(out.block_count, 2);
	got[1999] *= 1 + 1e-10;
	kf_compare_run(&req, &out);
	assert_int_equal(out.wrong_count, 1);
}

static void test_without_float64_the_reference_decides(void **state)
{
	struct fixture *f = fixture_new(13);
	struct kf_compare out;

	(void)state;
	f->req.exact = NULL;
	kf_compare_run(&f->req, &out);
	assert_int_equal(out.end, KF_COMPARE_GOOD);
	f->got[100] = -f->got[100] - 1;
	kf_compare_run(&f->req, &out);
	assert_int_equal(out.wrong_count, 1);
	free(f);
}

static void test_kernelbench_rule_is_allclose(void **state)
{
	const double nan = (double)NAN, inf = (double)INFINITY;
	const struct { double got, expect; bool good; } rows[] = {
		{ 1.00019, 1, true }, { 1.00021, 1, false },
		{ 0.00009, 0, true }, { 0.00011, 0, false },
		{ 1000.09, 1000, true }, { 1000.2, 1000, false },
		{ nan, nan, false }, { nan, 1, false }, { 1, nan, false },
		{ inf, inf, true }, { inf, -inf, false }, { inf, 1, false },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct fixture *f = fixture_new(14);
		struct kf_compare out;

		f->got[77] = (float)rows[i].got;
		f->expect[77] = (float)rows[i].expect;
		kf_compare_kernelbench(&f->req, &out);
		assert_int_equal(out.wrong_count, rows[i].good ? 0 : 1);
		assert_int_equal(out.end == KF_COMPARE_GOOD, rows[i].good);
		free(f);
	}
}

static void test_every_shape_is_covered(void **state)
{
	static const struct { int rank; int64_t shape[4]; } rows[] = {
		{ 0, { 0 } }, { 1, { 1 } }, { 1, { 1025 } }, { 2, { 1, 1 } },
		{ 2, { 33, 31 } }, { 2, { 1, 600 } }, { 2, { 600, 1 } },
		{ 2, { 2, 1037 } }, { 3, { 3, 33, 40 } },
		{ 4, { 2, 3, 1, 1 } }, { 4, { 2, 2, 34, 35 } },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct fixture *f = fixture_new(15);
		struct kf_compare out;
		int64_t n = 1;

		f->req.rank = rows[i].rank;
		for (int a = 0; a < rows[i].rank; a++) {
			f->req.shape[a] = rows[i].shape[a];
			n *= rows[i].shape[a];
		}
		/* Each element alone must be able to fail. */
		for (int64_t k = 0; k < n; k += 1 + n / 300) {
			float keep = f->got[k];

			f->got[k] += 1;
			kf_compare_run(&f->req, &out);
			assert_int_equal(out.wrong_count, 1);
			assert_int_equal(out.worst[0].index, k);
			f->got[k] = keep;
		}
		kf_compare_run(&f->req, &out);
		assert_int_equal(out.end, KF_COMPARE_GOOD);
		assert_int_equal(out.numel, n);
		free(f);
	}
}

static void test_an_empty_output_is_right(void **state)
{
	struct kf_compare_request req = {
		.dtype = KF_F32, .rank = 2, .shape = { 0, 4 }, .limit = 1,
	};
	struct kf_compare out;

	(void)state;
	kf_compare_run(&req, &out);
	assert_int_equal(out.end, KF_COMPARE_GOOD);
	kf_compare_kernelbench(&req, &out);
	assert_int_equal(out.end, KF_COMPARE_GOOD);
}

static void test_worst_elements_come_first(void **state)
{
	struct fixture *f = fixture_new(16);
	struct kf_compare out;

	(void)state;
	for (size_t k = 0; k < 20; k++)
		f->got[k * 400] += (float)(1 + (k * 7) % 20);
	kf_compare_run(&f->req, &out);
	assert_int_equal(out.wrong_count, 20);
	assert_int_equal(out.worst_count, KF_COMPARE_WORST);
	for (size_t k = 1; k < out.worst_count; k++)
		assert_true(out.worst[k - 1].q >= out.worst[k].q);
	free(f);
}

/* Multiplying two operands rounded to 10 and 7 bits: what TF32 and bfloat16
 * do inside. Sums of K terms, zero-mean. */
static double rounded(double x, int bits)
{
	int exponent;
	double m = frexp(x, &exponent);

	return ldexp(nearbyint(ldexp(m, bits)), exponent - bits);
}

static void test_lower_precision_inside_is_refused(void **state)
{
	static const struct { int bits; enum kf_compare_end end; } rows[] = {
		{ 24, KF_COMPARE_GOOD },	/* float32 */
		{ 11, KF_COMPARE_VALUES },	/* TF32, half */
		{ 8, KF_COMPARE_VALUES },	/* bfloat16 */
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct fixture *f = fixture_new(17);
		struct kf_rng rng = { 18 };
		struct kf_compare out;

		for (size_t k = 0; k < KF_COUNT(f->got); k++) {
			double y = 0, c = 0, g = 0;

			for (int j = 0; j < 64; j++) {
				double a = 2 * kf_rng_double(&rng) - 1;
				double b = 2 * kf_rng_double(&rng) - 1;

				y += a * b;
				g += 2 * a * b * a * b;
				c += rounded(a, rows[i].bits) *
					rounded(b, rows[i].bits);
			}
			f->exact[k] = y;
			f->got[k] = (float)c;
			f->react[k] = (float)sqrt(g);
			f->noise[k] = 1e-7f;
		}
		kf_compare_run(&f->req, &out);
		assert_int_equal(out.end, rows[i].end);
		if (rows[i].end)
			assert_non_null(strstr(out.pattern, "precision"));
		free(f);
	}
}

/* float64 outputs are judged element by element; as float32 the same values
 * take the quick path. Both must say the same. */
static void test_quick_and_slow_path_agree(void **state)
{
	static const int64_t shapes[][2] = {
		{ 96, 96 }, { 33, 65 }, { 7, 1000 }, { 1, 31 }, { 300, 3 },
	};
	static const double sizes[] = { 0, 0.5, 0.98, 1.05, 3, 20 };
	struct kf_rng rng = { 77 };

	(void)state;
	for (size_t i = 0; i < KF_COUNT(shapes) * KF_COUNT(sizes) * 4; i++) {
		struct fixture *f = fixture_new(i);
		double wide[SIDE * SIDE];
		struct kf_compare quick, slow;
		struct kf_compare_request r;

		memcpy(f->req.shape, shapes[i % KF_COUNT(shapes)],
		       sizeof(shapes[0]));
		for (size_t k = 0; k < KF_COUNT(wide); k++) {
			if (i & 1)	/* scales that differ within a block */
				f->exact[k] *= exp(8 * kf_rng_double(&rng) - 4);
			f->react[k] = i & 2 ? (float)kf_rng_double(&rng) : 0;
			f->noise[k] = (float)(kf_rng_double(&rng) * 1e-5);
			f->got[k] = (float)(f->exact[k] +
				error_of_size(sizes[i % KF_COUNT(sizes)] *
					      f->req.limit *
					      fabs(f->exact[k]), &rng));
			wide[k] = (double)f->got[k];
		}
		kf_compare_run(&f->req, &quick);
		r = f->req;
		r.dtype = KF_F64;
		r.got = wide;
		r.expect = f->exact;
		kf_compare_run(&r, &slow);
		assert_int_equal(quick.end, slow.end);
		assert_int_equal(quick.block_bad_count, slow.block_bad_count);
		assert_true(fabs(quick.q_max - slow.q_max) <=
			    1e-3 * slow.q_max);
		assert_true(fabs(quick.rms_max - slow.rms_max) <=
			    1e-3 * slow.rms_max);
		free(f);
	}
}

static void test_places_are_named(void **state)
{
	static const int64_t shape[3] = { 4, 5, 6 };
	char text[128];

	(void)state;
	kf_compare_index(3, shape, 0, text);
	assert_string_equal(text, "(0, 0, 0)");
	kf_compare_index(3, shape, 119, text);
	assert_string_equal(text, "(3, 4, 5)");
	kf_compare_index(0, NULL, 0, text);
	assert_string_equal(text, "()");
}

/* --- the quick way and the careful one ------------------------------------ */

enum { WILD_ROWS = 67, WILD_COLS = 101, WILD = WILD_ROWS * WILD_COLS };

struct wild {
	double exact[WILD];
	float react[WILD], noise[WILD];
	unsigned char got[WILD * 8], expect[WILD * 8];
};

static void put(enum kf_dtype dtype, unsigned char *data, size_t i, double x)
{
	float single = (float)x;
	uint32_t bits;
	uint16_t half;

	memcpy(&bits, &single, sizeof(bits));
	half = (uint16_t)(bits >> 16);
	if (dtype == KF_F16)	/* any bits: what they mean is not the point */
		half = (uint16_t)((bits >> 16 & 0x8000) |
				  (bits >> 13 & 0x7fff));
	if (dtype == KF_F64)
		memcpy(data + 8 * i, &x, 8);
	else if (dtype == KF_F32)
		memcpy(data + 4 * i, &single, 4);
	else
		memcpy(data + 2 * i, &half, 2);
}

static double wild_number(struct kf_rng *rng, unsigned wildness)
{
	static const double special[] = {
		0, -0.0, (double)INFINITY, -(double)INFINITY, (double)NAN,
		1e-310, 1e-44, 1e-38, 3.5e38, -3.4e38, 1e300, 65504, 65520, 1,
	};

	if (wildness && kf_rng_below(rng, 400) < wildness)
		return special[kf_rng_below(rng, KF_COUNT(special))];
	return (2 * kf_rng_double(rng) - 1) *
		exp2((double)kf_rng_below(rng, wildness ? 60 : 4) - 30);
}

/* Errors near the limits, so that decisions are close; some far beyond. */
static void make_wild(struct wild *w, enum kf_dtype dtype, double limit,
		      struct kf_rng *rng)
{
	unsigned wildness = (unsigned)kf_rng_below(rng, 3);
	double size = limit * exp2((double)kf_rng_below(rng, 8) - 3);

	for (size_t i = 0; i < WILD; i++) {
		double y = wild_number(rng, wildness), off = size * fabs(y) *
			(2 * kf_rng_double(rng) - 1);

		if (kf_rng_below(rng, 3000) == 0)
			off *= 16;
		put(dtype, w->expect, i, y);
		w->exact[i] = y;
		w->react[i] = (float)wild_number(rng, wildness);
		w->react[i] = isnan(w->react[i]) ? NAN : fabsf(w->react[i]);
		w->noise[i] = (float)fabs(y * limit / 8 *
					  kf_rng_double(rng));
		if (wildness && kf_rng_below(rng, 900) == 0)
			w->noise[i] = INFINITY;
		put(dtype, w->got, i, y + off);
	}
}

static struct kf_compare_request wild_request(
		struct wild *w, enum kf_dtype dtype,
		const struct kf_compare_typical *t, struct kf_rng *rng)
{
	bool stock = kf_rng_below(rng, 2);

	return (struct kf_compare_request) {
		.dtype = dtype, .rank = 2, .shape = { WILD_ROWS, WILD_COLS },
		.got = w->got, .expect = w->expect,
		.exact = stock ? NULL : w->exact,
		.react = stock ? NULL : w->react,
		.noise = stock ? NULL : w->noise,
		.typical = stock ? t : NULL,
		.limit = kf_compare_limit(dtype, "declared"),
	};
}

/* Every block by the careful way alone. */
static void compare_carefully(const struct kf_compare_request *req,
			      struct kf_compare *out)
{
	struct kf_grid grid = kf_grid_of(req->rank, req->shape);

	memset(out, 0, sizeof(*out));
	for (int64_t down = 0; down < grid.blocks_down; down++)
		for (int64_t across = 0; across < grid.blocks_across;
		     across++) {
			struct kf_block b = kf_grid_block(&grid, 0, down,
							  across);

			kf_compare_block(req, &b, NULL, out);
		}
}

static void test_every_variant_decides_as_the_careful_way_does(void **state)
{
	static const enum kf_dtype dtypes[] = { KF_F32, KF_F16, KF_BF16,
						KF_F64 };
	struct wild *w = kf_alloc(sizeof(*w));
	struct kf_rng rng = { 11 };
	unsigned good = 0, bad = 0;

	(void)state;
	for (unsigned trial = 0; trial < 60; trial++) {
		enum kf_dtype dtype = dtypes[trial % KF_COUNT(dtypes)];
		struct kf_compare_typical t = { 0 };
		struct kf_compare_request req;
		struct kf_compare careful, quick;

		make_wild(w, dtype, kf_compare_limit(dtype, "declared"), &rng);
		kf_compare_typical_make(2, (int64_t[]) { WILD_ROWS, WILD_COLS },
					w->react, w->noise, &t);
		req = wild_request(w, dtype, &t, &rng);
		compare_carefully(&req, &careful);
		for (req.variant = 1; kf_compare_variant(req.variant);
		     req.variant++) {
			kf_compare_run(&req, &quick);
			assert_int_equal(quick.wrong_count,
					 careful.wrong_count);
			assert_int_equal(quick.nonfinite_count,
					 careful.nonfinite_count);
			assert_int_equal(quick.block_bad_count,
					 careful.block_bad_count);
		}
		good += !careful.wrong_count && !careful.block_bad_count;
		bad += careful.wrong_count || careful.block_bad_count;
		kf_compare_typical_release(&t);
	}
	assert_true(good > 5 && bad > 5);	/* else it proves little */
	free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exact_output_is_good),
		cmocka_unit_test(
			test_what_hangs_on_no_number_is_open_where_it_is_said),
		cmocka_unit_test(test_few_elements_may_be_nearly_ties),
		cmocka_unit_test(test_ties_are_numbers_that_make_a_block_wrong),
		cmocka_unit_test(test_one_element_is_judged_on_its_own_scale),
		cmocka_unit_test(test_small_errors_everywhere_are_refused),
		cmocka_unit_test(test_small_blocks_may_be_further_off),
		cmocka_unit_test(test_noise_of_the_reference_widens_the_scale),
		cmocka_unit_test(test_typical_figures_stand_in),
		cmocka_unit_test(test_dead_blocks_may_live_again),
		cmocka_unit_test(test_blocks_never_span_batch_items),
		cmocka_unit_test(test_nonfinite_values_must_match),
		cmocka_unit_test(test_denormals_may_be_flushed),
		cmocka_unit_test(test_zero_outputs_are_judged),
		cmocka_unit_test(test_unwritten_elements_are_named),
		cmocka_unit_test(test_integers_must_be_equal),
		cmocka_unit_test(test_int64_beyond_double_is_not_rounded),
		cmocka_unit_test(test_half_types_are_decoded_exactly),
		cmocka_unit_test(test_half_outputs_have_their_own_limit),
		cmocka_unit_test(test_double_is_judged_in_double),
		cmocka_unit_test(test_without_float64_the_reference_decides),
		cmocka_unit_test(test_kernelbench_rule_is_allclose),
		cmocka_unit_test(test_every_shape_is_covered),
		cmocka_unit_test(test_an_empty_output_is_right),
		cmocka_unit_test(test_worst_elements_come_first),
		cmocka_unit_test(test_lower_precision_inside_is_refused),
		cmocka_unit_test(test_quick_and_slow_path_agree),
		cmocka_unit_test(test_places_are_named),
		cmocka_unit_test(
			test_every_variant_decides_as_the_careful_way_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
