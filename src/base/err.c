#include "base/base.h"

#include <errno.h>

const char *kf_code_name(enum kf_code code)
{
	static const char *const name[] = {
		[KF_OK] = "ok",
		[KF_E_INPUT] = "input",
		[KF_E_LIMIT] = "limit",
		[KF_E_UNAVAIL] = "unavailable",
		[KF_E_TIMEOUT] = "timeout",
		[KF_E_IO] = "io",
		[KF_E_CANCELED] = "canceled",
	};

	return (size_t)code < KF_COUNT(name) ? name[code] : "unknown";
}

enum kf_code kf_fail(struct kf_err *err, enum kf_code code,
		     const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return code;
	err->code = code;
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	return code;
}

enum kf_code kf_fail_errno(struct kf_err *err, const char *fmt, ...)
{
	int saved = errno;
	size_t len;
	va_list ap;

	if (!err)
		return KF_E_IO;
	err->code = KF_E_IO;
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	len = strlen(err->text);
	snprintf(err->text + len, sizeof(err->text) - len, ": %s",
		 strerror(saved));
	return KF_E_IO;
}

void kf_advise(struct kf_err *err, const char *way_out)
{
	size_t len = err ? strlen(err->text) : 0;

	if (err)
		snprintf(err->text + len, sizeof(err->text) - len, "; %s",
			 way_out);
}
