/*
 * trace - runs a program and interferes with its N-th system call.
 *
 *	trace [--at N [--before|--after] [--signal S | --errno E]]
 *	      [--report FILE] COMMAND...
 *
 * Counted are the calls that write, make, rename, remove, sync or spawn, of
 * the program's own threads; its children run untraced. At the N-th of them
 * (from 1) the program is killed before the call happens or after it returned,
 * gets signal S instead, or sees the call fail with error E.
 *
 * FILE gets one line for each counted call that began:
 *	NUMBER <tab> NAME <tab> RESULT <tab> FILE OR ARGUMENT
 * where RESULT is "-" for one that never returned, and a line "orphan" for
 * each process that is still there ORPHAN_S seconds after the program's end.
 *
 * Ends with the program's status, 128 + N where signal N killed it, or 125
 * after trouble of its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef __x86_64__
#error "trace changes registers as x86-64 names them"
#endif

#define ORPHAN_S 10
#define THREADS_MAX 256
#define TROUBLE 125
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* What tells one call of a kind from another. */
enum about { NOTHING, PATH0, PATH1, FD0, FD1, OPEN1 };

static const struct call { long number; const char *name; enum about about; }
calls[] = {
	{ SYS_write, "write", FD0 },
	{ SYS_pwrite64, "pwrite64", FD0 },
	{ SYS_writev, "writev", FD0 },
	{ SYS_pwritev, "pwritev", FD0 },
	{ SYS_pwritev2, "pwritev2", FD0 },
	{ SYS_sendfile, "sendfile", FD0 },
	{ SYS_copy_file_range, "copy_file_range", FD1 },
	{ SYS_splice, "splice", NOTHING },
	{ SYS_sendto, "sendto", FD0 },
	{ SYS_sendmsg, "sendmsg", FD0 },
	{ SYS_open, "open", PATH0 },
	{ SYS_openat, "openat", OPEN1 },
	{ SYS_openat2, "openat2", PATH1 },
	{ SYS_creat, "creat", PATH0 },
	{ SYS_truncate, "truncate", PATH0 },
	{ SYS_ftruncate, "ftruncate", FD0 },
	{ SYS_fallocate, "fallocate", FD0 },
	{ SYS_rename, "rename", PATH1 },
	{ SYS_renameat, "renameat", PATH1 },
	{ SYS_renameat2, "renameat2", PATH1 },
	{ SYS_link, "link", PATH1 },
	{ SYS_linkat, "linkat", PATH1 },
	{ SYS_symlink, "symlink", PATH1 },
	{ SYS_symlinkat, "symlinkat", NOTHING },
	{ SYS_unlink, "unlink", PATH0 },
	{ SYS_unlinkat, "unlinkat", PATH1 },
	{ SYS_rmdir, "rmdir", PATH0 },
	{ SYS_mkdir, "mkdir", PATH0 },
	{ SYS_mkdirat, "mkdirat", PATH1 },
	{ SYS_mknod, "mknod", PATH0 },
	{ SYS_mknodat, "mknodat", PATH1 },
	{ SYS_chmod, "chmod", PATH0 },
	{ SYS_fchmod, "fchmod", FD0 },
	{ SYS_fsync, "fsync", FD0 },
	{ SYS_fdatasync, "fdatasync", FD0 },
	{ SYS_syncfs, "syncfs", FD0 },
	{ SYS_sync, "sync", NOTHING },
	{ SYS_sync_file_range, "sync_file_range", FD0 },
	{ SYS_msync, "msync", NOTHING },
	{ SYS_fork, "fork", NOTHING },
	{ SYS_vfork, "vfork", NOTHING },
	{ SYS_clone, "clone", NOTHING },
	{ SYS_clone3, "clone3", NOTHING },
	{ SYS_execve, "execve", PATH0 },
	{ SYS_execveat, "execveat", PATH1 },
};

enum deed { WATCH, KILL, SIGNAL, FAIL };

struct plan {
	unsigned long at;	/* 0: nowhere */
	bool before;
	enum deed deed;
	int number;		/* of the signal or error */
};

struct thread {
	pid_t tid;
	bool inside;		/* between a call's entry and its exit */
	unsigned long counted;	/* number of that call; 0: not counted */
	long line;		/* where its line of the report begins */
};

struct trace {
	struct plan plan;
	pid_t pid;
	FILE *report;
	struct thread thread[THREADS_MAX];
	unsigned long count;
};

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "trace: %s: %s\n", what, strerror(errno));
	exit(TROUBLE);
}

static struct thread *thread_of(struct trace *t, pid_t tid)
{
	for (size_t i = 0; i < THREADS_MAX; i++)
		if (t->thread[i].tid == tid)
			return &t->thread[i];
	for (size_t i = 0; i < THREADS_MAX; i++) {
		if (t->thread[i].tid)
			continue;
		t->thread[i] = (struct thread) { .tid = tid };
		return &t->thread[i];
	}
	errno = ENOBUFS;
	die("too many threads");
}

/* --- one call ------------------------------------------------------------- */

static const struct call *find_call(const struct user_regs_struct *regs)
{
	long number = (long)regs->orig_rax;

	for (size_t i = 0; i < COUNT(calls); i++) {
		if (calls[i].number != number)
			continue;
		if (calls[i].about == OPEN1 &&
		    !(regs->rdx & (O_CREAT | O_TRUNC)))
			return NULL;
		if (number == SYS_open && !(regs->rsi & (O_CREAT | O_TRUNC)))
			return NULL;
		return &calls[i];
	}
	return NULL;
}

static void read_path(pid_t tid, unsigned long long at, char out[PATH_MAX])
{
	size_t len = 0;

	/* By pieces that do not cross a page, for the next may be absent. */
	while (len < PATH_MAX - 1) {
		size_t piece = 256 - (at + len) % 256;
		struct iovec to = { out + len, piece };
		struct iovec from = { (void *)(uintptr_t)(at + len), piece };

		if (len + piece >= PATH_MAX ||
		    process_vm_readv(tid, &to, 1, &from, 1, 0) !=
		    (ssize_t)piece)
			break;
		if (memchr(out + len, '\0', piece))
			return;
		len += piece;
	}
	out[len] = '\0';
}

static void read_link(pid_t tid, unsigned long long fd, char out[PATH_MAX])
{
	char name[64];
	ssize_t len;

	snprintf(name, sizeof(name), "/proc/%d/fd/%llu", tid, fd);
	len = readlink(name, out, PATH_MAX - 1);
	out[len > 0 ? len : 0] = '\0';
}

static void describe(const struct call *call, pid_t tid,
		     const struct user_regs_struct *regs, char out[PATH_MAX])
{
	out[0] = '\0';
	switch (call->about) {
	case NOTHING:
		break;
	case PATH0:
		read_path(tid, regs->rdi, out);
		break;
	case PATH1:
	case OPEN1:
		read_path(tid, regs->rsi, out);
		break;
	case FD0:
		read_link(tid, regs->rdi, out);
		break;
	case FD1:
		read_link(tid, regs->rdx, out);
		break;
	}
}

/* The call does not happen. */
static void leave_out(pid_t tid, struct user_regs_struct *regs)
{
	regs->orig_rax = (unsigned long long)-1;
	if (ptrace(PTRACE_SETREGS, tid, NULL, regs))
		die("cannot leave a call out");
}

static void enter(struct trace *t, struct thread *thread)
{
	struct user_regs_struct regs;
	const struct call *call;
	char about[PATH_MAX];
	bool here;

	if (ptrace(PTRACE_GETREGS, thread->tid, NULL, &regs))
		return;
	call = find_call(&regs);
	thread->counted = 0;
	if (!call)
		return;
	thread->counted = ++t->count;
	describe(call, thread->tid, &regs, about);
	if (t->report) {
		fprintf(t->report, "%lu\t%s\t", t->count, call->name);
		fflush(t->report);
		thread->line = ftell(t->report);
		/* Room for the result, which is filled in at its exit. */
		fprintf(t->report, "%-21s\t%s\n", "-", about);
		fflush(t->report);
	}
	here = t->count == t->plan.at;
	if (here && (t->plan.before || t->plan.deed == FAIL))
		leave_out(thread->tid, &regs);
	if (here && t->plan.before && t->plan.deed == KILL)
		kill(t->pid, SIGKILL);
}

static void leave(struct trace *t, struct thread *thread)
{
	struct user_regs_struct regs;
	bool here = thread->counted && thread->counted == t->plan.at;

	if (!thread->counted ||
	    ptrace(PTRACE_GETREGS, thread->tid, NULL, &regs))
		return;
	if (here && t->plan.deed == FAIL) {
		regs.rax = (unsigned long long)-t->plan.number;
		if (ptrace(PTRACE_SETREGS, thread->tid, NULL, &regs))
			die("cannot make a call fail");
	}
	if (t->report) {
		fseek(t->report, thread->line, SEEK_SET);
		fprintf(t->report, "%-21lld", (long long)regs.rax);
		fseek(t->report, 0, SEEK_END);
		fflush(t->report);
	}
	if (here && t->plan.deed == KILL)
		kill(t->pid, SIGKILL);
	if (here && t->plan.deed == SIGNAL)
		kill(t->pid, t->plan.number);
}

/* --- the program ---------------------------------------------------------- */

static pid_t begin(char **command)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		die("cannot fork");
	if (pid == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			_exit(TROUBLE);
		raise(SIGSTOP);
		execv(command[0], command);
		_exit(TROUBLE);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		die("cannot trace");
	/* Threads are followed; what is forked is a child and is not. */
	if (ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACESYSGOOD |
		   PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC |
		   PTRACE_O_EXITKILL))
		die("cannot set the options of tracing");
	ptrace(PTRACE_SYSCALL, pid, NULL, 0);
	return pid;
}

/* What a stopped thread is to be continued with: a signal, or 0. */
static int handle_stop(struct trace *t, pid_t tid, int status)
{
	struct thread *thread = thread_of(t, tid);
	int number = WSTOPSIG(status);

	if (number == (SIGTRAP | 0x80)) {
		if (thread->inside)
			leave(t, thread);
		else
			enter(t, thread);
		thread->inside = !thread->inside;
		return 0;
	}
	if (number == SIGTRAP && status >> 16)
		return 0;		/* a new thread, a new program */
	if (number == SIGSTOP && tid != t->pid)
		return 0;		/* how a new thread begins */
	return number;
}

/* Runs it to its end and gives its wait status. */
static int follow(struct trace *t)
{
	int status;

	for (;;) {
		pid_t tid = waitpid(-1, &status, __WALL);

		if (tid < 0)
			die("cannot wait");
		if (WIFSTOPPED(status)) {
			int number = handle_stop(t, tid, status);

			ptrace(PTRACE_SYSCALL, tid, NULL, number);
		} else if (tid == t->pid) {
			return status;
		} else {
			thread_of(t, tid)->tid = 0;
		}
	}
}

/* --- what it left behind -------------------------------------------------- */

static volatile sig_atomic_t too_late;

static void on_alarm(int number)
{
	(void)number;
	too_late = 1;
}

static void name_of(int pid, char out[256])
{
	char path[64];
	FILE *f;
	size_t got = 0;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	f = fopen(path, "re");
	if (f) {
		got = fread(out, 1, 255, f);
		fclose(f);
	}
	for (size_t i = 0; i < got; i++)
		if ((unsigned char)out[i] < ' ')
			out[i] = ' ';
	out[got] = '\0';
}

/* Every process whose parents are gone is a child of this one now. */
static void report_orphans(FILE *report)
{
	FILE *list = fopen("/proc/thread-self/children", "re");
	char about[256];
	int pid;

	while (list && fscanf(list, "%d", &pid) == 1) {
		name_of(pid, about);
		if (report)
			fprintf(report, "orphan\t%d\t%s\n", pid, about);
		kill(pid, SIGKILL);
	}
	if (list)
		fclose(list);
}

static void wait_for_orphans(FILE *report)
{
	struct sigaction action = { .sa_handler = on_alarm };

	sigaction(SIGALRM, &action, NULL);
	alarm(ORPHAN_S);
	for (;;) {
		pid_t pid = waitpid(-1, NULL, __WALL);

		if (pid < 0 && errno == ECHILD)
			return;
		if (too_late) {
			report_orphans(report);
			too_late = 0;
		}
	}
}

/* --- the command line ----------------------------------------------------- */

static unsigned long number_of(const char *text)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10);

	if (!text[0] || *end) {
		errno = EINVAL;
		die(text);
	}
	return number;
}

static char **parse(char **word, struct trace *t)
{
	for (; *word && word[0][0] == '-'; word++) {
		if (strcmp(*word, "--before") == 0) {
			t->plan.before = true;
			continue;
		}
		if (strcmp(*word, "--after") == 0)
			continue;
		if (!word[1])
			break;
		if (strcmp(*word, "--report") == 0) {
			t->report = fopen(*++word, "we");
			if (!t->report)
				die(*word);
		} else if (strcmp(*word, "--at") == 0) {
			t->plan.at = number_of(*++word);
		} else if (strcmp(*word, "--signal") == 0) {
			t->plan.deed = SIGNAL;
			t->plan.number = (int)number_of(*++word);
		} else if (strcmp(*word, "--errno") == 0) {
			t->plan.deed = FAIL;
			t->plan.number = (int)number_of(*++word);
		}
	}
	return word;
}

int main(int argc, char **argv)
{
	static struct trace t = { .plan = { .deed = KILL } };
	char **command = parse(argv + 1, &t);
	int status;

	if (argc < 2 || !command[0]) {
		fprintf(stderr, "usage: trace [--at N [--before|--after] "
			"[--signal S|--errno E]] [--report FILE] "
			"COMMAND...\n");
		return TROUBLE;
	}
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
		die("cannot adopt orphans");
	t.pid = begin(command);
	status = follow(&t);
	wait_for_orphans(t.report);
	if (t.report && fclose(t.report))
		die("cannot write the report");
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status)
				   : WEXITSTATUS(status);
}
