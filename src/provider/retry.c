#include "provider/retry.h"

#include <ctype.h>
#include <math.h>

const struct kf_retry_policy kf_retry_default = {
	.retry_max = 5,
	.floor_ns = KF_NS_PER_S / 2,
	.cap_ns = 30 * KF_NS_PER_S,
	.asked_cap_ns = 300 * KF_NS_PER_S,
};

bool kf_retry_status(long status)
{
	return status == 408 || status == 409 || status == 429 ||
		(status >= 500 && status <= 599);
}

/* "1.5" and the like: digits first, so neither signs, words nor hex. */
static bool parse_wait(const char *text, double unit_ns, uint64_t *ns)
{
	double value, product;

	if (!isdigit((unsigned char)text[0]) || strpbrk(text, "xX") ||
	    !kf_parse_double(text, &value))
		return false;
	product = ceil(value * unit_ns);
	*ns = product < 1e19 ? (uint64_t)product : UINT64_MAX;
	return true;
}

static int month_of(const char *name)
{
	static const char all[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

	for (int i = 0; i < 12; i++)
		if (memcmp(name, all + 3 * i, 3) == 0)
			return i;
	return -1;
}

/* "Sun, 06 Nov 1994 08:49:37 GMT", the one form that servers may send today.
 * By hand, since strptime reads names in the user's language. */
static bool parse_date(const char *text, int64_t *seconds)
{
	char month[4], zone[4];
	struct tm t = { 0 };
	int end = 0;
	char *comma = strchr(text, ',');

	if (!comma || comma - text != 3)
		return false;
	if (sscanf(comma + 1, " %2d %3s %4d %2d:%2d:%2d %3s%n", &t.tm_mday,
		   month, &t.tm_year, &t.tm_hour, &t.tm_min, &t.tm_sec, zone,
		   &end) != 7 || comma[1 + end] || strlen(month) != 3 ||
	    strcmp(zone, "GMT"))
		return false;
	t.tm_mon = month_of(month);
	t.tm_year -= 1900;
	if (t.tm_mon < 0 || t.tm_mday < 1 || t.tm_mday > 31 || t.tm_hour < 0 ||
	    t.tm_hour > 23 || t.tm_min < 0 || t.tm_min > 59 || t.tm_sec < 0 ||
	    t.tm_sec > 60 || t.tm_year < 70)
		return false;
	*seconds = (int64_t)timegm(&t);
	return true;
}

bool kf_retry_asked_ns(const char *retry_after, const char *retry_after_ms,
		       int64_t now_s, uint64_t *asked_ns)
{
	int64_t then_s;

	*asked_ns = 0;
	if (retry_after_ms &&
	    parse_wait(retry_after_ms, (double)KF_NS_PER_MS, asked_ns))
		return true;
	if (!retry_after)
		return false;
	if (parse_wait(retry_after, (double)KF_NS_PER_S, asked_ns))
		return true;
	if (!parse_date(retry_after, &then_s))
		return false;
	/* Our now has lost its fraction: then - now is already rounded up. */
	if (then_s > now_s)
		*asked_ns = (uint64_t)(then_s - now_s) * KF_NS_PER_S;
	return true;
}

static uint64_t at_most(uint64_t value, uint64_t cap)
{
	return value < cap ? value : cap;
}

bool kf_retry_next(const struct kf_retry_policy *policy, unsigned failed,
		   uint64_t asked_ns, double random, uint64_t left_ns,
		   uint64_t *delay_ns)
{
	uint64_t own_ns = policy->floor_ns;

	for (unsigned i = 1; i < failed && own_ns < policy->cap_ns; i++)
		own_ns *= 2;
	own_ns = at_most(own_ns, policy->cap_ns);
	asked_ns = at_most(asked_ns, policy->asked_cap_ns);
	*delay_ns = asked_ns > own_ns ? asked_ns : own_ns;
	*delay_ns += (uint64_t)((double)own_ns * random / 4);
	return failed <= policy->retry_max && *delay_ns < left_ns;
}
