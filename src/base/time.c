#include "base/base.h"

#include <errno.h>

uint64_t kf_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * KF_NS_PER_S + (uint64_t)t.tv_nsec;
}

void kf_sleep_ns(uint64_t ns)
{
	struct timespec t = {
		.tv_sec = (time_t)(ns / KF_NS_PER_S),
		.tv_nsec = (long)(ns % KF_NS_PER_S),
	};

	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

void kf_time_iso(char out[32])
{
	time_t now = time(NULL);
	struct tm utc;

	gmtime_r(&now, &utc);
	strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &utc);
}
