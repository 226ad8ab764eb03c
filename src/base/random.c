#include "base/base.h"

#include <errno.h>
#include <sys/random.h>

void kf_random_bytes(void *out, size_t len)
{
	char *at = out;

	while (len) {
		ssize_t got = getrandom(at, len, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			abort();
		at += got;
		len -= (size_t)got;
	}
}

uint64_t kf_rng_next(struct kf_rng *rng)
{
	uint64_t z = rng->state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

uint64_t kf_rng_below(struct kf_rng *rng, uint64_t bound)
{
	uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
	uint64_t value;

	do
		value = kf_rng_next(rng);
	while (value >= limit);
	return value % bound;
}

double kf_rng_double(struct kf_rng *rng)
{
	return (double)(kf_rng_next(rng) >> 11) * 0x1p-53;
}
