/*
 * python_place.h - what a sandbox must hold so that a Python with torch runs in
 * it: environment, folders, and of the platform's device what torch needs.
 *
 * Paths are the same inside and outside, so that this also works where the
 * sandbox has no namespaces.
 */
#ifndef KF_PROBLEM_PYTHON_PLACE_H
#define KF_PROBLEM_PYTHON_PLACE_H

#include "platform/platform.h"
#include "problem/python.h"

struct kf_python_place {
	char *code_folder;		/* owned; of reference.py and its like */
	char **env;			/* owned; NULL-terminated, NAME=value */
	size_t env_count;
	struct kf_binds binds;		/* owned */
};

struct kf_python_place_spec {
	const struct kf_python *python;
	const struct kf_platform *platform;	/* NULL: no device */
	const char *device_id;		/* "cuda:1"; NULL: the first */
	unsigned threads;
	/* Threads that wait sleep: no times are taken. */
	bool passive;
	/* A compiler too: for torch.compile, or what a program has inside. */
	bool toolchain;
};

/* A zeroed place is empty; it is to be released also after a failure. */
KF_MUST_CHECK enum kf_code kf_python_place_open(
		const struct kf_python_place_spec *spec,
		struct kf_python_place *out, struct kf_err *err);
void kf_python_place_release(struct kf_python_place *place);
/* One more variable; taken over. */
void kf_python_place_env_take(struct kf_python_place *place, char *text);

/* The folder of reference.py. Caller frees; NULL and *err if there is none. */
char *kf_python_code_folder(struct kf_err *err);

#endif
