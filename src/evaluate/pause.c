#include "evaluate/pause.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SETTLE_NS	KF_NS_PER_S
#define LOOK_NS		20000		/* before each look, which costs more */
#define SLACK_NS	1000ul		/* how late the kernel may wake us */
#define STAT_BYTES	256u		/* holds the name and the state */

void kf_pause_init(struct kf_pause *pause, pid_t pid)
{
	*pause = (struct kf_pause) { .pid = pid, .fd = -1 };
	prctl(PR_SET_TIMERSLACK, SLACK_NS);
	if (pid)
		pause->fd = (int)syscall(SYS_pidfd_open, pid, 0);
}

void kf_pause_release(struct kf_pause *pause)
{
	if (pause->fd >= 0)
		close(pause->fd);
	*pause = (struct kf_pause) { .fd = -1 };
}

static bool send(const struct kf_pause *pause, int signal)
{
	long rc = !pause->pid ? 0 : pause->fd >= 0
		? syscall(SYS_pidfd_send_signal, pause->fd, signal, NULL, 0)
		: kill(pause->pid, signal);

	return rc == 0 || errno == ESRCH;
}

bool kf_pause_begin(struct kf_pause *pause)
{
	return send(pause, SIGSTOP);
}

void kf_pause_end(struct kf_pause *pause)
{
	(void)send(pause, SIGCONT);
}

/* Does this thread stand still for good? The state follows the name, which
 * stands in brackets and may hold brackets of its own. */
static bool stands(int folder, const char *name)
{
	char path[64], text[STAT_BYTES + 1], *at;
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "%.32s/stat", name);
	fd = openat(folder, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return true;		/* it has just ended */
	got = read(fd, text, STAT_BYTES);
	close(fd);
	if (got <= 0)
		return true;
	text[got] = '\0';
	at = strrchr(text, ')');
	return at && at[1] == ' ' && strchr("TtZXx", at[2]) && at[2];
}

/* A thread that is to stop makes no new ones, so one look at each is enough. */
static bool all_stand(const struct kf_pause *pause)
{
	char path[64];
	struct dirent *entry;
	bool all = true;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pause->pid);
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT || errno == ESRCH;
	while (all && (entry = readdir(dir)))
		all = entry->d_name[0] == '.' ||
			stands(dirfd(dir), entry->d_name);
	closedir(dir);
	return all;
}

bool kf_pause_settle(const struct kf_pause *pause)
{
	struct timespec wait = { .tv_nsec = LOOK_NS };
	uint64_t deadline_ns = kf_now_ns() + SETTLE_NS;

	do {
		if (kf_now_ns() > deadline_ns)
			return false;
		nanosleep(&wait, NULL);
	} while (!all_stand(pause));
	return true;
}
