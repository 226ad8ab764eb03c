#include "base/base.h"

static void grow(struct kf_buf *buf, size_t need)
{
	size_t cap = buf->cap ? buf->cap : 64;

	while (cap < need)
		cap *= 2;
	if (cap == buf->cap)
		return;
	buf->data = kf_realloc(buf->data, cap);
	buf->cap = cap;
}

bool kf_buf_add(struct kf_buf *buf, const void *bytes, size_t len)
{
	size_t room = buf->max > buf->len ? buf->max - buf->len : 0;
	size_t take = len < room ? len : room;

	if (take) {
		grow(buf, buf->len + take + 1);
		memcpy(buf->data + buf->len, bytes, take);
		buf->len += take;
		buf->data[buf->len] = '\0';
	}
	return take == len;
}

bool kf_buf_puts(struct kf_buf *buf, const char *text)
{
	return kf_buf_add(buf, text, strlen(text));
}

bool kf_buf_vprintf(struct kf_buf *buf, const char *fmt, va_list ap)
{
	char small[512];
	va_list again;
	bool whole;
	char *large;
	int len;

	va_copy(again, ap);
	len = vsnprintf(small, sizeof(small), fmt, ap);
	if (len < 0)
		abort();
	if ((size_t)len < sizeof(small)) {
		va_end(again);
		return kf_buf_add(buf, small, (size_t)len);
	}
	large = kf_alloc((size_t)len + 1);
	vsnprintf(large, (size_t)len + 1, fmt, again);
	va_end(again);
	whole = kf_buf_add(buf, large, (size_t)len);
	free(large);
	return whole;
}

bool kf_buf_printf(struct kf_buf *buf, const char *fmt, ...)
{
	va_list ap;
	bool whole;

	va_start(ap, fmt);
	whole = kf_buf_vprintf(buf, fmt, ap);
	va_end(ap);
	return whole;
}

const char *kf_buf_str(const struct kf_buf *buf)
{
	return buf->data ? buf->data : "";
}

void kf_buf_clear(struct kf_buf *buf)
{
	buf->len = 0;
	if (buf->data)
		buf->data[0] = '\0';
}

void kf_buf_release(struct kf_buf *buf)
{
	free(buf->data);
	*buf = (struct kf_buf) { .max = buf->max };
}
