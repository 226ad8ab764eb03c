/*
 * threads.h - all threads of another process: do they stand still, how long
 * have they waited for a processor. Part of worker.c, and read twice in every
 * call: the files of /proc stay open, for opening them is most of the cost.
 */
#ifndef KF_EVALUATE_THREADS_H
#define KF_EVALUATE_THREADS_H

#include <dirent.h>
#include <sys/types.h>

#include "base/base.h"

struct kf_thread {
	pid_t id;
	int stat_fd, schedstat_fd;	/* -1: could not be opened */
	bool seen;			/* in the last look */
};

struct kf_threads {
	DIR *dir;			/* NULL: there is no such process */
	struct kf_thread *thread;	/* owned */
	size_t count, room;
};

void kf_threads_init(struct kf_threads *threads, pid_t pid);
void kf_threads_release(struct kf_threads *threads);

/* Does every thread stand still, by SIGSTOP or because it has ended? */
bool kf_threads_stand(struct kf_threads *threads);
/* How long the threads of the last look have been ready to run and waited for
 * a processor, in all; 0 where the kernel does not tell. */
uint64_t kf_threads_delay_ns(const struct kf_threads *threads);

#endif
