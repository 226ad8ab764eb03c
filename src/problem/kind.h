/*
 * kind.h - the kinds of problems: one constant table of functions for each.
 *
 * kf_problem_read, kf_bundle_open and kf_baseline_start of problem.h look up
 * the table and call it. Their list is src/cproblem/kinds.c: the reference of
 * a C problem runs in the judge's own worker, which this folder knows nothing
 * of. What is constant about a kind is in kind.c, for who needs no functions.
 */
#ifndef KF_PROBLEM_KIND_H
#define KF_PROBLEM_KIND_H

#include "problem/problem.h"

struct kf_problem_table {
	/* Is what lies at this path of this kind? It need not be sound. */
	bool (*claims)(const char *path);
	/* path, name, source and kind of *out; see kf_problem_read. */
	enum kf_code (*read)(const struct kf_problem_spec *spec,
			     struct kf_problem *out, struct kf_err *err);
	/* See kf_bundle_open. */
	enum kf_code (*open)(const struct kf_problem_spec *spec,
			     const struct kf_problem *problem,
			     struct kf_bundle *out, struct kf_err *err);
	/* Begins one process of a baseline; see kf_baseline_start. */
	enum kf_code (*start)(const struct kf_problem_spec *spec,
			      const struct kf_problem *problem,
			      const struct kf_bundle *bundle,
			      struct kf_baseline_process **out,
			      struct kf_err *err);
	/* Adds to an object what, beside problem, processor and threads, a
	 * baseline's time belongs to: versions, flags. */
	enum kf_code (*describe)(const struct kf_problem_spec *spec,
				 json_t *about, struct kf_err *err);
	/* The files of problem->source; see kf_problem_files. */
	size_t (*files)(const struct kf_problem *problem,
			struct kf_problem_file out[KF_PROBLEM_FILES_MAX]);
	/* See kf_problem_presets. */
	enum kf_code (*presets)(const struct kf_problem_spec *spec,
				json_t **out, struct kf_err *err);
};

extern const struct kf_problem_table *const
	kf_problem_tables[KF_PROBLEM_KINDS];

extern const struct kf_problem_table kf_problem_python;

#endif
