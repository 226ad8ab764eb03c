/*
 * kforge help --scd: the commands and options as sections of the manual page,
 * in scdoc's form. docs/man/kforge.1.scd has the rest of the page.
 */
#include "cli/cli.h"

static void print_escaped(const char *text)
{
	for (; *text; text++) {
		if (strchr("_*\\~#`", *text))
			putchar('\\');
		putchar(*text);
	}
}

static void print_command(const struct kf_command *command)
{
	struct kf_option_info info;
	const char *before = "";

	printf("*kforge %s*", command->name);
	if (command->arguments[0]) {
		printf(" _");
		for (const char *c = command->arguments; *c; c++)
			printf("%s%c", strchr("_*\\", *c) ? "\\" : "", *c);
		printf("_");
	}
	printf("\n	");
	print_escaped(command->summary);
	printf(".\n\n	Options: ");
	for (size_t row = 0; row < kf_options_count(); row++) {
		if (!kf_options_info(command, row, &info))
			continue;
		printf("%s*--%s*", before, info.name);
		before = ", ";
	}
	printf("\n\n");
}

static void print_option(size_t row)
{
	struct kf_option_info info;

	(void)kf_options_info(NULL, row, &info);
	if (info.letter)
		printf("*-%c*, ", info.letter);
	printf("*--%s*", info.name);
	if (info.value) {
		printf(" _");
		print_escaped(info.value);
		printf("_");
	}
	printf("\n	");
	print_escaped(info.help);
	printf("\n\n");
}

void kf_cli_print_manual(void)
{
	const struct kf_command *command;

	printf("# COMMANDS\n\n");
	for (size_t i = 0; (command = kf_cli_command(i)); i++)
		print_command(command);
	printf("*kforge help* [_COMMAND_]\n"
	       "	What a command does and which options it takes; also "
	       "*kforge* _COMMAND_ *--help*.\n\n"
	       "*kforge --version*\n"
	       "	Which kforge this is.\n\n"
	       "# OPTIONS\n\n");
	for (size_t row = 0; row < kf_options_count(); row++)
		print_option(row);
}
