/* What readers have in common. */
#include "profile/read.h"

bool kf_read_denied(const char *text, size_t len)
{
	static const char *const sign[] = {
		"ERR_NVGPUCTRPERM",
		"does not have permission to access NVIDIA GPU Performance",
		"perf_event_paranoid",
		"No permission to enable",
		"Access to performance monitoring and observability operations",
		"CUPTI_ERROR_INSUFFICIENT_PRIVILEGES",
	};

	for (size_t i = 0; i < KF_COUNT(sign); i++)
		if (memmem(text, len, sign[i], strlen(sign[i])))
			return true;
	return false;
}
