/*
 * words.h - how choices are called by whoever asks for a judgement: in a job,
 * in an option, in kforge.json.
 */
#ifndef KF_EXECUTOR_WORDS_H
#define KF_EXECUTOR_WORDS_H

#include "base/base.h"

struct kf_word { const char *name; uint64_t value; };

/* Each ends with a NULL name. */
extern const struct kf_word kf_words_ask[], kf_words_dtype[], kf_words_rules[],
	kf_words_libraries[], kf_words_baseline[], kf_words_stop_after[],
	kf_words_sandbox[];

#endif
