#include "sandbox/filter_calls.h"

#include "base/base.h"

/* No compiler and no PyTorch program calls these: who does is attacking, and
 * dies of it where it stands. */
const char *const kf_calls_hostile[] = {
	/* the file system's shape */
	"mount", "umount", "umount2", "pivot_root", "chroot", "move_mount",
	"open_tree", "fsopen", "fsconfig", "fsmount", "fspick",
	"mount_setattr", "open_by_handle_at",
	/* the kernel and the machine */
	"bpf", "kexec_load", "kexec_file_load", "init_module",
	"finit_module", "delete_module", "create_module", "reboot", "swapon",
	"swapoff", "settimeofday", "clock_settime", "adjtimex",
	"clock_adjtime", "stime", "sethostname", "setdomainname", "acct",
	"quotactl", "quotactl_fd", "nfsservctl", "iopl", "ioperm", "vhangup",
	"modify_ldt", "lookup_dcookie", "_sysctl", "uselib", "vm86",
	"vm86old", "syslog",
	/* keys of the user */
	"add_key", "request_key", "keyctl",
	/* a classic of kernel exploits, without an honest user here */
	"userfaultfd", "vmsplice",
	NULL
};

/* Other processes' memory and state: what a debugger's business is. */
const char *const kf_calls_tracing[] = {
	"ptrace", "process_vm_readv", "process_vm_writev", "process_madvise",
	"pidfd_getfd", "kcmp",
	NULL
};

/* Honest programs try these and carry on without. */
const char *const kf_calls_refused[] = {
	"unshare", "setns", "perf_event_open", "name_to_handle_at",
	"fanotify_init", "fanotify_mark", "migrate_pages", "move_pages",
	NULL
};

/* So they do these, but tools do not. */
const char *const kf_calls_tools[] = {
	"personality", "mknod", "mknodat",
	NULL
};

const char *const kf_calls_absent[] = {
	"clone3", "io_uring_setup", "io_uring_enter", "io_uring_register",
	NULL
};

/* Network and ipc namespaces make these harmless in the other tiers. */
const char *const kf_calls_outside[] = {
	"socket", "connect", "bind", "listen", "accept", "accept4", "shmget", "shmat", "shmctl", "semget", "semop",
	"semctl", "semtimedop", "msgget", "msgsnd", "msgrcv", "msgctl",
	"mq_open", "mq_unlink", "setpriority", "ioprio_set",
	"sched_setscheduler", "sched_setparam", "sched_setattr",
	NULL
};

const char *const kf_calls_signaling[] = {
	"kill", "tkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo",
	"pidfd_open", "pidfd_send_signal",
	NULL
};

const char *const kf_calls_computing[] = {
	/* memory */
	"brk", "mmap", "mmap2", "munmap", "mprotect", "mremap", "madvise",
	"membarrier", "arch_prctl",
	/* threads */
	"futex", "futex_time64", "set_robust_list", "get_robust_list", "rseq",
	"set_tid_address", "gettid", "getpid", "getppid", "exit",
	"exit_group", "restart_syscall",
	/* scheduling, to look */
	"sched_yield", "sched_getaffinity", "sched_getparam",
	"sched_getscheduler", "sched_get_priority_min",
	"sched_get_priority_max", "getcpu",
	/* time */
	"clock_gettime", "clock_gettime64", "clock_getres",
	"clock_getres_time64", "gettimeofday", "time", "times", "nanosleep",
	"clock_nanosleep", "clock_nanosleep_time64", "getrusage",
	/* of a timer that is there already: the host runner's */
	"timer_settime", "timer_settime64",
	/* descriptors that are there already */
	"read", "write", "readv", "writev", "pread64", "lseek", "_llseek",
	"close", "poll", "ppoll", "ppoll_time64",
	/* what the loader asks while it opens a library */
	"fstat", "fstat64", "stat", "stat64", "lstat", "newfstatat",
	"fstatat64", "statx", "access", "faccessat", "faccessat2",
	"readlink", "readlinkat", "getcwd",
	/* signals of its own */
	"rt_sigprocmask", "rt_sigreturn", "sigreturn", "sigaltstack",
	/* facts */
	"getrandom", "uname", "sysinfo", "getuid", "geteuid", "getgid",
	"getegid", "getrlimit", "ugetrlimit",
	NULL
};

const char *const kf_calls_absent_strict[] = {
	"clone3", "set_mempolicy", "get_mempolicy", "mbind", "pkey_alloc",
	"pkey_mprotect", "pkey_free", "futex_waitv",
	NULL
};

/* Honest attempts to run faster, at the cost of the measurement. */
const char *const kf_calls_tuning[] = {
	"sched_setaffinity", "sched_setscheduler", "sched_setparam",
	"sched_setattr", "setpriority", "mlock", "mlock2", "munlock",
	"mlockall", "munlockall",
	NULL
};
