/* problem_bundle.c - a bundle's folder is read only if all of it fits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "problem/bundle_load.h"

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#define FORMAT TEXT(KF_BUNDLE_FORMAT)
#define INFO "{\"format\":" FORMAT "," \
	"\"inputs\":[{\"name\":\"x\",\"dtype\":\"float32\",\"shape\":[2]}," \
		"{\"name\":\"m\",\"dtype\":\"none\",\"shape\":[]," \
		"\"matters\":false}]," \
	"\"scalars\":[{\"name\":\"n\",\"kind\":\"i\",\"value\":7}," \
		"{\"name\":\"f\",\"kind\":\"f\",\"value\":0.5}]," \
	"\"weights\":[{\"name\":\"w\",\"dtype\":\"int64\",\"shape\":[]," \
		"\"structural\":true}]," \
	"\"outputs\":[{\"name\":\"out0\",\"dtype\":\"float32\"," \
		"\"shape\":[2]},{\"name\":\"out1\",\"dtype\":\"bool\"," \
		"\"shape\":[3]}]," \
	"\"operations\":null,\"bytes\":27,\"float64\":\"cast\"}"
#define SEEDS "{\"sets\":[{\"kind\":\"declared\",\"seed\":1}," \
	"{\"kind\":\"weights\",\"seed\":2}]," \
	"\"stock\":[{\"kind\":\"stock\",\"seed\":3}]}"

/* One tensor of a header. */
#define TENSOR(name, type, shape, from, to) "\"" name "\":{\"dtype\":\"" \
	type "\",\"shape\":" shape ",\"data_offsets\":[" #from "," #to "]}"
#define IN "{" TENSOR("in.0", "F32", "[2]", 0, 8) "}"
#define ORACLE(more) "{" TENSOR("exact.0", "F64", "[2]", 0, 16) "," \
	TENSOR("expect.0", "F32", "[2]", 16, 24) "," more \
	TENSOR("expect.1", "BOOL", "[3]", 24, 27) "}"
#define SET_ORACLE "{" TENSOR("exact.0", "F64", "[2]", 0, 16) "," \
	TENSOR("expect.0", "F32", "[2]", 16, 24) "," \
	TENSOR("react.0", "F32", "[2]", 24, 32) "," \
	TENSOR("noise.0", "F32", "[2]", 32, 40) "," \
	TENSOR("expect.1", "BOOL", "[3]", 40, 43) "}"

static const struct file { const char *name, *text; size_t data_bytes; }
whole[] = {
	{ "public/bundle.json", INFO, 0 },
	{ "oracle/seeds.json", SEEDS, 0 },
	{ "inputs/weights.safetensors",
	  "{" TENSOR("w", "I64", "[]", 0, 8) "}", 8 },
	{ "inputs/set-00.safetensors", IN, 8 },
	{ "inputs/set-01.safetensors",
	  "{" TENSOR("weight.0", "I64", "[]", 0, 8) ","
	  TENSOR("in.0", "F32", "[2]", 8, 16) "}", 16 },
	{ "inputs/stock-00.safetensors", IN, 8 },
	{ "oracle/set-00.safetensors", SET_ORACLE, 43 },
	{ "oracle/set-01.safetensors", SET_ORACLE, 43 },
	{ "oracle/stock-00.safetensors", ORACLE(""), 27 },
};

/* first: byte of the data; the others are zeros. */
static void write_data(const char *folder, const struct file *file, char first)
{
	char *path = kf_path_join(folder, file->name);
	struct kf_buf bytes = { .max = 1u << 20 };
	size_t len = strlen(file->text);
	unsigned char length[8] = { 0 };

	if (strstr(file->name, ".safetensors")) {
		size_t padded = (len + 7) / 8 * 8;

		length[0] = (unsigned char)(padded & 255);
		length[1] = (unsigned char)(padded >> 8);
		kf_buf_add(&bytes, length, sizeof(length));
		kf_buf_printf(&bytes, "%-*s", (int)padded, file->text);
		for (size_t i = 0; i < file->data_bytes; i++)
			kf_buf_add(&bytes, i ? "" : &first, 1);
	} else {
		kf_buf_puts(&bytes, file->text);
	}
	unlink(path);
	assert_int_equal(kf_file_write(path, kf_buf_str(&bytes), bytes.len,
				       NULL), KF_OK);
	kf_buf_release(&bytes);
	free(path);
}

static void write_one(const char *folder, const struct file *file)
{
	write_data(folder, file, 0);
}

/* A good bundle in a fresh folder; caller removes it. */
static void make_folder(char folder[32])
{
	static const char *const part[] = { "public", "inputs", "oracle" };

	snprintf(folder, 32, "/tmp/kforge-test-XXXXXX");
	assert_non_null(mkdtemp(folder));
	for (size_t i = 0; i < KF_COUNT(part); i++) {
		char *path = kf_path_join(folder, part[i]);

		assert_int_equal(mkdir(path, 0755), 0);
		free(path);
	}
	for (size_t i = 0; i < KF_COUNT(whole); i++)
		write_one(folder, &whole[i]);
}

static void test_whole_bundle_is_read(void **state)
{
	struct kf_err err = { 0 };
	struct kf_bundle b;
	char folder[32];

	(void)state;
	make_folder(folder);
	if (kf_bundle_load(folder, &b, &err))
		fail_msg("%s", err.text);
	assert_string_equal(b.folder, folder);
	assert_int_equal(b.in_count, 2);
	assert_int_equal(b.in[0].bytes, 8);
	assert_int_equal(b.in[1].dtype, KF_DTYPE_NONE);
	assert_int_equal(b.in[1].bytes, 0);
	assert_true(b.in[0].matters);
	assert_false(b.in[1].matters);
	assert_int_equal(b.scalar[0].i, 7);
	assert_true(b.scalar[0].f == 7.0);
	assert_true(b.scalar[1].f == 0.5);
	assert_true(b.weight[0].structural);
	assert_int_equal(b.weight[0].numel, 1);
	assert_true(isnan(b.flops));
	assert_true(b.bytes == 27.0);
	assert_int_equal(b.set_count, 2);
	assert_null(b.set[0].weight);
	assert_non_null(b.set[1].weight[0]);
	assert_null(b.set[0].in[1]);
	assert_non_null(b.set[0].react[0]);
	assert_null(b.set[0].exact[1]);
	assert_int_equal(b.stock_count, 1);
	assert_null(b.stock[0].react[0]);
	assert_int_equal(b.stock[0].seed, 3);
	kf_bundle_release(&b);
	assert_int_equal(kf_remove_tree(folder, NULL), KF_OK);
}

static void test_one_wrong_file_spoils_it(void **state)
{
	static const struct file row[] = {
		{ "public/bundle.json", "{", 0 },
		{ "public/bundle.json", "[]", 0 },
		{ "public/bundle.json", "{\"format\":1}", 0 },
		{ "public/bundle.json", "{\"format\":" FORMAT ",\"inputs\":7}", 0 },
		{ "public/bundle.json", "{\"format\":" FORMAT ",\"inputs\":"
		  "[{\"name\":\"x\",\"dtype\":\"none\",\"shape\":[]}],"
		  "\"scalars\":[{\"kind\":\"x\",\"value\":1}]}", 0 },
		{ "public/bundle.json", "{\"format\":" FORMAT ",\"inputs\":"
		  "[{\"name\":\"x\",\"dtype\":\"float32\","
		  "\"shape\":[4294967296,4294967296]}]}", 0 },
		{ "oracle/seeds.json", "{}", 0 },
		{ "oracle/seeds.json", "{\"sets\":[],\"stock\":[]}", 0 },
		{ "oracle/seeds.json",
		  "{\"sets\":[{\"kind\":\"wide\",\"seed\":1}],"
		  "\"stock\":[{\"kind\":\"stock\",\"seed\":3}]}", 0 },
		{ "inputs/weights.safetensors", "{}", 0 },
		{ "inputs/weights.safetensors",
		  "{" TENSOR("w", "F64", "[]", 0, 8) "}", 8 },
		{ "inputs/set-00.safetensors",
		  "{" TENSOR("in.0", "F32", "[2,1]", 0, 8) "}", 8 },
		{ "inputs/set-00.safetensors", IN, 7 },
		{ "inputs/set-01.safetensors", IN, 8 },
		{ "oracle/set-00.safetensors", ORACLE(""), 27 },
		{ "oracle/stock-00.safetensors", "{}", 0 },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(row); i++) {
		struct kf_err err = { 0 };
		struct kf_bundle b;
		char folder[32];

		make_folder(folder);
		write_one(folder, &row[i]);
		if (kf_bundle_load(folder, &b, &err) != KF_E_INPUT)
			print_message("# row %zu: %s\n", i, row[i].name);
		assert_int_equal(err.code, KF_E_INPUT);
		assert_null(b.folder);
		assert_int_equal(kf_remove_tree(folder, NULL), KF_OK);
	}
}

/* The program that wrote the folder may have planted anything under a name:
 * a link out of it, a pipe that never ends, a folder, nothing. */
static void test_only_plain_files_inside_are_read(void **state)
{
	(void)state;
	for (size_t i = 0; i < KF_COUNT(whole); i++) {
		for (int how = 0; how < 4; how++) {
			struct kf_bundle b;
			char folder[32];
			char *path, *aside;

			make_folder(folder);
			path = kf_path_join(folder, whole[i].name);
			aside = kf_path_join(folder, "aside");
			assert_int_equal(rename(path, aside), 0);
			if (how == 0)
				assert_int_equal(symlink(aside, path), 0);
			if (how == 1)
				assert_int_equal(mkfifo(path, 0600), 0);
			if (how == 2)
				assert_int_equal(mkdir(path, 0700), 0);
			assert_int_equal(kf_bundle_load(folder, &b, NULL),
					 KF_E_INPUT);
			assert_int_equal(kf_remove_tree(folder, NULL), KF_OK);
			free(aside);
			free(path);
		}
	}
}

static void test_parts_are_not_links(void **state)
{
	static const char *const part[] = { "public", "inputs", "oracle" };

	(void)state;
	for (size_t i = 0; i < KF_COUNT(part); i++) {
		struct kf_bundle b;
		char folder[32];
		char *path, *aside;

		make_folder(folder);
		path = kf_path_join(folder, part[i]);
		aside = kf_path_join(folder, "aside");
		assert_int_equal(rename(path, aside), 0);
		assert_int_equal(symlink("aside", path), 0);
		assert_int_equal(kf_bundle_load(folder, &b, NULL),
				 KF_E_INPUT);
		assert_int_equal(kf_remove_tree(folder, NULL), KF_OK);
		free(aside);
		free(path);
	}
}

/* --- condensed ones ------------------------------------------------------- */

#define CONDENSED "{\"format\":" FORMAT "," \
	"\"inputs\":[{\"name\":\"x\",\"dtype\":\"float32\",\"shape\":[2]}]," \
	"\"scalars\":[],\"weights\":[]," \
	"\"outputs\":[{\"name\":\"out0\",\"dtype\":\"float32\"," \
		"\"shape\":[2]}]," \
	"\"operations\":null,\"bytes\":16,\"condensed\":{}}"
#define CONDENSED_SEEDS "{\"sets\":[{\"kind\":\"declared\",\"seed\":1}," \
	"{\"kind\":\"fresh\",\"seed\":2}]," \
	"\"stock\":[{\"kind\":\"stock\",\"seed\":3}]}"

/* An oracle whose first window begins at place. */
static void write_windows(const char *folder, const char *name, int windows,
			  int elements, char place)
{
	size_t at = 8 * (size_t)windows, size = at / 2 * (size_t)elements;
	size_t expect = at + 40, react = expect + size, signs = react + size;
	char *text = kf_format("{"
		"\"at.0\":{\"dtype\":\"I64\",\"shape\":[%d],"
			"\"data_offsets\":[0,%zu]},"
		"\"sums.0\":{\"dtype\":\"F64\",\"shape\":[1,4],"
			"\"data_offsets\":[%zu,%zu]},"
		"\"scale.0\":{\"dtype\":\"F64\",\"shape\":[1],"
			"\"data_offsets\":[%zu,%zu]},"
		"\"expect.0\":{\"dtype\":\"F32\",\"shape\":[%d,%d],"
			"\"data_offsets\":[%zu,%zu]},"
		"\"react.0\":{\"dtype\":\"F32\",\"shape\":[%d,%d],"
			"\"data_offsets\":[%zu,%zu]},"
		"\"signs\":{\"dtype\":\"I8\",\"shape\":[4,4096],"
			"\"data_offsets\":[%zu,%zu]}}",
		windows, at, at, at + 32, at + 32, expect,
		windows, elements, expect, react,
		windows, elements, react, signs, signs, signs + 16384);

	write_data(folder, &(struct file) { name, text, signs + 16384 },
		   place);
	free(text);
}

/* Its output has one window, of the first of two elements. */
static void make_condensed(char folder[32])
{
	static const struct file file[] = {
		{ "public/bundle.json", CONDENSED, 0 },
		{ "oracle/seeds.json", CONDENSED_SEEDS, 0 },
		{ "inputs/weights.safetensors", "{}", 0 },
		{ "inputs/base.safetensors", IN, 8 },
		{ "inputs/set-00.safetensors", "{}", 0 },
		{ "inputs/set-01.safetensors", "{}", 0 },
		{ "inputs/stock-00.safetensors", "{}", 0 },
	};

	make_folder(folder);
	for (size_t i = 0; i < KF_COUNT(file); i++)
		write_one(folder, &file[i]);
	write_windows(folder, "oracle/set-00.safetensors", 1, 1, 0);
	write_windows(folder, "oracle/set-01.safetensors", 1, 1, 0);
	write_windows(folder, "oracle/stock-00.safetensors", 1, 1, 0);
}

/* The judge reads all sets as far as the first one's windows go. */
static void test_windows_are_those_of_the_first_set(void **state)
{
	static const struct {
		const char *name;
		int windows, elements;
		char place;
		enum kf_code code;
	} rows[] = {
		{ "oracle/set-01.safetensors", 1, 1, 0, KF_OK },
		{ "oracle/set-00.safetensors", 2, 1, 0, KF_E_INPUT },
		{ "oracle/set-01.safetensors", 2, 1, 0, KF_E_INPUT },
		{ "oracle/set-01.safetensors", 1, 2, 0, KF_E_INPUT },
		{ "oracle/set-01.safetensors", 1, 1, 1, KF_E_INPUT },
		{ "oracle/stock-00.safetensors", 4096, 1, 0, KF_E_INPUT },
		{ "oracle/stock-00.safetensors", 1, 2, 0, KF_E_INPUT },
		{ "oracle/stock-00.safetensors", 1, 1, 1, KF_E_INPUT },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct kf_err err = { 0 };
		struct kf_bundle b;
		char folder[32];

		make_condensed(folder);
		write_windows(folder, rows[i].name, rows[i].windows,
			      rows[i].elements, rows[i].place);
		if (kf_bundle_load(folder, &b, &err) != rows[i].code)
			fail_msg("row %zu: '%s'", i, err.text);
		if (!rows[i].code)
			kf_bundle_release(&b);
		else if (!strstr(err.text, "not those of the first set"))
			fail_msg("row %zu: '%s'", i, err.text);
		assert_int_equal(kf_remove_tree(folder, NULL), KF_OK);
	}
}
int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole_bundle_is_read),
		cmocka_unit_test(test_one_wrong_file_spoils_it),
		cmocka_unit_test(test_only_plain_files_inside_are_read),
		cmocka_unit_test(test_parts_are_not_links),
		cmocka_unit_test(test_windows_are_those_of_the_first_set),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
