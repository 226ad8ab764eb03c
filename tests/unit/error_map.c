/* The picture of where wrong elements lie shows each of them, and no other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "evaluate/error_map.h"

static struct kf_error_map map_of(int rank, const int64_t *shape,
				  const unsigned char *wrong)
{
	struct kf_error_map map;

	kf_error_map_shape(rank, shape, &map);
	kf_error_map_fill(wrong, &map);
	return map;
}

static void test_the_last_axes_are_the_columns(void **state)
{
	static const struct {
		int rank;
		int64_t shape[4], rows, columns;
	} row[] = {
		{ 2, { 24, 33 }, 24, 33 }, { 1, { 1000 }, 1, 1000 },
		{ 4, { 2, 3, 32, 40 }, 192, 40 }, { 4, { 9, 6, 5, 4 }, 54, 20 },
		{ 2, { 50, 1 }, 1, 50 }, { 0, { 0 }, 1, 1 },
		{ 3, { 70, 3, 2 }, 1, 420 },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(row); i++) {
		struct kf_error_map map;

		kf_error_map_shape(row[i].rank, row[i].shape, &map);
		assert_int_equal(map.rows, row[i].rows);
		assert_int_equal(map.columns, row[i].columns);
	}
}

/* Quarters of a cell, counted one by one. */
static char counted(const struct kf_error_map *map, const unsigned char *wrong,
		    int64_t r, int64_t c)
{
	int64_t all = 0, bad = 0;

	for (int64_t i = 0; i < map->rows * map->columns; i++) {
		if (i / map->columns / map->high != r ||
		    i % map->columns / map->wide != c)
			continue;
		all++;
		bad += wrong[i] != 0;
	}
	return (char)(!bad ? '0' : 4 * bad <= all ? '1' : 4 * bad <= 2 * all ?
		      '2' : 4 * bad <= 3 * all ? '3' : '4');
}

static void test_each_cell_has_the_share_of_its_elements(void **state)
{
	static const int64_t shapes[][2] = {
		{ 1, 1 }, { 24, 33 }, { 17, 65 }, { 16, 64 }, { 100, 129 },
		{ 33, 16 }, { 1, 1000 },
	};
	struct kf_rng rng = { 7 };

	(void)state;
	for (size_t s = 0; s < KF_COUNT(shapes); s++) {
		size_t n = (size_t)(shapes[s][0] * shapes[s][1]);
		unsigned char *wrong = kf_alloc(n);
		struct kf_error_map map;

		for (size_t i = 0; i < n; i++)
			wrong[i] = i < n / 2 && kf_rng_next(&rng) % 3 == 0;
		map = map_of(2, shapes[s], wrong);
		assert_true(map.down <= KF_MAP_ROWS);
		assert_true(map.across <= KF_MAP_COLUMNS);
		for (int r = 0; r < map.down; r++)
			for (int c = 0; c < map.across; c++)
				assert_int_equal(map.cell[r][c],
						 counted(&map, wrong, r, c));
		free(wrong);
	}
}

static void test_a_single_wrong_element_of_many_is_seen(void **state)
{
	int64_t shape[] = { 4096, 4096 };
	unsigned char *wrong = kf_alloc(4096 * 4096);
	struct kf_buf out = { .max = 1u << 16 };
	struct kf_error_map map;
	json_t *json;

	(void)state;
	wrong[4095 * 4096 + 4095] = 1;
	map = map_of(2, shape, wrong);
	json = kf_error_map_to_json(&map);
	assert_true(kf_error_map_draw(json, 2, &out));
	assert_non_null(strstr(kf_buf_str(&out), "\u00b7\u2591\n"));
	assert_non_null(strstr(kf_buf_str(&out), "256 x 64 in each cell"));
	kf_buf_release(&out);
	assert_true(kf_error_map_svg(json, "a <b> & \"c\"", &out));
	assert_non_null(strstr(kf_buf_str(&out), "a &lt;b&gt; &amp; &quot;c"));
	assert_non_null(strstr(kf_buf_str(&out), "#fcbba1"));
	assert_null(strstr(kf_buf_str(&out), "#fb6a4a"));
	kf_buf_release(&out);
	json_decref(json);
	free(wrong);
}

static void test_what_is_no_map_is_not_drawn(void **state)
{
	static const char *const text[] = {
		"{}", "[]", "{\"cells\": []}", "{\"cells\": [\"\"]}",
		"{\"cells\": [\"01\", \"0\"]}", "{\"cells\": [\"5\"]}",
		"{\"cells\": [3]}", "{\"cells\": [\"0\", \"x\"]}",
	};
	struct kf_buf out = { .max = 1u << 16 };

	(void)state;
	for (size_t i = 0; i < KF_COUNT(text); i++) {
		json_t *json = json_loads(text[i], 0, NULL);

		assert_false(kf_error_map_draw(json, 0, &out));
		assert_false(kf_error_map_svg(json, "", &out));
		json_decref(json);
	}
	assert_false(kf_error_map_draw(NULL, 0, &out));
	assert_int_equal(out.len, 0);
	assert_null(kf_error_map_to_json(&(struct kf_error_map) { 0 }));
	kf_buf_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_last_axes_are_the_columns),
		cmocka_unit_test(test_each_cell_has_the_share_of_its_elements),
		cmocka_unit_test(test_a_single_wrong_element_of_many_is_seen),
		cmocka_unit_test(test_what_is_no_map_is_not_drawn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
