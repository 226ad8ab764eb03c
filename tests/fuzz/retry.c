/*
 * Whatever a server asks for, the wait lies between the floor and the caps.
 * The two headers are parted by a NUL.
 */
#include "provider/retry.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	const struct kf_retry_policy *policy = &kf_retry_default;
	char *text = kf_strndup((const char *)bytes, len);
	size_t first_len = strlen(text);
	const char *second = first_len < len ? text + first_len + 1 : NULL;
	uint64_t asked_ns, delay_ns;

	if (!kf_retry_asked_ns(text, second, 1700000000, &asked_ns) && asked_ns)
		abort();
	kf_retry_next(policy, 1, asked_ns, 0.5, UINT64_MAX, &delay_ns);
	if (delay_ns < policy->floor_ns ||
	    delay_ns > policy->asked_cap_ns + policy->floor_ns)
		abort();
	free(text);
	return 0;
}
