/*
 * setup.h - what every command that judges needs first: a platform with one of
 * its devices.
 */
#ifndef KF_EXECUTOR_SETUP_H
#define KF_EXECUTOR_SETUP_H

#include "evaluate/device.h"
#include "evaluate/evaluate.h"
#include "profile/profile.h"

struct kf_setup_spec {
	const char *platform;		/* "cpu", "cpu:0", or "cpu:NAME", of a
					   device */
	const char *form;		/* of programs; NULL: the platform's
					   default */
	const char *python;		/* NULL: found */
	const char *const *set;		/* NAME=VALUE for problems */
	size_t set_count;
	const char *size;		/* NULL, or a preset of problems */
	enum kf_dtype dtype;		/* NONE: the problem's own */
	const json_t *shapes;		/* kf_shapes_read; NULL: one shape */
	const char *cache_path;		/* NULL: the user's cache folder */
	unsigned threads;		/* 0: as many as the device has units */
	unsigned at_once;		/* so many judge here at once; they share the
					   processors where programs run on a
					   device of its own; 0: one */
	enum kf_sandbox_tier tier_min;
	enum kf_baseline_use baseline;
	const char *away;		/* the folder by way of which another
					   machine judges (away.h); NULL: here
					   */
	bool measure;			/* a card with measured ceilings */
	const struct kf_log *log;
	const volatile int *cancel;
};

struct kf_setup {
	struct kf_platform *platform;
	struct kf_device_info device;
	struct kf_problem_spec problem_spec;	/* path is filled in per problem */
	enum kf_baseline_use baseline;
	const char *away;		/* the spec's; then device is empty until
					   the other machine has told it */
	char *place;			/* owned; the platform as jobs have it:
					   "cuda", "cuda:1"; for another machine
					   as it was asked for, "cuda:h200" */
	unsigned threads_asked;		/* 0: the other machine decides */
	json_t *shapes;			/* owned; the spec's */
	unsigned threads;
	struct kf_handshakes *handshakes;	/* owned */
	struct kf_profile_denied denied;	/* what may not count here */
	bool compiler_proved;		/* it has compiled our own example */
	char *lock_path, *quarantine_path;	/* owned; device_files.h */
};

/* The device that "NAME" (the first), "NAME:INDEX" or "NAME:DEVICE", a name as
 * in devices.h, asks for. KF_E_UNAVAIL if there is none here, or several may be
 * meant. The caller releases it. */
KF_MUST_CHECK enum kf_code kf_setup_device(const struct kf_platform *platform,
					   const char *name,
					   struct kf_device_info *out,
					   struct kf_err *err);

/* A zeroed kf_setup is empty. The spec's strings are borrowed for as long as
 * the setup is used. */
KF_MUST_CHECK enum kf_code kf_setup_open(const struct kf_setup_spec *spec,
					 struct kf_setup *out,
					 struct kf_err *err);
/* How to wait for its device. Borrows of the setup. */
struct kf_device_wait kf_setup_wait(const struct kf_setup *setup);
/* Its device's card again, with measured ceilings; waits for the device. */
KF_MUST_CHECK enum kf_code kf_setup_measure(struct kf_setup *setup,
					    struct kf_err *err);
/* The form of programs as a job has it: NULL for the platform's default.
 * Borrowed. */
char *kf_setup_form(const struct kf_setup *setup);
void kf_setup_release(struct kf_setup *setup);

#endif
