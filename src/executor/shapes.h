/*
 * shapes.h - the shapes on which one program is judged: `--shapes FILE`.
 *
 * The file is a JSON list of 1 to KF_SHAPES_MAX objects:
 *
 *	{ "name": "wide", "set": { "ROWS": 4096 }, "dtype": "float16" }
 *	{ "name": "small", "size": "test" }
 *
 * Each is the problem with other sizes or another type. What an object leaves
 * out is as --size, --set and --dtype have it; its "set" is done after --set.
 */
#ifndef KF_EXECUTOR_SHAPES_H
#define KF_EXECUTOR_SHAPES_H

#include "problem/problem.h"

#define KF_SHAPES_MAX 16

/* Reads and checks the file. *out is a new reference. KF_E_INPUT names the
 * object and what is wrong with it. */
KF_MUST_CHECK enum kf_code kf_shapes_read(const char *path, json_t **out,
					  struct kf_err *err);

/* The problem base->path, once for each shape, in order; problem->shape names
 * it. shapes as kf_shapes_read gives them; NULL: the problem as base has it,
 * once. *out is an array of *count for the caller: kf_shapes_problems_free. */
KF_MUST_CHECK enum kf_code kf_shapes_problems(
		const struct kf_problem_spec *base, const json_t *shapes,
		struct kf_problem **out, size_t *count, struct kf_err *err);
void kf_shapes_problems_free(struct kf_problem *problem, size_t count);

#endif
