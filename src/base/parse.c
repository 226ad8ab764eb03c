#include "base/base.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <math.h>

bool kf_parse_u64(const char *text, uint64_t *out)
{
	unsigned long long value;
	char *end;

	if (!isdigit((unsigned char)text[0]))
		return false;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || *end)
		return false;
	*out = value;
	return true;
}

bool kf_parse_i64(const char *text, int64_t *out)
{
	long long value;
	char *end;

	if (!isdigit((unsigned char)text[text[0] == '-']))
		return false;
	errno = 0;
	value = strtoll(text, &end, 10);
	if (errno || *end)
		return false;
	*out = value;
	return true;
}

bool kf_parse_double(const char *text, double *out)
{
	locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	double value;
	char *end;

	if (!c)
		abort();
	value = strtod_l(text, &end, c);
	freelocale(c);
	if (end == text || *end || !isfinite(value) ||
	    isspace((unsigned char)text[0]))
		return false;
	*out = value;
	return true;
}
