/*
 * pause.h - a process that runs only when it is told to: SIGSTOP, SIGCONT, and
 * the certainty that every thread of it stands still. Part of worker.c.
 */
#ifndef KF_EVALUATE_PAUSE_H
#define KF_EVALUATE_PAUSE_H

#include <sys/types.h>

#include "evaluate/threads.h"

struct kf_pause {
	pid_t pid;		/* 0: none */
	int fd;			/* -1: a kernel without pidfd_open */
	struct kf_threads threads;
};

/* The process must be alive: what ends later is never mistaken for another. */
void kf_pause_init(struct kf_pause *pause, pid_t pid);
void kf_pause_release(struct kf_pause *pause);

/* False if the process may not be signalled. One that has ended is paused. */
bool kf_pause_begin(struct kf_pause *pause);
/* Waits until all threads stand still, which takes microseconds; false if they
 * do not within ten seconds. */
bool kf_pause_settle(struct kf_pause *pause);
void kf_pause_end(struct kf_pause *pause);

#endif
