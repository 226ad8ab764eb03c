/*
 * config.h - kforge.json: defaults for options.
 *
 * Named by --config; else looked for as ./kforge.json, then as
 * kforge/kforge.json in the user's configuration folder; the first one found is
 * the one, and what was typed wins over it. docs/cli.md has the format.
 *
 * A file that is found in the current folder may have come with a download, so
 * it cannot name programs to start or places to write, nor lower what a verdict
 * is worth. One that was named by --config can. No file may hold a key.
 */
#ifndef KF_CONFIG_H
#define KF_CONFIG_H

#include "cli/options.h"

/* The file that is there to be used, whether or not --no-config leaves it
 * alone, or NULL if there is none. Caller frees. */
char *kf_config_path(const struct kf_options *options);

/* Sets what was not typed. Every member of the file is checked, also those for
 * other commands. Does nothing if the file is left alone. */
KF_MUST_CHECK enum kf_code kf_config_apply(const struct kf_command *command,
		struct kf_options *options, struct kf_err *err);

#endif
