#include "base/base.h"

#include <errno.h>
#include <poll.h>

#define SLICE_MS 1000000	/* of a long wait: what poll can count */

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

bool kf_wait_readable(int fd, uint64_t timeout_ns)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint64_t start_ns = kf_now_ns(), spent_ns = 0;
	int got;

	do {
		uint64_t left_ms = (timeout_ns - spent_ns) / KF_NS_PER_MS + 1;

		got = poll(&p, 1, left_ms > SLICE_MS ? SLICE_MS : (int)left_ms);
		spent_ns = kf_now_ns() - start_ns;
	} while ((got < 0 && errno == EINTR && spent_ns < timeout_ns) ||
		 (got == 0 && spent_ns < timeout_ns));
	return got > 0;
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
