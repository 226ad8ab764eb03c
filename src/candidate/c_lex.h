/*
 * c_lex.h - the tokens of C, just enough of them to tell code from comments,
 * strings and directives. It never fails: text that is not C gives odd tokens.
 */
#ifndef KF_C_LEX_H
#define KF_C_LEX_H

#include "base/base.h"

enum kf_tok_kind {
	KF_TOK_END,
	KF_TOK_WORD,
	KF_TOK_NUMBER,
	KF_TOK_STRING,		/* with its quotes */
	KF_TOK_CHAR,
	KF_TOK_PUNCT,		/* one character; digraph braces as braces */
	KF_TOK_HASH,		/* the # that begins a directive */
	KF_TOK_EOL,		/* the end of a directive's line */
};

struct kf_tok {
	enum kf_tok_kind kind;
	const char *at;		/* into the lexer's text */
	size_t len;
	unsigned line;		/* 1.. */
};

struct kf_lex {
	char *text;		/* owned; without line splices */
	size_t len, pos;
	unsigned line;
	bool line_start;	/* nothing but blanks on this line so far */
	bool in_directive;
	bool open_comment;	/* the text ended inside a comment */
};

void kf_lex_init(struct kf_lex *lex, const char *text, size_t len);
void kf_lex_release(struct kf_lex *lex);
struct kf_tok kf_lex_next(struct kf_lex *lex);
/* The rest of a directive's line up to a comment, blanks trimmed: what
 * #include means. KF_TOK_EOL is still to come. Borrowed from the lexer. */
struct kf_tok kf_lex_rest(struct kf_lex *lex);

bool kf_tok_is(const struct kf_tok *tok, const char *text);

#endif
