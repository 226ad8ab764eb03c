/*
 * sandbox.h - run a program that nobody has reviewed.
 *
 * Five profiles, one for each kind of process: builder, host runner, reference,
 * device runner, runner in Python. What they share: no network, empty
 * environment but for what the spec sets, own pid/ipc/uts/mount namespaces, no
 * capability, a
 * root folder that holds only what is bound, private small /tmp, limits on
 * memory, processor and wall time, file size, descriptors and threads, death
 * with the parent, and the whole tree killed at the end.
 *
 * Tiers, best first; what was used is in the outcome and goes into verdicts.
 *   strong   bubblewrap namespaces + seccomp + cgroup (v2 or v1)
 *   medium   the same without a usable cgroup: limits by setrlimit
 *   weak     no namespaces (a container refuses them): seccomp, Landlock where
 *            the kernel has it, setrlimit; must be asked for (KF_E_UNAVAIL
 *            otherwise, with a sentence that names --sandbox=weak)
 *
 * The environment variable KFORGE_SANDBOX_TIER=strong|medium|weak caps the tier
 * that is tried (read in kf_sandbox_start and kf_sandbox_probe, nowhere else);
 * it never lowers tier_min. KFORGE_BWRAP names bwrap; else it is looked for
 * beside the executable, in ../libexec/kforge, and on PATH.
 *
 * Processes: called by the supervisor only.
 * Threads:   a program dies with the thread that started it, so that thread
 *            must live as long as the box.
 * Limits:    processor time (and memory, in tiers without cgroup) and the wall
 *            limit are watched inside kf_sandbox_wait and kf_sandbox_ended, so
 *            one of them must be called at least every few 10 ms. Without a
 *            cgroup such a look may cost 2 ms.
 * Errors:    trouble of ours (bwrap missing, cgroup gone) is a kf_code; what
 *            became of the program is in struct kf_outcome, with KF_OK.
 */
#ifndef KF_SANDBOX_H
#define KF_SANDBOX_H

#include <sys/types.h>

#include "base/base.h"

enum kf_sandbox_tier { KF_TIER_NONE, KF_TIER_WEAK, KF_TIER_MEDIUM,
		       KF_TIER_STRONG };
const char *kf_sandbox_tier_name(enum kf_sandbox_tier tier);

enum kf_sandbox_profile {
	KF_SANDBOX_BUILDER,	/* may fork and exec: a compiler */
	KF_SANDBOX_HOST,	/* threads but no processes; the runner installs
				   the strict filter itself before it loads the
				   candidate */
	KF_SANDBOX_REFERENCE,	/* Python with torch: may fork */
	KF_SANDBOX_DEVICE,	/* our own code with a vendor's libraries: may
				   fork; devices are bound by kf_binds_device */
	KF_SANDBOX_PYTHON,	/* Python with torch and a program: may fork
				   while the program is loaded; then it installs
				   a filter that leaves it its threads alone */
	/* A vendor's tool that starts a program, traces it and talks with it:
	 * may do that to what is in the sandbox, whose network and processes
	 * are nobody else's. Without namespaces it is KF_SANDBOX_DEVICE. */
	KF_SANDBOX_TOOL,
	KF_SANDBOX_PROFILES
};

/* One path made visible inside. What a program leaves in a writable folder is
 * hostile: open it with O_NOFOLLOW and relative to a descriptor of the folder,
 * and expect links, fifos and files that change while they are read.
 *
 * The weak tier cannot show a path under another name. It rewrites targets to
 * sources instead, in argv, env and cwd, where an element (or what follows its
 * first '=') is a target or lies below one; so give "-I", "/contract" as two
 * elements. Paths inside files are the caller's.
 *
 * /proc as a source is the sandbox's own, whose processes are its own; in the
 * weak tier, which has none, what it says about the machine (by Landlock: where
 * that is missing too, all of /proc is seen anyway). */
struct kf_bind {
	const char *source;	/* on this machine; skipped if optional and absent */
	const char *target;	/* inside; NULL means the same path */
	bool writable;
	bool optional;
	bool device;		/* a device node, or a folder of them: may be used
				   as one */
};

/* A growing list of binds; owns its strings. {0} is an empty one. */
struct kf_binds {
	struct kf_bind *bind;	/* owned */
	size_t count;
};
/* A later bind hides what earlier ones show under its target. */
void kf_binds_add(struct kf_binds *binds, const char *source,
		  const char *target, bool writable, bool optional);
/* Adds all that others has. */
void kf_binds_all(struct kf_binds *binds, const struct kf_binds *others);
/* Is the path there already, by itself or in a folder above it? */
bool kf_binds_cover(const struct kf_binds *binds, const char *path);
/* A device node, or a folder of them; skipped if absent. */
void kf_binds_device(struct kf_binds *binds, const char *path);
/* Whatever it is, if it is there: a device's node, or a file or folder that no
 * bind so far shows. binds is a struct kf_binds: fit for drivers' paths. */
void kf_binds_path(void *binds, const char *path, bool writable);
/* What a C toolchain reads: /usr's programs, libraries and headers, and from
 * /etc only alternatives and the loader's cache. Read-only. */
void kf_binds_toolchain(struct kf_binds *binds);
/* What a dynamically linked program or a candidate needs to run: the loader,
 * libc and its parts, libgomp, libgcc_s, libatomic; single files. */
enum kf_code kf_binds_runtime(struct kf_binds *binds, struct kf_err *err);
/* A trusted program (path as on this machine, shown under the same path), its
 * loader and every library that it names. Runs its loader, not the program;
 * takes a few ms, so keep the list. */
enum kf_code kf_binds_program(struct kf_binds *binds, const char *path,
			      struct kf_err *err);
void kf_binds_release(struct kf_binds *binds);

struct kf_limits {		/* every member must be set: 0 is refused */
	uint64_t memory_bytes;
	uint64_t cpu_ns;	/* processor time, all threads together */
	uint64_t wall_ns;
	/* The largest file it may write, /tmp's size, and what each writable
	 * folder that is bound may grow by. */
	uint64_t file_bytes;
	unsigned processes;	/* processes and threads together */
	unsigned descriptors;	/* at least KF_SANDBOX_FD_MIN */
};
#define KF_SANDBOX_FD_MIN 32	/* bwrap itself needs some */
#define KF_SANDBOX_FD_PASS_MAX 16

/* A descriptor handed to the program: it finds source as number target, which
 * is 3 or more. All others are closed; 0 is /dev/null, 1 and 2 are pipes. */
struct kf_fd_pass { int source, target; };

struct kf_sandbox_spec {
	enum kf_sandbox_profile profile;
	enum kf_sandbox_tier tier_min;	/* KF_TIER_MEDIUM unless weak was asked for */
	/* It is process 1 of its namespace, so that no signal of others in it
	 * reaches it. The weak tier has no namespaces, and ignores this. */
	bool first;
	const char *const *argv;	/* NULL-terminated, paths as seen inside */
	/* "NAME=value", NULL-terminated; NULL: empty. bwrap adds PWD. */
	const char *const *env;
	const struct kf_bind *bind;
	size_t bind_count;
	const char *cwd;		/* inside; NULL: "/" */
	struct kf_limits limits;
	const struct kf_fd_pass *fd;
	size_t fd_count;
	size_t output_max;		/* bytes kept of stdout, and of stderr */
	const volatile int *cancel;	/* NULL, or becomes non-zero to stop */
};

enum kf_end {
	KF_END_NONE,
	KF_END_EXITED,		/* exit_code */
	/* signal; crashed by itself. bwrap says 128+n for both, so in the
	 * tiers with namespaces a program that returns 129..192 looks so. */
	KF_END_SIGNAL,
	KF_END_WALL,		/* our deadline */
	KF_END_CPU,		/* processor time used up */
	KF_END_MEMORY,		/* killed for memory */
	KF_END_FILES,		/* wrote more into a folder than file_bytes */
	KF_END_VIOLATION,	/* a system call that the profile forbids, or
				   more processes than allowed (no cgroup) */
	KF_END_CANCELED,	/* *cancel, kf_sandbox_kill */
};
const char *kf_end_name(enum kf_end end);

struct kf_outcome {
	enum kf_end end;
	int exit_code, signal;
	enum kf_sandbox_tier tier;
	uint64_t took_ns, cpu_ns;	/* wall; processor (0 if unknown) */
	uint64_t memory_bytes_peak;	/* 0 if unknown */
	struct kf_buf out, errout;	/* owned; cut at output_max */
	bool truncated;			/* more was printed than kept */
	char detail[160];		/* the end in words; "" if it exited with 0 */
};
void kf_outcome_release(struct kf_outcome *outcome);

/* A running program. */
struct kf_sandbox;

KF_MUST_CHECK enum kf_code kf_sandbox_start(const struct kf_sandbox_spec *spec,
					    struct kf_sandbox **out,
					    struct kf_err *err);
/* Non-blocking: has it ended by itself? Also drains its output. */
bool kf_sandbox_ended(struct kf_sandbox *box);
/* Looks after several at once (output, ends, limits), as kf_sandbox_wait does
 * after one. Comes back after timeout_ms, or sooner if something happened; true
 * once all have ended. */
bool kf_sandbox_watch(struct kf_sandbox *const *box, size_t count,
		      int timeout_ms);
/* What was printed so far is forgotten, and from here on output is read from
 * two new pipes, whose ends for writing (close-on-exec; the caller closes them)
 * are for a process that one inside will start. */
KF_MUST_CHECK enum kf_code kf_sandbox_new_output(struct kf_sandbox *box,
		int write_fd[2], struct kf_err *err);
/* How many processes are in it now, its keepers among them; ended ones that
 * nobody has asked for yet do not count. Takes about 2 ms. */
unsigned kf_sandbox_processes(const struct kf_sandbox *box);
/* Waits for its end or its wall limit, kills what is left of the tree, fills
 * *outcome. The box stays valid until freed. A sandbox that could not be set
 * up is known only here: KF_E_UNAVAIL with bwrap's words. */
enum kf_code kf_sandbox_wait(struct kf_sandbox *box, struct kf_outcome *outcome,
			     struct kf_err *err);
/* Kills the whole tree and does not wait until it is gone; kf_sandbox_kill or
 * kf_sandbox_free follows. */
void kf_sandbox_doom(struct kf_sandbox *box);
/* Kills the whole tree now and says how it ended: KF_END_CANCELED if it still
 * ran. */
enum kf_code kf_sandbox_kill(struct kf_sandbox *box, struct kf_outcome *outcome,
			     struct kf_err *err);
void kf_sandbox_free(struct kf_sandbox *box);	/* kills it if it still runs */

/* start + wait. */
KF_MUST_CHECK enum kf_code kf_sandbox_run(const struct kf_sandbox_spec *spec,
					  struct kf_outcome *outcome,
					  struct kf_err *err);

/* What this machine can do, for doctor: the best tier, and why not better
 * (a sentence; "" if strong). */
enum kf_sandbox_tier kf_sandbox_probe(struct kf_buf *why);

/* A filter as a compiled BPF program (an array of struct sock_filter) in a
 * memfd; -1 and *err on failure. The caller closes it.
 * KF_SANDBOX_HOST: the strict filter, an allow-list, which the host runner
 * installs itself (PR_SET_NO_NEW_PRIVS, then seccomp with TSYNC) once it has
 * its SIGSYS handler, its memory and its libraries, and before it loads a
 * candidate. A forbidden call raises SIGSYS; si_syscall is its number.
 * KF_SANDBOX_PYTHON: on top of what the sandbox installs, which its runner adds
 * once the program is loaded: no new process, by EPERM.
 * Others: the filter that the sandbox installs by itself. */
int kf_sandbox_filter_fd(enum kf_sandbox_profile profile, struct kf_err *err);
/* The name of a system call of this machine, "system call N" if unknown. */
void kf_sandbox_syscall_name(int number, char out[48]);

#endif
