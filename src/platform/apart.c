#include "platform/apart.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define DIE_NS		(5 * KF_NS_PER_S)
#define DIE_POLL_NS	(200 * UINT64_C(1000))

static void silence(void)
{
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; fd <= 2; fd++)
		if (null_fd >= 0)
			dup2(null_fd, fd);
}

/* The child: never returns. */
static _Noreturn void work(kf_apart_fn *fn, void *arg, size_t result_max,
			   int result_fd, int alive_fd, pid_t parent)
{
	struct kf_buf out = { .max = result_max };
	size_t at = 0;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	silence();
	fn(arg, &out);
	while (at < out.len) {
		ssize_t n = write(result_fd, out.data + at, out.len - at);

		if (n <= 0)
			_exit(1);
		at += (size_t)n;
	}
	_exit(write(alive_fd, "", 1) == 1 ? 0 : 1);
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
