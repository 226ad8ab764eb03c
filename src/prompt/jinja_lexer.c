/* Text of a template -> tokens. White space control happens here. */
#include "prompt/jinja_internal.h"

struct lexer {
	struct jinja *j;
	const char *text;
	size_t len, at;
	struct token *tokens;
	size_t count, cap;
	char balance[JINJA_PARSE_DEPTH];
	size_t depth;
};

static struct token *add(struct lexer *x, enum token_kind kind)
{
	struct token *token;

	if (x->count == x->cap) {
		size_t cap = x->cap ? 2 * x->cap : 64;
		struct token *more = jinja_alloc(x->j, cap * sizeof(*more));

		if (x->count)
			memcpy(more, x->tokens, x->count * sizeof(*more));
		x->tokens = more;
		x->cap = cap;
	}
	token = &x->tokens[x->count++];
	*token = (struct token) { .kind = kind, .line = x->j->line };
	return token;
}

/* Moves on by len bytes, counting lines. */
static void move(struct lexer *x, size_t len)
{
	for (size_t i = 0; i < len; i++)
		x->j->line += x->text[x->at + i] == '\n';
	x->at += len;
}

static bool looking_at(const struct lexer *x, size_t at, const char *text)
{
	size_t len = strlen(text);

	return x->len - at >= len && !memcmp(x->text + at, text, len);
}

static char char_at(const struct lexer *x, size_t at)
{
	return at < x->len ? x->text[at] : '\0';
}

static void add_data(struct lexer *x, size_t end, bool trim)
{
	size_t stop = end;

	if (trim)
		stop = x->at + jinja_trim_end(x->text + x->at, end - x->at);
	if (stop > x->at) {
		struct token *token = add(x, T_DATA);

		token->len = stop - x->at;
		token->text = jinja_copy(x->j, x->text + x->at, token->len);
	}
	move(x, end - x->at);
}

/* Ends a tag at `at`, where "%}" or the like begins, with its white space. */
static void end_tag(struct lexer *x, size_t end, bool trim)
{
	if (trim)
		end = jinja_skip_space(x->text, x->len, end);
	move(x, end - x->at);
}

static bool is_sign(char c)
{
	return c == '-' || c == '+';
}

/* At "{%", is it raw? Returns where its data begins, or 0. */
static size_t raw_begin(const struct lexer *x, size_t at)
{
	at += 2;
	at += is_sign(char_at(x, at));
	at = jinja_skip_space(x->text, x->len, at);
	if (!looking_at(x, at, "raw"))
		return 0;
	at = jinja_skip_space(x->text, x->len, at + 3);
	if (looking_at(x, at, "-%}"))
		return jinja_skip_space(x->text, x->len, at + 3);
	return looking_at(x, at, "%}") ? at + 2 : 0;
}

/* At "{%", is it endraw? Returns where the tag ends, or 0. */
static size_t raw_end(const struct lexer *x, size_t at)
{
	at += 2;
	at += is_sign(char_at(x, at));
	at = jinja_skip_space(x->text, x->len, at);
	if (!looking_at(x, at, "endraw"))
		return 0;
	at = jinja_skip_space(x->text, x->len, at + 6);
	if (looking_at(x, at, "-%}"))
		return jinja_skip_space(x->text, x->len, at + 3);
	if (looking_at(x, at, "+%}"))
		return at + 3;
	return looking_at(x, at, "%}") ? at + 2 : 0;
}

static void lex_raw(struct lexer *x)
{
	for (size_t i = x->at; i + 1 < x->len; i++) {
		size_t end = looking_at(x, i, "{%") ? raw_end(x, i) : 0;

		if (!end)
			continue;
		add_data(x, i, char_at(x, i + 2) == '-');
		move(x, end - x->at);
		return;
	}
	if (x->at < x->len)
		jinja_fail(x->j, "raw has no endraw");
}

static void lex_comment(struct lexer *x)
{
	size_t begin = x->at;

	for (size_t i = begin; i + 1 < x->len; i++) {
		if (!looking_at(x, i, "#}"))
			continue;
		end_tag(x, i + 2, i > begin && x->text[i - 1] == '-');
		return;
	}
	if (x->at < x->len)
		jinja_fail(x->j, "a comment has no end");
}

/* --- inside of tags -------------------------------------------------- */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Digits with single underscores between them, from at on; returns the end. */
static size_t digits(const struct lexer *x, size_t at)
{
	while (is_digit(char_at(x, at)) ||
	       (char_at(x, at) == '_' && is_digit(char_at(x, at + 1))))
		at++;
	return at;
}

static void without_underscores(const struct lexer *x, size_t end,
				char *out, size_t size)
{
	size_t len = 0;

	for (size_t i = x->at; i < end && len + 1 < size; i++)
		if (x->text[i] != '_')
			out[len++] = x->text[i];
	out[len] = '\0';
}

static bool lex_float(struct lexer *x)
{
	size_t end = digits(x, x->at), more;
	char text[400];
	char *rest;

	if (x->at && x->text[x->at - 1] == '.')
		return false;
	if (char_at(x, end) == '.' && is_digit(char_at(x, end + 1)))
		end = digits(x, end + 1);
	else if ((char_at(x, end) | 32) != 'e')
		return false;
	more = end;
	if ((char_at(x, more) | 32) == 'e') {
		more++;
		more += is_sign(char_at(x, more));
		if (is_digit(char_at(x, more)))
			end = digits(x, more);
		else if (!memchr(x->text + x->at, '.', end - x->at))
			return false;
	}
	without_underscores(x, end, text, sizeof(text));
	add(x, T_FLOAT)->f = strtod(text, &rest);
	move(x, end - x->at);
	return true;
}

static bool digit_of_base(char c, unsigned base)
{
	if (base == 16 && (c | 32) >= 'a' && (c | 32) <= 'f')
		return true;
	return is_digit(c) && (unsigned)(c - '0') < base;
}

static void lex_int(struct lexer *x)
{
	static const struct { char c; unsigned base; } prefix[] = {
		{ 'x', 16 }, { 'o', 8 }, { 'b', 2 },
	};
	unsigned base = 10;
	size_t end, from = x->at;
	char text[400];
	uint64_t value = 0;

	for (size_t i = 0; x->text[x->at] == '0' && i < 3; i++) {
		size_t at = x->at + 2;

		at += char_at(x, at) == '_';
		if ((char_at(x, x->at + 1) | 32) == prefix[i].c &&
		    digit_of_base(char_at(x, at), prefix[i].base)) {
			base = prefix[i].base;
			from = at;
		}
	}
	end = from;
	while (digit_of_base(char_at(x, end), base) ||
	       (char_at(x, end) == '_' &&
		digit_of_base(char_at(x, end + 1), base)))
		end++;
	/* A decimal that begins with 0 is a row of zeros. */
	if (base == 10 && x->text[from] == '0')
		for (end = from; char_at(x, end) == '0' ||
		     (char_at(x, end) == '_' && char_at(x, end + 1) == '0');)
			end++;
	x->at = from;
	without_underscores(x, end, text, sizeof(text));
	for (const char *c = text; *c; c++) {
		uint64_t digit = (uint64_t)(is_digit(*c) ? *c - '0' :
					    (*c | 32) - 'a' + 10);

		if (__builtin_mul_overflow(value, base, &value) ||
		    __builtin_add_overflow(value, digit, &value))
			value = UINT64_MAX;
		if (value > INT64_MAX) {
			jinja_fail(x->j, "an integer does not fit into "
				   "64 bits");
			return;
		}
	}
	add(x, T_INT)->i = (int64_t)value;
	x->at = end;
}

static bool is_name_char(const struct lexer *x, size_t at, size_t *width)
{
	uint32_t point;

	*width = 1;
	if (at >= x->len)
		return false;
	point = jinja_char_at(x->text + at, x->len - at, width);
	return jinja_is_word(point);
}

static bool lex_name(struct lexer *x)
{
	size_t end = x->at, width;
	struct token *token;

	while (is_name_char(x, end, &width))
		end += width;
	if (end == x->at)
		return false;
	token = add(x, T_NAME);
	token->len = end - x->at;
	token->text = jinja_copy(x->j, x->text + x->at, token->len);
	x->at = end;
	return true;
}

/* The character of \x41, \u00e9, \U0001f600 or \101, or -1. */
static int64_t numeric_escape(const struct lexer *x, size_t *at, size_t end)
{
	static const struct { char c; size_t count; } kind[] = {
		{ 'x', 2 }, { 'u', 4 }, { 'U', 8 },
	};
	uint32_t point = 0;
	size_t count = 0;

	for (size_t i = 0; i < KF_COUNT(kind); i++)
		if (x->text[*at] == kind[i].c)
			count = kind[i].count;
	if (!count) {
		for (; count < 3 && *at < end && x->text[*at] >= '0' &&
		     x->text[*at] <= '7'; count++)
			point = 8 * point + (uint32_t)(x->text[(*at)++] - '0');
		return point;
	}
	for (++*at; count; count--, ++*at) {
		char c = char_at(x, *at);

		if (*at >= end || !digit_of_base(c, 16))
			return -1;
		point = 16 * point + (uint32_t)(is_digit(c) ? c - '0' :
						(c | 32) - 'a' + 10);
	}
	return point;
}

static void unescape(struct lexer *x, size_t *at, size_t end,
		     struct kf_buf *out)
{
	static const char from[] = "\\'\"abfnrtv", to[] = "\\'\"\a\b\f\n\r\t\v";
	const char *hit;
	int64_t point;
	char text[5];

	++*at;
	if (x->text[*at] == '\n') {
		++*at;
		return;
	}
	hit = x->text[*at] ? strchr(from, x->text[*at]) : NULL;
	if (hit) {
		kf_buf_add(out, to + (hit - from), 1);
		++*at;
	} else if (x->text[*at] && strchr("xuU01234567", x->text[*at])) {
		point = numeric_escape(x, at, end);
		if (point < 0 || point > 0x10ffff ||
		    (point >= 0xd800 && point < 0xe000))
			jinja_fail(x->j, "a string has a bad escape");
		else
			kf_buf_add(out, text,
				   jinja_put_char(text, (uint32_t)point));
	} else if (x->text[*at] == 'N') {
		jinja_fail(x->j, "characters by name are not supported");
	} else {
		kf_buf_puts(out, "\\");
	}
}

static bool lex_string(struct lexer *x)
{
	char quote = x->text[x->at];
	struct kf_buf out = { .max = JINJA_SOURCE_BYTES };
	struct token *token;
	size_t end = x->at + 1;

	while (end < x->len && x->text[end] != quote)
		end += x->text[end] == '\\' ? 2 : 1;
	if (end >= x->len)
		return false;
	for (size_t i = x->at + 1; i < end && !jinja_failed(x->j);) {
		if (x->text[i] == '\\')
			unescape(x, &i, end, &out);
		else
			kf_buf_add(&out, x->text + i++, 1);
	}
	token = add(x, T_STRING);
	token->len = out.len;
	token->text = jinja_copy(x->j, kf_buf_str(&out), out.len);
	kf_buf_release(&out);
	move(x, end + 1 - x->at);
	return true;
}

static bool balance(struct lexer *x, char c)
{
	static const char open[] = "([{", close[] = ")]}";
	const char *at = strchr(open, c);

	if (at && x->depth == sizeof(x->balance)) {
		jinja_limit(x->j, "brackets nested more than %u deep",
			    JINJA_PARSE_DEPTH);
		return false;
	}
	if (at) {
		x->balance[x->depth++] = close[at - open];
	} else if (strchr(close, c)) {
		if (!x->depth || x->balance[x->depth - 1] != c) {
			jinja_fail(x->j, "unexpected '%c'", c);
			return false;
		}
		x->depth--;
	}
	return true;
}

static bool lex_operator(struct lexer *x)
{
	static const char two[][3] = { "**", "//", "==", "!=", ">=", "<=" };
	char c = x->text[x->at];

	for (size_t i = 0; i < KF_COUNT(two); i++) {
		if (!looking_at(x, x->at, two[i]))
			continue;
		add(x, T_OP)->op = OP(two[i][0], two[i][1]);
		x->at += 2;
		return true;
	}
	if (!c || !strchr("+-/*%~[](){}<>=.:|,;", c))
		return false;
	if (!balance(x, c))
		return true;
	add(x, T_OP)->op = c;
	x->at++;
	return true;
}

/* The tokens of a tag up to and with its end: '%' or '}' before the brace. */
static void lex_tag(struct lexer *x, char kind)
{
	const char *plain = kind == '%' ? "%}" : "}}";
	const char *trim = kind == '%' ? "-%}" : "-}}";

	while (x->at < x->len && !jinja_failed(x->j)) {
		char c = x->text[x->at];
		bool ends = !x->depth;

		if (ends && (looking_at(x, x->at, plain) ||
			     looking_at(x, x->at, trim) ||
			     (kind == '%' && looking_at(x, x->at, "+%}")))) {
			add(x, kind == '%' ? T_TAG_END : T_PRINT_END);
			end_tag(x, x->at + (is_sign(c) ? 3 : 2), c == '-');
			return;
		}
		if (jinja_skip_space(x->text, x->len, x->at) > x->at)
			move(x, jinja_skip_space(x->text, x->len, x->at) -
			     x->at);
		else if (is_digit(c) && lex_float(x))
			continue;
		else if (is_digit(c))
			lex_int(x);
		else if (!lex_name(x) &&
			 !((c == '"' || c == '\'') && lex_string(x)) &&
			 !lex_operator(x))
			jinja_fail(x->j, c == '"' || c == '\'' ?
				   "a string has no end" :
				   "unexpected character");
	}
}

static void lex_opening(struct lexer *x)
{
	char kind = x->text[x->at + 1];
	size_t raw = kind == '%' ? raw_begin(x, x->at) : 0;

	if (raw) {
		move(x, raw - x->at);
		lex_raw(x);
		return;
	}
	x->at += 2 + (size_t)is_sign(char_at(x, x->at + 2));
	if (kind == '#') {
		lex_comment(x);
		return;
	}
	add(x, kind == '%' ? T_TAG_BEGIN : T_PRINT_BEGIN);
	lex_tag(x, kind == '%' ? '%' : '}');
}

/* Line ends become \n; one at the end of the text is dropped. */
static char *normalize(struct jinja *j, const char *text, size_t *len)
{
	char *copy = jinja_alloc(j, *len + 1);
	size_t out = 0;

	for (size_t i = 0; i < *len; i++) {
		if (text[i] == '\r') {
			copy[out++] = '\n';
			i += i + 1 < *len && text[i + 1] == '\n';
		} else {
			copy[out++] = text[i];
		}
	}
	if (out && copy[out - 1] == '\n')
		out--;
	copy[out] = '\0';
	*len = out;
	return copy;
}

struct token *jinja_lex(struct jinja *j, const char *text, size_t len)
{
	struct lexer x = { .j = j };

	x.text = normalize(j, text, &len);
	x.len = len;
	j->line = 1;
	while (x.at < x.len && !jinja_failed(j)) {
		size_t i = x.at;

		while (i + 1 < x.len && !(x.text[i] == '{' &&
		       (x.text[i + 1] == '{' || x.text[i + 1] == '%' ||
			x.text[i + 1] == '#')))
			i++;
		if (i + 1 >= x.len) {
			add_data(&x, x.len, false);
			break;
		}
		add_data(&x, i, char_at(&x, i + 2) == '-');
		lex_opening(&x);
	}
	add(&x, T_EOF);
	return x.tokens;
}
