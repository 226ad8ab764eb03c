/*
 * completions.h - what completes a word, and the scripts for three shells.
 */
#ifndef KF_COMPLETIONS_H
#define KF_COMPLETIONS_H

#include "cli/options.h"

enum kf_completion {
	KF_COMPLETE_NOTHING,
	KF_COMPLETE_CHOICES,	/* the option's own; an argument's: "a|b|c" */
	KF_COMPLETE_FILES,
	KF_COMPLETE_FOLDERS,
	KF_COMPLETE_RUNS,	/* names under kforge-runs/, or folders */
	KF_COMPLETE_PLATFORMS,
	KF_COMPLETE_PRESETS,
	KF_COMPLETE_MODELS,
};

/* Row `row` of the table of options; false if the command does not take it. */
bool kf_complete_option(const struct kf_command *command, size_t row,
			struct kf_option_info *info,
			enum kf_completion *completion);
enum kf_completion kf_complete_arguments(const struct kf_command *command);

/* Print the script on standard output. */
void kf_complete_bash(void);
void kf_complete_zsh(void);
void kf_complete_fish(void);

#endif
