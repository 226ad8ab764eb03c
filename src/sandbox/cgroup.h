/*
 * cgroup.h - a control group for one sandboxed tree.
 *
 * Bounds memory and the number of tasks in the kernel, counts processor time
 * of the whole tree, and finds every process of it however it was forked.
 * Version 2 and version 1 differ in file names only; cgroup.c has the table.
 *
 * Groups are named kforge-<pid namespace>-<pid>-<start time>-<counter>, so that
 * what a killed supervisor left behind is known as such and removed by the next
 * one; see cgroup_place.h.
 */
#ifndef KF_SANDBOX_CGROUP_H
#define KF_SANDBOX_CGROUP_H

#include "sandbox/sandbox.h"

struct kf_cgroup;

struct kf_cgroup_use {
	uint64_t cpu_ns;
	uint64_t memory_bytes_peak;	/* 0 if the kernel does not say */
	uint64_t memory_kills;		/* processes that the kernel killed */
};

/* NULL if no group with memory and task limits can be made here; why then gets
 * a sentence. */
struct kf_cgroup *kf_cgroup_new(uint64_t memory_bytes, unsigned tasks,
				struct kf_buf *why);
/* Moves a process into the group; its later children follow. The kernel may
 * take 20 ms for it. */
enum kf_code kf_cgroup_enter(const struct kf_cgroup *cgroup, pid_t pid,
			     struct kf_err *err);
uint64_t kf_cgroup_cpu_ns(const struct kf_cgroup *cgroup);
void kf_cgroup_read(const struct kf_cgroup *cgroup, struct kf_cgroup_use *use);
/* Kills everything inside and waits until it is gone, at most timeout_ns.
 * False if something would not die. */
bool kf_cgroup_kill(struct kf_cgroup *cgroup, uint64_t timeout_ns);
/* Removes the group; NULL is allowed. It must be empty: what cannot be removed
 * is left for the next supervisor. */
void kf_cgroup_free(struct kf_cgroup *cgroup);

#endif
