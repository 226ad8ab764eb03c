#include "provider/text.h"

#include <ctype.h>

#define PIECE_BYTES 12		/* of a key: shorter pieces may be chance */

char *kf_text_join(const struct kf_ask *ask)
{
	struct kf_buf all = { .max = SIZE_MAX / 4 };

	for (size_t i = 0; i < ask->message_count; i++) {
		const char *text = ask->message[i].text;
		size_t len = strlen(text);

		/* One empty line between, however the text before ended. */
		if (all.len)
			kf_buf_puts(&all, all.data[all.len - 1] == '\n' ?
				    "\n" : "\n\n");
		kf_buf_add(&all, text, len);
	}
	return all.data ? all.data : kf_strdup("");
}

char *kf_text_join_files(const struct kf_ask *ask)
{
	char *text = kf_text_join(ask);
	struct kf_buf all = { .max = SIZE_MAX / 4 };

	if (!ask->picture_count)
		return text;
	kf_buf_printf(&all, "%s\n\nPictures that belong to this:\n", text);
	for (size_t i = 0; i < ask->picture_count; i++)
		kf_buf_printf(&all, "%s\n", ask->picture[i].path);
	free(text);
	return all.data;
}

bool kf_text_is_png(const void *bytes, size_t len)
{
	static const unsigned char sign[] = { 0x89, 'P', 'N', 'G', '\r', '\n',
					      0x1a, '\n' };

	return len > sizeof(sign) && memcmp(bytes, sign, sizeof(sign)) == 0;
}

void kf_text_base64(const void *bytes, size_t len, struct kf_buf *out)
{
	static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"abcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *from = bytes;

	for (size_t i = 0; i < len; i += 3) {
		size_t n = len - i < 3 ? len - i : 3;
		unsigned three = (unsigned)from[i] << 16 |
			(n > 1 ? (unsigned)from[i + 1] << 8 : 0) |
			(n > 2 ? from[i + 2] : 0);
		char four[4];

		for (size_t k = 0; k < 4; k++)
			four[k] = k > n ? '=' :
				digit[three >> (18 - 6 * k) & 63];
		kf_buf_add(out, four, sizeof(four));
	}
}

size_t kf_text_bytes(const struct kf_ask *ask)
{
	size_t bytes = 0;

	for (size_t i = 0; i < ask->message_count; i++)
		bytes += strlen(ask->message[i].text);
	return bytes;
}

json_t *kf_text_string(const char *text)
{
	size_t len = strlen(text);
	struct kf_buf clean = { .max = 3 * len + 1 };
	json_t *value;

	(void)kf_utf8_repair(text, len, &clean);
	value = json_stringn(kf_buf_str(&clean), clean.len);
	kf_buf_release(&clean);
	return value;
}

/* The value of the four hex digits at text, or -1. */
static int hex4(const char *text, size_t len)
{
	int value = 0;

	if (len < 4)
		return -1;
	for (size_t i = 0; i < 4; i++) {
		unsigned char c = (unsigned char)text[i];

		if (!isxdigit(c))
			return -1;
		value = value * 16 + (isdigit(c) ? c - '0' :
				      tolower(c) - 'a' + 10);
	}
	return value;
}

/* Overwrites the \uXXXX escapes that no string can hold: NUL, and a half of a
 * surrogate pair without its other half. */
static void repair_escapes(char *text, size_t len)
{
	for (size_t i = 0; i + 1 < len; i++) {
		int unit, next;

		if (text[i] != '\\')
			continue;
		i++;
		if (text[i] != 'u')
			continue;
		unit = hex4(text + i + 1, len - i - 1);
		next = i + 7 <= len && text[i + 5] == '\\' && text[i + 6] == 'u'
			? hex4(text + i + 7, len - i - 7) : -1;
		if (unit >= 0xd800 && unit < 0xdc00 &&
		    next >= 0xdc00 && next < 0xe000)
			i += 10;
		else if (unit == 0 || (unit >= 0xd800 && unit < 0xe000))
			memcpy(text + i + 1, "fffd", 4);
	}
}

json_t *kf_text_json(const char *text, size_t len)
{
	struct kf_buf clean = { .max = 3 * len + 1 };
	json_t *value = NULL;

	(void)kf_utf8_repair(text, len, &clean);
	if (clean.len) {
		repair_escapes(clean.data, clean.len);
		value = json_loadb(clean.data, clean.len, JSON_DECODE_ANY,
				   NULL);
	}
	kf_buf_release(&clean);
	return value;
}

/* How many bytes at text are a piece of the key. */
static size_t piece_len(const char *text, const char *key)
{
	size_t best = 0;

	for (const char *from = key; *from; from++) {
		size_t n = 0;

		while (from[n] && text[n] == from[n])
			n++;
		if (n > best)
			best = n;
	}
	return best;
}

/* Adds text with "[key]" in place of the key, and of every piece of it that
 * is long enough to be worth stealing. */
static void add_redacted(struct kf_buf *out, const char *text, const char *key)
{
	size_t key_len = key ? strlen(key) : 0;
	size_t least = key_len < PIECE_BYTES ? key_len : PIECE_BYTES;

	while (*text) {
		size_t n = key_len ? piece_len(text, key) : 0;

		if (n && n >= least) {
			kf_buf_puts(out, "[key]");
			text += n;
		} else {
			kf_buf_add(out, text++, 1);
		}
	}
}

/* Runs of white space become one space; none at either end. */
static void fold(char *text)
{
	size_t n = 0;

	for (const char *c = text; *c; c++) {
		bool space = strchr(" \t\r\n", *c);

		if (!space)
			text[n++] = *c;
		else if (n && text[n - 1] != ' ')
			text[n++] = ' ';
	}
	while (n && text[n - 1] == ' ')
		n--;
	text[n] = '\0';
}

void kf_text_quote(const char *text, size_t len, const char *key,
		   char *out, size_t out_bytes)
{
	struct kf_buf valid = { .max = 3 * len + 1 };
	struct kf_buf safe = { .max = 20 * len + 1 };
	struct kf_buf line = { .max = out_bytes - 1 };

	(void)kf_utf8_repair(text, len, &valid);
	if (valid.len)
		fold(valid.data);
	/* Before the cut, which could leave a piece too short to be known. */
	add_redacted(&safe, kf_buf_str(&valid), key);
	kf_utf8_clean(kf_buf_str(&safe), safe.len, &line);
	snprintf(out, out_bytes, "%s", kf_buf_str(&line));
	kf_buf_release(&valid);
	kf_buf_release(&safe);
	kf_buf_release(&line);
}

void kf_text_note(struct kf_reply *reply, const char *fmt, ...)
{
	size_t len = strlen(reply->note);
	size_t room = sizeof(reply->note) - len;
	va_list ap;

	if (len) {
		snprintf(reply->note + len, room, "; ");
		len = strlen(reply->note);
		room = sizeof(reply->note) - len;
	}
	va_start(ap, fmt);
	vsnprintf(reply->note + len, room, fmt, ap);
	va_end(ap);
	len = kf_utf8_cut(reply->note, strlen(reply->note));
	reply->note[len] = '\0';
}
