/*
 * nursery.h - a process of ours that has loaded PyTorch, and no device and no
 * program, from which the processes of one program in Python are forked, one
 * after another. Part of worker.c and session_shared.c.
 *
 * It is process 1 of one sandbox with all of them, so that no signal of theirs
 * reaches it; it cannot be looked into, and what it is told it is told over a
 * socket that they do not have. Before one is forked all others have been
 * killed and what they left in /tmp is removed; if that fails the sandbox is
 * given up, as it is when a process ends by itself: with that process's end.
 *
 * Where a sandbox has no namespaces (the weak tier), or PyTorch opens a device
 * when it is loaded, there is none: each process is then started anew.
 */
#ifndef KF_EVALUATE_NURSERY_H
#define KF_EVALUATE_NURSERY_H

#include "evaluate/arena.h"
#include "evaluate/worker.h"

struct kf_nursery {		/* zeroed: none yet */
	struct kf_sandbox *box;	/* owned; NULL: none */
	int fd;			/* ours; with box */
	const struct kf_log *log;	/* borrowed; may be NULL */
	bool busy;		/* a process of it is in use */
	bool useless;		/* there can be none here */
};

/* A process that greets at hello, as one that kf_place_worker starts; the
 * nursery is started first if there is none. After a failure it is gone. */
KF_MUST_CHECK enum kf_code kf_nursery_fork(struct kf_nursery *nursery,
		const struct kf_worker_spec *spec,
		const struct kf_arena *arena, int hello, struct kf_err *err);
/* Ends that process and whatever it started. False if that failed: then the
 * box is to be killed. */
bool kf_nursery_clear(struct kf_nursery *nursery, const volatile int *cancel);
/* It is not in use any more; a box that has ended is freed. */
void kf_nursery_leave(struct kf_nursery *nursery);
/* Ends it, if there is one; *outcome is to be released in any case. */
void kf_nursery_end(struct kf_nursery *nursery, struct kf_outcome *outcome);

#endif
