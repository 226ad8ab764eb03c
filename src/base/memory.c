#include "base/base.h"

void *kf_alloc(size_t size_bytes)
{
	void *memory = calloc(1, size_bytes ? size_bytes : 1);

	if (!memory)
		abort();
	return memory;
}

void *kf_realloc(void *old, size_t size_bytes)
{
	void *memory = realloc(old, size_bytes ? size_bytes : 1);

	if (!memory)
		abort();
	return memory;
}

char *kf_strndup(const char *text, size_t len)
{
	char *copy = kf_alloc(len + 1);

	memcpy(copy, text, len);
	return copy;
}

char *kf_strdup(const char *text)
{
	return text ? kf_strndup(text, strlen(text)) : NULL;
}

char *kf_format(const char *fmt, ...)
{
	struct kf_buf buf = { .max = SIZE_MAX / 4 };
	va_list ap;

	va_start(ap, fmt);
	kf_buf_vprintf(&buf, fmt, ap);
	va_end(ap);
	return buf.data ? buf.data : kf_strdup("");
}
