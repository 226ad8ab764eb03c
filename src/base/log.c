#include "base/base.h"

void kf_logf(const struct kf_log *log, enum kf_log_level level,
	     const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	if (!log || !log->write || level > log->level)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	log->write(log->arg, level, line);
}
