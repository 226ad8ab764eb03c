#include "sandbox/weak.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/usage.h"

#define STATUS_FD 3
#define KILL_NS (5 * KF_NS_PER_S)

/* Length of path as a leading part of text, ending at a '/' or the end. */
static size_t leads(const char *path, const char *text)
{
	size_t len = strlen(path);

	if (strncmp(text, path, len) != 0)
		return 0;
	return text[len] == '\0' || text[len] == '/' ? len : 0;
}

char *kf_weak_path(const struct kf_sandbox_spec *spec, const char *tmp_path,
		   const char *text)
{
	const char *equals = strchr(text, '=');
	const char *path = text[0] != '/' && equals ? equals + 1 : text;
	const char *source = tmp_path;
	size_t best = leads("/tmp", path);

	for (size_t i = 0; i < spec->bind_count; i++) {
		const struct kf_bind *b = &spec->bind[i];
		size_t len = leads(b->target ? b->target : b->source, path);

		/* The longest wins, of equals the last, as with mounts. */
		if (len && len >= best) {
			best = len;
			source = b->source;
		}
	}
	if (!best)
		return kf_strdup(text);
	return kf_format("%.*s%s%s", (int)(path - text), text, source,
			 path + best);
}

void kf_weak_words(const struct kf_sandbox_spec *spec, const char *tmp_path,
		   const char *const *texts, struct kf_words *words)
{
	if (!words->word)
		words->word = kf_alloc(sizeof(words->word[0]));
	for (; texts && *texts; texts++) {
		char *text = kf_weak_path(spec, tmp_path, *texts);

		kf_words_add(words, text);
		free(text);
	}
}

/* Kills descendants until none is left. A process that dies leaves its
 * children to us, so each round sees all of them. */
static bool kill_tree(void)
{
	uint64_t deadline_ns = kf_now_ns() + KILL_NS;

	while (kf_now_ns() < deadline_ns) {
		pid_t got;

		kf_usage_kill(getpid());
		do
			got = waitpid(-1, NULL, WNOHANG);
		while (got > 0);
		if (got < 0 && errno == ECHILD)
			return true;
		kf_sleep_ns(KF_NS_PER_MS / 2);
	}
	return false;
}

/* Reaps until the program has ended (true) or we are told to stop. */
static bool wait_program(pid_t program, const sigset_t *wake, int *status)
{
	for (;;) {
		siginfo_t info;
		pid_t got;
		int one;

		while ((got = waitpid(-1, &one, WNOHANG)) > 0)
			if (got == program) {
				*status = one;
				return true;
			}
		if (sigwaitinfo(wake, &info) == SIGTERM)
			return false;
	}
}

static void tell(int status)
{
	char line[64];

	if (WIFSIGNALED(status))
		snprintf(line, sizeof(line), "{ \"signal\": %d }\n",
			 WTERMSIG(status));
	else
		snprintf(line, sizeof(line), "{ \"exit-code\": %d }\n",
			 WEXITSTATUS(status));
	if (write(STATUS_FD, line, strlen(line)) < 0)
		_exit(1);
}

static void keep_only(int fd)
{
	dup2(fd, STATUS_FD);
	for (int i = 0; i < STATUS_FD; i++)
		close(i);
	kf_close_from(STATUS_FD + 1);
}

/* Calls more than the few functions that POSIX allows after a fork in a
 * process with threads: opendir and nftw, which need malloc. glibc and musl
 * make malloc usable in the child. */
void kf_keeper_run(struct kf_child *child, int status_fd, pid_t supervisor,
		   const char *tmp_path)
{
	sigset_t wake;
	pid_t program;
	int status = 0;
	bool ended;

	setsid();
	kf_child_reset_signals();
	sigemptyset(&wake);
	sigaddset(&wake, SIGCHLD);
	sigaddset(&wake, SIGTERM);
	sigprocmask(SIG_BLOCK, &wake, NULL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	prctl(PR_SET_DUMPABLE, 0);	/* the supervisor's memory is in us */
	if (getppid() != supervisor)
		_exit(1);
	child->parent = getpid();
	program = fork();
	if (program == 0)
		kf_child_become(child);
	keep_only(status_fd);
	if (program < 0)
		_exit(1);
	ended = wait_program(program, &wake, &status);
	if (!kill_tree())
		_exit(1);
	if (getppid() != supervisor)
		(void)kf_remove_tree(tmp_path, NULL);
	if (ended)
		tell(status);
	_exit(0);
}
