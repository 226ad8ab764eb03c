/* pack.c - the parts of a pack come back, and no other file is one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <unistd.h>

#include "platform/pack.h"

#define MAX_BYTES (1u << 16)

struct fixture { char folder[64]; char *path; };

static int set_up(void **state)
{
	struct fixture *f = kf_alloc(sizeof(*f));

	*state = f;
	snprintf(f->folder, sizeof(f->folder), "/tmp/kforge-pack-XXXXXX");
	if (!mkdtemp(f->folder))
		return -1;
	f->path = kf_path_join(f->folder, "pack");
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	kf_remove_tree(f->folder, NULL);
	free(f->path);
	free(f);
	return 0;
}

static void write_two(const struct fixture *f)
{
	const struct kf_pack_part part[] = {
		{ "host", "abc", 3 }, { "device", "\0\1", 2 },
	};

	assert_int_equal(kf_pack_write(f->path, part, KF_COUNT(part), NULL),
			 KF_OK);
}

static void test_parts_come_back_by_name(void **state)
{
	const struct fixture *f = *state;
	const struct kf_pack_part *part;
	struct kf_pack pack;

	write_two(f);
	assert_int_equal(kf_pack_read(f->path, MAX_BYTES, &pack, NULL), KF_OK);
	assert_int_equal(pack.count, 2);
	part = kf_pack_find(&pack, "device");
	assert_non_null(part);
	assert_int_equal(part->len, 2);
	assert_memory_equal(part->data, "\0\1", 2);
	assert_memory_equal(kf_pack_find(&pack, "host")->data, "abc", 3);
	assert_null(kf_pack_find(&pack, "plans"));
	kf_pack_release(&pack);
}

static void test_a_pack_may_be_empty_and_so_may_its_parts(void **state)
{
	const struct fixture *f = *state;
	const struct kf_pack_part part = { "host", NULL, 0 };
	struct kf_pack pack;

	assert_int_equal(kf_pack_write(f->path, NULL, 0, NULL), KF_OK);
	assert_int_equal(kf_pack_read(f->path, MAX_BYTES, &pack, NULL), KF_OK);
	assert_int_equal(pack.count, 0);
	kf_pack_release(&pack);
	assert_int_equal(kf_pack_write(f->path, &part, 1, NULL), KF_OK);
	assert_int_equal(kf_pack_read(f->path, MAX_BYTES, &pack, NULL), KF_OK);
	assert_int_equal(kf_pack_find(&pack, "host")->len, 0);
	kf_pack_release(&pack);
}

static void test_what_is_cut_off_or_longer_is_refused(void **state)
{
	const struct fixture *f = *state;
	struct kf_buf bytes = { .max = MAX_BYTES };
	struct kf_err err = { 0 };
	struct kf_pack pack;

	write_two(f);
	assert_int_equal(kf_file_read(f->path, &bytes, NULL), KF_OK);
	kf_buf_add(&bytes, "", 1);
	for (size_t len = 0; len <= bytes.len; len++) {
		if (len == bytes.len - 1)
			continue;
		kf_file_write_scratch(f->path, bytes.data, len, NULL);
		assert_int_equal(kf_pack_read(f->path, MAX_BYTES, &pack, &err),
				 KF_E_INPUT);
		assert_int_equal(pack.count, 0);
	}
	assert_non_null(strstr(err.text, "follows its end"));
	kf_buf_release(&bytes);
}

static void test_malformed_packs_are_refused(void **state)
{
	static const struct {
		size_t at;
		char value;
		const char *says;
	} rows[] = {
		{ 0, 'x', "it is none" },
		{ 4, 9, "another version" },
		{ 8, 9, "too many parts" },
		{ 8, 3, "cut off" },
		{ 12, 'H', "malformed" },
		{ 12, 0, "malformed" },
		{ 27, 'a', "malformed" },	/* its end must be NUL */
		{ 17, 'a', "malformed" },	/* nothing after the NUL */
		{ 28, 99, "cut off" },
		{ 35, 99, "cut off" },
		{ 28, 2, "follows its end" },
	};
	const struct fixture *f = *state;
	struct kf_buf bytes = { .max = MAX_BYTES };
	struct kf_pack pack;

	write_two(f);
	assert_int_equal(kf_file_read(f->path, &bytes, NULL), KF_OK);
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct kf_err err = { 0 };
		char was = bytes.data[rows[i].at];

		bytes.data[rows[i].at] = rows[i].value;
		kf_file_write_scratch(f->path, bytes.data, bytes.len, NULL);
		if (kf_pack_read(f->path, MAX_BYTES, &pack, &err) !=
		    KF_E_INPUT || !strstr(err.text, rows[i].says))
			fail_msg("row %zu, %s: %s", i, rows[i].says, err.text);
		bytes.data[rows[i].at] = was;
	}
	kf_buf_release(&bytes);
}

static void test_two_parts_of_one_name_are_refused(void **state)
{
	const struct kf_pack_part part[] = { { "host", "a", 1 },
					     { "host", "b", 1 } };
	const struct fixture *f = *state;
	struct kf_err err = { 0 };
	struct kf_pack pack;

	assert_int_equal(kf_pack_write(f->path, part, 2, NULL), KF_OK);
	assert_int_equal(kf_pack_read(f->path, MAX_BYTES, &pack, &err),
			 KF_E_INPUT);
	assert_non_null(strstr(err.text, "one name"));
}

static void test_limits_hold(void **state)
{
	const struct kf_pack_part part[KF_PACK_PARTS_MAX + 1] = { 0 };
	const struct fixture *f = *state;
	struct kf_pack pack;

	write_two(f);
	assert_int_equal(kf_pack_read(f->path, 20, &pack, NULL), KF_E_LIMIT);
	assert_int_equal(kf_pack_write(f->path, part, KF_COUNT(part), NULL),
			 KF_E_LIMIT);
	assert_int_equal(kf_pack_read("/no/such/file", 20, &pack, NULL),
			 KF_E_IO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts_come_back_by_name),
		cmocka_unit_test(
			test_a_pack_may_be_empty_and_so_may_its_parts),
		cmocka_unit_test(test_what_is_cut_off_or_longer_is_refused),
		cmocka_unit_test(test_malformed_packs_are_refused),
		cmocka_unit_test(test_two_parts_of_one_name_are_refused),
		cmocka_unit_test(test_limits_hold),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
