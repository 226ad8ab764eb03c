/* base_file.c - paths, folders, whole files, content ids. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"

/* A fresh folder for each test, removed afterwards. */
static int make_folder(void **state)
{
	char *dir = kf_strdup("/tmp/kforge-test-XXXXXX");

	*state = dir;
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_folder(void **state)
{
	enum kf_code code = kf_remove_tree(*state, NULL);

	free(*state);
	return (int)code;
}

static size_t count_entries(const char *dir)
{
	DIR *d = opendir(dir);
	size_t n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n - 2;
}

static void test_paths_are_joined_with_one_slash(void **state)
{
	static const struct { const char *dir, *name, *joined; } row[] = {
		{ "a", "b", "a/b" },
		{ "a/", "b", "a/b" },
		{ "/", "b", "/b" },
		{ "", "b", "b" },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(row); i++) {
		char *path = kf_path_join(row[i].dir, row[i].name);

		assert_string_equal(path, row[i].joined);
		free(path);
	}
}

static void test_written_file_reads_back(void **state)
{
	char *path = kf_path_join(*state, "file");
	struct kf_buf out = { .max = 100 };
	struct stat st;

	assert_int_equal(kf_file_write(path, "first", 5, NULL), KF_OK);
	assert_int_equal(kf_file_write(path, "sec\0nd", 6, NULL), KF_OK);
	assert_int_equal(kf_file_read(path, &out, NULL), KF_OK);
	assert_int_equal(out.len, 6);
	assert_memory_equal(out.data, "sec\0nd", 6);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0644);
	assert_int_equal(count_entries(*state), 1);
	kf_buf_release(&out);
	free(path);
}

static void test_failed_write_leaves_the_old_file_alone(void **state)
{
	char *path = kf_path_join(*state, "folder");
	char *inside = kf_path_join(path, "old");
	struct kf_err err;

	/* A folder that is not empty cannot be replaced by a file. */
	assert_int_equal(kf_mkdir_p(path, NULL), KF_OK);
	assert_int_equal(kf_file_write(inside, "old", 3, NULL), KF_OK);
	assert_int_equal(kf_file_write(path, "new", 3, &err), KF_E_IO);
	assert_non_null(strstr(err.text, path));
	assert_true(kf_path_exists(inside));
	assert_int_equal(count_entries(*state), 1);
	free(inside);
	free(path);
}

static void test_write_without_its_folder_is_a_sentence(void **state)
{
	char *path = kf_path_join(*state, "absent/file");
	struct kf_err err;

	assert_int_equal(kf_file_write(path, "x", 1, &err), KF_E_IO);
	assert_non_null(strstr(err.text, path));
	assert_int_equal(count_entries(*state), 0);
	free(path);
}

static void test_file_of_exactly_the_ceiling_is_read(void **state)
{
	char *path = kf_path_join(*state, "file");
	struct kf_buf exact = { .max = 5 }, small = { .max = 4 };
	struct kf_err err;

	assert_int_equal(kf_file_write(path, "12345", 5, NULL), KF_OK);
	assert_int_equal(kf_file_read(path, &exact, &err), KF_OK);
	assert_string_equal(kf_buf_str(&exact), "12345");
	assert_int_equal(kf_file_read(path, &small, &err), KF_E_LIMIT);
	kf_buf_release(&exact);
	kf_buf_release(&small);
	free(path);
}

static void test_endless_file_stops_at_the_ceiling(void **state)
{
	struct kf_buf out = { .max = 100000 };

	(void)state;
	assert_int_equal(kf_file_read("/dev/zero", &out, NULL), KF_E_LIMIT);
	kf_buf_release(&out);
}

static void test_unreadable_files_are_sentences(void **state)
{
	struct kf_buf out = { .max = 10 };
	char *absent = kf_path_join(*state, "absent");
	char hash[KF_HASH_HEX];
	struct kf_err err;

	assert_int_equal(kf_file_read(absent, &out, &err), KF_E_IO);
	assert_non_null(strstr(err.text, "absent: No such file"));
	assert_int_equal(kf_file_read(*state, &out, &err), KF_E_IO);
	assert_non_null(strstr(err.text, "is a folder"));
	assert_int_equal(kf_hash_file(absent, hash, &err), KF_E_IO);
	assert_string_equal(hash, "");
	assert_int_equal(kf_hash_file(*state, hash, &err), KF_E_IO);
	assert_string_equal(hash, "");
	free(absent);
}

static void test_folders_are_made_with_their_parents(void **state)
{
	char *deep = kf_path_join(*state, "a/b//c/");
	char *file = kf_path_join(*state, "a/file");
	char *below = kf_path_join(file, "d");
	struct kf_err err;

	assert_int_equal(kf_mkdir_p(deep, &err), KF_OK);
	assert_int_equal(kf_mkdir_p(deep, &err), KF_OK);
	assert_true(kf_path_is_dir(deep));
	assert_int_equal(kf_file_write(file, "", 0, NULL), KF_OK);
	assert_false(kf_path_is_dir(file));
	assert_int_equal(kf_mkdir_p(file, &err), KF_E_IO);
	assert_int_equal(kf_mkdir_p(below, &err), KF_E_IO);
	assert_int_equal(kf_mkdir_p("", &err), KF_E_INPUT);
	assert_int_equal(kf_mkdir_p("/", &err), KF_OK);
	free(below);
	free(file);
	free(deep);
}

static void test_a_folder_is_empty_until_something_is_in_it(void **state)
{
	const char *dir = *state;
	char *file = kf_path_join(dir, ".hidden");

	assert_true(kf_path_is_empty(dir));
	assert_int_equal(kf_file_write_in(dir, ".hidden", "x", 1, NULL),
			 KF_OK);
	assert_true(kf_path_exists(file));
	assert_false(kf_path_is_empty(dir));
	assert_false(kf_path_is_empty(file));
	assert_false(kf_path_is_empty("/nowhere"));
	free(file);
}

static void test_removal_takes_the_tree_but_follows_no_link(void **state)
{
	char *tree = kf_path_join(*state, "tree");
	char *deep = kf_path_join(tree, "a/b");
	char *link = kf_path_join(tree, "a/link");
	char *kept = kf_path_join(*state, "kept");
	char *file = kf_path_join(kept, "file");

	assert_int_equal(kf_mkdir_p(deep, NULL), KF_OK);
	assert_int_equal(kf_mkdir_p(kept, NULL), KF_OK);
	assert_int_equal(kf_file_write(file, "x", 1, NULL), KF_OK);
	assert_int_equal(symlink(kept, link), 0);
	assert_int_equal(kf_remove_tree(tree, NULL), KF_OK);
	assert_false(kf_path_exists(tree));
	assert_true(kf_path_exists(file));
	assert_int_equal(kf_remove_tree(tree, NULL), KF_OK);
	assert_int_equal(kf_remove_tree(file, NULL), KF_OK);
	assert_false(kf_path_exists(file));
	free(file);
	free(kept);
	free(link);
	free(deep);
	free(tree);
}

static void test_root_folder_is_never_removed(void **state)
{
	static const char *const name[] = { "", "/", "//", "/.", "/tmp/.." };
	struct kf_err err;

	(void)state;
	for (size_t i = 0; i < KF_COUNT(name); i++)
		assert_int_equal(kf_remove_tree(name[i], &err), KF_E_INPUT);
}

static void test_only_the_temporaries_of_the_dead_are_swept(void **state)
{
	const char *dir = *state;
	char *beside = kf_path_join(dir, "mine"), *dead[2];
	struct kf_temporary file, folder, living[2];

	assert_int_equal(kf_temporary_file(beside, &living[0], NULL), KF_OK);
	assert_int_equal(kf_temporary_folder(beside, &living[1], NULL), KF_OK);
	assert_int_equal(kf_temporary_file(beside, &file, NULL), KF_OK);
	assert_int_equal(kf_temporary_folder(beside, &folder, NULL), KF_OK);
	dead[0] = kf_strdup(file.path);
	dead[1] = kf_strdup(folder.path);
	kf_temporary_release(&file);	/* as a kill does */
	kf_temporary_release(&folder);

	kf_temporaries_sweep(dir, "theirs");
	assert_int_equal(count_entries(dir), 4);
	kf_temporaries_sweep(dir, "mine");
	for (size_t i = 0; i < 2; i++) {
		assert_false(kf_path_exists(dead[i]));
		assert_true(kf_path_exists(living[i].path));
		assert_int_equal(kf_temporary_remove(&living[i], NULL), KF_OK);
		free(dead[i]);
	}
	assert_int_equal(count_entries(dir), 0);
	free(beside);
}

static void test_other_names_are_not_swept(void **state)
{
	static const char *const name[] = {
		"a.tmp-12345", "a.tmp-1234567", "a.XXXXXX", ".tmp-123456",
	};
	const char *dir = *state;

	for (size_t i = 0; i < KF_COUNT(name); i++) {
		char *path = kf_path_join(dir, name[i]);

		assert_int_equal(kf_file_write(path, "", 0, NULL), KF_OK);
		free(path);
	}
	kf_temporaries_sweep(dir, "");
	assert_int_equal(count_entries(dir), KF_COUNT(name));
}

static void test_hashes_are_sha256(void **state)
{
	static const struct { const char *text, *hash; } row[] = {
		{ "", "e3b0c44298fc1c149afbf4c8996fb924"
		      "27ae41e4649b934ca495991b7852b855" },
		{ "abc", "ba7816bf8f01cfea414140de5dae2223"
			 "b00361a396177a9cb410ff61f20015ad" },
	};
	char *path = kf_path_join(*state, "file");
	char hash[KF_HASH_HEX];

	for (size_t i = 0; i < KF_COUNT(row); i++) {
		size_t len = strlen(row[i].text);

		kf_hash_hex(row[i].text, len, hash);
		assert_string_equal(hash, row[i].hash);
		assert_int_equal(kf_file_write(path, row[i].text, len, NULL),
				 KF_OK);
		assert_int_equal(kf_hash_file(path, hash, NULL), KF_OK);
		assert_string_equal(hash, row[i].hash);
	}
	free(path);
}

static void test_large_file_hashes_as_its_bytes(void **state)
{
	static const size_t len = 200001;	/* over three reads of 64 KiB */
	char *path = kf_path_join(*state, "file");
	char *bytes = kf_alloc(len);
	char whole[KF_HASH_HEX], read[KF_HASH_HEX];

	for (size_t i = 0; i < len; i++)
		bytes[i] = (char)(i * i >> 3);
	assert_int_equal(kf_file_write(path, bytes, len, NULL), KF_OK);
	kf_hash_hex(bytes, len, whole);
	assert_int_equal(kf_hash_file(path, read, NULL), KF_OK);
	assert_string_equal(whole, read);
	free(bytes);
	free(path);
}

#define IN_FOLDER(f) cmocka_unit_test_setup_teardown(f, make_folder, \
						     remove_folder)

int main(void)
{
	static const struct CMUnitTest test[] = {
		cmocka_unit_test(test_paths_are_joined_with_one_slash),
		IN_FOLDER(test_written_file_reads_back),
		IN_FOLDER(test_failed_write_leaves_the_old_file_alone),
		IN_FOLDER(test_write_without_its_folder_is_a_sentence),
		IN_FOLDER(test_file_of_exactly_the_ceiling_is_read),
		cmocka_unit_test(test_endless_file_stops_at_the_ceiling),
		IN_FOLDER(test_unreadable_files_are_sentences),
		IN_FOLDER(test_folders_are_made_with_their_parents),
		IN_FOLDER(test_a_folder_is_empty_until_something_is_in_it),
		IN_FOLDER(test_removal_takes_the_tree_but_follows_no_link),
		cmocka_unit_test(test_root_folder_is_never_removed),
		IN_FOLDER(test_only_the_temporaries_of_the_dead_are_swept),
		IN_FOLDER(test_other_names_are_not_swept),
		IN_FOLDER(test_hashes_are_sha256),
		IN_FOLDER(test_large_file_hashes_as_its_bytes),
	};

	return cmocka_run_group_tests(test, NULL, NULL);
}
