#include "sandbox/orphans.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/bwrap.h"
#include "sandbox/usage.h"

#define END_NS (5 * KF_NS_PER_S)
#define LOOK_NS (KF_NS_PER_MS / 2)

struct search {
	const pid_t *spared;
	size_t count;
	const char *bwrap;	/* as the kernel names it; or NULL */
	size_t left;		/* bubblewraps that are not dead yet */
};

void kf_orphans_adopt(void)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1);
}

static void look_at(void *arg, pid_t pid, const char *name)
{
	struct search *s = arg;

	for (size_t i = 0; i < s->count; i++)
		if (s->spared[i] == pid)
			return;
	if (s->bwrap && strcmp(name, s->bwrap) == 0) {
		kill(pid, SIGKILL);
		s->left++;
	}
	waitpid(pid, NULL, WNOHANG);
}

/* A bubblewrap that is reaped has left its first process to us: the next look
 * sees it. */
void kf_orphans_end(const pid_t *spared, size_t count)
{
	uint64_t end_ns = kf_now_ns() + END_NS;
	char *path = kf_bwrap_find();
	char *name = path ? kf_usage_name(path) : NULL;
	struct search s = { .spared = spared, .count = count, .bwrap = name };

	do {
		s.left = 0;
		kf_usage_children(getpid(), look_at, &s);
		if (s.left)
			kf_sleep_ns(LOOK_NS);
	} while (s.left && kf_now_ns() < end_ns);
	free(path);
	free(name);
}
