/*
 * reference.h - starts python/reference.py in its sandbox.
 * Inner header of src/problem.
 */
#ifndef KF_PROBLEM_REFERENCE_H
#define KF_PROBLEM_REFERENCE_H

#include "problem/problem.h"
#include "problem/python.h"

#define KF_REFERENCE_CONTROL_FD 3
#define KF_REFERENCE_ARENA_FD 4

struct kf_reference_spec {
	const struct kf_problem_spec *problem_spec;
	const struct kf_problem *problem;
	const struct kf_python *python;
	const char *mode;	/* "bundle", "serve" */
	const char *job_folder;	/* exists; gets the problem file, request.json */
	const char *out_folder;	/* writable inside; NULL: none */
	json_t *request;	/* borrowed; "problem", "threads" are added */
	uint64_t wall_ns, file_bytes;
	const struct kf_fd_pass *fd;
	size_t fd_count;
};

KF_MUST_CHECK enum kf_code kf_reference_start(
		const struct kf_reference_spec *spec, struct kf_sandbox **out,
		struct kf_err *err);

/* What reference.py says of a problem, {"error": {"kind", "text", "ratio"}}, as
 * an error of ours; name is the problem's. KF_OK if answer tells of no error.
 * refusal: NULL, or filled in. */
enum kf_code kf_reference_error(const json_t *answer, const char *name,
				struct kf_refusal *refusal,
				struct kf_err *err);
/* The same for a process that ended without an answer. Never KF_OK. */
enum kf_code kf_reference_ended(const struct kf_outcome *outcome,
				const struct kf_problem_spec *spec,
				const char *name, struct kf_refusal *refusal,
				struct kf_err *err);

/* SHA-256 over reference.py and its package in home/python. */
enum kf_code kf_reference_hash(char out[KF_HASH_HEX], struct kf_err *err);

#endif
