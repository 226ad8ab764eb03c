/* A candidate under the host runner's strict filter, which it finds in
 * descriptor 3. Its argument names what it does. A violation prints "violation
 * NUMBER" and exits with 77; "unhandled" before the argument leaves the signal
 * to kill it. */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void on_violation(int number, siginfo_t *info, void *context)
{
	char line[64];
	int len = snprintf(line, sizeof(line), "violation %d\n",
			   info->si_syscall);

	(void)number;
	(void)context;
	if (write(1, line, (size_t)len) < 0)
		_exit(78);
	_exit(77);
}

static int install(int handled)
{
	static struct sock_filter code[16384];
	struct sock_fprog program = { .filter = code };
	struct sigaction action = { .sa_flags = SA_SIGINFO };
	ssize_t got = read(3, code, sizeof(code));

	action.sa_sigaction = on_violation;
	if (handled && sigaction(SIGSYS, &action, NULL))
		return 0;
	program.len = (unsigned short)((size_t)got / sizeof(code[0]));
	return got > 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static void *add(void *arg)
{
	*(int *)arg += 1;
	return NULL;
}

/* What every honest program does. */
static int honest(void)
{
	int count[4] = { 0 };
	pthread_t thread[4];
	struct timespec now, nap = { 0, 1000000 };
	struct rlimit stack;
	char *memory, *page;

	for (int i = 0; i < 4; i++)
		if (pthread_create(&thread[i], NULL, add, &count[i]))
			return 1;
	for (int i = 0; i < 4; i++)
		if (pthread_join(thread[i], NULL) || count[i] != 1)
			return 2;
	memory = malloc(64u << 20);
	if (!memory)
		return 3;
	memset(memory, 1, 64u << 20);
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED || mprotect(page, 4096, PROT_READ) ||
	    munmap(page, 4096) || clock_gettime(CLOCK_MONOTONIC, &now) ||
	    nanosleep(&nap, NULL) || getrlimit(RLIMIT_STACK, &stack))
		return 4;
	free(memory);
	printf("honest %d\n", getpid() > 0);
	return fflush(stdout) ? 5 : 0;
}

static void ignore(int number)
{
	(void)number;
}

static int do_fork(void) { return fork() == 0 ? 0 : 1; }
static int do_vfork(void) { return (int)syscall(SYS_vfork) == 0 ? 0 : 1; }
static int do_exec(void) { return execl("/proc/self/exe", "x", NULL); }
static int do_socket(void) { return socket(AF_UNIX, SOCK_STREAM, 0); }
static int do_socketpair(void)
{
	int fd[2];

	return socketpair(AF_UNIX, SOCK_STREAM, 0, fd);
}
static int do_kill(void) { return kill(getpid(), SIGTERM); }
static int do_create(void) { return open("/tmp/x", O_CREAT | O_RDWR, 0600); }
static int do_write_open(void) { return open("/dev/null", O_WRONLY); }
static int do_truncate(void) { return open("/tmp", O_TRUNC); }
static int do_unlink(void) { return unlink("/tmp/x"); }
static int do_handle(void) { return signal(SIGSYS, ignore) == SIG_ERR; }
static int do_ptrace(void) { return (int)ptrace(PTRACE_TRACEME, 0, 0, 0); }
static int do_dumpable(void) { return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }
static int do_limit(void)
{
	struct rlimit none = { 0, 0 };

	return setrlimit(RLIMIT_CORE, &none);
}
static int do_memfd(void) { return (int)syscall(SYS_memfd_create, "x", 0); }
static int do_alarm(void) { return (int)alarm(1); }
static int do_pipe(void)
{
	int fd[2];

	return pipe(fd);
}
static int do_dup(void) { return dup2(1, 2); }
static int do_userfault(void) { return (int)syscall(SYS_userfaultfd, 0); }
static int do_wait(void) { return (int)waitpid(-1, NULL, 0); }
static int do_abort(void) { abort(); }
static int do_read_open(void) { return open("/nothing", O_RDONLY) != -1; }
static int do_clone3(void)
{
	char params[64] = { 0 };

	return syscall(SYS_clone3, params, sizeof(params)) != -1;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*act)(void);
	} acts[] = {
		{ "honest", honest }, { "fork", do_fork },
		{ "vfork", do_vfork }, { "exec", do_exec },
		{ "socket", do_socket }, { "socketpair", do_socketpair },
		{ "kill", do_kill }, { "create", do_create },
		{ "write-open", do_write_open }, { "truncate", do_truncate },
		{ "unlink", do_unlink }, { "handle", do_handle },
		{ "ptrace", do_ptrace }, { "dumpable", do_dumpable },
		{ "limit", do_limit }, { "memfd", do_memfd },
		{ "alarm", do_alarm }, { "pipe", do_pipe }, { "dup", do_dup },
		{ "userfault", do_userfault }, { "wait", do_wait },
		{ "abort", do_abort }, { "read-open", do_read_open },
		{ "clone3", do_clone3 },
	};
	int handled = argc < 3;

	for (size_t i = 0; argc > 1 && i < sizeof(acts) / sizeof(acts[0]); i++)
		if (strcmp(acts[i].name, argv[argc - 1]) == 0)
			return install(handled) ? acts[i].act() : 76;
	return 75;
}
