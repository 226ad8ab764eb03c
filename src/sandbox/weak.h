/*
 * weak.h - the tier without namespaces: Landlock, seccomp, limits, a keeper.
 *
 * The keeper is a forked process of ours between the supervisor and the
 * program. Orphans of the tree become its children, so it can find and kill
 * all of them, and it does so when the program ends, when the supervisor says
 * so (SIGTERM) and when the supervisor dies.
 */
#ifndef KF_SANDBOX_WEAK_H
#define KF_SANDBOX_WEAK_H

#include "sandbox/bwrap.h"
#include "sandbox/child.h"

#define KF_LANDLOCK_SIGNALS 6	/* from this ABI on signals stay inside */

/* The Landlock ABI of this kernel, 0 if it has none. */
int kf_landlock_abi(void);
/* A ruleset that allows the binds and tmp_path; -1 without an error where the
 * kernel has no Landlock; -1 with *err set on failure. */
int kf_landlock_new(const struct kf_sandbox_spec *spec, const char *tmp_path,
		    struct kf_err *err);

/* text with a leading target of a bind (or "/tmp") replaced by its source; the
 * caller frees. Looks at the start and after the first '='. */
char *kf_weak_path(const struct kf_sandbox_spec *spec, const char *tmp_path,
		   const char *text);
void kf_weak_words(const struct kf_sandbox_spec *spec, const char *tmp_path,
		   const char *const *texts, struct kf_words *words);

/* Runs in the forked keeper: starts the program, waits for its end, kills the
 * rest, writes { "exit-code": N } or { "signal": N } to status_fd. Removes
 * tmp_path if the supervisor is no longer there to do it. */
_Noreturn void kf_keeper_run(struct kf_child *child, int status_fd,
			     pid_t supervisor, const char *tmp_path);

#endif
