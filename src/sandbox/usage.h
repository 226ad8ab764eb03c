/*
 * usage.h - what a tree of processes uses, for machines without cgroups.
 *
 * Reads /proc: every descendant of one process, its memory, processor time and
 * tasks. A sample, not a bound: what happens between two looks is seen late.
 */
#ifndef KF_SANDBOX_USAGE_H
#define KF_SANDBOX_USAGE_H

#include <sys/types.h>

#include "base/base.h"

struct kf_usage {
	uint64_t memory_bytes;		/* private and shared, resident */
	uint64_t memory_bytes_peak;	/* the most of all samples */
	uint64_t cpu_ns;
	unsigned tasks;			/* processes and threads */
};

/* Samples the tree under root; of root itself all but its memory. */
void kf_usage_sample(struct kf_usage *usage, pid_t root);
/* Processes of the tree that have not ended, root among them. */
unsigned kf_usage_processes(pid_t root);
/* SIGKILL to every descendant of root, root spared; returns how many. */
size_t kf_usage_kill(pid_t root);
/* Every child of root, dead ones that nobody has waited for among them, with
 * its name: of kf_usage_name's kind, valid during the call. */
void kf_usage_children(pid_t root,
		       void (*visit)(void *arg, pid_t child, const char *name),
		       void *arg);
/* What the kernel calls a process that executes this file. The caller frees. */
char *kf_usage_name(const char *path);
/* Tasks of this user on the machine, for RLIMIT_NPROC, which counts those. */
unsigned kf_usage_tasks_of_user(void);

#endif
