#include "cli/cli.h"
#include "cli/completions.h"

static const char head[] =
	"# Completes kforge's words in bash; made by `kforge completions bash`.\n"
	"_kforge_words() {	# WORDS, one a line or with spaces between\n"
	"	mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$cur\")\n"
	"}\n"
	"_kforge_paths() {	# -f: files, -d: folders\n"
	"	compopt -o filenames 2>/dev/null\n"
	"	mapfile -t COMPREPLY < <(compgen \"$1\" -- \"$cur\")\n"
	"}\n"
	"_kforge_runs() {\n"
	"	local db name\n"
	"	_kforge_paths -d\n"
	"	for db in kforge-runs/*/run.db; do\n"
	"		name=${db%/run.db} name=${name#kforge-runs/}\n"
	"		[[ -e $db && $name == \"$cur\"* ]] && COMPREPLY+=(\"$name\")\n"
	"	done\n"
	"}\n"
	"_kforge_model() {	# what stands before the colon tells what follows\n"
	"	case $1 in\n"
	"	replay) _kforge_paths -f ;;\n"
	"	manual|batch) _kforge_paths -d ;;\n"
	"	esac\n"
	"}\n"
	"_kforge() {\n"
	"	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
	"	local command=${COMP_WORDS[1]} options= arguments=\n"
	"	local kforge=${COMP_WORDS[0]}\n"
	"\n"
	"	COMPREPLY=()\n"
	"	[[ $cur == = ]] && cur=\n"
	"	[[ $prev == = ]] && prev=${COMP_WORDS[COMP_CWORD-2]}\n"
	"	if [[ $cur == : ]]; then\n"
	"		cur=\n"
	"		_kforge_model \"$prev\"\n"
	"		return\n"
	"	elif [[ $prev == : ]]; then\n"
	"		_kforge_model \"${COMP_WORDS[COMP_CWORD-2]}\"\n"
	"		return\n"
	"	fi\n";

static const char tail[] =
	"	case $cur:$arguments in\n"
	"	-*) _kforge_words \"$options\" ;;\n"
	"	*:runs) _kforge_runs ;;\n"
	"	*:files) _kforge_paths -f ;;\n"
	"	*:) ;;\n"
	"	*) _kforge_words \"$arguments\" ;;\n"
	"	esac\n"
	"}\n"
	"complete -F _kforge kforge\n";

/* "a|b" as words. */
static void print_alternatives(const char *text)
{
	for (; *text; text++)
		putchar(*text == '|' ? ' ' : *text);
}

static void print_choices(size_t row)
{
	const char *name;

	for (size_t i = 0; (name = kf_options_choice(row, i)); i++)
		printf("%s%s", i ? " " : "", name);
}

/* What is done with the value after one option: a branch of a case. */
static void print_value(const struct kf_option_info *info, size_t row,
			enum kf_completion completion)
{
	static const char *const action[] = {
		[KF_COMPLETE_NOTHING] = "return",
		[KF_COMPLETE_FILES] = "_kforge_paths -f; return",
		[KF_COMPLETE_FOLDERS] = "_kforge_paths -d; return",
		[KF_COMPLETE_RUNS] = "_kforge_runs; return",
		[KF_COMPLETE_PLATFORMS] = "_kforge_words \"$(\"$kforge\" "
			"completions platforms 2>/dev/null)\"; return",
		[KF_COMPLETE_PRESETS] = "_kforge_words \"$(\"$kforge\" "
			"completions presets -- \"${COMP_WORDS[@]:2}\" "
			"2>/dev/null)\"; return",
	};

	printf("	--%s", info->name);
	if (info->letter)
		printf("|-%c", info->letter);
	printf(") ");
	if (completion == KF_COMPLETE_CHOICES) {
		printf("_kforge_words \"");
		print_choices(row);
		printf("\"; return");
	} else if (completion == KF_COMPLETE_MODELS) {
		printf("compopt -o nospace 2>/dev/null; _kforge_words \"");
		for (size_t i = 0; kf_providers[i]; i++)
			printf("%s%s:", i ? " " : "", kf_providers[i]->name);
		printf("\"; return");
	} else {
		printf("%s", action[completion]);
	}
	printf(" ;;\n");
}

static void print_values(void)
{
	struct kf_option_info info;
	enum kf_completion completion;

	printf("	case $prev in\n");
	for (size_t row = 0; row < kf_options_count(); row++) {
		(void)kf_complete_option(NULL, row, &info, &completion);
		if (info.value)
			print_value(&info, row, completion);
	}
	printf("	esac\n");
}

static const char at_first[] =
	"	if ((COMP_CWORD == 1)) || [[ $command == help ]]; then\n"
	"		_kforge_words \"";
static const char at_first_end[] =
	"help --help --version\"\n"
	"		return\n"
	"	fi\n";
static const char at_second[] =
	"		if ((COMP_CWORD == 2)); then\n"
	"			_kforge_words \"";
static const char at_second_end[] =
	"--help\"\n"
	"			return\n"
	"		fi\n"
	"		command+=\" ${COMP_WORDS[2]}\" ;;\n";

/* The first word, and the second after a group's name. */
static void print_commands(void)
{
	fputs(at_first, stdout);
	for (size_t i = 0; kf_commands[i]; i++)
		printf("%s ", kf_commands[i]->name);
	printf("%s	case $command in\n", at_first_end);
	for (size_t i = 0; kf_commands[i]; i++) {
		const struct kf_command *const *sub = kf_commands[i]->sub;

		if (!sub)
			continue;
		printf("	%s)\n%s", kf_commands[i]->name, at_second);
		for (; *sub; sub++)
			printf("%s ", strrchr((*sub)->name, ' ') + 1);
		fputs(at_second_end, stdout);
	}
	printf("	esac\n");
}

static void print_options(const struct kf_command *command)
{
	struct kf_option_info info;
	enum kf_completion completion;

	printf("	\"%s\")\n		options=\"", command->name);
	for (size_t row = 0; row < kf_options_count(); row++)
		if (kf_complete_option(command, row, &info, &completion))
			printf("--%s ", info.name);
	printf("\"\n		arguments=\"");
	completion = kf_complete_arguments(command);
	if (completion == KF_COMPLETE_CHOICES)
		print_alternatives(command->arguments);
	else if (completion == KF_COMPLETE_RUNS)
		printf("runs");
	else if (completion == KF_COMPLETE_FILES)
		printf("files");
	printf("\" ;;\n");
}

void kf_complete_bash(void)
{
	const struct kf_command *command;

	fputs(head, stdout);
	print_commands();
	print_values();
	printf("	case $command in\n");
	for (size_t i = 0; (command = kf_cli_command(i)); i++)
		print_options(command);
	printf("	esac\n");
	fputs(tail, stdout);
}
