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

#endif
