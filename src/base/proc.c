#include "base/base.h"
#include "base/syscalls.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define POLL_MS 20	/* how late a deadline or a cancel may be noticed */
#define FD_WALK_MAX 65536	/* where close_range does not exist */
#define LAST_READS 16	/* of 64 KiB each, after the end: what a pipe holds */

void kf_close_from(unsigned first)
{
	if (syscall(SYS_close_range, first, ~0u, 0))
		for (unsigned fd = first; fd < FD_WALK_MAX; fd++)
			close((int)fd);
}

char *kf_proc_which(const char *name)
{
	const char *path = getenv("PATH");

	if (strchr(name, '/'))
		return access(name, X_OK) == 0 ? kf_strdup(name) : NULL;
	while (path && *path) {
		size_t len = strcspn(path, ":");
		char *full = kf_format("%.*s/%s", (int)len, path, name);

		if (len && access(full, X_OK) == 0 && !kf_path_is_dir(full))
			return full;
		free(full);
		path += len + (path[len] == ':');
	}
	return NULL;
}

/* What will be executed: an absolute path, for the child may change folder
 * before. NULL if there is no such program. */
static char *find_program(const char *name)
{
	char *found = kf_proc_which(name);
	char *folder, *full;

	if (!found || found[0] == '/')
		return found;
	folder = getcwd(NULL, 0);
	full = kf_path_join(folder ? folder : ".", found);
	free(folder);
	free(found);
	return full;
}

/* What a child gets; out and errout are its 1 and 2. */
struct child_fds { int in, out, errout, status; };

/* The program: never returns. Reports a failed exec through the status pipe. */
static _Noreturn void become(const struct kf_proc_spec *spec,
			     const char *program, const struct child_fds *fd)
{
	int failure;

	signal(SIGTERM, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);	/* ignoring it is not for the child */
	if (dup2(fd->in, 0) >= 0 && dup2(fd->out, 1) >= 0 &&
	    dup2(fd->errout, 2) >= 0 &&
	    (!spec->cwd || chdir(spec->cwd) == 0))
		execve(program, (char *const *)(uintptr_t)spec->argv,
		       spec->env ? (char *const *)(uintptr_t)spec->env
				 : environ);
	failure = errno;
	if (write(fd->status, &failure, sizeof(failure)) < 0)
		_exit(126);
	_exit(127);
}

/* --- the keeper ----------------------------------------------------------- */

static void end_group(int number)
{
	(void)number;
	kill(0, SIGKILL);
}

/* Ends as the program ended. */
static _Noreturn void end_like(int status)
{
	const struct rlimit no_core = { 0, 0 };
	int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;

	if (!number)
		_exit(WEXITSTATUS(status));
	setrlimit(RLIMIT_CORE, &no_core);
	signal(number, SIG_DFL);
	kill(getpid(), number);
	_exit(127);
}

/* Stands between us and the program, and leads their group: if we are killed,
 * it takes the whole group with it. Holds no descriptor of ours. */
static _Noreturn void keep(const struct kf_proc_spec *spec,
			   const char *program, const struct child_fds *fd,
			   pid_t supervisor)
{
	sigset_t none;
	int status = 0;
	pid_t pid;

	setpgid(0, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGTERM, end_group);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != supervisor)
		_exit(127);
	pid = fork();
	if (pid == 0)
		become(spec, program, fd);
	if (pid < 0) {
		status = errno;
		(void)!write(fd->status, &status, sizeof(status));
		_exit(127);
	}
	kf_close_from(0);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	end_like(status);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Reads what is there; closes *fd at the end of the stream. False if some of
 * it had no room. */
static bool drain(int *fd, struct kf_buf *into)
{
	char chunk[65536];
	ssize_t got = read(*fd, chunk, sizeof(chunk));

	if (got > 0 && into)
		return kf_buf_add(into, chunk, (size_t)got);
	if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
		close_fd(fd);
	return true;
}

/* write, but a reader that has gone is EPIPE and never a signal: whether this
 * process dies of SIGPIPE elsewhere is not ours to decide. */
static ssize_t write_unsignaled(int fd, const void *bytes, size_t len)
{
	const struct timespec at_once = { 0 };
	sigset_t pipe_only, before, pending;
	ssize_t put;
	int failure;

	sigemptyset(&pipe_only);
	sigaddset(&pipe_only, SIGPIPE);
	sigpending(&pending);
	pthread_sigmask(SIG_BLOCK, &pipe_only, &before);
	put = write(fd, bytes, len);
	failure = errno;
	if (put < 0 && failure == EPIPE && !sigismember(&pending, SIGPIPE))
		sigtimedwait(&pipe_only, NULL, &at_once);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = failure;
	return put;
}

static void feed(int *fd, const struct kf_proc_spec *spec, size_t *sent)
{
	const char *bytes = spec->stdin_bytes;
	ssize_t put;

	if (*sent < spec->stdin_len) {
		put = write_unsignaled(*fd, bytes + *sent,
				       spec->stdin_len - *sent);
		if (put > 0)
			*sent += (size_t)put;
		else if (errno != EAGAIN && errno != EINTR)
			*sent = spec->stdin_len;
	}
	if (*sent >= spec->stdin_len)
		close_fd(fd);
}

/* Moves bytes until the child has ended or must be ended. A grandchild that
 * holds the pipes, or floods them, is not waited for. */
static void converse(const struct kf_proc_spec *spec, pid_t pid, int pipes[3],
		     struct kf_buf *out, struct kf_buf *errout,
		     struct kf_proc_end *end, int *status)
{
	int watch = (int)syscall(SYS_pidfd_open, pid, 0);	/* -1: by polling */
	uint64_t start_ns = kf_now_ns();
	unsigned last_reads = 0;
	bool ended = false, room = true;
	size_t sent = 0;

	while (!ended || pipes[1] >= 0 || pipes[2] >= 0) {
		struct pollfd p[4] = {
			{ .fd = pipes[0], .events = POLLOUT },
			{ .fd = pipes[1], .events = POLLIN },
			{ .fd = pipes[2], .events = POLLIN },
			{ .fd = ended ? -1 : watch, .events = POLLIN },
		};

		if (poll(p, 4, ended ? 0 : POLL_MS) < 0)
			p[0].revents = p[1].revents = p[2].revents = 0;
		if (ended && ((!p[1].revents && !p[2].revents) ||
			      last_reads++ == LAST_READS))
			break;
		if (pipes[0] >= 0 && p[0].revents)
			feed(&pipes[0], spec, &sent);
		if (pipes[1] >= 0 && p[1].revents)
			room &= drain(&pipes[1], out);
		if (pipes[2] >= 0 && p[2].revents)
			drain(&pipes[2], errout);
		if (ended)
			continue;
		ended = waitpid(pid, status, WNOHANG) == pid;
		end->took_ns = kf_now_ns() - start_ns;
		end->timed_out = !ended && end->took_ns > spec->timeout_ns;
		end->canceled = !ended && spec->cancel && *spec->cancel;
		end->full = spec->stop_when_full && !room;
		if (!ended &&
		    (end->timed_out || end->canceled || end->full)) {
			kill(-pid, SIGKILL);
			ended = waitpid(pid, status, 0) == pid;
		}
	}
	end->full = spec->stop_when_full && !room;
	close_fd(&watch);
}

static enum kf_code make_pipes(int fd[4][2], struct kf_err *err)
{
	for (int i = 0; i < 4; i++)
		if (pipe2(fd[i], O_CLOEXEC))
			return kf_fail_errno(err, "cannot make a pipe");
	return KF_OK;
}

/* The errno with which the child failed to become the program, or 0. */
static int start_failure(int status_fd)
{
	int failure = 0;
	ssize_t got;

	do
		got = read(status_fd, &failure, sizeof(failure));
	while (got < 0 && errno == EINTR);
	return got == (ssize_t)sizeof(failure) ? failure : 0;
}

static enum kf_code check_spec(const struct kf_proc_spec *spec,
			       const char *program, struct kf_err *err)
{
	const char *name = spec->argv[0];

	if (!spec->timeout_ns)
		return kf_fail(err, KF_E_INPUT, "%s: no deadline given", name);
	if (!program)
		return kf_fail(err, KF_E_UNAVAIL,
			       "cannot start %s: no such program%s", name,
			       strchr(name, '/') ? "" : " on PATH");
	if (spec->cwd && !kf_path_is_dir(spec->cwd))
		return kf_fail(err, KF_E_INPUT,
			       "cannot start %s: there is no folder %s", name,
			       spec->cwd);
	return KF_OK;
}

enum kf_code kf_proc_run(const struct kf_proc_spec *spec, struct kf_buf *out,
			 struct kf_buf *errout, struct kf_proc_end *end,
			 struct kf_err *err)
{
	int fd[4][2] = { { -1, -1 }, { -1, -1 }, { -1, -1 }, { -1, -1 } };
	char *program = find_program(spec->argv[0]);
	int failure, status = 0;
	pid_t pid, self = getpid();
	enum kf_code code;
	int pipes[3];

	*end = (struct kf_proc_end) { 0 };
	code = check_spec(spec, program, err);
	if (!code)
		code = make_pipes(fd, err);
	if (code)
		goto out;
	pid = fork();
	if (pid < 0) {
		code = kf_fail_errno(err, "cannot start %s", spec->argv[0]);
		goto out;
	}
	if (pid == 0)
		keep(spec, program, &(struct child_fds) {
			fd[0][0], fd[1][1], fd[2][1], fd[3][1],
		}, self);
	setpgid(pid, pid);
	close_fd(&fd[0][0]);
	close_fd(&fd[1][1]);
	close_fd(&fd[2][1]);
	close_fd(&fd[3][1]);
	failure = start_failure(fd[3][0]);
	if (failure) {
		waitpid(pid, &status, 0);
		code = kf_fail(err, KF_E_UNAVAIL, "cannot start %s: %s",
			       spec->argv[0], strerror(failure));
		goto out;
	}
	pipes[0] = fd[0][1];
	pipes[1] = fd[1][0];
	pipes[2] = fd[2][0];
	fd[0][1] = fd[1][0] = fd[2][0] = -1;
	for (int i = 0; i < 3; i++)
		fcntl(pipes[i], F_SETFL, O_NONBLOCK);
	converse(spec, pid, pipes, out, errout, end, &status);
	for (int i = 0; i < 3; i++)
		close_fd(&pipes[i]);
	kill(-pid, SIGKILL);	/* whatever it left behind in its group */
	if (WIFSIGNALED(status))
		end->signal = WTERMSIG(status);
	else
		end->exit_code = WEXITSTATUS(status);
out:
	for (int i = 0; i < 4; i++) {
		close_fd(&fd[i][0]);
		close_fd(&fd[i][1]);
	}
	free(program);
	return code;
}
