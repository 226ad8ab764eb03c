/* A program under the platform's sanitizers: what an export's example does,
 * watched. */
#include "export/internal.h"

#define OUTPUT_BYTES	(64u << 10)
#define WORDS_MAX	16u

/* The tool's place, "" if it is compiled in; caller frees. NULL if it is not
 * here. */
static char *find_tool(const struct kf_sanitizer *s)
{
	if (s->flags)
		return kf_strdup("");
	for (size_t i = 0; s->place[i]; i++) {
		if (!strchr(s->place[i], '/')) {
			char *found = kf_proc_which(s->place[i]);

			if (found)
				return found;
		} else if (kf_path_exists(s->place[i])) {
			return kf_strdup(s->place[i]);
		}
	}
	return NULL;
}

enum kf_code kf_sanitize_check(const struct kf_platform *platform,
			       struct kf_err *err)
{
	const struct kf_sanitizer *s = platform->driver->sanitizer;
	char *tool;

	if (!s)
		return kf_fail(err, KF_E_INPUT, "--sanitize: there is no "
			       "sanitizer for programs of platform %s",
			       platform->name);
	tool = find_tool(s);
	if (!tool)
		return kf_fail(err, KF_E_UNAVAIL, "--sanitize needs %s, which "
			       "is not here: %s", s->name, s->package);
	free(tool);
	return KF_OK;
}

/* A word with the tool's place in it; caller frees. */
static char *fill_in(const char *word, const char *tool)
{
	const char *at = strstr(word, "{tool}");

	return at ? kf_format("%.*s%s%s", (int)(at - word), word, tool,
			      at + strlen("{tool}")) : kf_strdup(word);
}

static char **fill_in_all(const char *const *words, const char *tool,
			  const char *last)
{
	char **filled = kf_alloc((WORDS_MAX + 2) * sizeof(filled[0]));
	size_t count = 0;

	for (; count < WORDS_MAX && words[count]; count++)
		filled[count] = fill_in(words[count], tool);
	if (last)
		filled[count] = kf_strdup(last);
	return filled;
}

static void free_all(char **words)
{
	for (size_t i = 0; words[i]; i++)
		free(words[i]);
	free(words);
}

/* The example once more, with the sanitizer in it. */
static enum kf_code compile_in(const struct kf_export_request *req,
			       const struct kf_sanitizer *s, struct kf_err *err)
{
	static const char *const argv[] = { "{make}", "-s", "{compiler}",
					    NULL };
	struct kf_export_command command = {
		.req = req, .dir = req->dir, .argv = argv, .flags = s->flags,
		.writable = true, .limits = &req->platform->build_limits,
	};
	char *failed = kf_format("cannot compile with %s (%s)", s->name,
				 s->package);
	enum kf_code code = kf_export_make(&command, failed, err);

	free(failed);
	return code;
}

static enum kf_code ask(const struct kf_export_request *req,
			const struct kf_sanitizer *s, const char *tool,
			struct kf_found *finding, bool *found,
			struct kf_err *err)
{
	char **argv = fill_in_all(s->command, tool, "./example");
	char **env = fill_in_all(s->env, tool, NULL);
	struct kf_buf words = { .max = 2 * OUTPUT_BYTES };
	struct kf_export_command command = {
		.req = req,
		.dir = req->dir,
		.argv = (const char *const *)argv,
		.env = (const char *const *)env,
		.on_device = true,
		.tool = s->flags ? NULL : tool,
		.limits = &req->platform->run_limits,
	};
	enum kf_code code = s->flags ? compile_in(req, s, err) : KF_OK;
	bool good = false;

	if (!code)
		code = kf_export_run(&command, &words, &good, err);
	*found = !code && s->read(kf_buf_str(&words), finding);
	/* It says in its last line whether its values were right, and nothing
	 * of that kind where it could not run. */
	if (!code && !*found && !good &&
	    !strstr(kf_buf_str(&words), "the reference"))
		code = kf_fail(err, KF_E_UNAVAIL, "%s cannot run the program: "
			       "%.300s", s->name, kf_buf_str(&words));
	kf_buf_release(&words);
	free_all(argv);
	free_all(env);
	return code;
}

static bool has_example(const char *dir)
{
	char *path = kf_path_join(dir, "example.safetensors");
	bool there = kf_path_exists(path);

	free(path);
	return there;
}

enum kf_code kf_sanitize(const struct kf_export_request *req,
			 const char **tool, struct kf_found *finding,
			 struct kf_err *err)
{
	const struct kf_sanitizer *s = req->platform->driver->sanitizer;
	struct kf_export made = { 0 };
	bool found = false;
	enum kf_code code = kf_sanitize_check(req->platform, err);

	*tool = NULL;
	if (!code)
		code = kf_export(req, &made, err);
	if (!code && !has_example(req->dir))
		code = kf_fail(err, KF_E_LIMIT, "the tensors of %s are too "
			       "large for --sanitize: choose a smaller --size, "
			       "or --set", req->problem->name);
	for (; !code && !found && s->name; s++) {
		char *path = find_tool(s);

		code = path ? ask(req, s, path, finding, &found, err)
			    : kf_sanitize_check(req->platform, err);
		if (found)
			*tool = s->name;
		free(path);
	}
	kf_export_release(&made);
	return code;
}
