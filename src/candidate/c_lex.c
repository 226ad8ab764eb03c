#include "candidate/c_lex.h"

#include <ctype.h>

/* Bytes of a line splice at text (backslash, blanks, newline), or 0. Blanks
 * before the newline count because gcc joins such lines too. */
static size_t splice_len(const char *text, size_t len)
{
	size_t n = 1;

	if (text[0] != '\\')
		return 0;
	while (n < len && (text[n] == ' ' || text[n] == '\t'))
		n++;
	return n < len && text[n] == '\n' ? n + 1 : 0;
}

/* Joins spliced lines and spells the trigraph of '#' out. The newlines taken
 * out come back after the joined line, so that line numbers stay right. */
static size_t join_lines(const char *text, size_t len, char *out)
{
	size_t n = 0, owed = 0;

	for (size_t i = 0; i < len;) {
		size_t splice = splice_len(text + i, len - i);

		if (splice) {
			owed++;
			i += splice;
		} else if (len - i >= 3 && memcmp(text + i, "?\?=", 3) == 0) {
			out[n++] = '#';
			i += 3;
		} else {
			char c = text[i++];

			out[n++] = c;
			for (; c == '\n' && owed; owed--)
				out[n++] = '\n';
		}
	}
	return n;
}

void kf_lex_init(struct kf_lex *lex, const char *text, size_t len)
{
	*lex = (struct kf_lex) {
		.text = kf_alloc(len + 1),
		.line = 1,
		.line_start = true,
	};
	lex->len = join_lines(text, len, lex->text);
}

void kf_lex_release(struct kf_lex *lex)
{
	free(lex->text);
	*lex = (struct kf_lex) { 0 };
}

static char peek(const struct kf_lex *lex, size_t ahead)
{
	size_t at = lex->pos + ahead;

	return at < lex->len ? lex->text[at] : '\0';
}

/* Skips one comment if there is one. */
static bool skip_comment(struct kf_lex *lex)
{
	if (peek(lex, 0) != '/')
		return false;
	if (peek(lex, 1) == '/') {
		while (lex->pos < lex->len && lex->text[lex->pos] != '\n')
			lex->pos++;
		return true;
	}
	if (peek(lex, 1) != '*')
		return false;
	for (lex->pos += 2; lex->pos < lex->len; lex->pos++) {
		if (peek(lex, 0) == '*' && peek(lex, 1) == '/') {
			lex->pos += 2;
			return true;
		}
		lex->line += lex->text[lex->pos] == '\n';
	}
	lex->open_comment = true;
	return true;
}

/* Skips blanks and comments; stops at the newline that ends a directive. */
static void skip_blanks(struct kf_lex *lex)
{
	while (lex->pos < lex->len) {
		char c = lex->text[lex->pos];

		if (c == '\n') {
			if (lex->in_directive)
				return;
			lex->line++;
			lex->line_start = true;
			lex->pos++;
		} else if (isspace((unsigned char)c)) {
			lex->pos++;
		} else if (!skip_comment(lex)) {
			return;
		}
	}
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' ||
	       (unsigned char)c >= 0x80;
}

/* Length of a literal; one without its end stops at the line's. */
static size_t quoted_len(const struct kf_lex *lex)
{
	char quote = lex->text[lex->pos];
	size_t i = lex->pos + 1;

	for (; i < lex->len && lex->text[i] != '\n'; i++) {
		if (lex->text[i] == quote)
			return i + 1 - lex->pos;
		if (lex->text[i] == '\\' && i + 1 < lex->len &&
		    lex->text[i + 1] != '\n')
			i++;
	}
	return i - lex->pos;
}

static size_t word_len(const struct kf_lex *lex)
{
	size_t n = 1;

	while (is_word(peek(lex, n)) || (peek(lex, n) == '.' &&
	       isdigit((unsigned char)lex->text[lex->pos])))
		n++;
	return n;
}

/* The two-character spellings that matter here, as what they stand for. */
static size_t digraph(const struct kf_lex *lex, const char **as)
{
	static const struct { const char *two, *one; } row[] = {
		{ "<%", "{" }, { "%>", "}" }, { "%:", "#" },
	};

	for (size_t i = 0; i < KF_COUNT(row); i++) {
		if (peek(lex, 0) != row[i].two[0] ||
		    peek(lex, 1) != row[i].two[1])
			continue;
		*as = row[i].one;
		return 2;
	}
	*as = lex->text + lex->pos;
	return 1;
}

static struct kf_tok punct(struct kf_lex *lex)
{
	struct kf_tok tok = { KF_TOK_PUNCT, NULL, 1, lex->line };

	lex->pos += digraph(lex, &tok.at);
	if (tok.at[0] == '#' && lex->line_start && !lex->in_directive) {
		tok.kind = KF_TOK_HASH;
		lex->in_directive = true;
	}
	return tok;
}

struct kf_tok kf_lex_next(struct kf_lex *lex)
{
	struct kf_tok tok;
	char c;

	skip_blanks(lex);
	tok = (struct kf_tok) { KF_TOK_END, lex->text + lex->pos, 0,
				lex->line };
	if (lex->in_directive &&
	    (lex->pos >= lex->len || lex->text[lex->pos] == '\n')) {
		lex->in_directive = false;
		tok.kind = KF_TOK_EOL;
		return tok;
	}
	if (lex->pos >= lex->len)
		return tok;
	c = lex->text[lex->pos];
	if (is_word(c)) {
		tok.kind = isdigit((unsigned char)c) ? KF_TOK_NUMBER
						     : KF_TOK_WORD;
		tok.len = word_len(lex);
	} else if (c == '"' || c == '\'') {
		tok.kind = c == '"' ? KF_TOK_STRING : KF_TOK_CHAR;
		tok.len = quoted_len(lex);
	} else {
		tok = punct(lex);
		lex->line_start = false;
		return tok;
	}
	lex->pos += tok.len;
	lex->line_start = false;
	return tok;
}

struct kf_tok kf_lex_rest(struct kf_lex *lex)
{
	struct kf_tok tok;
	char close = '\0';

	skip_blanks(lex);
	tok = (struct kf_tok) { KF_TOK_WORD, lex->text + lex->pos, 0,
				lex->line };
	for (; peek(lex, 0) && peek(lex, 0) != '\n'; lex->pos++) {
		char c = peek(lex, 0);

		if (close) {
			close = c == close ? '\0' : close;
		} else if (c == '/' && (peek(lex, 1) == '/' ||
					peek(lex, 1) == '*')) {
			break;
		} else if (c == '"') {
			close = '"';
		} else if (c == '<') {
			close = '>';
		}
	}
	tok.len = (size_t)(lex->text + lex->pos - tok.at);
	while (tok.len && isspace((unsigned char)tok.at[tok.len - 1]))
		tok.len--;
	return tok;
}

bool kf_tok_is(const struct kf_tok *tok, const char *text)
{
	return tok->len == strlen(text) && memcmp(tok->at, text, tok->len) == 0;
}
