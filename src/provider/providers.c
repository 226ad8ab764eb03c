#include "base/base.h"
#include "provider/providers.h"

const struct kf_provider *const kf_providers[] = {
	&kf_provider_openai,
	&kf_provider_exec,
	&kf_provider_manual,
	&kf_provider_replay,
	NULL,
};
