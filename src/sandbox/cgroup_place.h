/* cgroup_place.h - where on this machine a control group may be made. */
#ifndef KF_SANDBOX_CGROUP_PLACE_H
#define KF_SANDBOX_CGROUP_PLACE_H

#include "base/base.h"

/*
 * The folder of this process's own group, from the texts of
 * /proc/self/mountinfo and /proc/self/cgroup. controller: "memory" and so on
 * under version 1, NULL for version 2. NULL if it is not mounted or this
 * process's group cannot be seen. mount (may be NULL) gets the length of the
 * part that is the mount point. The caller frees.
 */
char *kf_cgroup_own(const char *mountinfo, const char *groups,
		    const char *controller, size_t *mount);

/* "kforge-<pid namespace>-<pid>-<start time>-": the names of this process's
 * groups without their counter. The caller frees. */
char *kf_cgroup_prefix(void);

/* Removes groups in dir whose supervisor is dead. Only names of this pid
 * namespace are judged: in another one the same number is someone else. */
void kf_cgroup_sweep(const char *dir);

/* SIGKILL to every process in the group. Returns how many there were. */
size_t kf_cgroup_kill_once(const char *dir);

#endif
