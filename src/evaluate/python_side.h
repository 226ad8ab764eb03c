/*
 * python_side.h - what builder and runner of a program in Python need beside
 * the program: a Python with torch, and the problem's file, whose constructor's
 * arguments and shapes of inputs the program is made with.
 */
#ifndef KF_EVALUATE_PYTHON_SIDE_H
#define KF_EVALUATE_PYTHON_SIDE_H

#include "problem/problem.h"
#include "problem/python_place.h"

struct kf_python_side_spec {
	const struct kf_platform *platform;
	const char *device_id;
	const char *python, *cache_path;	/* NULL: found */
	unsigned threads;
	bool passive;			/* as in kf_worker_spec */
	const char *problem;		/* its text */
	const char *folder;		/* ours; the problem is written there */
};

struct kf_python_side {
	struct kf_python python;
	struct kf_python_place place;
	char *problem_path;		/* owned */
	char *script_path;		/* owned; of candidate.py */
};

/* KF_OK, and nothing, where the platform's programs are not in Python. Release
 * it also after a failure. */
KF_MUST_CHECK enum kf_code kf_python_side_open(
		const struct kf_python_side_spec *spec,
		struct kf_python_side *out, struct kf_err *err);
void kf_python_side_release(struct kf_python_side *side);

#endif
