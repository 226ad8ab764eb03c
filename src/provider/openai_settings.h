/*
 * openai_settings.h - what the environment says about a chat completions
 * server: where it is, the key, how patient to be. docs/providers.md has the
 * variables.
 */
#ifndef KF_OPENAI_SETTINGS_H
#define KF_OPENAI_SETTINGS_H

#include "provider/retry.h"

struct kf_openai_settings {
	char *service;			/* base URL, fit to be shown */
	char *url;			/* of chat completions */
	char *key;			/* NULL: none */
	char *authorization;		/* the header; NULL without a key */
	struct kf_retry_policy policy;
	uint64_t stall_ns;		/* longest time without a byte */
};

/* KF_E_INPUT names the variable that makes no sense, KF_E_UNAVAIL the one
 * that is missing. */
KF_MUST_CHECK enum kf_code kf_openai_settings_read(
		struct kf_openai_settings *out, struct kf_err *err);
void kf_openai_settings_release(struct kf_openai_settings *settings);

#endif
