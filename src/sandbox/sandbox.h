/*
 * sandbox.h - run a program that nobody has reviewed.
 *
 * Three profiles, one for each kind of untrusted process (DESIGN: builder,
 * host runner, reference). What they share: no network, empty environment but
 * for what the spec sets, own pid/ipc/uts/mount namespaces, no capability, a
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
 * Processes: called by the supervisor only.
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
};

/* One path made visible inside. */
struct kf_bind {
	const char *source;	/* on this machine; skipped if optional and absent */
	const char *target;	/* inside; NULL means the same path */
	bool writable;
	bool optional;
};

struct kf_limits {		/* every member must be set: 0 is refused */
	uint64_t memory_bytes;
	uint64_t cpu_ns;	/* processor time, all threads together */
	uint64_t wall_ns;
	uint64_t file_bytes;	/* largest file it may write; /tmp's size too */
	unsigned processes;	/* processes and threads together */
	unsigned descriptors;
};

/* A descriptor handed to the program: it finds source as number target. */
struct kf_fd_pass { int source, target; };

struct kf_sandbox_spec {
	enum kf_sandbox_profile profile;
	enum kf_sandbox_tier tier_min;	/* KF_TIER_MEDIUM unless weak was asked for */
	const char *const *argv;	/* NULL-terminated, paths as seen inside */
	const char *const *env;		/* "NAME=value", NULL-terminated; NULL: empty */
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
	KF_END_SIGNAL,		/* signal; crashed by itself */
	KF_END_WALL,		/* our deadline */
	KF_END_CPU,		/* processor time used up */
	KF_END_MEMORY,		/* killed for memory */
	KF_END_VIOLATION,	/* a system call that the profile forbids */
	KF_END_CANCELED,
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
};
void kf_outcome_release(struct kf_outcome *outcome);

/* A running program. */
struct kf_sandbox;

KF_MUST_CHECK enum kf_code kf_sandbox_start(const struct kf_sandbox_spec *spec,
					    struct kf_sandbox **out,
					    struct kf_err *err);
/* Non-blocking: has it ended by itself? Also drains its output. */
bool kf_sandbox_ended(struct kf_sandbox *box);
/* Waits for its end or its wall limit, kills what is left of the tree, fills
 * *outcome. The box stays valid until freed. */
enum kf_code kf_sandbox_wait(struct kf_sandbox *box, struct kf_outcome *outcome,
			     struct kf_err *err);
/* Kills the whole tree now and says how it ended. */
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

/* The strict filter of the host runner (KF_SANDBOX_HOST) as a compiled BPF
 * program in a memfd, for the runner to install; -1 and *err on failure. The
 * caller closes it. */
int kf_sandbox_filter_fd(enum kf_sandbox_profile profile, struct kf_err *err);

#endif
