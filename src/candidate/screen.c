/*
 * The screen: an early sentence about what a program may not do to the
 * machine that compiles it. It is not the defence, which is the builder's
 * sandbox; it spares a build, and tells the model why.
 *
 * Each rule is about a way to make a compiler read a file of the machine:
 * into the program, or into a message that would go to a model provider.
 */
#include "candidate/language.h"

#include <ctype.h>

#include "candidate/c_lex.h"

#define JOINED_BYTES 4096	/* of one asm's text that is looked at */

struct screen {
	struct kf_lex lex;
	const char *name;	/* of the file */
	char *why;		/* "" while nothing was found */
	size_t why_size;
	bool host;		/* it is host.c of a two-part program */
	bool uses_asm, macro_reads_file;
	unsigned macro_line;
};

/* What host.c may include. */
static const char *const host_headers[] = {
	"kforge/launch.h", "kforge/program.h",
	"assert.h", "complex.h", "ctype.h", "errno.h", "fenv.h", "float.h",
	"inttypes.h", "iso646.h", "limits.h", "locale.h", "math.h", "setjmp.h",
	"signal.h", "stdalign.h", "stdarg.h", "stdatomic.h", "stdbool.h",
	"stddef.h", "stdint.h", "stdio.h", "stdlib.h", "stdnoreturn.h",
	"string.h", "tgmath.h", "threads.h", "time.h", "uchar.h", "wchar.h",
	"wctype.h",
};

static const char *const asm_words[] = { "asm", "__asm__", "__asm" };
static const char *const attribute_words[] = { "__attribute__",
					       "__attribute" };
/* Assembler directives that open files, or name them in messages. */
static const char *const asm_file_directives[] = { ".incbin", ".include",
						   ".file" };
/* Pragmas by their first words that open files or stop the compiler. */
static const char *const bad_pragmas[][2] = {
	{ "GCC", "pch_preprocess" }, { "GCC", "dependency" },
	{ "clang", "module" }, { "clang", "__debug" },
};

static bool among(const struct kf_tok *tok, const char *const *words,
		  size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (kf_tok_is(tok, words[i]))
			return true;
	return false;
}

static void KF_PRINTF(3, 4) forbid(struct screen *s, unsigned line,
				   const char *fmt, ...)
{
	size_t len;
	va_list ap;

	if (s->why[0])
		return;
	snprintf(s->why, s->why_size, "%s line %u: ", s->name, line);
	len = strlen(s->why);
	va_start(ap, fmt);
	vsnprintf(s->why + len, s->why_size - len, fmt, ap);
	va_end(ap);
}

/* Whether a header's name leads out of the folders of headers. */
static bool leads_out(const char *name, size_t len)
{
	if (len && (name[0] == '/' || name[0] == '\\' || name[0] == '~'))
		return true;
	if (len >= 2 && isalpha((unsigned char)name[0]) && name[1] == ':')
		return true;
	for (size_t i = 0; i + 1 < len; i++)
		if (name[i] == '.' && name[i + 1] == '.' &&
		    (i == 0 || name[i - 1] == '/' || name[i - 1] == '\\') &&
		    (i + 2 == len || name[i + 2] == '/' ||
		     name[i + 2] == '\\'))
			return true;
	return false;
}

/* The name between quotes or angle brackets; false for anything else. */
static bool header_name(const struct kf_tok *rest, const char **name,
			size_t *len)
{
	const char *end;

	if (rest->len < 2 || (rest->at[0] != '"' && rest->at[0] != '<'))
		return false;
	end = memchr(rest->at + 1, rest->at[0] == '"' ? '"' : '>',
		     rest->len - 1);
	if (!end)
		return false;
	*name = rest->at + 1;
	*len = (size_t)(end - *name);
	return true;
}

static bool is_host_header(const char *name, size_t len)
{
	for (size_t i = 0; i < KF_COUNT(host_headers); i++)
		if (strlen(host_headers[i]) == len &&
		    memcmp(host_headers[i], name, len) == 0)
			return true;
	return false;
}

static void check_include(struct screen *s, const struct kf_tok *directive)
{
	struct kf_tok rest = kf_lex_rest(&s->lex);
	const char *name = "";
	size_t len = 0;

	if (kf_tok_is(directive, "include_next"))
		forbid(s, directive->line, "#include_next is not allowed; "
		       "include the header by its name");
	else if (!header_name(&rest, &name, &len))
		forbid(s, directive->line, "#%.*s needs a header's name in "
		       "quotes or angle brackets, not a macro",
		       (int)directive->len, directive->at);
	else if (leads_out(name, len))
		forbid(s, directive->line, "#%.*s of the path \"%.*s\" is not "
		       "allowed; only standard headers and kforge/program.h "
		       "are there", (int)directive->len, directive->at,
		       (int)(len < 80 ? len : 80), name);
	else if (s->host && !is_host_header(name, len))
		forbid(s, directive->line, "#include of \"%.*s\" is not "
		       "allowed in this file, which launches kernels by "
		       "<kforge/launch.h> and includes besides only "
		       "<kforge/program.h> and headers of standard C",
		       (int)(len < 80 ? len : 80), name);
}

/* A file name in #line makes the compiler print that file's lines in its
 * messages. */
static void check_line(struct screen *s, const struct kf_tok *directive)
{
	struct kf_tok tok = kf_lex_next(&s->lex);

	for (; tok.kind != KF_TOK_EOL && tok.kind != KF_TOK_END;
	     tok = kf_lex_next(&s->lex))
		if (tok.kind == KF_TOK_STRING && tok.len > 2 &&
		    leads_out(tok.at + 1, tok.len - 2))
			forbid(s, directive->line, "#line with the path of "
			       "another file is not allowed");
}

static void check_pragma(struct screen *s, const struct kf_tok *first,
			 const struct kf_tok *second)
{
	for (size_t i = 0; i < KF_COUNT(bad_pragmas); i++)
		if (kf_tok_is(first, bad_pragmas[i][0]) &&
		    kf_tok_is(second, bad_pragmas[i][1]))
			forbid(s, first->line, "#pragma %s %s is not allowed",
			       bad_pragmas[i][0], bad_pragmas[i][1]);
}

/* _Pragma("GCC dependency ...") */
static void check_pragma_operator(struct screen *s)
{
	struct kf_tok tok = kf_lex_next(&s->lex);
	struct kf_tok first, second;
	struct kf_lex inner;

	if (kf_tok_is(&tok, "("))
		tok = kf_lex_next(&s->lex);
	if (tok.kind != KF_TOK_STRING || tok.len < 2)
		return;
	kf_lex_init(&inner, tok.at + 1, tok.len - 2);
	inner.line = tok.line;
	first = kf_lex_next(&inner);
	second = kf_lex_next(&inner);
	check_pragma(s, &first, &second);
	kf_lex_release(&inner);
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)tolower((unsigned char)c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The character that an escape at *at stands for; moves *at past it. */
static char unescape(const char *text, size_t len, size_t *at)
{
	static const char from[] = "nrtvfab", to[] = "\n\r\t\v\f\a\b";
	size_t i = *at + 1;
	int value = 0;
	const char *hit;

	if (text[i] == 'x') {
		for (i++; i < len && hex_value(text[i]) >= 0; i++)
			value = (value * 16 + hex_value(text[i])) & 255;
	} else if (text[i] >= '0' && text[i] <= '7') {
		for (size_t n = 0; n < 3 && i < len && text[i] >= '0' &&
		     text[i] <= '7'; n++, i++)
			value = (value * 8 + text[i] - '0') & 255;
	} else {
		hit = strchr(from, text[i]);
		value = hit ? to[hit - from] : text[i];
		i++;
	}
	*at = i;
	return (char)value;
}

/* Appends a string literal as the compiler would read it. */
static void join_string(const struct kf_tok *tok, struct kf_buf *out)
{
	size_t len = tok->len;

	if (len && tok->at[len - 1] == '"')
		len--;
	for (size_t i = 1; i < len;) {
		char c = tok->at[i];

		if (c == '\\' && i + 1 < len)
			c = unescape(tok->at, len, &i);
		else
			i++;
		c = (char)tolower((unsigned char)c);
		kf_buf_add(out, c ? &c : " ", 1);
	}
}

static const char *file_directive(const struct kf_buf *text)
{
	for (size_t i = 0; i < KF_COUNT(asm_file_directives); i++)
		if (strstr(kf_buf_str(text), asm_file_directives[i]))
			return asm_file_directives[i];
	return NULL;
}

/* Joins the strings up to the parenthesis that closes this one; what is left
 * afterwards is as if the whole had been read. */
static void check_strings(struct screen *s, bool is_asm)
{
	struct kf_buf joined = { .max = JOINED_BYTES };
	struct kf_tok tok = kf_lex_next(&s->lex);
	unsigned line = tok.line;
	const char *bad;
	int depth = 0;

	while (is_asm && tok.kind == KF_TOK_WORD)
		tok = kf_lex_next(&s->lex);	/* volatile, goto, inline */
	for (; tok.kind != KF_TOK_END && tok.kind != KF_TOK_EOL;
	     tok = kf_lex_next(&s->lex)) {
		if (kf_tok_is(&tok, "("))
			depth++;
		else if (kf_tok_is(&tok, ")"))
			depth--;
		else if (tok.kind == KF_TOK_STRING)
			join_string(&tok, &joined);
		else if (kf_tok_is(&tok, ":"))
			kf_buf_puts(&joined, " ");
		if (depth <= 0)
			break;
	}
	bad = file_directive(&joined);
	if (bad)
		forbid(s, line, "the assembler directive %s is not allowed",
		       bad);
	kf_buf_release(&joined);
}

/* A macro's strings may end in an asm that names the macro. */
static void check_define(struct screen *s, const struct kf_tok *directive)
{
	struct kf_buf joined = { .max = JOINED_BYTES };
	struct kf_tok tok = kf_lex_next(&s->lex);

	for (; tok.kind != KF_TOK_EOL && tok.kind != KF_TOK_END;
	     tok = kf_lex_next(&s->lex)) {
		if (tok.kind == KF_TOK_STRING)
			join_string(&tok, &joined);
		s->uses_asm |= among(&tok, asm_words, KF_COUNT(asm_words));
	}
	if (file_directive(&joined) && !s->macro_reads_file) {
		s->macro_reads_file = true;
		s->macro_line = directive->line;
	}
	kf_buf_release(&joined);
}

static void check_has_include(struct screen *s, const struct kf_tok *tok)
{
	struct kf_tok rest = kf_lex_rest(&s->lex);
	const char *name;
	size_t len;

	while (rest.len && (rest.at[0] == '(' ||
			    isspace((unsigned char)rest.at[0]))) {
		rest.at++;
		rest.len--;
	}
	if (header_name(&rest, &name, &len) && leads_out(name, len))
		forbid(s, tok->line, "%.*s of a path is not allowed",
		       (int)tok->len, tok->at);
}

static void check_condition(struct screen *s)
{
	static const char *const words[] = { "__has_include", "__has_embed",
					     "__has_include_next" };
	struct kf_tok tok = kf_lex_next(&s->lex);

	for (; tok.kind != KF_TOK_EOL && tok.kind != KF_TOK_END;
	     tok = kf_lex_next(&s->lex))
		if (among(&tok, words, KF_COUNT(words)))
			check_has_include(s, &tok);
}

static void directive(struct screen *s)
{
	static const char *const includes[] = { "include", "include_next",
						"import", "embed" };
	struct kf_tok name = kf_lex_next(&s->lex);
	struct kf_tok first, tok = name;

	if (among(&name, includes, KF_COUNT(includes))) {
		check_include(s, &name);
	} else if (kf_tok_is(&name, "line") || name.kind == KF_TOK_NUMBER) {
		check_line(s, &name);
		return;
	} else if (kf_tok_is(&name, "define")) {
		check_define(s, &name);
		return;
	} else if (kf_tok_is(&name, "if") || kf_tok_is(&name, "elif")) {
		check_condition(s);
		return;
	} else if (kf_tok_is(&name, "pragma")) {
		first = kf_lex_next(&s->lex);
		tok = first.kind == KF_TOK_EOL ? first : kf_lex_next(&s->lex);
		check_pragma(s, &first, &tok);
	}
	while (tok.kind != KF_TOK_EOL && tok.kind != KF_TOK_END)
		tok = kf_lex_next(&s->lex);
}

static bool look_through(const char *name, const char *text, size_t len,
			 bool host, char *why, size_t why_size)
{
	struct screen s = { .name = name, .why = why, .why_size = why_size,
			    .host = host };
	struct kf_tok tok;

	why[0] = '\0';
	kf_lex_init(&s.lex, text, len);
	for (tok = kf_lex_next(&s.lex); tok.kind != KF_TOK_END && !why[0];
	     tok = kf_lex_next(&s.lex)) {
		if (tok.kind == KF_TOK_HASH) {
			directive(&s);
		} else if (kf_tok_is(&tok, "_Pragma")) {
			check_pragma_operator(&s);
		} else if (among(&tok, asm_words, KF_COUNT(asm_words))) {
			s.uses_asm = true;
			check_strings(&s, true);
		} else if (among(&tok, attribute_words,
				 KF_COUNT(attribute_words))) {
			check_strings(&s, false);
		}
	}
	if (s.uses_asm && s.macro_reads_file)
		forbid(&s, s.macro_line, "a macro used with asm holds an "
		       "assembler directive that reads a file");
	kf_lex_release(&s.lex);
	return !why[0];
}

bool kf_c_screen(const char *name, const char *text, size_t len, char *why,
		 size_t why_size)
{
	return look_through(name, text, len, false, why, why_size);
}

bool kf_host_screen(const char *name, const char *text, size_t len, char *why,
		    size_t why_size)
{
	return look_through(name, text, len, true, why, why_size);
}
