#include "cli/cli.h"
#include "cli/completions.h"

static const char head[] =
	"#compdef kforge\n"
	"# Completes kforge's words in zsh; made by `kforge completions zsh`.\n"
	"_kforge_runs() {\n"
	"	local -a runs\n"
	"	runs=(kforge-runs/*/run.db(N:h:t))\n"
	"	compadd -a runs\n"
	"	_files -/\n"
	"}\n"
	"_kforge_platforms() {\n"
	"	local -a names\n"
	"	names=(${(f)\"$($kforge completions platforms 2>/dev/null)\"})\n"
	"	compadd -a names\n"
	"}\n"
	"_kforge_presets() {\n"
	"	local -a names\n"
	"	names=(${(f)\"$($kforge completions presets -- $words 2>/dev/null)\"})\n"
	"	compadd -a names\n"
	"}\n"
	"_kforge_model() {\n"
	"	if compset -P 'replay:'; then\n"
	"		_files\n"
	"	elif compset -P '(manual|batch):'; then\n"
	"		_files -/\n"
	"	else\n"
	"		compadd -S '' -- $models\n"
	"	fi\n"
	"}\n"
	"_kforge() {\n"
	"	local context state line kforge=$words[1]\n"
	"	local -a models commands\n";

static const char tail[] =
	"}\n"
	"if [[ $funcstack[1] == _kforge ]]; then\n"
	"	_kforge \"$@\"\n"
	"else\n"
	"	compdef _kforge kforge\n"
	"fi\n";

/* text within single quotes, where also the characters of special have a
 * backslash before them. */
static void print_quoted(const char *text, const char *special)
{
	for (; *text; text++) {
		if (*text == '\'')
			printf("'\\''");
		else if (strchr(special, *text))
			printf("\\%c", *text);
		else
			putchar(*text);
	}
}

static void print_action(size_t row, enum kf_completion completion)
{
	static const char *const action[] = {
		[KF_COMPLETE_NOTHING] = " ",
		[KF_COMPLETE_FILES] = "_files",
		[KF_COMPLETE_FOLDERS] = "_files -/",
		[KF_COMPLETE_RUNS] = "_kforge_runs",
		[KF_COMPLETE_PLATFORMS] = "_kforge_platforms",
		[KF_COMPLETE_PRESETS] = "_kforge_presets",
		[KF_COMPLETE_MODELS] = "_kforge_model",
	};
	const char *name;

	if (completion != KF_COMPLETE_CHOICES) {
		printf("%s", action[completion]);
		return;
	}
	printf("(");
	for (size_t i = 0; (name = kf_options_choice(row, i)); i++)
		printf("%s%s", i ? " " : "", name);
	printf(")");
}

/* One spelling of an option as _arguments wants it. */
static void print_spelling(const struct kf_option_info *info, size_t row,
			   enum kf_completion completion, bool letter)
{
	printf("			'");
	if (info->repeats)
		printf("*");
	else if (info->letter)
		printf("(-%c --%s)", info->letter, info->name);
	if (letter)
		printf("-%c%s", info->letter, info->value ? "+" : "");
	else
		printf("--%s%s", info->name, info->value ? "=" : "");
	printf("[");
	print_quoted(info->help, "[]\\");
	printf("]");
	if (info->value) {
		printf(":");
		print_quoted(info->value, ":\\");
		printf(":");
		print_action(row, completion);
	}
	printf("' \\\n");
}

static void print_arguments(const struct kf_command *command)
{
	static const char *const action[] = {
		[KF_COMPLETE_FILES] = "_files",
		[KF_COMPLETE_RUNS] = "_kforge_runs",
	};
	enum kf_completion completion = kf_complete_arguments(command);

	if (completion == KF_COMPLETE_NOTHING) {
		printf("			;;\n");
		return;
	}
	printf("			'*:");
	print_quoted(command->arguments, ":\\");
	printf(":");
	if (completion == KF_COMPLETE_CHOICES) {
		printf("(");
		for (const char *c = command->arguments; *c; c++)
			putchar(*c == '|' ? ' ' : *c);
		printf(")");
	} else {
		printf("%s", action[completion]);
	}
	printf("'\n			;;\n");
}

static void print_command(const struct kf_command *command, const char *name)
{
	struct kf_option_info info;
	enum kf_completion completion;

	printf("		%s) _arguments -s \\\n", name);
	for (size_t row = 0; row < kf_options_count(); row++) {
		if (!kf_complete_option(command, row, &info, &completion))
			continue;
		if (info.letter)
			print_spelling(&info, row, completion, true);
		print_spelling(&info, row, completion, false);
	}
	print_arguments(command);
}

/* A list of commands, then what belongs to the one that was chosen. */
static void print_level(const struct kf_command *const *list);

static void print_choice(const struct kf_command *command)
{
	const char *space = strrchr(command->name, ' ');
	const char *name = space ? space + 1 : command->name;

	if (!command->sub) {
		print_command(command, name);
		return;
	}
	printf("		%s)\n", name);
	print_level(command->sub);
	printf("			;;\n");
}

static void print_level(const struct kf_command *const *list)
{
	printf("	commands=(\n");
	for (size_t i = 0; list[i]; i++) {
		const char *space = strrchr(list[i]->name, ' ');

		printf("		'%s:",
		       space ? space + 1 : list[i]->name);
		print_quoted(list[i]->summary, ":\\");
		printf("'\n");
	}
	printf("	)\n"
	       "	_arguments -C '1:command:->command' "
	       "'*::argument:->argument'\n"
	       "	case $state in\n"
	       "	command) _describe command commands ;;\n"
	       "	argument)\n"
	       "		case $words[1] in\n");
	for (size_t i = 0; list[i]; i++)
		print_choice(list[i]);
	printf("		esac ;;\n	esac\n");
}

void kf_complete_zsh(void)
{
	fputs(head, stdout);
	printf("	models=(");
	for (size_t i = 0; kf_providers[i]; i++)
		printf("%s%s:", i ? " " : "", kf_providers[i]->name);
	printf(")\n");
	print_level(kf_commands);
	fputs(tail, stdout);
}
