/*
 * cproblem.h - a problem in C: problem.json, read and checked.
 *
 * A folder with problem.json (sizes, inputs, weights, outputs, and how their
 * data are made; docs/problems.md) and reference.c, which defines the same
 * kf_forward as a program does. No Python takes part.
 *
 *	read.c		problem.json into struct kf_cproblem, strictly
 *	source.c	a folder and choices of sizes into kf_problem.source
 *	values.c	data by the declared distributions; the kinds of sets
 *	cref.c		compiles reference.c and calls it in a worker
 *	oracle.c	expected values, how they react, what matters
 *	bundle.c	makes the bundle: with sets.c, or with condensed.c where
 *			data are too large to be kept
 *	baseline.c	the reference as a live baseline
 */
#ifndef KF_CPROBLEM_H
#define KF_CPROBLEM_H

#include "cproblem/expr.h"
#include "problem/kind.h"

#define KF_CPROBLEM_JSON "problem.json"
#define KF_CPROBLEM_CODE "reference.c"
#define KF_CPROBLEM_VERSION 1		/* "kforge_problem" */

enum kf_values_kind {
	KF_VALUES_NORMAL,	/* a: mean, b: standard deviation */
	KF_VALUES_UNIFORM,	/* a <= x < b */
	KF_VALUES_INTEGERS,	/* whole numbers, a <= x <= b */
	KF_VALUES_BERNOULLI,	/* 1 with probability a, else 0 */
	KF_VALUES_CONSTANT,	/* a */
	KF_VALUES_KINDS
};

struct kf_values {
	enum kf_values_kind kind;
	double a, b;
	double min, max;	/* the domain; -+infinity: no bound */
};

struct kf_ctensor {
	struct kf_tensor_info info;	/* dtype as chosen; name is owned */
	bool real;			/* follows the problem's dtype */
	struct kf_values values;	/* not of outputs */
};

/* A growing list that owns its names. */
struct kf_ctensors { struct kf_ctensor *at; size_t count; };

static inline bool kf_is_floating(const struct kf_ctensor *t)
{
	return t->info.dtype >= KF_F16;
}
bool kf_any_floating(const struct kf_ctensors *list);
size_t kf_ctensors_bytes(const struct kf_ctensors *list);	/* of all */

struct kf_cproblem {
	struct kf_size *size;		/* owned */
	size_t size_count;
	enum kf_dtype real;		/* KF_F32 or KF_F64 */
	struct kf_ctensors in, weight, out;
	struct kf_scalar_info *scalar;	/* owned */
	char **scalar_name;		/* owned, and each name */
	size_t scalar_count;
	double operations;		/* NaN if not said */
};

/* file names it in sentences. Every mistake is KF_E_INPUT with file, member
 * and what is wanted; tensors over 4 GiB are KF_E_LIMIT. Pure. */
KF_MUST_CHECK enum kf_code kf_cproblem_parse(const json_t *json,
		const char *file, struct kf_cproblem *out, struct kf_err *err);
void kf_cproblem_release(struct kf_cproblem *problem);

/* The same from kf_problem.source. *code points into it. */
KF_MUST_CHECK enum kf_code kf_cproblem_from_source(
		const struct kf_problem *problem, struct kf_cproblem *out,
		const char **code, struct kf_err *err);

/* The kind's table, in kinds.c; what it is made of. */
bool kf_cproblem_claims(const char *path);
KF_MUST_CHECK enum kf_code kf_cproblem_read(const struct kf_problem_spec *spec,
		struct kf_problem *out, struct kf_err *err);
KF_MUST_CHECK enum kf_code kf_cproblem_presets(
		const struct kf_problem_spec *spec, json_t **out,
		struct kf_err *err);
size_t kf_cproblem_files(const struct kf_problem *problem,
			 struct kf_problem_file out[KF_PROBLEM_FILES_MAX]);
KF_MUST_CHECK enum kf_code kf_cproblem_bundle(
		const struct kf_problem_spec *spec,
		const struct kf_problem *problem, struct kf_bundle *out,
		struct kf_err *err);
KF_MUST_CHECK enum kf_code kf_cproblem_baseline(
		const struct kf_problem_spec *spec,
		const struct kf_problem *problem,
		const struct kf_bundle *bundle,
		struct kf_baseline_process **out, struct kf_err *err);
KF_MUST_CHECK enum kf_code kf_cproblem_describe(
		const struct kf_problem_spec *spec, json_t *about,
		struct kf_err *err);

#endif
