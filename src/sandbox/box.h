/*
 * box.h - a running program, as the files of this folder see it.
 *
 * start.c makes one, watch.c looks after it until it has ended, outcome.c says
 * what became of it.
 */
#ifndef KF_SANDBOX_BOX_H
#define KF_SANDBOX_BOX_H

#include <sys/resource.h>

#include "sandbox/cgroup.h"
#include "sandbox/sandbox.h"
#include "sandbox/room.h"
#include "sandbox/usage.h"

struct kf_sandbox {
	enum kf_sandbox_tier tier;
	enum kf_sandbox_profile profile;
	struct kf_limits limits;
	const volatile int *cancel;

	pid_t pid;		/* bwrap, or the weak tier's keeper */
	int pid_fd;
	pid_t init;		/* the namespace's first process; 0: unknown */
	int init_fd;
	int out_fd, errout_fd, status_fd;
	struct kf_buf out, errout;
	struct kf_buf status;	/* JSON lines of bwrap or of the keeper */
	bool truncated;
	struct kf_cgroup *cgroup;	/* tier strong only */
	struct kf_usage usage;		/* the other tiers */
	char *tmp_path;		/* weak tier: stands for /tmp; or NULL */
	struct kf_room *room;	/* owned: the folders that it may write to */
	size_t room_count;
	uint64_t room_look_ns;	/* when they are to be looked at next */

	uint64_t start_ns, took_ns;
	uint64_t look_ns;	/* when limits were looked at last */
	uint64_t cpu_ns;	/* as of then */
	enum kf_end end;	/* why we killed it; NONE: we did not */
	char detail[160];
	bool ended;		/* pid is reaped */
	bool stuck;		/* something in the tree would not die */
	bool swept;		/* the tree is gone, counters are read */
	int wait_status;
	struct rusage rusage;
	uint64_t inherited_bytes;	/* our own size when it was forked */
	struct kf_cgroup_use use;
};

/* Reads the status lines until bwrap has told its first process (init) and let
 * it go on, or has ended, at most timeout_ns. */
void kf_box_meet_init(struct kf_sandbox *box, uint64_t timeout_ns);
/* True if bwrap's first process, once met, is no more. */
bool kf_box_init_ended(const struct kf_sandbox *box);
/* One round of poll, at most timeout_ms long: moves output, notices the end,
 * enforces limits. */
void kf_box_watch(struct kf_sandbox *box, int timeout_ms);
/* Kills the tree for a reason, unless it has ended. */
void kf_box_stop(struct kf_sandbox *box, enum kf_end why,
		 const char *detail, ...) KF_PRINTF(3, 4);
/* After the end: what is left of the tree dies, counters are read. */
void kf_box_sweep(struct kf_sandbox *box);
/* The number after "key": in the status lines; false if there is none. */
bool kf_box_status(const struct kf_sandbox *box, const char *key, int *value);
/* Fills *outcome from an ended, swept box. */
enum kf_code kf_box_outcome(struct kf_sandbox *box, struct kf_outcome *outcome,
			    struct kf_err *err);

#endif
