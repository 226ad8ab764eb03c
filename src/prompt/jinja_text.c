/*
 * Strings of the template engine. They are UTF-8; characters are code points,
 * as in Python. Upper and lower case is known for ASCII, Latin-1, Greek and
 * Cyrillic letters; other letters stay as they are.
 */
#include "prompt/jinja_internal.h"

/* A byte that begins no valid sequence counts as one character. */
uint32_t jinja_char_at(const char *text, size_t len, size_t *width)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t need = s[0] < 0x80 ? 1 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	uint32_t point = s[0];

	*width = 1;
	if (s[0] < 0xc0 || need > len)
		return point;
	point &= 0xffu >> (need + 1);
	for (size_t i = 1; i < need; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return s[0];
		point = point << 6 | (s[i] & 0x3fu);
	}
	*width = need;
	return point;
}

size_t jinja_put_char(char out[5], uint32_t point)
{
	static const unsigned char lead[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
	size_t need = point < 0x80 ? 1 : point < 0x800 ? 2 :
		      point < 0x10000 ? 3 : 4;

	out[need] = '\0';
	for (size_t i = need; i > 1; i--) {
		out[i - 1] = (char)(0x80 | (point & 0x3f));
		point >>= 6;
	}
	out[0] = (char)(lead[need] | point);
	return need;
}

size_t jinja_char_count(const char *text, size_t len)
{
	size_t count = 0, width;

	for (size_t i = 0; i < len; i += width, count++)
		jinja_char_at(text + i, len - i, &width);
	return count;
}

size_t jinja_char_offset(const char *text, size_t len, size_t index)
{
	size_t at = 0, width;

	for (; at < len && index; at += width, index--)
		jinja_char_at(text + at, len - at, &width);
	return at;
}

struct span { uint32_t from, to; };

static bool within(const struct span *span, size_t count, uint32_t point)
{
	for (size_t i = 0; i < count; i++)
		if (point >= span[i].from && point <= span[i].to)
			return true;
	return false;
}

bool jinja_is_space(uint32_t point)
{
	static const struct span span[] = {
		{ 9, 13 }, { 28, 32 }, { 0x85, 0x85 }, { 0xa0, 0xa0 },
		{ 0x1680, 0x1680 }, { 0x2000, 0x200a }, { 0x2028, 0x2029 },
		{ 0x202f, 0x202f }, { 0x205f, 0x205f }, { 0x3000, 0x3000 },
	};

	return within(span, KF_COUNT(span), point);
}

/* What \w matches in Python; beyond Latin-1, all but the punctuation blocks. */
bool jinja_is_word(uint32_t point)
{
	static const struct span ascii[] = {
		{ '0', '9' }, { 'A', 'Z' }, { '_', '_' }, { 'a', 'z' },
		{ 0xaa, 0xaa }, { 0xb2, 0xb3 }, { 0xb5, 0xb5 },
		{ 0xb9, 0xba }, { 0xbc, 0xbe }, { 0xc0, 0xd6 },
		{ 0xd8, 0xf6 }, { 0xf8, 0xff },
	};
	static const struct span not[] = {
		{ 0x1680, 0x1680 }, { 0x2000, 0x206f }, { 0x20a0, 0x20cf },
		{ 0x2190, 0x245f }, { 0x2500, 0x2bff }, { 0x2e00, 0x2e7f },
		{ 0x3000, 0x3004 }, { 0x3008, 0x3020 }, { 0xd800, 0xf8ff },
		{ 0xfe30, 0xfe6f }, { 0xff00, 0xff0f }, { 0x1f000, 0x1f9ff },
	};

	if (point < 0x100)
		return within(ascii, KF_COUNT(ascii), point);
	return !within(not, KF_COUNT(not), point);
}

bool jinja_is_printable(uint32_t point)
{
	static const struct span not[] = {
		{ 0, 31 }, { 0x7f, 0xa0 }, { 0xad, 0xad }, { 0x600, 0x605 },
		{ 0x61c, 0x61c }, { 0x6dd, 0x6dd }, { 0x70f, 0x70f },
		{ 0x1680, 0x1680 }, { 0x180e, 0x180e }, { 0x2000, 0x200f },
		{ 0x2028, 0x202f }, { 0x205f, 0x206f }, { 0x3000, 0x3000 },
		{ 0xd800, 0xf8ff }, { 0xfeff, 0xfeff }, { 0xfff0, 0xfffb },
		{ 0xfffe, 0xffff }, { 0xe0000, 0x10ffff },
	};

	return !within(not, KF_COUNT(not), point);
}

size_t jinja_skip_space(const char *text, size_t len, size_t from)
{
	size_t width;

	while (from < len &&
	       jinja_is_space(jinja_char_at(text + from, len - from, &width)))
		from += width;
	return from;
}

/* Begin of the last character before end. */
static size_t step_back(const char *text, size_t end)
{
	size_t at = end - 1, width;

	while (at > 0 && end - at < 4 &&
	       ((unsigned char)text[at] & 0xc0) == 0x80)
		at--;
	jinja_char_at(text + at, end - at, &width);
	return at + width == end ? at : end - 1;
}

size_t jinja_trim_end(const char *text, size_t len)
{
	size_t width;

	while (len) {
		size_t at = step_back(text, len);

		if (!jinja_is_space(jinja_char_at(text + at, len - at, &width)))
			break;
		len = at;
	}
	return len;
}

/* --- case ------------------------------------------------------------ */

static const struct { uint32_t from, to, down; } letters[] = {
	{ 'A', 'Z', 32 }, { 0xc0, 0xd6, 32 }, { 0xd8, 0xde, 32 },
	{ 0x391, 0x3a1, 32 }, { 0x3a3, 0x3a9, 32 }, { 0x400, 0x40f, 80 },
	{ 0x410, 0x42f, 32 },
};

static uint32_t lower_of(uint32_t point)
{
	for (size_t i = 0; i < KF_COUNT(letters); i++)
		if (point >= letters[i].from && point <= letters[i].to)
			return point + letters[i].down;
	return point;
}

static uint32_t upper_of(uint32_t point)
{
	for (size_t i = 0; i < KF_COUNT(letters); i++)
		if (point >= letters[i].from + letters[i].down &&
		    point <= letters[i].to + letters[i].down)
			return point - letters[i].down;
	return point;
}

static void put_char(struct kf_buf *out, uint32_t point)
{
	char text[5];

	kf_buf_add(out, text, jinja_put_char(text, point));
}

static void put_upper(struct kf_buf *out, uint32_t point)
{
	if (point == 0xdf)
		kf_buf_puts(out, "SS");
	else
		put_char(out, upper_of(point));
}

/* how: 'u' upper, 'l' lower, 'c' first upper, 't' each word's first upper */
static struct value *change_case(struct jinja *j, struct value *s, char how)
{
	struct kf_buf out = { .max = JINJA_TEXT_BYTES };
	bool safe = s->u.s.safe && how != 't', first = true;
	struct value *v;
	size_t width;

	for (size_t i = 0; i < s->u.s.len; i += width) {
		uint32_t point = jinja_char_at(s->u.s.text + i,
					       s->u.s.len - i, &width);
		bool gap = jinja_is_space(point) ||
			   (point < 128 && strchr("-({[<", (int)point));

		if (width == 1 && point >= 0x80)
			kf_buf_add(&out, s->u.s.text + i, 1);
		else if (how == 'u' || (first && how != 'l'))
			put_upper(&out, point);
		else
			put_char(&out, lower_of(point));
		first = how == 't' && gap;
	}
	v = jinja_str_take(j, &out);
	if (safe)
		v = jinja_safe(j, v->u.s.text, v->u.s.len);
	return v;
}

struct value *jinja_upper(struct jinja *j, struct value *s)
{
	return change_case(j, s, 'u');
}

struct value *jinja_lower(struct jinja *j, struct value *s)
{
	return change_case(j, s, 'l');
}

struct value *jinja_capitalize(struct jinja *j, struct value *s)
{
	return change_case(j, s, 'c');
}

struct value *jinja_title(struct jinja *j, struct value *s)
{
	return change_case(j, s, 't');
}

/* --- cutting and replacing ------------------------------------------- */

static bool strippable(const struct value *chars, const char *at, size_t width)
{
	size_t n;

	if (chars->kind == V_NONE) {
		return jinja_is_space(jinja_char_at(at, width, &n));
	}
	for (size_t i = 0; i < chars->u.s.len; i += n) {
		jinja_char_at(chars->u.s.text + i, chars->u.s.len - i, &n);
		if (n == width && !memcmp(chars->u.s.text + i, at, n))
			return true;
	}
	return false;
}

struct value *jinja_strip(struct jinja *j, struct value *s,
			  struct value *chars, bool left, bool right)
{
	size_t from = 0, to = s->u.s.len, width;

	if (chars->kind != V_NONE && chars->kind != V_STR)
		return jinja_fail(j, "strip wants a string, not a %s",
				  jinja_kind_name(chars));
	while (left && from < to) {
		jinja_char_at(s->u.s.text + from, to - from, &width);
		if (!strippable(chars, s->u.s.text + from, width))
			break;
		from += width;
	}
	while (right && to > from) {
		size_t at = step_back(s->u.s.text, to);

		if (!strippable(chars, s->u.s.text + at, to - at))
			break;
		to = at;
	}
	return jinja_str_like(j, s, s->u.s.text + from, to - from);
}

struct value *jinja_escape(struct jinja *j, struct value *v)
{
	static const struct { char c; const char *text; } as[] = {
		{ '&', "&amp;" }, { '<', "&lt;" }, { '>', "&gt;" },
		{ '\'', "&#39;" }, { '"', "&#34;" },
	};
	struct kf_buf out = { .max = JINJA_TEXT_BYTES };
	struct value *s = jinja_soft_str(j, v);

	if (jinja_failed(j) || s->u.s.safe)
		return s;
	for (size_t i = 0; i < s->u.s.len; i++) {
		size_t k = 0;

		while (k < KF_COUNT(as) && as[k].c != s->u.s.text[i])
			k++;
		if (k < KF_COUNT(as))
			kf_buf_puts(&out, as[k].text);
		else
			kf_buf_add(&out, s->u.s.text + i, 1);
	}
	s = jinja_str_take(j, &out);
	return jinja_safe(j, s->u.s.text, s->u.s.len);
}

size_t jinja_find(const struct value *hay, const struct value *needle,
		  size_t from)
{
	const char *at;

	if (from > hay->u.s.len)
		return SIZE_MAX;
	at = memmem(hay->u.s.text + from, hay->u.s.len - from,
		    needle->u.s.text, needle->u.s.len);
	return at ? (size_t)(at - hay->u.s.text) : SIZE_MAX;
}

/* An empty `old` stands between all characters, as in Python. */
static void replace_nothing(const struct value *s, const struct value *new,
			    int64_t count, struct kf_buf *out)
{
	size_t i = 0, width;

	for (; i < s->u.s.len && count; i += width, count--) {
		kf_buf_add(out, new->u.s.text, new->u.s.len);
		jinja_char_at(s->u.s.text + i, s->u.s.len - i, &width);
		kf_buf_add(out, s->u.s.text + i, width);
	}
	if (count)
		kf_buf_add(out, new->u.s.text, new->u.s.len);
	else
		kf_buf_add(out, s->u.s.text + i, s->u.s.len - i);
}

struct value *jinja_replace(struct jinja *j, struct value *s,
			    struct value *old, struct value *new, int64_t count)
{
	struct kf_buf out = { .max = JINJA_TEXT_BYTES };
	size_t at = 0;

	if (!old->u.s.len) {
		replace_nothing(s, new, count, &out);
		return jinja_str_take(j, &out);
	}
	while (count != 0) {
		size_t hit = jinja_find(s, old, at);

		if (hit == SIZE_MAX)
			break;
		kf_buf_add(&out, s->u.s.text + at, hit - at);
		kf_buf_add(&out, new->u.s.text, new->u.s.len);
		at = hit + old->u.s.len;
		count--;
	}
	kf_buf_add(&out, s->u.s.text + at, s->u.s.len - at);
	return jinja_str_take(j, &out);
}

static bool ends_line(uint32_t point)
{
	return (point >= 10 && point <= 13) || (point >= 28 && point <= 30) ||
		point == 0x85 || point == 0x2028 || point == 0x2029;
}

struct value *jinja_splitlines(struct jinja *j, struct value *s)
{
	struct value *list = jinja_new(j, V_LIST);
	size_t begin = 0, i = 0, width, end;

	while (i < s->u.s.len && !jinja_failed(j)) {
		uint32_t point = jinja_char_at(s->u.s.text + i,
					       s->u.s.len - i, &width);

		end = i;
		i += width;
		if (!ends_line(point))
			continue;
		if (point == '\r' && i < s->u.s.len && s->u.s.text[i] == '\n')
			i++;
		jinja_push(j, &list->u.list,
			   jinja_str(j, s->u.s.text + begin, end - begin));
		begin = i;
	}
	if (begin < s->u.s.len)
		jinja_push(j, &list->u.list,
			   jinja_str(j, s->u.s.text + begin,
				     s->u.s.len - begin));
	return list;
}

struct value *jinja_pad(struct jinja *j, struct value *s, int64_t width,
			char how)
{
	int64_t len = jinja_length(j, s), pad = width - len, left;
	struct kf_buf out = { .max = JINJA_TEXT_BYTES };
	struct value *v;

	if (pad <= 0)
		return s;
	if (pad >= JINJA_TEXT_BYTES)
		return jinja_limit(j, "a text of more than %u MiB",
				   JINJA_TEXT_BYTES >> 20);
	left = how == 'c' ? pad / 2 + (pad & width & 1) : how == 'r' ? pad : 0;
	for (int64_t i = 0; i < left; i++)
		kf_buf_add(&out, " ", 1);
	kf_buf_add(&out, s->u.s.text, s->u.s.len);
	for (int64_t i = left; i < pad; i++)
		kf_buf_add(&out, " ", 1);
	v = jinja_str_take(j, &out);
	return jinja_str_like(j, s, v->u.s.text, v->u.s.len);
}
