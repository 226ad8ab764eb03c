#include "cli/config.h"
#include "cli/cli.h"

#include <ctype.h>
#include <sys/stat.h>

#define FILE_NAME "kforge.json"

static const char here[] = "./" FILE_NAME;

/* One reading of the file. */
struct reading {
	const char *path;
	bool found_here;			/* and not named */
	const struct kf_command *command;	/* whose options are set */
	struct kf_options *options;
};

static char *user_path(void)
{
	const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

	if (xdg && xdg[0] == '/')
		return kf_path_join(xdg, "kforge/" FILE_NAME);
	if (home && home[0] == '/')
		return kf_path_join(home, ".config/kforge/" FILE_NAME);
	return NULL;
}

char *kf_config_path(const struct kf_options *options)
{
	char *path;

	if (options->config_path)
		return kf_strdup(options->config_path);
	if (kf_path_exists(here))
		return kf_strdup(here);
	path = user_path();
	if (path && kf_path_exists(path))
		return path;
	free(path);
	return NULL;
}

/* --- what must not be in it ----------------------------------------------- */

static bool contains(const char *text, const char *part)
{
	size_t len = strlen(part);

	for (; *text; text++) {
		size_t i = 0;

		while (i < len && tolower((unsigned char)text[i]) == part[i])
			i++;
		if (i == len)
			return true;
	}
	return false;
}

static bool looks_like_key(const char *name, const json_t *value)
{
	static const char *const word[] = {
		"key", "token", "secret", "password", "authorization",
	};
	const char *text = json_string_value(value);

	if (text && (strncmp(text, "sk-", 3) == 0 ||
		     strncmp(text, "Bearer ", 7) == 0))
		return true;
	if (kf_options_takes(NULL, name))
		return false;
	for (size_t i = 0; i < KF_COUNT(word); i++)
		if (contains(name, word[i]))
			return true;
	return false;
}

/* What is taken only from who works here, and why: members that would start
 * programs outside of any sandbox, write to places of the file's choice, or
 * make a verdict worth less than kforge's word. */
static const char *needs_trust(const char *name, const json_t *value)
{
	static const char program[] = "names a program to start",
		place[] = "says where to write",
		worth[] = "lowers what a verdict is worth";
	static const struct {
		const char *name;
		const char *begins;	/* only values like this; NULL: all */
		const char *why;
	} rows[] = {
		{ "python", NULL, program },
		{ "profiler", "command:", program },
		{ "model", "exec:", program },
		{ "model", "manual:", place },
		{ "advisor", "exec:", program },
		{ "advisor", "manual:", place },
		{ "profile", "command:", program },
		{ "cache", NULL, place },
		{ "executor", NULL, place },
		{ "out", NULL, place },
		{ "record", NULL, place },
		{ "force", NULL, worth },
		{ "rules", NULL, worth },
		{ "libraries", "allow", worth },
		{ "sandbox", NULL, worth },
		{ "seed", NULL, worth },
		{ "unverified", NULL, worth },
		{ "release", NULL, worth },
	};
	const char *text = json_string_value(value);

	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		const char *begins = rows[i].begins;

		if (strcmp(rows[i].name, name) == 0 &&
		    (!begins || (text && strncmp(text, begins,
						 strlen(begins)) == 0)))
			return rows[i].why;
	}
	return NULL;
}

static bool is_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* --- reading -------------------------------------------------------------- */

static enum kf_code take_member(const struct reading *r, const char *section,
				const char *name, const json_t *value,
				const struct kf_command *command,
				struct kf_options *options, struct kf_err *err)
{
	const char *distrusted = r->found_here ? needs_trust(name, value) :
			    NULL;
	const char *dot = section[0] ? "." : "";
	struct kf_err why = { 0 };

	if (looks_like_key(name, value))
		return kf_fail(err, KF_E_INPUT, "%s: \"%s%s%s\" looks like a "
			       "key, and keys never stand in this file: put it "
			       "into the environment (OPENAI_API_KEY)", r->path,
			       section, dot, name);
	if (distrusted)
		return kf_fail(err, KF_E_INPUT, "%s: \"%s%s%s\" %s, which a "
			       "file that may have come with a download must "
			       "not: give --%s, put it into ~/.config/kforge/"
			       FILE_NAME ", or name this file with --config",
			       r->path, section, dot, name, distrusted, name);
	if (!kf_options_set_default(command, name, value, options, &why))
		return KF_OK;
	return kf_fail(err, why.code, "%s: \"%s%s%s\": %s", r->path, section,
		       dot, name, why.text);
}

static enum kf_code take_section(const struct reading *r,
				 const struct kf_command *section,
				 json_t *members, struct kf_err *err)
{
	struct kf_options scrap, *options = &scrap;
	enum kf_code code = KF_OK;
	const char *name;
	json_t *value;

	kf_options_init(&scrap);
	if (section == r->command)
		options = r->options;
	json_object_foreach(members, name, value) {
		if (kf_options_takes(NULL, name) &&
		    !kf_options_takes(section, name))
			code = kf_fail(err, KF_E_INPUT, "%s: \"%s.%s\": "
				       "`kforge %s` has no option --%s",
				       r->path, section->name, name,
				       section->name, name);
		else
			code = take_member(r, section->name, name, value,
					   section, options, err);
		if (code)
			break;
	}
	kf_options_release(&scrap);
	return code;
}

static const struct kf_command *find_section(const char *name)
{
	const struct kf_command *command;

	for (size_t i = 0; (command = kf_cli_command(i)); i++)
		if (strcmp(command->name, name) == 0)
			break;
	return command;
}

static enum kf_code unknown_section(const struct reading *r, const char *typed,
				    struct kf_err *err)
{
	const char *name[64];
	const char *closest;
	size_t count = 0;

	for (; kf_cli_command(count) && count < KF_COUNT(name); count++)
		name[count] = kf_cli_command(count)->name;
	closest = kf_closest(typed, name, count);
	return kf_fail(err, KF_E_INPUT, "%s: \"%s\": there is no command of "
		       "this name%s%s%s", r->path, typed,
		       closest ? "; did you mean \"" : "; see `kforge help`",
		       closest ? closest : "", closest ? "\"?" : "");
}

/* Members for everybody: those that this command takes are set, the others
 * are tried on options that nobody reads. */
static enum kf_code take_common(const struct reading *r, const char *name,
				const json_t *value, struct kf_err *err)
{
	struct kf_options scrap;
	enum kf_code code;

	if (json_is_object(value))
		return unknown_section(r, name, err);
	kf_options_init(&scrap);
	code = take_member(r, "", name, value, NULL, &scrap, err);
	kf_options_release(&scrap);
	if (!code)
		code = take_member(r, "", name, value, r->command, r->options,
				   err);
	return code;
}

/* A command's own section wins over what is said for all, so it is read
 * first, and what it sets counts as typed. */
static enum kf_code take_all(const struct reading *r, json_t *file,
			     struct kf_err *err)
{
	enum kf_code code = KF_OK;
	const char *name;
	json_t *value;

	json_object_foreach(file, name, value) {
		const struct kf_command *section = find_section(name);

		if (json_is_object(value) && section)
			code = take_section(r, section, value, err);
		if (code)
			return code;
	}
	json_object_foreach(file, name, value) {
		if (json_is_object(value) && find_section(name))
			continue;
		code = take_common(r, name, value, err);
		if (code)
			return code;
	}
	return KF_OK;
}

enum kf_code kf_config_apply(const struct kf_command *command,
			     struct kf_options *options, struct kf_err *err)
{
	bool named = options->config_path != NULL;
	char *path = named || !options->no_config ? kf_config_path(options) :
						    NULL;
	struct reading r = {
		.path = path,
		.found_here = !named && path && strcmp(path, here) == 0,
		.command = command,
		.options = options,
	};
	enum kf_code code = KF_OK;

	if (!path)
		return KF_OK;
	if (!named && !is_file(path))	/* nobody asked to wait for a pipe */
		code = kf_fail(err, KF_E_INPUT, "%s is not a file", path);
	if (!code)
		code = kf_json_read(path, &options->config, err);
	if (!code && !json_is_object(options->config))
		code = kf_fail(err, KF_E_INPUT, "%s holds no JSON object: it "
			       "begins with { and has option names as members",
			       path);
	if (!code)
		code = take_all(&r, options->config, err);
	free(path);
	return code;
}
