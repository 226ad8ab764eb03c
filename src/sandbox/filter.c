#include "sandbox/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sandbox/filter_calls.h"

#define NAMESPACES (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | \
		    CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)
#define THREAD (CLONE_VM | CLONE_SIGHAND | CLONE_THREAD)
#define PR_NAME_MEMORY 0x53564d41	/* PR_SET_VMA: names a mapping */
#define IOPRIO_PROCESS 1		/* IOPRIO_WHO_PROCESS */
#define IOCTL_TCGETS 0x5401		/* what isatty asks */

/* One conditional rule: `name` with argument `arg` compared as told. */
struct when {
	uint32_t action;
	const char *name;
	unsigned arg;
	enum scmp_compare op;
	uint64_t a, b;
};

/* Adds rules to a context and remembers the first failure, so that callers
 * can be tables. */
struct builder {
	scmp_filter_ctx ctx;
	int failure;		/* 0 or a negative errno */
	const char *culprit;
};

static void note(struct builder *b, const char *name, int rc)
{
	/* -EACCES: the rule repeats the default action, which is harmless. */
	if (rc == 0 || rc == -EACCES || b->failure)
		return;
	b->failure = rc;
	b->culprit = name;
}

static void add(struct builder *b, uint32_t action, const char *name)
{
	int number = seccomp_syscall_resolve_name(name);

	/* Names newer than the library, or of another machine, have no number;
	 * an allow-list loses nothing by it, and a deny-list gives the numbers
	 * of those that matter in filter_calls.h. */
	if (number != __NR_SCMP_ERROR)
		note(b, name, seccomp_rule_add(b->ctx, action, number, 0));
}

static void add_all(struct builder *b, uint32_t action,
		    const char *const *names)
{
	for (; *names; names++)
		add(b, action, *names);
}

static void add_when(struct builder *b, const struct when *w, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct scmp_arg_cmp cmp = { w[i].arg, w[i].op, w[i].a, w[i].b };
		int number = seccomp_syscall_resolve_name(w[i].name);

		if (number != __NR_SCMP_ERROR)
			note(b, w[i].name,
			     seccomp_rule_add_array(b->ctx, w[i].action,
						    number, 1, &cmp));
	}
}

static int export(struct builder *b, struct kf_err *err)
{
	int fd = -1, rc = b->failure;

	if (!rc) {
		fd = memfd_create("kforge-filter", MFD_CLOEXEC);
		rc = fd < 0 ? -errno : seccomp_export_bpf(b->ctx, fd);
	}
	if (!rc && lseek(fd, 0, SEEK_SET) != 0)
		rc = -errno;
	if (rc) {
		kf_fail(err, KF_E_UNAVAIL,
			"cannot make the system call filter%s%s: %s",
			b->culprit ? ": " : "", b->culprit ? b->culprit : "",
			strerror(-rc));
		if (fd >= 0)
			close(fd);
		fd = -1;
	}
	seccomp_release(b->ctx);
	return fd;
}

static bool begin(struct builder *b, uint32_t otherwise, struct kf_err *err)
{
	*b = (struct builder) { .ctx = seccomp_init(otherwise) };
	if (!b->ctx) {
		kf_fail(err, KF_E_UNAVAIL, "cannot make a system call filter");
		return false;
	}
	/* Calls of another architecture's table have no honest use. */
	note(b, "architecture",
	     seccomp_attr_set(b->ctx, SCMP_FLTATR_ACT_BADARCH,
			      SCMP_ACT_KILL_PROCESS));
	/* A tree instead of a chain: a candidate that asks for the time in a
	 * loop should not pay for the length of our list. */
	note(b, "optimize",
	     seccomp_attr_set(b->ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2));
	return true;
}

int kf_filter_common_fd(enum kf_filter_company company, struct kf_err *err)
{
	const uint32_t refuse = SCMP_ACT_ERRNO(EPERM);
	const struct when always[] = {
		{ refuse, "clone", 0, SCMP_CMP_MASKED_EQ, CLONE_NEWNS, CLONE_NEWNS },
		{ refuse, "clone", 0, SCMP_CMP_MASKED_EQ, CLONE_NEWCGROUP, CLONE_NEWCGROUP },
		{ refuse, "clone", 0, SCMP_CMP_MASKED_EQ, CLONE_NEWUTS, CLONE_NEWUTS },
		{ refuse, "clone", 0, SCMP_CMP_MASKED_EQ, CLONE_NEWIPC, CLONE_NEWIPC },
		{ refuse, "clone", 0, SCMP_CMP_MASKED_EQ, CLONE_NEWUSER, CLONE_NEWUSER },
		{ refuse, "clone", 0, SCMP_CMP_MASKED_EQ, CLONE_NEWPID, CLONE_NEWPID },
		{ refuse, "clone", 0, SCMP_CMP_MASKED_EQ, CLONE_NEWNET, CLONE_NEWNET },
		/* Typing into the terminal that kforge was started from. */
		{ refuse, "ioctl", 1, SCMP_CMP_MASKED_EQ, 0xffffffff, 0x5412 },
		{ refuse, "ioctl", 1, SCMP_CMP_MASKED_EQ, 0xffffffff, 0x541c },
	};
	const struct when local[] = {
		{ SCMP_ACT_ERRNO(EAFNOSUPPORT), "socket", 0, SCMP_CMP_NE, AF_UNIX, 0 },
	};
	/* Without a pid namespace a signal could reach anything of the user's;
	 * what abort() does must remain. */
	const struct when signals[] = {
		{ refuse, "tgkill", 2, SCMP_CMP_NE, SIGABRT, 0 },
	};
	const struct when limits[] = {
		{ refuse, "prlimit64", 0, SCMP_CMP_NE, 0, 0 },
	};
	/* What a program could do to process 1, and so to all that are forked
	 * from it later: limits, processors, priorities, of it or of all. */
	const struct when first[] = {
		{ refuse, "prlimit64", 0, SCMP_CMP_MASKED_EQ, UINT32_MAX, 1 },
		{ refuse, "sched_setaffinity", 0, SCMP_CMP_MASKED_EQ, UINT32_MAX, 1 },
		{ refuse, "sched_setscheduler", 0, SCMP_CMP_MASKED_EQ, UINT32_MAX, 1 },
		{ refuse, "sched_setparam", 0, SCMP_CMP_MASKED_EQ, UINT32_MAX, 1 },
		{ refuse, "sched_setattr", 0, SCMP_CMP_MASKED_EQ, UINT32_MAX, 1 },
		{ refuse, "setpriority", 0, SCMP_CMP_NE, PRIO_PROCESS, 0 },
		{ refuse, "setpriority", 1, SCMP_CMP_MASKED_EQ, UINT32_MAX, 1 },
		{ refuse, "ioprio_set", 0, SCMP_CMP_NE, IOPRIO_PROCESS, 0 },
		{ refuse, "ioprio_set", 1, SCMP_CMP_MASKED_EQ, UINT32_MAX, 1 },
	};
	struct builder b;

	if (!begin(&b, SCMP_ACT_ALLOW, err))
		return -1;
	add_all(&b, SCMP_ACT_TRAP, kf_calls_hostile);
	add_all(&b, refuse, kf_calls_refused);
	if (company != KF_FILTER_TOOL) {
		add_all(&b, SCMP_ACT_TRAP, kf_calls_tracing);
		add_all(&b, refuse, kf_calls_tools);
	}
	/* ENOSYS makes libraries fall back to what we can look into: clone3's
	 * flags lie in memory, where a filter cannot see them. */
	add_all(&b, SCMP_ACT_ERRNO(ENOSYS), kf_calls_absent);
	add_when(&b, always, KF_COUNT(always));
	if (company == KF_FILTER_NAMESPACES) {
		add_when(&b, local, KF_COUNT(local));
		add_when(&b, first, KF_COUNT(first));
	} else if (company != KF_FILTER_TOOL) {
		add_all(&b, refuse, kf_calls_outside);
		add_when(&b, limits, KF_COUNT(limits));
	}
	if (company == KF_FILTER_ALONE) {
		add_all(&b, refuse, kf_calls_signaling);
		add_when(&b, signals, KF_COUNT(signals));
	}
	return export(&b, err);
}

int kf_filter_strict_fd(struct kf_err *err)
{
	const uint64_t writing = O_ACCMODE | O_CREAT | O_TRUNC |
		(O_TMPFILE & ~O_DIRECTORY) | O_APPEND;
	const uint32_t allow = SCMP_ACT_ALLOW;
	const struct when rules[] = {
		/* Threads of this process, nothing else. */
		{ allow, "clone", 0, SCMP_CMP_MASKED_EQ,
		  THREAD | NAMESPACES | CLONE_VFORK | CLONE_PTRACE, THREAD },
		/* Libraries are opened for reading; nothing is ever written. */
		{ allow, "openat", 2, SCMP_CMP_MASKED_EQ, writing, O_RDONLY },
		{ allow, "open", 1, SCMP_CMP_MASKED_EQ, writing, O_RDONLY },
		/* abort(); in a pid namespace there is nobody else to hit. */
		{ allow, "tgkill", 2, SCMP_CMP_EQ, SIGABRT, 0 },
		/* Whoever could handle SIGSYS could hide a violation. */
		{ allow, "rt_sigaction", 0, SCMP_CMP_NE, SIGSYS, 0 },
		{ allow, "prctl", 0, SCMP_CMP_EQ, PR_SET_NAME, 0 },
		{ allow, "prctl", 0, SCMP_CMP_EQ, PR_GET_NAME, 0 },
		{ allow, "prctl", 0, SCMP_CMP_EQ, PR_NAME_MEMORY, 0 },
		/* Limits may be read, not set. */
		{ allow, "prlimit64", 2, SCMP_CMP_EQ, 0, 0 },
		{ allow, "fcntl", 1, SCMP_CMP_EQ, F_GETFL, 0 },
		{ allow, "fcntl", 1, SCMP_CMP_EQ, F_GETFD, 0 },
		{ allow, "fcntl", 1, SCMP_CMP_EQ, F_SETFD, 0 },
		{ SCMP_ACT_ERRNO(ENOTTY), "ioctl", 1, SCMP_CMP_EQ, IOCTL_TCGETS, 0 },
	};
	struct builder b;

	if (!begin(&b, SCMP_ACT_TRAP, err))
		return -1;
	add_all(&b, allow, kf_calls_computing);
	add_all(&b, SCMP_ACT_ERRNO(ENOSYS), kf_calls_absent_strict);
	add_all(&b, SCMP_ACT_ERRNO(EPERM), kf_calls_tuning);
	add_when(&b, rules, KF_COUNT(rules));
	return export(&b, err);
}

int kf_filter_alone_fd(struct kf_err *err)
{
	static const char *const starting[] = { "fork", "vfork", "execve",
						"execveat", NULL };
	const uint32_t refuse = SCMP_ACT_ERRNO(EPERM);
	const struct when process[] = {
		{ refuse, "clone", 0, SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0 },
	};
	struct builder b;

	if (!begin(&b, SCMP_ACT_ALLOW, err))
		return -1;
	add_all(&b, refuse, starting);
	/* Its flags lie in memory; libraries fall back to clone. */
	add(&b, SCMP_ACT_ERRNO(ENOSYS), "clone3");
	add_when(&b, process, KF_COUNT(process));
	return export(&b, err);
}

int kf_sandbox_filter_fd(enum kf_sandbox_profile profile, struct kf_err *err)
{
	if (profile == KF_SANDBOX_HOST)
		return kf_filter_strict_fd(err);
	if (profile == KF_SANDBOX_PYTHON)
		return kf_filter_alone_fd(err);
	return kf_filter_common_fd(KF_FILTER_NAMESPACES, err);
}

void kf_sandbox_syscall_name(int number, char out[48])
{
	char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);

	if (name)
		snprintf(out, 48, "%s", name);
	else
		snprintf(out, 48, "system call %d", number);
	free(name);
}
