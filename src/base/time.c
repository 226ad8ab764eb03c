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

const char *kf_time_words(double ns, int digits, char out[32])
{
	static const struct { double ns; const char *name; } unit[] = {
		{ 1e9, "s" }, { 1e6, "ms" }, { 1e3, "us" }, { 1, "ns" },
	};
	size_t i = 0;

	while (i + 1 < KF_COUNT(unit) && ns < unit[i].ns)
		i++;
	snprintf(out, 32, "%.*g %s", digits, ns / unit[i].ns, unit[i].name);
	return out;
}
