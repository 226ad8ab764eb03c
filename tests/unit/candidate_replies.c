/*
 * From replies to candidates: one row per way in which models answer. The
 * rules are in docs/replies.md.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "candidate/candidate.h"
#include "platform/platform.h"

#define INC "#include <kforge/program.h>\n"
#define BODY "{\n\t(void)c;\n\treturn 0;\n}\n"
#define FWD "int kf_forward(struct kf_call *c)\n" BODY
#define FULL INC FWD
#define ONE INC "static int one;\n" FWD
#define TWO INC "static int two;\n" FWD
#define HALF INC "int kf_forward(struct kf_call *c)\n{\n\tfor (;;) {\n"
#define SNIP "for (int i = 0; i < n; i++)\n\ty[i] = x[i];\n"
#define F "```"

#define GOOD KF_EXTRACT_GOOD
#define STOP KF_FINISH_STOP
#define LENGTH KF_FINISH_LENGTH

struct row {
	const char *what;
	const char *reply;
	enum kf_finish finish;
	enum kf_extract_end end;
	const char *has;	/* in the file, NULL: not looked at */
	const char *note;	/* "" wants none, NULL any */
};

static struct kf_platform_file one_file[] = {
	{ .name = (char[]) { "program.c" }, .language = (char[]) { "c" },
	  .required = true },
};
static const struct kf_platform platform = {
	.name = (char[]) { "cpu" }, .file = one_file, .file_count = 1,
};

static void extract_for(const struct kf_platform *p, const char *reply,
			size_t len, enum kf_finish finish,
			struct kf_candidate *out)
{
	struct kf_extract_request req = {
		.reply = reply, .reply_len = len, .finish = finish,
		.platform = p,
	};

	kf_candidate_extract(&req, out);
}

static bool row_holds(const struct row *row, const struct kf_candidate *got)
{
	if (got->end != row->end)
		return false;
	if ((row->end == GOOD) != (got->text[0] == '\0'))
		return false;
	if (row->end == GOOD && (!got->file_count || !got->hash[0]))
		return false;
	if (row->has && (!got->file_count ||
			 !strstr(got->file[0].text, row->has)))
		return false;
	if (row->has && strstr(got->file[0].text, "```"))
		return false;
	if (row->note && !row->note[0] && got->note[0])
		return false;
	return !row->note || strstr(got->note, row->note);
}

static void check_rows(const struct row *rows, size_t count)
{
	size_t failed = 0;

	for (size_t i = 0; i < count; i++) {
		struct kf_candidate got;

		extract_for(&platform, rows[i].reply, strlen(rows[i].reply),
			    rows[i].finish, &got);
		if (!row_holds(&rows[i], &got)) {
			print_error("row '%s': %s, text '%s', note '%s', "
				    "file '%s'\n", rows[i].what,
				    kf_extract_name(got.end), got.text,
				    got.note, got.file_count ?
				    got.file[0].text : "none");
			failed++;
		}
		kf_candidate_release(&got);
	}
	assert_int_equal(failed, 0);
}

static void test_tags_and_names_find_the_file(void **state)
{
	static const struct row rows[] = {
		{ "language and name", F "c program.c\n" FULL F "\n", STOP, GOOD, FULL, "" },
		{ "language only", "Sure.\n\n" F "c\n" FULL F "\n", STOP, GOOD, FULL, "" },
		{ "capital letter", F "C\n" FULL F, STOP, GOOD, FULL, "" },
		{ "standard as tag", F "C11\n" FULL F, STOP, GOOD, FULL, "" },
		{ "blanks around the tag", F "  c  \n" FULL F "  \n", STOP, GOOD, FULL, "" },
		{ "carriage returns", F "c\r\nint kf_forward(struct kf_call *c)\r\n{ return 0; }\r\n" F "\r\n", STOP, GOOD, "*c)\n{", "" },
		{ "title attribute", F "c {title=\"program.c\"}\n" FULL F, STOP, GOOD, FULL, "" },
		{ "filename attribute", F "c filename='program.c' numbers\n" FULL F, STOP, GOOD, FULL, "" },
		{ "pandoc class", F " {.c .numberLines file=\"program.c\"}\n" FULL F, STOP, GOOD, FULL, "" },
		{ "colon", F "c:program.c\n" FULL F, STOP, GOOD, FULL, "" },
		{ "name alone", F "program.c\n" FULL F, STOP, GOOD, FULL, "" },
		{ "name with folders", F "c src/gen/program.c\n" FULL F, STOP, GOOD, FULL, "" },
		{ "name in parentheses", F "C (program.c)\n" FULL F, STOP, GOOD, FULL, "" },
		{ "no tag", F "\n" FULL F, STOP, GOOD, FULL, "took a block" },
		{ "text as tag", F "text\n" FULL F, STOP, GOOD, FULL, "took a block" },
		{ "cpp that is C", F "cpp\n" FULL F, STOP, GOOD, FULL, "'cpp'" },
		{ "c++ that is C", F "C++\n" FULL F, STOP, GOOD, FULL, "'C++'" },
		{ "cpp that is C++", F "cpp\nnamespace { int x; }\n" FULL F, STOP, KF_EXTRACT_NO_CODE, NULL, NULL },
		{ "python", F "python\nprint('kf_forward')\n" F, STOP, KF_EXTRACT_NO_CODE, NULL, NULL },
		{ "a name of its own", F "c softmax.c\n" FULL F, STOP, GOOD, FULL, "softmax.c" },
		{ "tildes", "~~~c program.c\n" FULL "~~~\n", STOP, GOOD, FULL, "" },
		{ "longer fence", "`````c\n" FULL "`````\n", STOP, GOOD, FULL, "" },
		{ "bold name before", "**program.c**\n" F "\n" FULL F, STOP, GOOD, FULL, "" },
		{ "heading before", "### `program.c`\n\n" F "c\n" FULL F, STOP, GOOD, FULL, "" },
		{ "heading with a remark", "## program.c - the whole file\n\n" F "\n" FULL F, STOP, GOOD, FULL, "" },
		{ "heading, then a sentence", "## program.c\n\nIt tiles the rows.\n\n" F "\n" FULL F, STOP, GOOD, FULL, "" },
		{ "File: before", "File: program.c\n" F "\n" FULL F, STOP, GOOD, FULL, "" },
		{ "sentence before", "Here is the complete `program.c`:\n\n" F "\n" FULL F, STOP, GOOD, FULL, "" },
		{ "numbered before", "1. program.c\n" F "\n" FULL F, STOP, GOOD, FULL, "" },
		{ "first comment", F "\n// program.c\n" FULL F, STOP, GOOD, FULL, "" },
		{ "first block comment", F "\n/*\n * program.c - softmax of rows\n */\n" FULL F, STOP, GOOD, FULL, "" },
		{ "code on the fence's line", F "#include <math.h>\n" FWD F, STOP, GOOD, "#include <math.h>\nint", NULL },
		{ "an identifier that begins like a tag", F "\ncpp_count = 1;\n" FWD F, STOP, GOOD, "cpp_count", NULL },
		{ "closing fence glued to code", F "c\n" INC "int kf_forward(struct kf_call *c) { return 0; }" F "\n", STOP, GOOD, "return 0; }", NULL },
		{ "byte order mark", "\xef\xbb\xbf" F "c\n" FULL F, STOP, GOOD, FULL, "" },
	};

	(void)state;
	check_rows(rows, KF_COUNT(rows));
}

static void test_fences_are_found_where_they_stand(void **state)
{
	static const struct row rows[] = {
		{ "in a list", "1. Build it:\n\n   " F "c\n   int kf_forward(struct kf_call *c)\n   {\n       return 0;\n   }\n   " F "\n2. Run.\n", STOP, GOOD, "int kf_forward(struct kf_call *c)\n{\n    return 0;\n}\n", "" },
		{ "in a bullet, two levels", "- a\n  - b\n\n    ~~~c\n    int kf_forward(void *c) { return 0; }\n    ~~~\n", STOP, GOOD, "int kf_forward", "" },
		{ "in a list, code at the margin", "1. The file:\n   " F "c\n" FULL "   " F "\n", STOP, GOOD, FULL, NULL },
		{ "in a list, too far in", "1. The file:\n\n        " F "c\n        int kf_forward(void *c) { return 0; }\n        " F "\n", STOP, GOOD, "int kf_forward", NULL },
		{ "in a quote", "> " F "c\n> int kf_forward(struct kf_call *c)\n> {\n> \treturn 0;\n> }\n> " F "\n", STOP, GOOD, "c)\n{\n\treturn", "" },
		{ "inside an answer tag", "<answer>\n" F "c\n#include <math.h>\n\n" FWD F "\n</answer>\n", STOP, GOOD, FWD, "" },
		{ "inside a Markdown block", F "markdown\n# Answer\n" F "c\n" FULL F "\n" F "\n", STOP, GOOD, FULL, NULL },
		{ "inside a longer Markdown block", "````md\n" F "c program.c\n" FULL F "\n````\n", STOP, GOOD, FULL, "" },
		{ "inside a longer block without a tag", "````\n" F "c program.c\n" FULL F "\n````\n", STOP, GOOD, FULL, "" },
		{ "a span is no fence", "Use ```c``` here.\n" F "c\n" FULL F, STOP, GOOD, FULL, "" },
		{ "a tilde fence holds back ticks", "~~~c\n/*\n" F "\n*/\n" FULL "~~~\n", STOP, GOOD, NULL, "" },
		{ "quoted, closed outside", "> " F "c\n> int kf_forward(void *c) { return 0; }\n" F "\n", STOP, GOOD, "kf_forward", NULL },
		{ "empty block first", F "\n" F "\n" F "c\n" FULL F, STOP, GOOD, FULL, NULL },
	};

	(void)state;
	check_rows(rows, KF_COUNT(rows));
}

static void test_one_of_several_blocks_is_chosen(void **state)
{
	static const struct row rows[] = {
		{ "a plan, then the file", "Plan:\n" F "c\n" SNIP F "\nFile:\n" F "c\n" FULL F, STOP, GOOD, FULL, "" },
		{ "the file, then an excerpt", F "c\n" FULL F "\nThe loop:\n" F "c\n" SNIP F, STOP, GOOD, FULL, "" },
		{ "shell commands beside", F "sh\ngcc program.c\n" F "\n" F "c\n" FULL F "\n" F "bash\n./a.out\n" F, STOP, GOOD, FULL, "" },
		{ "named beats unnamed, named first", F "c program.c\n" ONE F "\nIdea:\n" F "c\n" TWO F, STOP, GOOD, ONE, "" },
		{ "named beats unnamed, named last", F "c\n" ONE F "\n" F "c program.c\n" TWO F, STOP, GOOD, TWO, "" },
		{ "named excerpt, unnamed file", F "c program.c\n" SNIP F "\n" F "c\n" FULL F, STOP, GOOD, FULL, "" },
		{ "tag beats no tag", F "c\n" ONE F "\n" F "\n" TWO F, STOP, GOOD, ONE, "" },
		{ "same name twice", F "c program.c\n" ONE F "\nWait, a mistake.\n" F "c program.c\n" TWO F, STOP, GOOD, TWO, "took the last of 2" },
		{ "same name, last is an alternative", F "c program.c\n" ONE F "\nAlternatively, without threads:\n" F "c program.c\n" TWO F, STOP, GOOD, ONE, "old or alternative" },
		{ "the original, then the file", "The original program:\n" F "c\n" ONE F "\nFaster:\n" F "c\n" TWO F, STOP, GOOD, TWO, "old or alternative" },
		{ "revised", F "c\n" ONE F "\nHere is the corrected version:\n" F "c\n" TWO F, STOP, GOOD, TWO, "took the last of 2" },
		{ "two unnamed, nothing said", F "c\n" ONE F "\nAnd:\n" F "c\n" TWO F, STOP, KF_EXTRACT_AMBIGUOUS, NULL, NULL },
		{ "two unnamed, the same text", F "c\n" ONE F "\nAgain:\n" F "c\n" ONE F, STOP, GOOD, ONE, "" },
		{ "only excerpts", F "c\n" SNIP F "\n" F "c\n" SNIP ";\n" F, STOP, KF_EXTRACT_NO_ENTRY, NULL, NULL },
		{ "one excerpt", F "c\n" SNIP F, STOP, KF_EXTRACT_NO_ENTRY, NULL, NULL },
		{ "only declared", F "c\n" INC "int kf_forward(struct kf_call *c);\n" F, STOP, KF_EXTRACT_NO_ENTRY, NULL, NULL },
		{ "only in a comment", F "c\n/* int kf_forward(void) {} */\nint x;\n" F, STOP, KF_EXTRACT_NO_ENTRY, NULL, NULL },
		{ "only in a string", F "c\nconst char *s = \"int kf_forward(void) {}\";\n" F, STOP, KF_EXTRACT_NO_ENTRY, NULL, NULL },
		{ "static", F "c\nstatic int kf_forward(void *c) { return 0; }\n" F, STOP, KF_EXTRACT_NO_ENTRY, NULL, NULL },
		{ "only called", F "c\nint main(void) { return kf_forward(0); }\n" F, STOP, KF_EXTRACT_NO_ENTRY, NULL, NULL },
		{ "behind #if 0", F "c\n#if 0\n" FWD "#endif\nint x;\n" F, STOP, KF_EXTRACT_NO_ENTRY, NULL, NULL },
		{ "declared, then defined", F "c\nint kf_forward(void *);\n" FWD F, STOP, GOOD, FWD, "" },
		{ "with an attribute between", F "c\nint kf_forward(void *c) __attribute__((hot));\n__attribute__((visibility(\"default\"))) int kf_forward(void *c)\n{ return 0; }\n" F, STOP, GOOD, "hot", "" },
		{ "guarded for C++", F "c\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n" FWD "#ifdef __cplusplus\n}\n#endif\n" F, STOP, GOOD, FWD, "" },
		{ "static helper before", F "c\nstatic int helper(void) { return 1; }\n" FWD F, STOP, GOOD, FWD, "" },
	};

	(void)state;
	check_rows(rows, KF_COUNT(rows));
}

static void test_half_a_file_is_never_taken(void **state)
{
	static const struct row rows[] = {
		{ "no end, limit", F "c\n" HALF, LENGTH, KF_EXTRACT_CUT_OFF, NULL, NULL },
		{ "no end, limit, looks whole", F "c\n" FULL, LENGTH, KF_EXTRACT_CUT_OFF, NULL, NULL },
		{ "no end, stop, half", F "c\n" HALF, STOP, KF_EXTRACT_CUT_OFF, NULL, NULL },
		{ "no end, unknown, half", F "c\n" HALF, KF_FINISH_UNKNOWN, KF_EXTRACT_CUT_OFF, NULL, NULL },
		{ "no end, stop, whole", "Here:\n" F "c program.c\n" FULL, STOP, GOOD, FULL, "no closing fence" },
		{ "no end, prose behind", F "c\n" FULL "\nThis program is fast.\n", STOP, KF_EXTRACT_CUT_OFF, NULL, NULL },
		{ "no end, open comment", F "c\n" FULL "/* and so", STOP, KF_EXTRACT_CUT_OFF, NULL, NULL },
		{ "no end, open #if", F "c\n#if 1\n" FULL, STOP, KF_EXTRACT_CUT_OFF, NULL, NULL },
		{ "no end, entry not reached", F "c\n" INC "static int helper(void)\n{\n\treturn 1;\n}\n", STOP, KF_EXTRACT_CUT_OFF, NULL, NULL },
		{ "braces in strings and branches", F "c\nconst char *s = \"{{{\"; /* { */\nchar q = '{';\n#ifdef A\nint kf_forward(void *c) {\n#else\nint kf_forward(struct kf_call *c) {\n#endif\nreturn 0; }\n", STOP, GOOD, "return 0", "no closing fence" },
		{ "a fence in a comment of the file", F "c program.c\n/* try\n" F "\nmake\n" F "\n*/\n" FULL F "\n", STOP, KF_EXTRACT_CUT_OFF, NULL, NULL },
		{ "an excerpt with an open comment, then the file", F "c\n/* as before\n" F "\n" F "c\n" FULL F, STOP, GOOD, FULL, "" },
		{ "a whole file, then half of it again", F "c program.c\n" FULL F "\nBetter:\n" F "c program.c\n" HALF, STOP, KF_EXTRACT_CUT_OFF, NULL, NULL },
		{ "a whole file, then an open shell block", F "c program.c\n" FULL F "\n" F "sh\nmake\n", STOP, GOOD, FULL, "left out" },
		{ "limit, everything closed", F "c program.c\n" FULL F "\nThe idea of", LENGTH, GOOD, FULL, "cut off after" },
		{ "limit, closed excerpt only", F "sh\nls\n" F "\nNow the fi", LENGTH, KF_EXTRACT_CUT_OFF, NULL, NULL },
		{ "limit, before any code", "First, think about tiles. The", LENGTH, KF_EXTRACT_CUT_OFF, NULL, NULL },
		{ "limit, at the opening fence", "The file:\n" F "c", LENGTH, KF_EXTRACT_CUT_OFF, NULL, NULL },
		{ "bare file", FULL, STOP, GOOD, FULL, "no fence" },
		{ "bare file, comment first", "/* softmax */\n" FULL, STOP, GOOD, FULL, "no fence" },
		{ "bare file, limit", FULL, LENGTH, KF_EXTRACT_CUT_OFF, NULL, NULL },
		{ "bare file, half", HALF, STOP, KF_EXTRACT_CUT_OFF, NULL, NULL },
		{ "bare file without the entry", "int main(void)\n{\n\treturn 0;\n}\n", STOP, KF_EXTRACT_NO_ENTRY, NULL, NULL },
		{ "bare file after a sentence", "Here you are:\n" FULL, STOP, KF_EXTRACT_NO_CODE, NULL, NULL },
	};

	(void)state;
	check_rows(rows, KF_COUNT(rows));
}

static void test_reasoning_is_set_aside(void **state)
{
	static const struct row rows[] = {
		{ "think block", "<think>Maybe tiles.</think>\n" F "c\n" FULL F, STOP, GOOD, FULL, "" },
		{ "thinking block with a draft", "\n<thinking>\n" F "c\n" ONE F "\nno, better\n</thinking>\n\n" F "c\n" TWO F, STOP, GOOD, TWO, "" },
		{ "reasoning in capitals", "<REASONING>a</Reasoning>" F "c\n" FULL F, STOP, GOOD, FULL, "" },
		{ "two blocks", "<think>a</think><think>b</think>\n" F "c\n" FULL F, STOP, GOOD, FULL, "" },
		{ "lone closing tag", "So I will use tiles.\n" F "c\n" ONE F "\nand so on\n</think>\n\n" F "c\n" TWO F, STOP, GOOD, TWO, "" },
		{ "lone closing tag, glued", "So tiles it is.</think>" F "c\n" TWO F, STOP, GOOD, TWO, "" },
		{ "lone closing tag after an open fence", "try\n" F "c\nint x;\n</think>\n" F "c\n" TWO F, STOP, GOOD, TWO, "" },
		{ "a tag in a comment of the code", F "c\n/* prints </think> and <think> */\n" FULL F, STOP, GOOD, "</think>", "" },
		{ "a tag in a string, variant behind", F "c program.c\nconst char *s = \"</think>\";\n" ONE F "\nIdea:\n" F "c\n" TWO F, STOP, GOOD, ONE, "" },
		{ "a tag in the explanation", F "c\n" FULL F "\nThe `</think>` tag is not needed, nor is </think>.\n", STOP, GOOD, FULL, "" },
		{ "an opening tag later on", F "c\n" FULL F "\n<think>was that right?", STOP, GOOD, FULL, "" },
		{ "reasoning without an end, limit", "<think>tiles, or rows? tiles", LENGTH, KF_EXTRACT_EMPTY, NULL, NULL },
		{ "reasoning only", "<think>tiles</think>\n  \n", STOP, KF_EXTRACT_EMPTY, NULL, NULL },
		{ "empty", "", STOP, KF_EXTRACT_EMPTY, NULL, NULL },
		{ "blank", " \n\t\n", STOP, KF_EXTRACT_EMPTY, NULL, NULL },
	};

	(void)state;
	check_rows(rows, KF_COUNT(rows));
}

static void test_replies_without_a_program_are_told_apart(void **state)
{
	static const struct row rows[] = {
		{ "declined by the service", F "c\n" FULL F, KF_FINISH_REFUSED, KF_EXTRACT_REFUSED, NULL, NULL },
		{ "declined in words", "I'm sorry, but I can't help with that.", STOP, KF_EXTRACT_REFUSED, NULL, NULL },
		{ "declined after thinking", "<think>hm</think>I cannot assist with this request.", STOP, KF_EXTRACT_REFUSED, NULL, NULL },
		{ "polite words and code", "I can't run it here, but:\n" F "c\n" FULL F, STOP, GOOD, FULL, "" },
		{ "chat", "Which dtype would you like me to use?", STOP, KF_EXTRACT_NO_CODE, NULL, NULL },
		{ "a diff", F "diff\n--- a/program.c\n+++ b/program.c\n@@ -1 +1 @@\n-int kf_forward(void) {}\n+int x;\n" F, STOP, KF_EXTRACT_NO_CODE, NULL, NULL },
		{ "a diff tagged c", "program.c:\n" F "c\n@@ -1,2 +1,2 @@\n-a\n+int kf_forward(void) { }\n" F, STOP, KF_EXTRACT_NO_CODE, NULL, NULL },
		{ "search and replace", "program.c\n" F "c\n<<<<<<< SEARCH\nint x;\n=======\n" FWD ">>>>>>> REPLACE\n" F, STOP, KF_EXTRACT_NO_CODE, NULL, NULL },
		{ "a diff and the file", F "diff\n@@ -1 +1 @@\n-a\n+b\n" F "\n" F "c program.c\n" FULL F, STOP, GOOD, FULL, "" },
		{ "forbidden", F "c\n#include \"/etc/passwd\"\n" FULL F, STOP, KF_EXTRACT_FORBIDDEN, NULL, NULL },
	};

	(void)state;
	check_rows(rows, KF_COUNT(rows));
}

static void test_edits_are_answered_by_asking_for_files(void **state)
{
	static const char reply[] = F "diff\n@@ -1 +1 @@\n-a\n+b\n" F "\n";
	struct kf_candidate got;

	(void)state;
	extract_for(&platform, reply, strlen(reply), STOP, &got);
	assert_non_null(strstr(got.text, "whole file"));
	kf_candidate_release(&got);
}

static void test_the_same_program_is_unchanged(void **state)
{
	static const char first[] = F "c\n" FULL F "\n";
	static const char again[] = "Now:\n~~~c program.c\n" FULL "~~~\n";
	static const char other[] = F "c\n" ONE F "\n";
	struct kf_extract_request req = {
		.reply = first, .reply_len = strlen(first), .platform = &platform,
	};
	struct kf_candidate a, b;

	(void)state;
	kf_candidate_extract(&req, &a);
	assert_int_equal(a.end, GOOD);
	req.previous_hash = a.hash;
	req.reply = again;
	req.reply_len = strlen(again);
	kf_candidate_extract(&req, &b);
	assert_int_equal(b.end, KF_EXTRACT_UNCHANGED);
	assert_string_equal(a.hash, b.hash);
	assert_true(b.text[0]);
	kf_candidate_release(&b);
	req.reply = other;
	req.reply_len = strlen(other);
	kf_candidate_extract(&req, &b);
	assert_int_equal(b.end, GOOD);
	kf_candidate_release(&b);
	kf_candidate_release(&a);
}

static void test_ceilings_are_kept(void **state)
{
	struct kf_buf reply = { .max = 64u << 20 };
	struct kf_candidate got;

	(void)state;
	kf_buf_puts(&reply, F "c program.c\n" FULL "/*");
	while (reply.len < KF_SOURCE_BYTES + 100)
		kf_buf_puts(&reply, " a line of a long comment in a file\n");
	kf_buf_puts(&reply, "*/\n" F "\n");
	extract_for(&platform, kf_buf_str(&reply), reply.len, STOP, &got);
	assert_int_equal(got.end, KF_EXTRACT_TOO_LARGE);
	assert_true(got.text[0]);
	kf_candidate_release(&got);

	while (reply.len <= KF_REPLY_BYTES_MAX)
		kf_buf_puts(&reply, "a very long explanation of the above\n");
	extract_for(&platform, kf_buf_str(&reply), reply.len, STOP, &got);
	assert_int_equal(got.end, KF_EXTRACT_TOO_LARGE);
	kf_candidate_release(&got);

	kf_buf_clear(&reply);
	for (int i = 0; i < 5000; i++)
		kf_buf_puts(&reply, F "c\nint x;\n" F "\n\n");
	extract_for(&platform, kf_buf_str(&reply), reply.len, STOP, &got);
	assert_int_equal(got.end, KF_EXTRACT_TOO_LARGE);
	kf_candidate_release(&got);
	kf_buf_release(&reply);
}

static void test_bytes_that_are_not_text_become_text(void **state)
{
	static const char reply[] = F "c\n/* \xff\xd3 \0 \xc3\xa9 */\n" FULL F "\n";
	struct kf_candidate got;

	(void)state;
	extract_for(&platform, reply, sizeof(reply) - 1, STOP, &got);
	assert_int_equal(got.end, GOOD);
	assert_int_equal(strlen(got.file[0].text), got.file[0].len);
	assert_non_null(strstr(got.file[0].text, "\xef\xbf\xbd\xef\xbf\xbd"));
	assert_non_null(strstr(got.file[0].text, "\xc3\xa9"));
	kf_candidate_release(&got);
}

/* Two files, as on platforms whose kernels have a language of their own. */
static struct kf_platform_file two_files[] = {
	{ .name = (char[]) { "kernels.xx" }, .language = (char[]) { "xx" },
	  .required = true },
	{ .name = (char[]) { "host.c" }, .language = (char[]) { "c" },
	  .required = true },
};
static const struct kf_platform pair = {
	.name = (char[]) { "pair" }, .file = two_files, .file_count = 2,
};

static void test_two_files_come_in_the_platforms_order(void **state)
{
	static const struct {
		const char *what, *reply;
		enum kf_extract_end end;
	} rows[] = {
		{ "both named", F "c host.c\n" FULL F "\n" F "xx kernels.xx\nkernel\n" F, GOOD },
		{ "both tagged", F "xx\nkernel\n" F "\n" F "c\n" FULL F, GOOD },
		{ "names before", "kernels.xx\n" F "\nkernel\n" F "\nhost.c\n" F "\n" FULL F, GOOD },
		{ "no kernels", F "c host.c\n" FULL F, KF_EXTRACT_NO_CODE },
		{ "no host", F "xx kernels.xx\nkernel\n" F, KF_EXTRACT_NO_CODE },
		{ "two kernels", F "xx\nkernel\n" F "\n" F "xx\nother\n" F "\n" F "c\n" FULL F, KF_EXTRACT_AMBIGUOUS },
	};
	size_t failed = 0;

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct kf_candidate got;

		extract_for(&pair, rows[i].reply, strlen(rows[i].reply), STOP,
			    &got);
		if (got.end != rows[i].end || (got.end == GOOD &&
		    (strcmp(got.file[0].name, "kernels.xx") != 0 ||
		     strcmp(got.file[0].text, "kernel\n") != 0 ||
		     strcmp(got.file[1].text, FULL) != 0))) {
			print_error("row '%s': %s '%s'\n", rows[i].what,
				    kf_extract_name(got.end), got.text);
			failed++;
		}
		kf_candidate_release(&got);
	}
	assert_int_equal(failed, 0);
}

/* Kernels in a language that is known: its tags, and no entry in it. */
static struct kf_platform_file opencl_files[] = {
	{ .name = (char[]) { "kernels.cl" }, .language = (char[]) { "opencl" },
	  .required = true },
	{ .name = (char[]) { "host.c" }, .language = (char[]) { "c" },
	  .required = true },
};
static const struct kf_driver two_part = { .two_part = true };
static const struct kf_platform opencl = {
	.name = (char[]) { "opencl" }, .file = opencl_files, .file_count = 2,
	.driver = &two_part,
};
#define KERNEL "__kernel void k(__global float *x)\n{\n}\n"
#define LAUNCH "#include <kforge/launch.h>\n" FWD

static void test_kernels_and_host_part_are_told_apart(void **state)
{
	static const struct {
		const char *what, *reply;
		enum kf_extract_end end;
	} rows[] = {
		{ "both named", F "opencl kernels.cl\n" KERNEL F "\n" F "c host.c\n" LAUNCH F, GOOD },
		{ "the other way", F "c host.c\n" LAUNCH F "\n" F "opencl kernels.cl\n" KERNEL F, GOOD },
		{ "an alias", F "clc\n" KERNEL F "\n" F "c\n" LAUNCH F, GOOD },
		{ "named, with C's tag", F "c kernels.cl\n" KERNEL F "\n" F "c host.c\n" LAUNCH F, GOOD },
		{ "kernels alone", F "opencl kernels.cl\n" KERNEL F, KF_EXTRACT_NO_CODE },
		{ "host alone", F "c host.c\n" LAUNCH F, KF_EXTRACT_NO_CODE },
		{ "host without an entry", F "opencl\n" KERNEL F "\n" F "c\nint x;\n" F, KF_EXTRACT_NO_ENTRY },
		{ "the vendor's header", F "opencl\n" KERNEL F "\n" F "c host.c\n#include <CL/cl.h>\n" LAUNCH F, KF_EXTRACT_FORBIDDEN },
		{ "a file of the machine", F "opencl\n#include \"/etc/passwd\"\n" KERNEL F "\n" F "c host.c\n" LAUNCH F, KF_EXTRACT_FORBIDDEN },
	};
	size_t failed = 0;

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct kf_candidate got;

		extract_for(&opencl, rows[i].reply, strlen(rows[i].reply),
			    STOP, &got);
		if (got.end != rows[i].end || (got.end == GOOD &&
		    (strcmp(got.file[0].text, KERNEL) != 0 ||
		     strcmp(got.file[1].text, LAUNCH) != 0))) {
			print_error("row '%s': %s '%s'\n", rows[i].what,
				    kf_extract_name(got.end), got.text);
			failed++;
		}
		kf_candidate_release(&got);
	}
	assert_int_equal(failed, 0);
}

/* Pieces of replies in random order: never a crash, and an answer always. */
static void test_every_reply_gets_a_program_or_words(void **state)
{
	static const char *const piece[] = {
		F, F "c\n", F "c program.c\n", "~~~\n", "````md\n", "\n", "> ",
		"- ", "1. ", "    ", "\t", FULL, HALF, SNIP, "<think>",
		"</think>", "program.c", "text ", "{", "}", "/*", "*/", "\"",
		"#if 1\n", "#include \"/x\"\n", "\r\n", "\xff", "<div>\n",
		"@@ -1\n", "asm(\".incbin\");", "\\\n", "final ", "original ",
	};
	struct kf_rng rng = { .state = 7 };

	(void)state;
	for (int round = 0; round < 3000; round++) {
		struct kf_buf reply = { .max = 1u << 20 };
		uint64_t pieces = kf_rng_below(&rng, 24);
		struct kf_candidate got;

		while (pieces--)
			kf_buf_puts(&reply, piece[kf_rng_below(&rng,
				    KF_COUNT(piece))]);
		extract_for(&platform, kf_buf_str(&reply), reply.len,
			    (enum kf_finish)kf_rng_below(&rng, 4), &got);
		if (got.end == GOOD) {
			assert_int_equal(got.file_count, 1);
			assert_non_null(strstr(got.file[0].text, "kf_forward"));
			assert_false(got.text[0]);
		} else {
			assert_true(got.text[0]);
		}
		kf_candidate_release(&got);
		kf_buf_release(&reply);
	}
}

static void test_hostile_nesting_is_quick(void **state)
{
	struct kf_buf reply = { .max = 4u << 20 };
	struct kf_candidate got;
	uint64_t begin = kf_now_ns();

	(void)state;
	for (int i = 0; i < 100000; i++)
		kf_buf_puts(&reply, "- > ");
	for (int i = 0; i < 100000; i++)
		kf_buf_puts(&reply, "\n");
	for (int i = 0; i < 100000; i++)
		kf_buf_puts(&reply, "[![`*_<");
	kf_buf_puts(&reply, "\n" F "c\n" FULL F "\n");
	for (int i = 0; i < 20000; i++)
		kf_buf_puts(&reply, "</think>");
	extract_for(&platform, kf_buf_str(&reply), reply.len, STOP, &got);
	assert_int_equal(got.end, GOOD);
	kf_candidate_release(&got);
	kf_buf_release(&reply);
	assert_true(kf_now_ns() - begin < 20 * KF_NS_PER_S);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tags_and_names_find_the_file),
		cmocka_unit_test(test_fences_are_found_where_they_stand),
		cmocka_unit_test(test_one_of_several_blocks_is_chosen),
		cmocka_unit_test(test_half_a_file_is_never_taken),
		cmocka_unit_test(test_reasoning_is_set_aside),
		cmocka_unit_test(test_replies_without_a_program_are_told_apart),
		cmocka_unit_test(test_edits_are_answered_by_asking_for_files),
		cmocka_unit_test(test_the_same_program_is_unchanged),
		cmocka_unit_test(test_ceilings_are_kept),
		cmocka_unit_test(test_bytes_that_are_not_text_become_text),
		cmocka_unit_test(test_two_files_come_in_the_platforms_order),
		cmocka_unit_test(test_kernels_and_host_part_are_told_apart),
		cmocka_unit_test(test_every_reply_gets_a_program_or_words),
		cmocka_unit_test(test_hostile_nesting_is_quick),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
