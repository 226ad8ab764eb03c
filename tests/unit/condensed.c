/* Condensed bundles: inputs that are made again, outputs of which windows and
 * sums are known. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/half.h"
#include "base/parallel.h"
#include "evaluate/digest.h"
#include "problem/case.h"

/* --- on all processors ---------------------------------------------------- */

#define LARGE ((size_t)20 << 20)

static void count_up(void *arg, size_t i)
{
	((unsigned char *)arg)[i]++;
}

static void test_each_number_is_worked_on_once(void **state)
{
	unsigned char *seen = kf_alloc(1000);

	(void)state;
	kf_parallel(1000, count_up, seen);
	for (size_t i = 0; i < 1000; i++)
		assert_int_equal(seen[i], 1);
	kf_parallel(0, count_up, seen);
	free(seen);
}

static void test_bytes_are_copied_compared_filled(void **state)
{
	unsigned char *a = kf_alloc(LARGE), *b = kf_alloc(LARGE);
	static const unsigned char pattern[] = { 1, 2, 3, 4 };
	uint32_t word;

	(void)state;
	memcpy(&word, pattern, sizeof(word));
	kf_parallel_fill(a, LARGE - 1, word);
	for (size_t i = 0; i < LARGE - 1; i++)
		if (a[i] != pattern[i % 4])
			fail_msg("byte %zu is %d", i, a[i]);
	assert_int_equal(a[LARGE - 1], 0);
	kf_parallel_copy(b, a, LARGE);
	assert_true(kf_parallel_same(a, b, LARGE));
	b[LARGE - 1] = 7;
	assert_false(kf_parallel_same(a, b, LARGE));
	assert_true(kf_parallel_same(a, b, LARGE - 1));
	free(a);
	free(b);
}

static size_t resident(void *data, size_t bytes)
{
	size_t count = bytes / 4096, found = 0;
	unsigned char *is = kf_alloc(count);

	assert_int_equal(mincore(data, bytes, is), 0);
	for (size_t i = 0; i < count; i++)
		found += is[i] & 1;
	free(is);
	return found;
}

#define PAGES_BYTES ((size_t)40 << 20)	/* more than one thread's */

static void test_pages_are_made_and_what_they_hold_stays(void **state)
{
	int fd = memfd_create("kforge-test", MFD_CLOEXEC);
	unsigned char *data, *other;

	(void)state;
	assert_int_equal(ftruncate(fd, PAGES_BYTES), 0);
	data = mmap(NULL, PAGES_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		    0);
	other = mmap(NULL, PAGES_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(data, MAP_FAILED);
	assert_ptr_not_equal(other, MAP_FAILED);
	assert_int_equal(resident(data, PAGES_BYTES), 0);
	kf_parallel_make_pages(data, PAGES_BYTES, true);
	assert_int_equal(resident(data, PAGES_BYTES), PAGES_BYTES / 4096);
	kf_parallel_fill(data, PAGES_BYTES, 0x01020304);
	kf_parallel_make_pages(other, PAGES_BYTES, false);
	kf_parallel_forget_pages(data, PAGES_BYTES);
	assert_true(kf_parallel_same(data, other, PAGES_BYTES));
	assert_int_equal(data[PAGES_BYTES - 1], 1);
	munmap(data, PAGES_BYTES);
	munmap(other, PAGES_BYTES);
	close(fd);
}

/* --- half types ----------------------------------------------------------- */

static void test_every_half_survives_both_ways(void **state)
{
	(void)state;
	for (uint32_t bits = 0; bits < 0x10000; bits++) {
		float half = kf_float_of_half((uint16_t)bits);
		float bfloat = kf_float_of_bfloat((uint16_t)bits);

		if (!isnan(half))
			assert_int_equal(kf_half_of_float(half), bits);
		if (!isnan(bfloat))
			assert_int_equal(kf_bfloat_of_float(bfloat), bits);
	}
}

static void test_half_types_round_to_nearest_even(void **state)
{
	static const struct { float value; uint16_t half, bfloat; } rows[] = {
		{ 1.0f, 0x3c00, 0x3f80 },
		{ 1 + 0x1p-11f, 0x3c00, 0x3f80 },	/* a tie: to even */
		{ 1 + 3 * 0x1p-11f, 0x3c02, 0x3f80 },
		{ 1 + 0x1.8p-11f, 0x3c01, 0x3f80 },
		{ 1 + 0x1p-8f, 0x3c04, 0x3f80 },	/* a tie of bfloat's */
		{ 1 + 3 * 0x1p-8f, 0x3c0c, 0x3f82 },
		{ -65519.0f, 0xfbff, 0xc780 },
		{ 65520.0f, 0x7c00, 0x4780 },
		{ 0x1p-24f, 0x0001, 0x3380 },
		{ 0x1p-25f, 0x0000, 0x3300 },
		{ 0x1.8p-25f, 0x0001, 0x3340 },
		{ (float)INFINITY, 0x7c00, 0x7f80 },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		assert_int_equal(kf_half_of_float(rows[i].value), rows[i].half);
		assert_int_equal(kf_bfloat_of_float(rows[i].value),
				 rows[i].bfloat);
	}
	assert_true(isnan(kf_float_of_half(kf_half_of_float((float)NAN))));
	assert_true(isnan(kf_float_of_bfloat(kf_bfloat_of_float((float)NAN))));
}

/* --- inputs --------------------------------------------------------------- */

#define ROWS 70
#define COLS 4000
#define NUMEL (ROWS * COLS)	/* more than one thread's part, no whole chunk */
#define CHUNKS ((NUMEL + KF_CHUNK - 1) / KF_CHUNK)

struct made {
	struct kf_tensor_info info;
	struct kf_bundle bundle;
	struct kf_case kase;
	struct kf_fresh fresh;
	const void *in[1];
	float column[KF_CHUNK], row[CHUNKS];
	float base[NUMEL], got[NUMEL];
};

static struct made *new_made(const char *kind)
{
	struct made *m = kf_alloc(sizeof(*m));

	m->info = (struct kf_tensor_info) {
		.dtype = KF_F32, .rank = 2, .shape = { ROWS, COLS },
		.numel = NUMEL, .bytes = sizeof(m->base),
	};
	m->bundle = (struct kf_bundle) {
		.in = &m->info, .in_count = 1, .condensed = true,
	};
	for (int i = 0; i < NUMEL; i++)
		m->base[i] = (float)(i % 977) / 31.0f - 9;
	for (int i = 0; i < KF_CHUNK; i++)
		m->column[i] = (float)(3584 + i % 512) / 4096;
	for (int i = 0; i < CHUNKS; i++)
		m->row[i] = (float)(3584 + i * 7 % 512) / 4096;
	m->in[0] = m->base;
	m->fresh = (struct kf_fresh) { m->column, m->row, 0 };
	m->kase = (struct kf_case) {
		.kind = kind, .in = m->in, .fresh = &m->fresh,
	};
	return m;
}

static float wanted(const struct made *m, int i)
{
	double value = (double)m->base[i] * (double)m->column[i % KF_CHUNK] *
		(double)m->row[i / KF_CHUNK] - m->fresh.shift;
	float rounded = (float)value;

	if (strcmp(m->kase.kind, "tail") == 0 && i % COLS >= COLS - COLS / 8)
		rounded *= 8;
	return rounded;
}

static void test_inputs_are_made_of_the_kept_ones(void **state)
{
	static const char *const kinds[] = { "declared", "zero_mean", "tail" };

	(void)state;
	for (size_t k = 0; k < KF_COUNT(kinds); k++) {
		struct made *m = new_made(kinds[k]);

		m->fresh.shift = k == 1 ? 0.123 : 0;
		kf_case_input(&m->bundle, &m->kase, 0, m->got);
		for (int i = 0; i < NUMEL; i++)
			if (m->got[i] != wanted(m, i))
				fail_msg("%s, element %d", kinds[k], i);
		free(m);
	}
}

static void test_a_part_is_the_same_as_in_the_whole(void **state)
{
	struct made *m = new_made("tail");
	float part[9000];

	(void)state;
	kf_case_input(&m->bundle, &m->kase, 0, m->got);
	kf_case_input_part(&m->bundle, &m->kase, 0, 3990, 9000, part);
	assert_memory_equal(part, m->got + 3990, sizeof(part));
	m->fresh.column = NULL;		/* the kept one as it is */
	kf_case_input_part(&m->bundle, &m->kase, 0, 5, 9000, part);
	assert_memory_equal(part, m->base + 5, sizeof(part));
	free(m);
}

static void test_the_first_changed_byte_is_found(void **state)
{
	struct made *m = new_made("declared");
	int64_t byte = 0;

	(void)state;
	kf_case_input(&m->bundle, &m->kase, 0, m->got);
	assert_true(kf_case_input_is(&m->bundle, &m->kase, 0, m->got, &byte));
	m->got[NUMEL - 1] += 1;
	assert_false(kf_case_input_is(&m->bundle, &m->kase, 0, m->got, &byte));
	assert_in_range(byte, 4 * (NUMEL - 1), 4 * NUMEL - 1);
	m->got[17] = (float)NAN;
	assert_false(kf_case_input_is(&m->bundle, &m->kase, 0, m->got, &byte));
	assert_in_range(byte, 4 * 17, 4 * 17 + 3);
	free(m);
}

/* --- outputs -------------------------------------------------------------- */

#define OUT 600000	/* more than one thread's part of chunks */
#define OUT_CHUNKS ((OUT + KF_CHUNK - 1) / KF_CHUNK)
#define WINDOW 1024
#define POISON 0x7a3c7a3cu

struct output {
	struct kf_digest digest;
	struct kf_compare_request req;
	double sums[OUT_CHUNKS * KF_CHUNK_SUMS], scale[OUT_CHUNKS];
	int8_t signs[KF_CHUNK_SUMS * KF_CHUNK];
	int64_t at[2];
	double exact[2 * WINDOW];
	float expect[2 * WINDOW], react[2 * WINDOW], noise[2 * WINDOW];
	float right[OUT], got[OUT];
};

static void make_sums(struct output *o)
{
	struct kf_rng rng = { 11 };

	for (int i = 0; i < KF_CHUNK_SUMS * KF_CHUNK; i++)
		o->signs[i] = kf_rng_next(&rng) & 1 ? 1 : -1;
	for (int i = 0; i < OUT; i++) {
		double value = (double)o->right[i];

		o->scale[i / KF_CHUNK] += value * value;
		for (int k = 0; k < KF_CHUNK_SUMS; k++)
			o->sums[i / KF_CHUNK * KF_CHUNK_SUMS + k] += value *
				o->signs[k * KF_CHUNK + i % KF_CHUNK];
	}
	for (int i = 0; i < OUT_CHUNKS; i++)
		o->scale[i] = sqrt(o->scale[i]);
}

static struct output *new_output(void)
{
	struct output *o = kf_alloc(sizeof(*o));
	struct kf_rng rng = { 5 };

	for (int i = 0; i < OUT; i++)
		o->got[i] = o->right[i] = (float)(kf_rng_double(&rng) - 0.5);
	make_sums(o);
	o->at[1] = OUT - WINDOW;
	for (int i = 0; i < 2 * WINDOW; i++) {
		o->expect[i] = o->right[o->at[i / WINDOW] + i % WINDOW];
		o->exact[i] = (double)o->expect[i];
	}
	o->digest = (struct kf_digest) {
		.sums = o->sums, .signs = o->signs, .scale = o->scale,
		.chunk_count = OUT_CHUNKS, .at = o->at, .window_count = 2,
		.window = WINDOW,
	};
	o->req = (struct kf_compare_request) {
		.dtype = KF_F32, .rank = 2, .shape = { 2, OUT / 2 },
		.got = o->got, .expect = o->expect, .exact = o->exact,
		.react = o->react, .noise = o->noise, .poison = POISON,
		.limit = kf_compare_limit(KF_F32, "declared"),
	};
	return o;
}

static void test_what_is_right_passes(void **state)
{
	struct output *o = new_output();
	struct kf_compare c;

	(void)state;
	for (int i = 0; i < OUT; i++)	/* rounded another way */
		o->got[i] *= i % 3 ? 1 + 0x1p-22f : 1 - 0x1p-22f;
	kf_digest_compare(&o->req, &o->digest, false, &c);
	assert_int_equal(c.end, KF_COMPARE_GOOD);
	assert_true(c.rms_max < 0.1);
	kf_digest_compare(&o->req, &o->digest, true, &c);
	assert_int_equal(c.end, KF_COMPARE_GOOD);
	free(o);
}

/* Elements that no window holds. */
static void test_sums_reach_what_no_window_does(void **state)
{
	static const struct {
		const char *what;
		int first, count;
		float times, to;	/* to: if times is 0 */
		enum kf_compare_end end;
	} rows[] = {
		{ "one element", 300000, 1, 1.5f, 0, KF_COMPARE_VALUES },
		{ "its sign", 300001, 1, -1, 0, KF_COMPARE_VALUES },
		{ "a thousandth off everywhere", 2000, 590000, 1.001f, 0, KF_COMPARE_VALUES },
		{ "NaN", 1024, 1, 0, (float)NAN, KF_COMPARE_NONFINITE },
		{ "infinite", 598000, 1, 0, (float)INFINITY, KF_COMPARE_NONFINITE },
	};

	(void)state;
	for (size_t r = 0; r < KF_COUNT(rows); r++) {
		struct output *o = new_output();
		struct kf_compare c;

		for (int i = 0; i < rows[r].count; i++) {
			float *at = &o->got[rows[r].first + i];

			*at = rows[r].times != 0 ? *at * rows[r].times :
				rows[r].to;
		}
		kf_digest_compare(&o->req, &o->digest, false, &c);
		if (c.end != rows[r].end)
			fail_msg("%s: %d", rows[r].what, (int)c.end);
		assert_non_null(strstr(c.pattern, "add up"));
		free(o);
	}
}

/* Rows of 200 elements: two here and there, none of them in a window, and one
 * in the last window. */
static void test_ties_are_few_and_of_usual_size(void **state)
{
	static const struct {
		const char *what;
		int rows, in_window;
		float times, to;	/* to: if times is 0 */
		bool good;
	} cases[] = {
		{ "one is off", 1, 0, -1, 0, true },
		{ "two are", 2, 0, 1.1f, 0, true },
		{ "one is, and one in a window", 1, 1, 1.1f, 0, true },
		{ "too many in a window", 0, 6, 1.1f, 0, false },
		{ "three are more than one chunk in 64", 3, 0, 1.1f, 0, false },
		{ "far beyond its scale", 1, 0, 1000, 0, false },
		{ "a NaN", 1, 0, 0, (float)NAN, false },
	};

	(void)state;
	assert_true(OUT / KF_CHUNK / 64 == 2);
	for (size_t r = 0; r < KF_COUNT(cases); r++) {
		int rows = cases[r].rows + cases[r].in_window;
		struct output *o = new_output();
		struct kf_compare c;

		o->req.limit = kf_compare_limit(KF_F32, "large");
		o->req.ties = OUT / KF_TIES;
		o->req.rank = 2;
		o->req.shape[0] = OUT / 200;
		o->req.shape[1] = 200;
		for (int i = 0; i < rows * 200; i++) {
			float *at = i / 200 < cases[r].rows ?
				&o->got[100000 + i / 200 * 2 * KF_CHUNK +
					i % 200] :
				&o->got[OUT - rows * 200 + i];

			*at = cases[r].times != 0 ? *at * cases[r].times :
				cases[r].to;
		}
		kf_digest_compare(&o->req, &o->digest, false, &c);
		if ((c.end == KF_COMPARE_GOOD) != cases[r].good)
			fail_msg("%s: %d", cases[r].what, (int)c.end);
		assert_int_equal(c.tie_chunk_count, cases[r].good ? rows : 0);
		assert_true(c.tie_count > 150 * cases[r].in_window ||
			    !cases[r].good || !cases[r].in_window);
		assert_true(c.rms_max < 0.1 || !cases[r].good);
		o->req.ties = 0;
		kf_digest_compare(&o->req, &o->digest, false, &c);
		assert_int_not_equal(c.end, KF_COMPARE_GOOD);
		free(o);
	}
}

static void test_unwritten_elements_are_told(void **state)
{
	struct output *o = new_output();
	const uint32_t poison = POISON;
	struct kf_compare c;

	(void)state;
	for (int i = 0; i < 5; i++)
		memcpy(&o->got[100000 + i], &poison, sizeof(poison));
	kf_digest_compare(&o->req, &o->digest, false, &c);
	assert_int_equal(c.end, KF_COMPARE_UNWRITTEN);
	assert_int_equal(c.unwritten_count, 5);
	assert_int_equal(c.numel, OUT);
	free(o);
}

static void test_windows_tell_the_places(void **state)
{
	struct output *o = new_output();
	struct kf_compare c;

	(void)state;
	o->got[OUT - 3] += 0.01f;
	kf_digest_compare(&o->req, &o->digest, false, &c);
	assert_int_equal(c.end, KF_COMPARE_VALUES);
	assert_int_equal(c.wrong_count, 1);
	assert_int_equal(c.worst[0].index, OUT - 3);
	free(o);
}

static void test_sums_of_integers_are_equal(void **state)
{
	struct output *o = new_output();
	int32_t *got = (int32_t *)(void *)o->got;
	int32_t *expect = (int32_t *)(void *)o->expect;
	struct kf_compare c;

	(void)state;
	for (int i = 0; i < OUT; i++)
		o->right[i] = (float)(got[i] = i % 1013 - 500);
	memset(o->sums, 0, sizeof(o->sums));
	make_sums(o);
	memset(o->scale, 0, sizeof(o->scale));
	for (int i = 0; i < 2 * WINDOW; i++)
		expect[i] = got[o->at[i / WINDOW] + i % WINDOW];
	o->req.dtype = KF_I32;
	kf_digest_compare(&o->req, &o->digest, false, &c);
	assert_int_equal(c.end, KF_COMPARE_GOOD);
	got[400000]++;
	kf_digest_compare(&o->req, &o->digest, false, &c);
	assert_int_equal(c.end, KF_COMPARE_VALUES);
	free(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_number_is_worked_on_once),
		cmocka_unit_test(test_bytes_are_copied_compared_filled),
		cmocka_unit_test(test_pages_are_made_and_what_they_hold_stays),
		cmocka_unit_test(test_every_half_survives_both_ways),
		cmocka_unit_test(test_half_types_round_to_nearest_even),
		cmocka_unit_test(test_inputs_are_made_of_the_kept_ones),
		cmocka_unit_test(test_a_part_is_the_same_as_in_the_whole),
		cmocka_unit_test(test_the_first_changed_byte_is_found),
		cmocka_unit_test(test_what_is_right_passes),
		cmocka_unit_test(test_sums_reach_what_no_window_does),
		cmocka_unit_test(test_ties_are_few_and_of_usual_size),
		cmocka_unit_test(test_unwritten_elements_are_told),
		cmocka_unit_test(test_windows_tell_the_places),
		cmocka_unit_test(test_sums_of_integers_are_equal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
