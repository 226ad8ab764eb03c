/*
 * providers.h - the tables that stand in kf_providers[], one line for each.
 */
#ifndef KF_PROVIDERS_H
#define KF_PROVIDERS_H

#include <kforge/provider.h>

extern const struct kf_provider kf_provider_openai;
extern const struct kf_provider kf_provider_exec;
extern const struct kf_provider kf_provider_manual;
extern const struct kf_provider kf_provider_replay;

#endif
