#include "base/base.h"

/* Length of the valid sequence at bytes (1..4), or 0. */
static size_t sequence_len(const unsigned char *s, size_t len)
{
	static const struct {
		unsigned char mask, lead;
		uint32_t least;
	} form[] = {
		{ 0x80, 0x00, 0 }, { 0xe0, 0xc0, 0x80 },
		{ 0xf0, 0xe0, 0x800 }, { 0xf8, 0xf0, 0x10000 },
	};

	for (size_t n = 1; n <= 4 && n <= len; n++) {
		uint32_t point;

		if ((s[0] & form[n - 1].mask) != form[n - 1].lead)
			continue;
		point = s[0] & (uint32_t)(unsigned char)~form[n - 1].mask;
		for (size_t i = 1; i < n; i++) {
			if ((s[i] & 0xc0) != 0x80)
				return 0;
			point = point << 6 | (s[i] & 0x3fu);
		}
		if (point < form[n - 1].least || point > 0x10ffff ||
		    (point >= 0xd800 && point <= 0xdfff))
			return 0;
		return n;
	}
	return 0;
}

void kf_utf8_clean(const char *bytes, size_t len, struct kf_buf *out)
{
	for (size_t i = 0; i < len;) {
		unsigned char c = (unsigned char)bytes[i];
		size_t n = sequence_len((const unsigned char *)bytes + i,
					len - i);

		if (!n)
			kf_buf_puts(out, "\xef\xbf\xbd");
		else if ((c < 32 && c != '\n' && c != '\t') || c == 127)
			kf_buf_puts(out, "?");
		else
			kf_buf_add(out, bytes + i, n);
		i += n ? n : 1;
	}
	out->len = kf_utf8_cut(kf_buf_str(out), out->len);
	if (out->data)
		out->data[out->len] = '\0';
}

void kf_xml_text(const char *text, struct kf_buf *out)
{
	struct kf_buf clean = { .max = out->max };

	kf_utf8_clean(text, strlen(text), &clean);
	for (const char *at = kf_buf_str(&clean); *at; at++) {
		const char *as = *at == '<' ? "&lt;" : *at == '>' ? "&gt;" :
			*at == '&' ? "&amp;" : *at == '"' ? "&quot;" : NULL;

		if (as)
			kf_buf_puts(out, as);
		else
			kf_buf_add(out, at, 1);
	}
	kf_buf_release(&clean);
}

bool kf_utf8_repair(const char *bytes, size_t len, struct kf_buf *out)
{
	size_t good = 0;	/* where the valid run before i begins */

	for (size_t i = 0; i < len;) {
		size_t n = bytes[i] ? sequence_len(
			(const unsigned char *)bytes + i, len - i) : 0;

		if (n) {
			i += n;
			continue;
		}
		if (!kf_buf_add(out, bytes + good, i - good) ||
		    !kf_buf_puts(out, "\xef\xbf\xbd"))
			return false;
		good = ++i;
	}
	return kf_buf_add(out, bytes + good, len - good);
}

size_t kf_utf8_cut(const char *bytes, size_t len)
{
	size_t start = len;

	while (start > 0 && len - start < 4) {
		unsigned char c = (unsigned char)bytes[start - 1];

		start--;
		if ((c & 0xc0) == 0x80)
			continue;
		if (c < 0x80)
			return len;
		return sequence_len((const unsigned char *)bytes + start,
				    len - start) ? len : start;
	}
	return len;
}
