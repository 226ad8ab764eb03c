/*
 * child.h - the steps between fork and exec.
 *
 * Everything is decided before the fork, for the supervisor may have threads:
 * the child only makes system calls.
 */
#ifndef KF_SANDBOX_CHILD_H
#define KF_SANDBOX_CHILD_H

#include <linux/filter.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "sandbox/sandbox.h"

#define KF_CHILD_FD_MAX (KF_SANDBOX_FD_PASS_MAX + 4)
#define KF_CHILD_RLIMITS 12

struct kf_child {
	const char *program;	/* for execve */
	char **argv, **env;
	const char *cwd;	/* NULL: stays */
	int in, out, errout;	/* become 0, 1, 2 */
	struct kf_fd_pass fd[KF_CHILD_FD_MAX];
	size_t fd_count;
	struct { int resource; struct rlimit value; } rlimit[KF_CHILD_RLIMITS];
	size_t rlimit_count;
	int report_fd;		/* closed by exec; else gets a kf_child_trouble */
	pid_t parent;		/* die if it is gone already */

	/* Weak tier only. */
	bool confine;
	int landlock_fd;	/* -1: this kernel has none */
	struct sock_fprog filter;
};

/* What went wrong in the child, sent over report_fd. */
struct kf_child_trouble {
	int number;		/* errno */
	char step[32];
};

void kf_child_limit(struct kf_child *child, int resource, uint64_t soft,
		    uint64_t hard);
/* Never returns. */
_Noreturn void kf_child_become(const struct kf_child *child);
/* Signal handling as a fresh process expects it. */
void kf_child_reset_signals(void);

#endif
