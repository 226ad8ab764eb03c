/* The strict filter: what a process does last before it loads a program. */
#include "runner/runner.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <unistd.h>

#define FILTER_MAX	4096u	/* instructions: the kernel's own ceiling */

enum kf_code kf_runner_lock_door(struct kf_err *err)
{
	static struct sock_filter filter[FILTER_MAX];
	struct sock_fprog program = { .filter = filter };
	ssize_t got = pread(KF_RUNNER_FD_FILTER, filter, sizeof(filter), 0);

	if (got <= 0 || (size_t)got % sizeof(filter[0]))
		return kf_fail_errno(err, "cannot read the filter");
	program.len = (unsigned short)((size_t)got / sizeof(filter[0]));
	for (int fd = KF_RUNNER_FD_REQUEST; fd <= KF_RUNNER_FD_FILTER; fd++)
		if (fd != KF_RUNNER_FD_HELLO)
			close(fd);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return kf_fail_errno(err, "cannot install the filter");
	return KF_OK;
}
