/* kforge: the command line. */
#include "cli/cli.h"
#include "cli/config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#ifndef KF_VERSION
#error "KF_VERSION comes from the file VERSION"
#endif

const struct kf_command *const kf_commands[] = {
	&kf_command_run, &kf_command_verify, &kf_command_judge,
	&kf_command_build,
	&kf_command_compare, &kf_command_profile, &kf_command_resume,
	&kf_command_status,
	&kf_command_show, &kf_command_report,
	&kf_command_experiment,
	&kf_command_prompt,
	&kf_command_export, &kf_command_problem, &kf_command_platforms,
	&kf_command_models, &kf_command_doctor,
	&kf_command_completions, NULL,
};

const struct kf_command *kf_cli_command(size_t i)
{
	for (size_t k = 0; kf_commands[k]; k++) {
		const struct kf_command *const *sub = kf_commands[k]->sub;

		if (!sub && i-- == 0)
			return kf_commands[k];
		for (; sub && *sub; sub++)
			if (i-- == 0)
				return *sub;
	}
	return NULL;
}

static void print_overview(FILE *to)
{
	fprintf(to, "kforge - turns a PyTorch module, or C, into a faster "
		"program that it has compiled,\nrun, checked and timed "
		"itself\n\n");
	for (size_t i = 0; kf_commands[i]; i++)
		fprintf(to, "  %-11s %s\n", kf_commands[i]->name,
			kf_commands[i]->summary);
	fprintf(to, "\n`kforge COMMAND --help` tells more; "
		"`kforge --version` which one this is.\n");
}

/* What is typed of a command's name: of "problem check", the last word. */
static const char *typed_name(const struct kf_command *command)
{
	const char *space = strrchr(command->name, ' ');

	return space ? space + 1 : command->name;
}

static const struct kf_command *find_command(
		const struct kf_command *const *list, const char *name)
{
	for (size_t i = 0; list[i]; i++)
		if (strcmp(typed_name(list[i]), name) == 0)
			return list[i];
	return NULL;
}

#define LIST_MAX 64

/* group: NULL, or the command that the list belongs to. */
static int unknown_command(const struct kf_command *const *list,
			   const struct kf_command *group, const char *typed)
{
	const char *before = group ? group->name : "";
	const char *space = group ? " " : "";
	const char *name[LIST_MAX];
	const char *closest;
	size_t count;

	for (count = 0; count < LIST_MAX && list[count]; count++)
		name[count] = typed_name(list[count]);
	closest = kf_closest(typed, name, count);
	if (closest)
		fprintf(stderr, "kforge: there is no command '%s%s%s'; did "
			"you mean %s%s%s?\n", before, space, typed, before,
			space, closest);
	else
		fprintf(stderr, "kforge: there is no command '%s%s%s'; see "
			"`kforge help%s%s`\n", before, space, typed, space,
			before);
	return KF_EXIT_INPUT;
}

static void print_group(const struct kf_command *group, FILE *to)
{
	fprintf(to, "kforge %s - %s\n\n", group->name, group->summary);
	for (size_t i = 0; group->sub[i]; i++)
		fprintf(to, "  %s %-8s %s\n", group->name,
			typed_name(group->sub[i]), group->sub[i]->summary);
	fprintf(to, "\n`kforge %s COMMAND --help` tells more.\n",
		group->name);
}

static int print_help(const struct kf_command *command)
{
	struct kf_buf text = { .max = 1u << 16 };

	if (command->sub) {
		print_group(command, stdout);
		return KF_EXIT_GOOD;
	}

	kf_options_help(command, &text);
	fputs(kf_buf_str(&text), stdout);
	kf_buf_release(&text);
	return KF_EXIT_GOOD;
}

static int run_command(const struct kf_command *command, int argc,
		       char **argv)
{
	struct kf_options options;
	struct kf_list argument = { 0 };
	struct kf_err err = { 0 };
	enum kf_code code;
	int status;

	kf_options_init(&options);
	code = kf_options_parse(command, argc, argv, &options, &argument, &err);
	if (!code && !options.help)
		code = kf_config_apply(command, &options, &err);
	if (code)
		status = kf_cli_fail(&err);
	else if (options.help)
		status = print_help(command);
	else
		status = command->run(&options, argument.text,
				      argument.count);
	free(argument.text);
	kf_options_release(&options);
	return status;
}

static bool asks_for_help(const char *word)
{
	return strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 ||
	       strcmp(word, "-h") == 0;
}

/* The words after a group's name. */
static int run_group(const struct kf_command *group, int argc, char **argv)
{
	const struct kf_command *command;

	if (argc < 1) {
		print_group(group, stderr);
		return KF_EXIT_INPUT;
	}
	if (asks_for_help(argv[0]))
		return print_help(group);
	command = find_command(group->sub, argv[0]);
	if (!command)
		return unknown_command(group->sub, group, argv[0]);
	return run_command(command, argc - 1, argv + 1);
}

/* `kforge help problem check` */
static int help_for(int argc, char **argv)
{
	const struct kf_command *command = find_command(kf_commands, argv[0]);

	if (strcmp(argv[0], "--scd") == 0) {	/* for docs/man */
		kf_cli_print_manual();
		return KF_EXIT_GOOD;
	}
	if (!command)
		return unknown_command(kf_commands, NULL, argv[0]);
	if (command->sub && argc > 1) {
		const struct kf_command *group = command;

		command = find_command(group->sub, argv[1]);
		if (!command)
			return unknown_command(group->sub, group, argv[1]);
	}
	return print_help(command);
}

/* A standard descriptor that came closed is taken by a file that cannot be
 * used this way round: else a file of the run would get its number, and words
 * meant for people would go into it. */
static void hold_standard_descriptors(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			(void)!open("/dev/null", fd == STDIN_FILENO ?
				    O_WRONLY : O_RDONLY);
}

static bool reader_has_left(void)
{
	struct pollfd out = { .fd = STDOUT_FILENO, .events = POLLOUT };

	return poll(&out, 1, 0) == 1 && (out.revents & (POLLERR | POLLHUP));
}

/* A result that did not arrive is an error. A reader who has seen enough of it
 * needs no words about that. */
static int end_output(int status)
{
	bool failed = ferror(stdout) != 0;

	if (fflush(stdout) == 0 && !failed)
		return status;
	if (!reader_has_left())
		fprintf(stderr, "kforge: cannot write to standard output: is "
			"it closed, or the disk full?\n");
	return KF_EXIT_IO;
}

static int run_words(int argc, char **argv)
{
	const struct kf_command *command;
	const char *word = argc > 1 ? argv[1] : "";

	if (strcmp(word, "--version") == 0 || strcmp(word, "version") == 0) {
		printf("kforge %s\n", KF_VERSION);
		return KF_EXIT_GOOD;
	}
	if (strcmp(word, "help") == 0 && argc > 2)
		return help_for(argc - 2, argv + 2);
	if (argc < 2 || asks_for_help(word)) {
		print_overview(argc < 2 ? stderr : stdout);
		return argc < 2 ? KF_EXIT_INPUT : KF_EXIT_GOOD;
	}
	if (word[0] == '-') {
		fprintf(stderr, "kforge: options come after a command, and "
			"%s comes first; see `kforge help`\n", word);
		return KF_EXIT_INPUT;
	}
	command = find_command(kf_commands, word);
	if (!command)
		return unknown_command(kf_commands, NULL, word);
	if (command->sub)
		return run_group(command, argc - 2, argv + 2);
	return run_command(command, argc - 2, argv + 2);
}

int main(int argc, char **argv)
{
	hold_standard_descriptors();
	signal(SIGPIPE, SIG_IGN);
	kf_cli_catch_bus_errors();
	return end_output(run_words(argc, argv));
}
