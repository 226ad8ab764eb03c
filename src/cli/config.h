/*
 * config.h - kforge.json: defaults for options.
 *
 * Looked for as ./kforge.json, then as kforge/kforge.json in the user's
 * configuration folder; the first one found is the one, and what was typed
 * wins over it. docs/cli.md has the format.
 *
 * A file of the current folder may have come with a download, so it cannot
 * name programs to start. No file may hold a key.
 */
#ifndef KF_CONFIG_H
#define KF_CONFIG_H

#include "cli/options.h"

/* The file in use, or NULL if there is none. Caller frees. */
char *kf_config_path(void);

/* Sets what was not typed. Every member of the file is checked, also those for
 * other commands. */
KF_MUST_CHECK enum kf_code kf_config_apply(const struct kf_command *command,
		struct kf_options *options, struct kf_err *err);

#endif
