/* kforge: the command line. */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#ifndef KF_VERSION
#error "KF_VERSION comes from the file VERSION"
#endif

const struct kf_command *const kf_commands[] = {
	&kf_command_run, &kf_command_verify, &kf_command_resume,
	&kf_command_show, &kf_command_prompt, &kf_command_platforms,
	&kf_command_models, &kf_command_doctor, NULL,
};

static void print_overview(FILE *to)
{
	fprintf(to, "kforge - turns a PyTorch module into a faster program "
		"that it has compiled, run,\nchecked and timed itself\n\n");
	for (size_t i = 0; kf_commands[i]; i++)
		fprintf(to, "  %-10s %s\n", kf_commands[i]->name,
			kf_commands[i]->summary);
	fprintf(to, "\n`kforge COMMAND --help` tells more; "
		"`kforge --version` which one this is.\n");
}

static const struct kf_command *find_command(const char *name)
{
	for (size_t i = 0; kf_commands[i]; i++)
		if (strcmp(kf_commands[i]->name, name) == 0)
			return kf_commands[i];
	return NULL;
}

static int unknown_command(const char *typed)
{
	const char *name[KF_COUNT(kf_commands)];
	const char *closest;
	size_t count;

	for (count = 0; kf_commands[count]; count++)
		name[count] = kf_commands[count]->name;
	closest = kf_closest(typed, name, count);
	if (closest)
		fprintf(stderr, "kforge: there is no command '%s'; did you "
			"mean %s?\n", typed, closest);
	else
		fprintf(stderr, "kforge: there is no command '%s'; see "
			"`kforge help`\n", typed);
	return KF_EXIT_INPUT;
}

static int print_help(const struct kf_command *command)
{
	struct kf_buf text = { .max = 1u << 16 };

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
	int status;

	kf_options_init(&options);
	if (kf_options_parse(command, argc, argv, &options, &argument, &err))
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
	if (strcmp(word, "help") == 0 && argc > 2) {
		command = find_command(argv[2]);
		return command ? print_help(command) :
			unknown_command(argv[2]);
	}
	if (argc < 2 || strcmp(word, "help") == 0 ||
	    strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
		print_overview(argc < 2 ? stderr : stdout);
		return argc < 2 ? KF_EXIT_INPUT : KF_EXIT_GOOD;
	}
	command = find_command(word);
	if (!command)
		return unknown_command(word);
	return run_command(command, argc - 2, argv + 2);
}

int main(int argc, char **argv)
{
	hold_standard_descriptors();
	signal(SIGPIPE, SIG_IGN);
	return end_output(run_words(argc, argv));
}
