/*
 * syscalls.h - system calls by number, with those that the headers of an older
 * C library do not name yet. Since Linux 5.1 a new call has the same number on
 * every architecture. A kernel without it answers ENOSYS, which callers expect.
 */
#ifndef KF_BASE_SYSCALLS_H
#define KF_BASE_SYSCALLS_H

#include <sys/syscall.h>
#include <unistd.h>	/* syscall() itself */

#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1u << 2)
#endif
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

#endif
