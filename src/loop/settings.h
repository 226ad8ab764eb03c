/*
 * settings.h - a run's settings as JSON in its store, and back: what `resume`
 * needs to go on exactly as the run began.
 */
#ifndef KF_SETTINGS_H
#define KF_SETTINGS_H

#include "loop/loop.h"

/* New reference. */
json_t *kf_settings_from_spec(const struct kf_run_spec *spec);

/* What is read from JSON; strings are borrowed from the JSON, lists owned. */
struct kf_settings {
	struct kf_run_spec spec;
	const char **problem, **set, **start;
};
KF_MUST_CHECK enum kf_code kf_settings_to_spec(const json_t *settings,
		struct kf_settings *out, struct kf_err *err);
void kf_settings_release(struct kf_settings *settings);

/* A problem as the store keeps it: it is judged by the text that the run began
 * with, whatever has become of the file. row is one of kf_store_problems; shape
 * one of its info's "shapes", NULL where there are none. */
KF_MUST_CHECK enum kf_code kf_settings_problem(struct kf_store *store,
		const json_t *row, const json_t *shape, struct kf_problem *out,
		struct kf_err *err);

#endif
