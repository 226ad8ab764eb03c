/* safetensors.c - files are read only if everything in them fits together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "problem/safetensors_write.h"

#define FILE_BYTES 4096

/* A file from its header's text and so many zero bytes of data. The header
 * is padded with spaces so that data begins at a multiple of 64. */
static size_t compose(unsigned char *file, const char *header,
		      size_t data_bytes)
{
	size_t len = strlen(header), padded = (len + 8 + 63) / 64 * 64 - 8;

	assert_true(8 + padded + data_bytes <= FILE_BYTES);
	memset(file, 0, FILE_BYTES);
	for (unsigned i = 0; i < 8; i++)
		file[i] = (unsigned char)(padded >> (8 * i));
	memset(file + 8, ' ', padded);
	memcpy(file + 8, header, len);
	return 8 + padded + data_bytes;
}

static enum kf_code parse(const char *header, size_t data_bytes,
			  struct kf_safetensors *out, struct kf_err *err)
{
	static _Alignas(64) unsigned char file[FILE_BYTES];

	return kf_safetensors_parse(file, compose(file, header, data_bytes),
				    "test", out, err);
}

static void test_tensors_are_found_by_name(void **state)
{
	struct kf_safetensors file;
	const struct kf_safe_tensor *t;

	(void)state;
	assert_int_equal(parse("{\"__metadata__\":{\"format\":\"pt\"},"
		"\"b\":{\"dtype\":\"I64\",\"shape\":[],"
			"\"data_offsets\":[64,72]},"
		"\"a\":{\"dtype\":\"F32\",\"shape\":[2,3],"
			"\"data_offsets\":[0,24]},"
		"\"__pad.1\":{\"dtype\":\"U8\",\"shape\":[40],"
			"\"data_offsets\":[24,64]},"
		"\"none\":{\"dtype\":\"F64\",\"shape\":[0,7],"
			"\"data_offsets\":[0,0]}}", 72, &file, NULL), KF_OK);
	assert_int_equal(file.count, 3);
	t = kf_safetensors_get(&file, "a");
	assert_non_null(t);
	assert_int_equal(t->dtype, KF_F32);
	assert_int_equal(t->rank, 2);
	assert_int_equal(t->shape[1], 3);
	assert_int_equal(t->bytes, 24);
	assert_int_equal((uintptr_t)t->data % 64, 0);
	t = kf_safetensors_get(&file, "b");
	assert_int_equal(t->rank, 0);
	assert_int_equal(t->bytes, 8);
	assert_int_equal(kf_safetensors_get(&file, "none")->bytes, 0);
	assert_null(kf_safetensors_get(&file, "__pad.1"));
	assert_null(kf_safetensors_get(&file, "c"));
	kf_safetensors_release(&file);
}

#define ONE(dtype, shape, offsets) "{\"x\":{\"dtype\":" dtype \
	",\"shape\":" shape ",\"data_offsets\":" offsets "}}"

static void test_what_does_not_fit_is_refused(void **state)
{
	static const struct {
		const char *what, *header;
		size_t data_bytes;
	} rows[] = {
		{ "not JSON", "hello", 0 },
		{ "not an object", "[1]", 0 },
		{ "a name twice", "{\"x\":1,\"x\":2}", 0 },
		{ "an entry that is no object", "{\"x\":1}", 0 },
		{ "unknown type", ONE("\"F128\"", "[1]", "[0,16]"), 16 },
		{ "type is a number", ONE("7", "[1]", "[0,4]"), 4 },
		{ "negative size", ONE("\"U8\"", "[-1]", "[0,1]"), 1 },
		{ "size is a fraction", ONE("\"U8\"", "[1.0]", "[0,1]"), 1 },
		{ "nine axes", ONE("\"U8\"", "[1,1,1,1,1,1,1,1,1]", "[0,1]"),
		  1 },
		{ "shape is no list", ONE("\"U8\"", "1", "[0,1]"), 1 },
		{ "shape overflows", ONE("\"F64\"",
		  "[4294967296,4294967296]", "[0,0]"), 0 },
		{ "shape overflows by type", ONE("\"F64\"",
		  "[2305843009213693952]", "[0,0]"), 0 },
		{ "offsets beyond the end", ONE("\"U8\"", "[8]", "[0,8]"), 7 },
		{ "offsets far beyond", ONE("\"U8\"", "[8]",
		  "[9223372036854775800,9223372036854775807]"), 8 },
		{ "offsets reversed", ONE("\"U8\"", "[0]", "[4,0]"), 4 },
		{ "negative offset", ONE("\"U8\"", "[4]", "[-4,0]"), 4 },
		{ "three offsets", ONE("\"U8\"", "[4]", "[0,4,4]"), 4 },
		{ "size is not the shape's", ONE("\"F32\"", "[2]", "[0,4]"),
		  4 },
		{ "a hole at the end", ONE("\"U8\"", "[4]", "[0,4]"), 5 },
		{ "a hole at the start", ONE("\"U8\"", "[4]", "[1,5]"), 5 },
		{ "overlap", "{\"x\":{\"dtype\":\"U8\",\"shape\":[4],"
		  "\"data_offsets\":[0,4]},\"y\":{\"dtype\":\"U8\","
		  "\"shape\":[4],\"data_offsets\":[2,6]}}", 6 },
		{ "misaligned", "{\"x\":{\"dtype\":\"U8\",\"shape\":[2],"
		  "\"data_offsets\":[0,2]},\"y\":{\"dtype\":\"F32\","
		  "\"shape\":[1],\"data_offsets\":[2,6]}}", 6 },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct kf_safetensors file;
		struct kf_err err = { 0 };
		enum kf_code code = parse(rows[i].header, rows[i].data_bytes,
					  &file, &err);

		if (code != KF_E_INPUT)
			print_message("# row: %s\n", rows[i].what);
		assert_int_equal(code, KF_E_INPUT);
		assert_non_null(strstr(err.text, "test"));
		assert_int_equal(file.count, 0);
		kf_safetensors_release(&file);
	}
}

static void test_lengths_are_not_believed(void **state)
{
	static const unsigned char row[][10] = {
		{ 3, 0, 0, 0, 0, 0, 0, 0, '{', '}' },
		{ 255, 255, 255, 255, 255, 255, 255, 255, '{', '}' },
		{ 250, 255, 255, 255, 255, 255, 255, 255, '{', '}' },
		{ 0, 0, 0, 0, 0, 0, 0, 0, '{', '}' },
	};
	struct kf_safetensors file;

	(void)state;
	for (size_t i = 0; i < KF_COUNT(row); i++)
		assert_int_equal(kf_safetensors_parse(row[i], sizeof(row[i]),
			"test", &file, NULL), KF_E_INPUT);
	assert_int_equal(kf_safetensors_parse(row[0], 7, "test", &file, NULL),
			 KF_E_INPUT);
	assert_int_equal(kf_safetensors_parse(row[0], 0, "test", &file, NULL),
			 KF_E_INPUT);
}

static void test_mapped_file_cut_anywhere_is_refused(void **state)
{
	static _Alignas(64) unsigned char bytes[FILE_BYTES];
	size_t len = compose(bytes, ONE("\"F32\"", "[3]", "[0,12]"), 12);
	int fd = memfd_create("test", MFD_CLOEXEC);
	struct kf_safetensors file;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), len);
	assert_int_equal(kf_safetensors_map(fd, "test", &file, NULL), KF_OK);
	assert_int_equal(file.count, 1);
	kf_safetensors_release(&file);
	while (len--) {
		assert_int_equal(ftruncate(fd, (off_t)len), 0);
		assert_int_equal(kf_safetensors_map(fd, "test", &file, NULL),
				 KF_E_INPUT);
	}
	close(fd);
}

static void test_what_is_written_is_read_back_aligned(void **state)
{
	static const float x[6] = { 1, 2, 3, 4, 5, 6 };
	static const unsigned char mask[3] = { 1, 0, 1 };
	static const double y = 2.5;
	const struct kf_safe_tensor tensor[] = {
		{ .name = "x", .dtype = KF_F32, .rank = 2, .shape = { 2, 3 },
		  .data = x },
		{ .name = "mask.0", .dtype = KF_BOOL, .rank = 1,
		  .shape = { 3 }, .data = mask },
		{ .name = "none", .dtype = KF_I64, .rank = 1, .shape = { 0 } },
		{ .name = "y", .dtype = KF_F64, .rank = 0, .data = &y },
	};
	char folder[] = "/tmp/kforge-test-XXXXXX";
	struct kf_safetensors file;
	char *path;
	int fd;

	(void)state;
	assert_non_null(mkdtemp(folder));
	path = kf_path_join(folder, "a.safetensors");
	assert_int_equal(kf_safetensors_write(path, tensor, 4, NULL), KF_OK);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(kf_safetensors_map(fd, "a", &file, NULL), KF_OK);
	close(fd);
	assert_int_equal(file.count, KF_COUNT(tensor));
	for (size_t i = 0; i < KF_COUNT(tensor); i++) {
		const struct kf_safe_tensor *t =
			kf_safetensors_get(&file, tensor[i].name);

		assert_int_equal(t->dtype, tensor[i].dtype);
		assert_int_equal(t->rank, tensor[i].rank);
		assert_memory_equal(t->shape, tensor[i].shape,
				    sizeof(t->shape));
		assert_int_equal((uintptr_t)t->data % KF_SAFETENSORS_ALIGN, 0);
		if (t->bytes)
			assert_memory_equal(t->data, tensor[i].data, t->bytes);
	}
	kf_safetensors_release(&file);
	/* A file that is there is not written over. */
	assert_int_equal(kf_safetensors_write(path, tensor, 4, NULL), KF_E_IO);
	assert_int_equal(kf_remove_tree(folder, NULL), KF_OK);
	free(path);
}

static void test_a_full_disk_is_told(void **state)
{
	static const float x[6];
	const struct kf_safe_tensor tensor = {
		.name = "x", .dtype = KF_F32, .rank = 1, .shape = { 6 },
		.data = x,
	};
	struct kf_err err = { 0 };

	(void)state;
	if (access("/dev/full", W_OK))
		skip();
	assert_int_equal(kf_safetensors_write_fd(open("/dev/full", O_WRONLY),
						 "/dev/full", &tensor, 1,
						 &err), KF_E_IO);
	assert_non_null(strstr(err.text, "No space left"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tensors_are_found_by_name),
		cmocka_unit_test(test_what_does_not_fit_is_refused),
		cmocka_unit_test(test_lengths_are_not_believed),
		cmocka_unit_test(test_mapped_file_cut_anywhere_is_refused),
		cmocka_unit_test(test_what_is_written_is_read_back_aligned),
		cmocka_unit_test(test_a_full_disk_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
