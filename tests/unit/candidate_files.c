/*
 * Candidates from files on disk and back: every form that a user may name.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <unistd.h>

#include "candidate/candidate.h"
#include "platform/platform.h"

#define DATA "tests/data/candidate/"

static struct kf_platform_file one_file[] = {
	{ .name = (char[]) { "program.c" }, .language = (char[]) { "c" },
	  .required = true },
};
static const struct kf_platform platform = {
	.name = (char[]) { "cpu" }, .file = one_file, .file_count = 1,
};

static void test_every_form_is_read(void **state)
{
	static const struct {
		const char *path[2];
		size_t count;
		enum kf_code code;
		enum kf_extract_end end;
		const char *words;
	} rows[] = {
		{ { DATA "folder/program.c" }, 1, KF_OK, KF_EXTRACT_GOOD, "" },
		{ { DATA "folder" }, 1, KF_OK, KF_EXTRACT_GOOD, "" },
		{ { DATA "reply.md" }, 1, KF_OK, KF_EXTRACT_GOOD, "" },
		{ { DATA "cut.md" }, 1, KF_OK, KF_EXTRACT_CUT_OFF, "fence" },
		{ { DATA "no_entry.c" }, 1, KF_OK, KF_EXTRACT_NO_ENTRY, "kf_forward" },
		{ { "/dev/null" }, 1, KF_E_INPUT, 0, "/dev/null is none of the files" },
		{ { DATA }, 1, KF_E_INPUT, 0, "there is no program.c" },
		{ { DATA "absent.c" }, 1, KF_E_INPUT, 0, "absent.c" },
		{ { DATA "absent.md" }, 1, KF_E_INPUT, 0, "absent.md" },
		{ { DATA "folder/program.c", DATA "no_entry.c" }, 2, KF_E_INPUT, 0, "second program.c" },
		{ { DATA "folder/program.c", "-" }, 2, KF_E_INPUT, 0, "alone" },
		{ { DATA "folder", DATA "reply.md" }, 2, KF_E_INPUT, 0, "alone" },
		{ { NULL }, 0, KF_E_INPUT, 0, "no file" },
	};
	size_t failed = 0;

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct kf_candidate got;
		struct kf_err err = { 0 };
		enum kf_code code = kf_candidate_read(rows[i].path,
				rows[i].count, &platform, &got, &err);
		const char *words = code ? err.text : got.text;

		if (code != rows[i].code || got.end != rows[i].end ||
		    !strstr(words, rows[i].words) ||
		    (!code && !got.end && got.file_count != 1)) {
			print_error("row %zu (%s): %s, %s, '%s'\n", i,
				    rows[i].path[0], kf_code_name(code),
				    kf_extract_name(got.end), words);
			failed++;
		}
		kf_candidate_release(&got);
	}
	assert_int_equal(failed, 0);
}

static void test_file_folder_and_reply_are_one_program(void **state)
{
	static const char *const path[] = { DATA "folder/program.c",
					    DATA "folder", DATA "reply.md" };
	char hash[KF_HASH_HEX] = "";

	(void)state;
	for (size_t i = 0; i < KF_COUNT(path); i++) {
		struct kf_candidate got;
		struct kf_err err;

		assert_int_equal(kf_candidate_read(&path[i], 1, &platform,
						   &got, &err), KF_OK);
		if (i)
			assert_string_equal(got.hash, hash);
		memcpy(hash, got.hash, sizeof(hash));
		kf_candidate_release(&got);
	}
}

/* Reads a file by way of standard input. */
static enum kf_extract_end read_stdin_from(const char *path)
{
	static const char *const dash[] = { "-" };
	int saved = dup(STDIN_FILENO), fd = open(path, O_RDONLY);
	struct kf_candidate got;
	enum kf_extract_end end;
	struct kf_err err;

	assert_true(fd >= 0 && saved >= 0);
	assert_true(dup2(fd, STDIN_FILENO) >= 0);
	assert_int_equal(kf_candidate_read(dash, 1, &platform, &got, &err),
			 KF_OK);
	end = got.end;
	kf_candidate_release(&got);
	assert_true(dup2(saved, STDIN_FILENO) >= 0);
	close(saved);
	close(fd);
	return end;
}

static void test_standard_input_is_a_reply_or_a_source(void **state)
{
	(void)state;
	assert_int_equal(read_stdin_from(DATA "reply.md"), KF_EXTRACT_GOOD);
	assert_int_equal(read_stdin_from(DATA "folder/program.c"),
			 KF_EXTRACT_GOOD);
	assert_int_equal(read_stdin_from(DATA "no_entry.c"),
			 KF_EXTRACT_NO_ENTRY);
	assert_int_equal(read_stdin_from(DATA "cut.md"), KF_EXTRACT_CUT_OFF);
	assert_int_equal(read_stdin_from("/dev/null"), KF_EXTRACT_EMPTY);
}

static void test_what_was_read_is_written_and_read_again(void **state)
{
	char folder[] = "/tmp/kforge-candidate-XXXXXX";
	static const char *const first[] = { DATA "reply.md" };
	struct kf_candidate a, b;
	struct kf_err err;
	const char *again;
	char *inner;

	(void)state;
	assert_non_null(mkdtemp(folder));
	inner = kf_path_join(folder, "made/here");
	assert_int_equal(kf_candidate_read(first, 1, &platform, &a, &err),
			 KF_OK);
	assert_int_equal(kf_candidate_write(&a, inner, &err), KF_OK);
	again = inner;
	assert_int_equal(kf_candidate_read(&again, 1, &platform, &b, &err),
			 KF_OK);
	assert_string_equal(a.hash, b.hash);
	assert_int_equal(kf_candidate_write(&a, "/dev/null/x", &err), KF_E_IO);
	kf_candidate_release(&a);
	kf_candidate_release(&b);
	assert_int_equal(kf_remove_tree(folder, &err), KF_OK);
	free(inner);
}

static void test_odd_files_are_verdicts(void **state)
{
	char path[] = "/tmp/kforge-candidate-XXXXXX.c";
	const char *paths[] = { path };
	struct kf_buf text = { .max = 4u << 20 };
	struct kf_candidate got;
	struct kf_err err;

	(void)state;
	assert_true(close(mkstemps(path, 2)) == 0);
	assert_int_equal(kf_candidate_read(paths, 1, &platform, &got, &err),
			 KF_OK);
	assert_int_equal(got.end, KF_EXTRACT_EMPTY);
	kf_candidate_release(&got);
	while (text.len < 2 * KF_SOURCE_BYTES + 100)
		kf_buf_puts(&text, "int kf_forward(void *c);\r\n");
	assert_int_equal(kf_file_write(path, text.data, text.len, &err),
			 KF_OK);
	assert_int_equal(kf_candidate_read(paths, 1, &platform, &got, &err),
			 KF_OK);
	assert_int_equal(got.end, KF_EXTRACT_TOO_LARGE);
	kf_candidate_release(&got);
	kf_buf_release(&text);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_form_is_read),
		cmocka_unit_test(test_file_folder_and_reply_are_one_program),
		cmocka_unit_test(test_standard_input_is_a_reply_or_a_source),
		cmocka_unit_test(test_what_was_read_is_written_and_read_again),
		cmocka_unit_test(test_odd_files_are_verdicts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
