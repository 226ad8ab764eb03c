#include "cli/cli.h"
#include "cli/completions.h"

static const char head[] =
	"# Completes kforge's words in fish; made by `kforge completions fish`.\n"
	"function __kforge_in	# COMMAND [SUB]: are these the words before?\n"
	"	set -l words (commandline -opc)\n"
	"	test (count $words) -gt (count $argv); or return 1\n"
	"	for i in (seq (count $argv))\n"
	"		test $words[(math $i + 1)] = $argv[$i]; or return 1\n"
	"	end\n"
	"end\n"
	"function __kforge_at	# the same, and no word after them\n"
	"	test (count (commandline -opc)) -eq (math (count $argv) + 1)\n"
	"	and __kforge_in $argv\n"
	"end\n"
	"function __kforge_runs\n"
	"	for db in kforge-runs/*/run.db\n"
	"		basename (dirname $db)\n"
	"	end\n"
	"	__fish_complete_directories\n"
	"end\n"
	"function __kforge_ask	# WHAT: kforge's own answer\n"
	"	set -l words (commandline -opc)\n"
	"	$words[1] completions $argv -- $words[2..-1] 2>/dev/null\n"
	"end\n"
	"complete -c kforge -f\n"
	"complete -c kforge -n 'test (count (commandline -opc)) -eq 1' "
	"-l version -d 'which kforge this is'\n";

/* text within single quotes. */
static void print_quoted(const char *text)
{
	putchar('\'');
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			putchar('\\');
		putchar(*text);
	}
	putchar('\'');
}

static void print_value(size_t row, enum kf_completion completion)
{
	static const char *const action[] = {
		[KF_COMPLETE_NOTHING] = "-x",
		[KF_COMPLETE_FILES] = "-r -F",
		[KF_COMPLETE_FOLDERS] = "-x -a '(__fish_complete_directories)'",
		[KF_COMPLETE_RUNS] = "-x -a '(__kforge_runs)'",
		[KF_COMPLETE_PLATFORMS] = "-x -a '(__kforge_ask platforms)'",
		[KF_COMPLETE_PRESETS] = "-x -a '(__kforge_ask presets)'",
	};
	const char *name;

	if (completion == KF_COMPLETE_CHOICES) {
		printf(" -x -a '");
		for (size_t i = 0; (name = kf_options_choice(row, i)); i++)
			printf("%s%s", i ? " " : "", name);
		printf("'");
	} else if (completion == KF_COMPLETE_MODELS) {
		printf(" -x -a '");
		for (size_t i = 0; kf_providers[i]; i++)
			printf("%s%s:", i ? " " : "", kf_providers[i]->name);
		printf("'");
	} else {
		printf(" %s", action[completion]);
	}
}

static void print_argument(const struct kf_command *command)
{
	enum kf_completion completion = kf_complete_arguments(command);

	if (completion == KF_COMPLETE_NOTHING)
		return;
	printf("complete -c kforge -n '__kforge_in %s' ", command->name);
	if (completion == KF_COMPLETE_RUNS) {
		printf("-a '(__kforge_runs)'");
	} else if (completion == KF_COMPLETE_CHOICES) {
		printf("-a '");
		for (const char *c = command->arguments; *c; c++)
			putchar(*c == '|' ? ' ' : *c);
		printf("'");
	} else {
		printf("-F");
	}
	printf("\n");
}

static void print_command(const struct kf_command *command)
{
	struct kf_option_info info;
	enum kf_completion completion;

	for (size_t row = 0; row < kf_options_count(); row++) {
		if (!kf_complete_option(command, row, &info, &completion))
			continue;
		printf("complete -c kforge -n '__kforge_in %s' -l %s",
		       command->name, info.name);
		if (info.letter)
			printf(" -s %c", info.letter);
		if (info.value)
			print_value(row, completion);
		printf(" -d ");
		print_quoted(info.help);
		printf("\n");
	}
	print_argument(command);
}

static void print_names(const struct kf_command *const *list,
			const char *before)
{
	for (size_t i = 0; list[i]; i++) {
		const char *space = strrchr(list[i]->name, ' ');

		printf("complete -c kforge -n '__kforge_at%s%s' -a %s -d ",
		       before[0] ? " " : "", before,
		       space ? space + 1 : list[i]->name);
		print_quoted(list[i]->summary);
		printf("\n");
		if (list[i]->sub)
			print_names(list[i]->sub, list[i]->name);
	}
}

void kf_complete_fish(void)
{
	const struct kf_command *command;

	fputs(head, stdout);
	print_names(kf_commands, "");
	for (size_t i = 0; (command = kf_cli_command(i)); i++)
		print_command(command);
}
