/*
 * runner.h - the second program: kforge-runner, which lives in a sandbox and
 * touches code that nobody has reviewed.
 *
 *	kforge-runner build ...	one compilation (build.c)
 *	kforge-runner host ...	one loaded program, many calls (host.c)
 *
 * protocol.h says what they are told and what they answer. Only main.c prints.
 */
#ifndef KF_RUNNER_RUNNER_H
#define KF_RUNNER_RUNNER_H

#include "base/base.h"
#include "runner/protocol.h"

/* The arguments are those after the mode's name. */
enum kf_code kf_runner_build(int argc, const char *const *argv,
			     struct kf_err *err);
/* Returns only if something is wrong: the supervisor ends it. */
enum kf_code kf_runner_host(int argc, const char *const *argv,
			    struct kf_err *err);

/* Maps a whole descriptor, shared. *bytes is its size. NULL and *err if not. */
void *kf_runner_map(int fd, bool writable, uint64_t *bytes,
		    struct kf_err *err);

/* --- runtime.c: libraries that must be set up before the filter --------- */
/* Sets up those of the driver's runtimes that the artefact names. Only looks
 * at the artefact's bytes. */
enum kf_code kf_runner_start_runtimes(const struct kf_driver *driver,
				      const char *artefact_path,
				      struct kf_err *err);

/* --- fault.c: what happens when the program crashes --------------------- */
struct kf_fault_context {
	struct kf_host_reply *reply;
	const unsigned char *inputs;
	uint64_t in_bytes;
	const struct kf_driver *driver;
	const struct kf_device *device;
};
/* From now on a crash is written into the reply and ends the process. The
 * context must live as long as the process. */
enum kf_code kf_runner_catch_faults(const struct kf_fault_context *context,
				    struct kf_err *err);

#endif
