#include "platform/apart.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define DIE_NS		(5 * KF_NS_PER_S)
#define DIE_POLL_NS	(200 * UINT64_C(1000))

/* What a child keeps, by these numbers. */
enum { RESULT_FD = 3, ALIVE_FD, LINE_FD = 3 };

static void silence(void)
{
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; fd <= 2; fd++)
		if (null_fd >= 0)
			dup2(null_fd, fd);
}

/* The child, first: it has a group of its own, dies with its parent, and keeps
 * these descriptors alone, from the number 3 on: where a driver does not let it
 * die it outlives us, and what we have locked must not be so for longer. */
static void leave(pid_t parent, const int *fd, int count)
{
	int high[2];

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	for (int i = 0; i < count; i++)
		high[i] = fcntl(fd[i], F_DUPFD_CLOEXEC, 3 + count);
	for (int i = 0; i < count; i++)
		if (high[i] < 0 || dup3(high[i], 3 + i, O_CLOEXEC) < 0)
			_exit(1);
	silence();
	kf_close_from(3 + (unsigned)count);
}

/* The child: never returns. */
static _Noreturn void work(kf_apart_fn *fn, void *arg, size_t result_max,
			   int result_fd, int alive_fd, pid_t parent)
{
	struct kf_buf out = { .max = result_max };
	size_t at = 0;

	leave(parent, (const int[]) { result_fd, alive_fd }, 2);
	fn(arg, &out);
	while (at < out.len) {
		ssize_t n = write(RESULT_FD, out.data + at, out.len - at);

		if (n <= 0)
			_exit(1);
		at += (size_t)n;
	}
	_exit(write(ALIVE_FD, "", 1) == 1 ? 0 : 1);
}

enum kf_code kf_apart_start(kf_apart_fn *fn, void *arg, size_t result_max,
			    struct kf_apart *out, struct kf_err *err)
{
	pid_t parent = getpid();
	int alive[2];

	*out = (struct kf_apart) { .pid = -1, .result_fd = -1,
				   .alive_fd = -1 };
	out->result_fd = memfd_create("kforge-apart", MFD_CLOEXEC);
	if (out->result_fd < 0)
		return kf_fail_errno(err, "cannot make shared memory");
	if (pipe2(alive, O_CLOEXEC)) {
		close(out->result_fd);
		return kf_fail_errno(err, "cannot make a pipe");
	}
	out->alive_fd = alive[0];
	out->pid = fork();
	if (out->pid == 0)
		work(fn, arg, result_max, out->result_fd, alive[1], parent);
	close(alive[1]);
	if (out->pid > 0)
		return KF_OK;
	close(alive[0]);
	close(out->result_fd);
	return kf_fail_errno(err, "cannot start a process");
}

enum ending { STILL_RUNNING, HAS_ANSWERED, HAS_GONE };

/* Its last act is a byte; if it goes without, its end of the pipe closes (once
 * what it started has gone too). */
static enum ending wait_for_end(const struct kf_apart *apart,
				uint64_t timeout_ns)
{
	char byte;

	if (!kf_wait_readable(apart->alive_fd, timeout_ns))
		return STILL_RUNNING;
	return read(apart->alive_fd, &byte, 1) == 1 ? HAS_ANSWERED : HAS_GONE;
}

static enum kf_code read_result(int fd, struct kf_buf *result,
				struct kf_err *err)
{
	char chunk[65536];
	off_t at = 0;
	ssize_t n;

	while ((n = pread(fd, chunk, sizeof(chunk), at)) > 0) {
		if (!kf_buf_add(result, chunk, (size_t)n))
			return kf_fail(err, KF_E_LIMIT, "a process of ours "
				       "answers more than %zu bytes",
				       result->max);
		at += n;
	}
	return n ? kf_fail_errno(err, "cannot read an answer") : KF_OK;
}

/* One that hangs in a driver dies when the driver lets it: it is not waited for
 * for ever. */
static bool reap(pid_t pid, int *status)
{
	uint64_t end_ns = kf_now_ns() + DIE_NS;
	pid_t got = 0;

	while (got != pid) {
		got = waitpid(pid, status, WNOHANG);
		if (got < 0 && errno != EINTR)
			return true;
		if (got == pid)
			break;
		if (kf_now_ns() > end_ns)
			return false;
		kf_sleep_ns(DIE_POLL_NS);
	}
	return true;
}

enum kf_code kf_apart_finish(struct kf_apart *apart, uint64_t timeout_ns,
			     struct kf_buf *result, struct kf_apart_end *end,
			     struct kf_err *err)
{
	enum ending ending = wait_for_end(apart, timeout_ns);
	enum kf_code code = KF_OK;
	int status = 0;

	*end = (struct kf_apart_end) { .timed_out = ending == STILL_RUNNING };
	/* With what it left running. */
	kill(-apart->pid, SIGKILL);
	if (ending == STILL_RUNNING)
		kill(apart->pid, SIGKILL);
	end->stuck = !reap(apart->pid, &status);
	end->timed_out |= end->stuck;
	if (ending == HAS_GONE && WIFSIGNALED(status))
		end->signal = WTERMSIG(status);
	if (ending == HAS_ANSWERED)
		code = read_result(apart->result_fd, result, err);
	close(apart->alive_fd);
	close(apart->result_fd);
	*apart = (struct kf_apart) { .pid = -1, .result_fd = -1,
				     .alive_fd = -1 };
	return code;
}

/* --- a process that stays ------------------------------------------------- */

/* The child: never returns. */
static _Noreturn void serve(kf_apart_answer_fn *answer, void *arg,
			    size_t answer_bytes, int fd, pid_t parent)
{
	char *out = kf_alloc(answer_bytes);
	bool sent = true;
	int question;

	leave(parent, &fd, 1);
	while (sent && recv(LINE_FD, &question, sizeof(question), 0) ==
			       (ssize_t)sizeof(question)) {
		memset(out, 0, answer_bytes);
		answer(arg, question, out);
		sent = send(LINE_FD, out, answer_bytes, MSG_NOSIGNAL) ==
			(ssize_t)answer_bytes;
	}
	_exit(0);
}

enum kf_code kf_apart_line_open(const char *name, kf_apart_answer_fn *answer,
				void *arg, size_t answer_bytes,
				struct kf_apart_line *out, struct kf_err *err)
{
	pid_t parent = getpid();
	int end[2];

	*out = (struct kf_apart_line) { .answer_bytes = answer_bytes,
					.name = name };
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, end))
		return kf_fail_errno(err, "cannot make a pair of sockets");
	out->fd = end[0];
	out->pid = fork();
	if (out->pid == 0)
		serve(answer, arg, answer_bytes, end[1], parent);
	close(end[1]);
	if (out->pid > 0)
		return KF_OK;
	*out = (struct kf_apart_line) { 0 };
	close(end[0]);
	return kf_fail_errno(err, "cannot start a process");
}

enum kf_code kf_apart_line_ask(struct kf_apart_line *line, int question,
			       void *answer, uint64_t timeout_ns,
			       struct kf_err *err)
{
	if (send(line->fd, &question, sizeof(question), MSG_NOSIGNAL) ==
		    (ssize_t)sizeof(question) &&
	    !kf_wait_readable(line->fd, timeout_ns))
		return kf_fail(err, KF_E_TIMEOUT, "%s did not answer within "
			       "%.3g s: the device's driver hangs", line->name,
			       (double)timeout_ns * 1e-9);
	if (recv(line->fd, answer, line->answer_bytes, MSG_DONTWAIT) !=
	    (ssize_t)line->answer_bytes)
		return kf_fail(err, KF_E_UNAVAIL, "%s crashed when it was "
			       "asked", line->name);
	return KF_OK;
}

void kf_apart_line_close(struct kf_apart_line *line)
{
	int status;

	if (line->pid <= 0)
		return;
	close(line->fd);
	kill(-line->pid, SIGKILL);
	kill(line->pid, SIGKILL);
	(void)reap(line->pid, &status);
	*line = (struct kf_apart_line) { 0 };
}
