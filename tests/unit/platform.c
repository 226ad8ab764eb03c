/* Platform folders: what is read, and what is refused with which words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h wants those first */
#include <cmocka.h>
#include <unistd.h>

#include "platform/platform.h"

#define GOOD_LIMIT "{\"memory_mib\": 64, \"cpu_s\": 1, \"wall_s\": 2, " \
	"\"file_mib\": 3, \"processes\": 4, \"descriptors\": 50}"
#define GOOD_LIMITS "\"limits\": {\"build\": " GOOD_LIMIT ", \"run\": " \
	GOOD_LIMIT "}"
#define GOOD_FILES "\"files\": [{\"name\": \"program.c\", " \
	"\"language\": \"c\", \"required\": true}]"
#define GOOD_COMMAND "\"compiler\": [\"cc\"], \"command\": [\"{compiler}\", " \
	"\"-o\", \"{output}\", \"{source}\"]"
#define GOOD_HEAD "\"name\": \"toy\", \"title\": \"a toy\", " \
	"\"driver\": \"null\""
#define GOOD_TYPES "\"dtypes\": [\"float32\", \"bool\"]"

/* A folder for platforms/, made for each test and named by the environment. */
static int setup(void **state)
{
	char *folder = kf_strdup("/tmp/kforge-platform-XXXXXX");

	*state = folder;
	return !mkdtemp(folder) || setenv("KFORGE_PLATFORMS", folder, 1);
}

static int teardown(void **state)
{
	kf_remove_tree(*state, NULL);
	free(*state);
	return unsetenv("KFORGE_PLATFORMS");
}

static void put(const char *root, const char *name, const char *text)
{
	char *path = kf_path_join(root, name);
	char *folder = kf_strndup(path, (size_t)(strrchr(path, '/') - path));

	assert_int_equal(kf_mkdir_p(folder, NULL), KF_OK);
	assert_int_equal(kf_file_write(path, text, strlen(text), NULL), KF_OK);
	free(folder);
	free(path);
}

static void test_cpu_platform_is_whole(void **state)
{
	struct kf_platform *p = NULL;
	struct kf_err err = { 0 };

	(void)state;
	if (kf_platform_load("cpu:0", &p, &err))
		fail_msg("%s", err.text);
	assert_string_equal(p->name, "cpu");
	assert_string_equal(p->driver->name, "host");
	assert_int_equal(p->file_count, 1);
	assert_string_equal(p->file[0].name, "program.c");
	assert_string_equal(p->file[0].language, "c");
	assert_string_equal(p->compiler[0], "gcc");
	assert_non_null(strstr(p->notes, "kf_keep"));
	assert_non_null(strstr(p->example_problem, "class Model"));
	assert_non_null(strstr(p->example_text[0], "kf_forward"));
	assert_true(p->dtypes & UINT64_C(1) << KF_F32);
	assert_true(p->build_limits.wall_ns >= KF_NS_PER_S);
	assert_int_equal(p->folder[0], '/');
	kf_platform_free(p);
}

static void test_all_platforms_are_listed_and_load(void **state)
{
	char **names = NULL;
	size_t count = 0, seen = 0;

	put(*state, "toy/platform.json", "{" GOOD_HEAD "," GOOD_FILES ","
	    GOOD_COMMAND "," GOOD_TYPES "," GOOD_LIMITS "}");
	put(*state, "not-one/readme", "no platform.json here");
	assert_int_equal(kf_platform_list(&names, &count, NULL), KF_OK);
	for (size_t i = 0; i < count; i++) {
		struct kf_platform *p = NULL;
		struct kf_err err = { 0 };

		if (kf_platform_load(names[i], &p, &err))
			fail_msg("%s", err.text);
		seen += !strcmp(names[i], "cpu") || !strcmp(names[i], "null") ||
			!strcmp(names[i], "toy");
		assert_true(i == 0 || strcmp(names[i - 1], names[i]) < 0);
		assert_string_not_equal(names[i], "not-one");
		kf_platform_free(p);
	}
	assert_int_equal(seen, 3);
	for (size_t i = 0; i < count; i++)
		free(names[i]);
	free(names);
}

static void test_every_member_is_read(void **state)
{
	struct kf_platform *p = NULL;
	struct kf_err err = { 0 };

	put(*state, "toy/platform.json", "{" GOOD_HEAD "," GOOD_FILES ","
	    GOOD_COMMAND "," GOOD_TYPES "," GOOD_LIMITS "}");
	put(*state, "toy/notes.md", "be quick");
	put(*state, "toy/example/example.py", "class Model: pass");
	if (kf_platform_load("toy", &p, &err))
		fail_msg("%s", err.text);
	assert_string_equal(p->title, "a toy");
	assert_string_equal(p->notes, "be quick");
	assert_string_equal(p->example_problem, "class Model: pass");
	assert_null(p->example_text[0]);
	assert_string_equal(p->command[3], "{source}");
	assert_null(p->command[4]);
	assert_int_equal(p->dtypes, 1u << KF_F32 | 1u << KF_BOOL);
	assert_int_equal(p->run_limits.memory_bytes, 64u << 20);
	assert_int_equal(p->run_limits.cpu_ns, KF_NS_PER_S);
	assert_int_equal(p->run_limits.wall_ns, 2 * KF_NS_PER_S);
	assert_int_equal(p->run_limits.file_bytes, 3u << 20);
	assert_int_equal(p->run_limits.processes, 4);
	assert_int_equal(p->run_limits.descriptors, 50);
	kf_platform_free(p);
}

#define GOOD_ALL GOOD_HEAD "," GOOD_FILES "," GOOD_COMMAND "," GOOD_TYPES "," \
	GOOD_LIMITS
#define GOOD_FORM "\"title\": \"other\", \"driver\": \"null\", " \
	"\"files\": [{\"name\": \"x.py\", \"language\": \"python\", " \
	"\"required\": true}], \"compiler\": [], \"command\": []"

static void test_a_form_takes_the_place_of_the_default(void **state)
{
	struct kf_platform *p = NULL;
	struct kf_err err = { 0 };

	put(*state, "toy/platform.json", "{" GOOD_ALL ", \"form\": \"c\", "
	    "\"forms\": {\"other\": {" GOOD_FORM "}}}");
	put(*state, "toy/notes.md", "the default's");
	put(*state, "toy/forms/other/notes.md", "the other's");
	put(*state, "toy/forms/other/example/x.py", "text");
	if (kf_platform_load_form("toy", "other", &p, &err))
		fail_msg("%s", err.text);
	assert_string_equal(p->form, "other");
	assert_int_equal(p->form_count, 2);
	assert_string_equal(p->form_name[0], "c");
	assert_string_equal(p->title, "other");
	assert_string_equal(p->file[0].name, "x.py");
	assert_string_equal(p->notes, "the other's");
	assert_string_equal(p->example_text[0], "text");
	assert_int_equal(p->run_limits.processes, 4);	/* inherited */
	kf_platform_free(p);
	if (kf_platform_load("toy", &p, &err))
		fail_msg("%s", err.text);
	assert_string_equal(p->form, "c");
	assert_string_equal(p->notes, "the default's");
	kf_platform_free(p);
	assert_int_equal(kf_platform_load_form("toy", "third", &p, &err),
			 KF_E_INPUT);
	assert_non_null(strstr(err.text, "c, other"));
}

static void test_malformed_forms_are_one_sentence(void **state)
{
	static const struct { const char *text, *words; } rows[] = {
		{ "\"form\": 7", "\"form\"" },
		{ "\"form\": \"../up\"", "\"form\"" },
		{ "\"forms\": []", "\"forms\"" },
		{ "\"forms\": {\"c\": {" GOOD_FORM "}}", "no further form" },
		{ "\"forms\": {\"other\": {}}", "lacks \"title\"" },
		{ "\"forms\": {\"other\": {" GOOD_FORM ", \"fly\": 1}}",
		  "unknown member \"fly\"" },
		{ "\"forms\": {\"other\": {" GOOD_FORM ", \"limits\": 1}}",
		  "\"limits\"" },
	};

	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		char *text = kf_format("{" GOOD_ALL ", %s}", rows[i].text);
		struct kf_platform *p = NULL;
		struct kf_err err = { 0 };
		enum kf_code code;

		put(*state, "toy/platform.json", text);
		code = kf_platform_load_form("toy", "other", &p, &err);
		if (code != KF_E_INPUT || !strstr(err.text, rows[i].words) ||
		    strchr(err.text, '\n'))
			fail_msg("row %zu: %s: %s", i, kf_code_name(code),
				 err.text);
		free(text);
	}
}

/* Every form of the platforms that ship: notes, an example, a template. */
static void check_form(const char *name, const char *form)
{
	char *template = kf_format("prompts/forms/%s.md.j2", form);
	struct kf_platform *p = NULL;
	struct kf_err err = { 0 };

	if (kf_platform_load_form(name, form, &p, &err))
		fail_msg("%s", err.text);
	if (!kf_path_exists(template))
		fail_msg("there is no %s", template);
	if (strcmp(name, "null") != 0) {
		assert_true(p->notes[0]);
		assert_non_null(p->example_problem);
		for (size_t i = 0; i < p->file_count; i++)
			assert_non_null(p->example_text[i]);
	}
	kf_platform_free(p);
	free(template);
}

static void test_every_form_that_ships_is_whole(void **state)
{
	static const char *const names[] = { "cpu", "cuda", "opencl", "null" };

	(void)state;
	for (size_t i = 0; i < KF_COUNT(names); i++) {
		struct kf_platform *p = NULL;
		struct kf_err err = { 0 };

		if (kf_platform_load(names[i], &p, &err))
			fail_msg("%s", err.text);
		for (size_t k = 0; k < p->form_count; k++)
			check_form(names[i], p->form_name[k]);
		kf_platform_free(p);
	}
}

static void test_malformed_description_is_one_sentence(void **state)
{
	static const struct { const char *text, *words; } rows[] = {
		{ "", "platform.json" },
		{ "[]", "not an object" },
		{ "{" GOOD_HEAD, "platform.json" },
		{ "{\"title\": \"a toy\"}", "\"name\"" },
		{ "{\"name\": \"other\"}", "name of the folder" },
		{ "{\"name\": \"toy\", \"title\": 7}", "\"title\"" },
		{ "{\"name\": \"toy\", \"title\": \"t\", \"driver\": "
		  "\"abacus\"}", "no driver \"abacus\"" },
		{ "{" GOOD_HEAD ", \"speed\": 9}", "unknown member \"speed\"" },
		{ "{" GOOD_HEAD ", \"name\": \"toy\"}", "platform.json" },
		{ "{" GOOD_HEAD ", \"files\": []}", "\"files\"" },
		{ "{" GOOD_HEAD ", \"files\": [{\"name\": \"../x.c\", "
		  "\"language\": \"c\", \"required\": true}]}", "plain" },
		{ "{" GOOD_HEAD ", \"files\": [{\"name\": \"x.c\", "
		  "\"language\": \"c\"}]}", "\"required\"" },
		{ "{" GOOD_HEAD ", \"files\": [{\"nome\": \"x.c\"}]}",
		  "unknown member \"nome\" in \"files\"" },
		{ "{" GOOD_HEAD "," GOOD_FILES ", \"compiler\": \"cc\"}",
		  "\"compiler\"" },
		{ "{" GOOD_HEAD "," GOOD_FILES ", \"compiler\": [], "
		  "\"command\": [\"cc\", \"{source}\"]}", "{output}" },
		{ "{" GOOD_HEAD "," GOOD_FILES ", \"compiler\": [\"cc\"], "
		  "\"command\": [\"cc\", \"{source}\", \"{output}\"]}",
		  "\"compiler\"" },
		{ "{" GOOD_HEAD "," GOOD_FILES "," GOOD_COMMAND
		  ", \"dtypes\": [\"float31\"]}", "float31" },
		{ "{" GOOD_HEAD "," GOOD_FILES "," GOOD_COMMAND
		  ", \"dtypes\": []}", "\"dtypes\"" },
		{ "{" GOOD_HEAD "," GOOD_FILES "," GOOD_COMMAND "," GOOD_TYPES
		  "}", "\"limits\"" },
		{ "{" GOOD_HEAD "," GOOD_FILES "," GOOD_COMMAND "," GOOD_TYPES
		  ", \"limits\": {\"build\": {\"cpu_s\": 0}}}",
		  "\"memory_mib\"" },
		{ "{" GOOD_HEAD "," GOOD_FILES "," GOOD_COMMAND "," GOOD_TYPES
		  ", \"limits\": {\"build\": " GOOD_LIMIT "}}", "\"run\"" },
		{ "{" GOOD_HEAD "," GOOD_FILES "," GOOD_COMMAND "," GOOD_TYPES
		  ", \"limits\": {\"build\": " GOOD_LIMIT ", \"run\": "
		  GOOD_LIMIT ", \"fly\": {}}}", "unknown member \"fly\"" },
	};

	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		struct kf_platform *p = NULL;
		struct kf_err err = { 0 };
		enum kf_code code;

		put(*state, "toy/platform.json", rows[i].text);
		code = kf_platform_load("toy", &p, &err);
		if (code != KF_E_INPUT || !strstr(err.text, rows[i].words) ||
		    !strstr(err.text, "platform.json") ||
		    strchr(err.text, '\n'))
			fail_msg("row %zu: %s: %s", i, kf_code_name(code),
				 err.text);
		assert_null(p);
	}
}

static void test_names_stay_inside_the_folder(void **state)
{
	static const char *const names[] = {
		"", ":0", "..", "../cpu", "cpu/../null", "/etc", "CPU", ".git",
		"a-name-that-is-longer-than-any-platform-has",
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(names); i++) {
		struct kf_platform *p = NULL;

		assert_int_equal(kf_platform_load(names[i], &p, NULL),
				 KF_E_INPUT);
		assert_null(p);
	}
}

static void test_unknown_platform_is_named(void **state)
{
	struct kf_platform *p = NULL;
	struct kf_err err = { 0 };

	(void)state;
	assert_int_equal(kf_platform_load("abacus", &p, &err), KF_E_INPUT);
	assert_non_null(strstr(err.text, "abacus"));
}

static void test_home_is_found_or_as_asked(void **state)
{
	char *asked = kf_strdup(getenv("KFORGE_HOME"));
	struct kf_err err = { 0 };
	char *home = kf_home(&err), *other;

	if (!home)
		fail_msg("%s", err.text);
	setenv("KFORGE_HOME", *state, 1);
	assert_null(kf_home(&err));
	assert_non_null(strstr(err.text, *state));
	put(*state, "include/kforge/program.h", "");
	put(*state, "platforms/x", "");
	other = kf_home(&err);
	assert_non_null(other);
	assert_string_not_equal(other, home);
	if (asked)
		setenv("KFORGE_HOME", asked, 1);
	else
		unsetenv("KFORGE_HOME");
	free(other);
	free(home);
	free(asked);
}

static void test_driver_names_are_unique(void **state)
{
	(void)state;
	for (size_t i = 0; kf_drivers[i]; i++)
		assert_ptr_equal(kf_driver_by_name(kf_drivers[i]->name),
				 kf_drivers[i]);
	assert_null(kf_driver_by_name("abacus"));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_cpu_platform_is_whole),
		CASE(test_all_platforms_are_listed_and_load),
		CASE(test_every_member_is_read),
		CASE(test_a_form_takes_the_place_of_the_default),
		CASE(test_malformed_forms_are_one_sentence),
		CASE(test_every_form_that_ships_is_whole),
		CASE(test_malformed_description_is_one_sentence),
		CASE(test_names_stay_inside_the_folder),
		CASE(test_unknown_platform_is_named),
		CASE(test_home_is_found_or_as_asked),
		CASE(test_driver_names_are_unique),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
