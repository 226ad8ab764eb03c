/* A trusted tool in a process of its own, for as long as calls are made. */
#include "profile/profiler.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define ANSWER_NS	(10 * KF_NS_PER_S)
#define START_NS	(KF_NS_PER_S / 2)	/* for one that does not answer */
#define END_NS		(20 * KF_NS_PER_S)
#define LOOK_NS		(10 * KF_NS_PER_MS)
#define CONTROL_FD	3	/* as {control} names them */
#define ANSWER_FD	4

/* Where none of the numbers that are to be taken is in use. */
static int high(int fd)
{
	return fcntl(fd, F_DUPFD, 16);
}

static _Noreturn void become(const char *const *argv, const char *program,
			     int said, int control, int answer, pid_t parent)
{
	static char *const env[] = { "LC_ALL=C", "PATH=/usr/local/sbin:"
		"/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", NULL };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(127);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	setpgid(0, 0);
	said = high(said);
	control = control < 0 ? -1 : high(control);
	answer = answer < 0 ? -1 : high(answer);
	dup2(said, 1);
	dup2(said, 2);
	if (control >= 0) {
		dup2(control, CONTROL_FD);
		dup2(answer, ANSWER_FD);
	}
	execve(program, (char *const *)(uintptr_t)argv, env);
	_exit(127);
}

static void close_all(const int *fd, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (fd[i] >= 0)
			close(fd[i]);
}

enum kf_code kf_beside_start(const char *const *argv, const char *said_path,
			     bool controlled, struct kf_beside *out,
			     struct kf_err *err)
{
	char *program = kf_proc_which(argv[0]);
	int fd[5] = { -1, -1, -1, -1, -1 };	/* said, control, answer */
	pid_t parent = getpid(), pid = -1;

	*out = (struct kf_beside) { .control_fd = -1, .answer_fd = -1 };
	if (!program)
		return kf_fail(err, KF_E_UNAVAIL, "cannot start %s: there is "
			       "no such program", argv[0]);
	fd[0] = open(said_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
		     0600);
	if (fd[0] >= 0 && (!controlled || (!pipe2(fd + 1, O_CLOEXEC) &&
					   !pipe2(fd + 3, O_CLOEXEC))))
		pid = fork();
	if (pid == 0)
		become(argv, program, fd[0], fd[1], fd[4], parent);
	free(program);
	if (pid < 0) {
		close_all(fd, KF_COUNT(fd));
		return kf_fail_errno(err, "cannot start %s", argv[0]);
	}
	*out = (struct kf_beside) { pid, fd[2], fd[3] };
	fd[2] = fd[3] = -1;
	close_all(fd, KF_COUNT(fd));
	return KF_OK;
}

static bool ended(struct kf_beside *b)
{
	if (b->pid && waitpid(b->pid, NULL, WNOHANG) != 0)
		b->pid = 0;
	return !b->pid;
}

/* Says it and waits for the answer. */
static bool tell(struct kf_beside *b, const char *word)
{
	void (*before)(int) = signal(SIGPIPE, SIG_IGN);
	size_t len = strlen(word);
	char answer[64];
	bool good;

	good = write(b->control_fd, word, len) == (ssize_t)len &&
		kf_wait_readable(b->answer_fd, ANSWER_NS) &&
		read(b->answer_fd, answer, sizeof(answer)) > 0;
	signal(SIGPIPE, before);
	return good;
}

bool kf_beside_begin(struct kf_beside *b)
{
	if (b->control_fd >= 0)
		return tell(b, "enable\n");
	kf_sleep_ns(START_NS);
	return !ended(b);
}

void kf_beside_end(struct kf_beside *b)
{
	uint64_t end_ns;

	if (b->control_fd >= 0 && !ended(b))
		(void)tell(b, "disable\n");
	if (!ended(b))
		kill(b->pid, SIGINT);
	end_ns = kf_now_ns() + END_NS;
	while (!ended(b) && kf_now_ns() < end_ns)
		kf_sleep_ns(LOOK_NS);
	if (!ended(b)) {
		kill(-b->pid, SIGKILL);
		waitpid(b->pid, NULL, 0);
		b->pid = 0;
	}
	if (b->control_fd >= 0)
		close(b->control_fd);
	if (b->answer_fd >= 0)
		close(b->answer_fd);
	b->control_fd = b->answer_fd = -1;
}
