/*
 * kforge completions: what a shell needs to complete kforge's words, made from
 * the tables of commands and options, so that it is never out of date.
 *
 * The scripts ask kforge itself for what only the machine knows: `kforge
 * completions platforms`, and `presets PROBLEM`.
 */
#include "cli/completions.h"

#include "cli/cli.h"

/* What an option's value, or a command's argument, is completed with. */
static enum kf_completion value_completion(const struct kf_option_info *info,
					   size_t row)
{
	static const struct {
		const char *value;
		enum kf_completion completion;
	} by_value[] = {
		{ "NAME[:DEVICE]", KF_COMPLETE_PLATFORMS },
		{ "FILE", KF_COMPLETE_FILES },
		{ "PATH", KF_COMPLETE_FILES },
		{ "DIR", KF_COMPLETE_FOLDERS },
	};

	if (!info->value)
		return KF_COMPLETE_NOTHING;
	if (kf_options_choice(row, 0))
		return KF_COMPLETE_CHOICES;
	if (strcmp(info->name, "model") == 0)
		return KF_COMPLETE_MODELS;
	if (strcmp(info->name, "size") == 0)
		return KF_COMPLETE_PRESETS;
	for (size_t i = 0; i < KF_COUNT(by_value); i++)
		if (strcmp(info->value, by_value[i].value) == 0)
			return by_value[i].completion;
	return KF_COMPLETE_NOTHING;
}

bool kf_complete_option(const struct kf_command *command, size_t row,
			struct kf_option_info *info,
			enum kf_completion *completion)
{
	bool taken = kf_options_info(command, row, info);

	*completion = value_completion(info, row);
	return taken;
}

enum kf_completion kf_complete_arguments(const struct kf_command *command)
{
	if (!command->arguments[0])
		return KF_COMPLETE_NOTHING;
	if (command->arguments[0] >= 'a' && command->arguments[0] <= 'z')
		return KF_COMPLETE_CHOICES;
	if (strstr(command->arguments, "RUN"))
		return KF_COMPLETE_RUNS;
	return KF_COMPLETE_FILES;
}

/* --- what the scripts ask for --------------------------------------------- */

static enum kf_code print_platforms(struct kf_err *err)
{
	char **name = NULL;
	size_t count = 0;
	enum kf_code code = kf_platform_list(&name, &count, err);

	for (size_t i = 0; i < count; i++) {
		if (!code)
			printf("%s\n", name[i]);
		free(name[i]);
	}
	free(name);
	return code;
}

/* "# kforge: size NAME ..." in a Python problem. */
static void print_python_presets(const char *text)
{
	static const char mark[] = "# kforge: size ";

	for (; *text; text += strcspn(text, "\n"), text += *text == '\n')
		if (strncmp(text, mark, sizeof(mark) - 1) == 0) {
			const char *name = text + sizeof(mark) - 1;

			name += strspn(name, " \t");
			printf("%.*s\n", (int)strcspn(name, " \t\r\n"), name);
		}
}

/* Silence where there is none: this answers a tabulator key. */
static void print_presets(const char *problem)
{
	char *path = kf_path_is_dir(problem) ?
		     kf_path_join(problem, "problem.json") : kf_strdup(problem);
	struct kf_buf text = { .max = 1u << 20 };
	json_t *file = NULL, *preset;
	const char *name;

	if (strstr(path, ".json")) {
		(void)kf_json_read(path, &file, NULL);
		json_object_foreach(json_object_get(file, "presets"), name,
				    preset)
			printf("%s\n", name);
	} else if (!kf_file_read(path, &text, NULL)) {
		print_python_presets(kf_buf_str(&text));
	}
	json_decref(file);
	kf_buf_release(&text);
	free(path);
}

static int completions(const struct kf_options *options, const char **argument,
		       size_t argument_count)
{
	static const struct {
		const char *shell;
		void (*print)(void);
	} shells[] = {
		{ "bash", kf_complete_bash },
		{ "zsh", kf_complete_zsh },
		{ "fish", kf_complete_fish },
	};
	struct kf_err err = { 0 };

	(void)options;
	if (strcmp(argument[0], "platforms") == 0)
		return print_platforms(&err) ? kf_cli_fail(&err)
					     : KF_EXIT_GOOD;
	if (strcmp(argument[0], "presets") == 0) {
		for (size_t i = 1; i < argument_count; i++)
			print_presets(argument[i]);
		return KF_EXIT_GOOD;
	}
	for (size_t i = 0; i < KF_COUNT(shells); i++)
		if (strcmp(argument[0], shells[i].shell) == 0) {
			shells[i].print();
			return KF_EXIT_GOOD;
		}
	kf_fail(&err, KF_E_INPUT, "there are no completions for '%s': name "
		"bash, zsh or fish", argument[0]);
	return kf_cli_fail(&err);
}

const struct kf_command kf_command_completions = {
	.name = "completions",
	.arguments = "bash|zsh|fish",
	.summary = "what a shell needs to complete kforge's words",
	.options = "help",
	.argument_min = 1,
	.argument_max = 64,
	.run = completions,
};
