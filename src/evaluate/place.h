/*
 * place.h - what a driver wants a sandbox to show, and the sandbox that a
 * worker's process lives in. Part of build.c and worker.c.
 */
#ifndef KF_EVALUATE_PLACE_H
#define KF_EVALUATE_PLACE_H

#include "evaluate/arena.h"
#include "evaluate/worker.h"

/* The driver's files, folders and device nodes. To be added first: files below
 * a folder that is shown are not shown again. */
void kf_place_paths(const struct kf_driver *driver, enum kf_driver_place place,
		    struct kf_binds *binds);
/* The driver's variables, then those of own that it does not set; with a NULL
 * at the end. Strings are the list's own. */
struct kf_place_env { char **word; size_t count; };
void kf_place_env_init(struct kf_place_env *env, const struct kf_driver *driver,
		       const char *const *own);
void kf_place_env_release(struct kf_place_env *env);

/* Starts kforge-runner host, or device for a two-part driver. shm_path is
 * shown as /dev/shm (NULL: nothing is); hello is where it greets. */
KF_MUST_CHECK enum kf_code kf_place_worker(const struct kf_worker_spec *spec,
		const struct kf_arena *arena, const char *shm_path, int hello,
		struct kf_sandbox **out, struct kf_err *err);
/* Starts a nursery (nursery.h) for processes with an arena as large as this. */
KF_MUST_CHECK enum kf_code kf_place_nursery(const struct kf_worker_spec *spec,
		const struct kf_arena *arena, int control,
		struct kf_sandbox **out, struct kf_err *err);

#endif
