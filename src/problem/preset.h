/*
 * preset.h - named sizes in a Python file: comment lines
 *
 *	# kforge: size test ROWS=16 COLS=100
 *
 * one for each preset, NAME and then assignments as --set has them. Pure.
 */
#ifndef KF_PROBLEM_PRESET_H
#define KF_PROBLEM_PRESET_H

#include "base/json.h"

/* Rewrites *source, which is owned, by the preset of that name. KF_E_INPUT if
 * there is none (the sentence lists what there is), there are two, it is empty
 * or cannot be done. */
KF_MUST_CHECK enum kf_code kf_preset_apply(char **source, const char *name,
					   struct kf_err *err);
/* {"test": {"ROWS": "16", "COLS": "100"}}; new reference. */
json_t *kf_preset_list(const char *source);

#endif
