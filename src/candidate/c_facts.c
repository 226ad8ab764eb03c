#include "candidate/c_facts.h"

#include "candidate/c_lex.h"

#define COND_MAX 64

static const char *const file_starts[] = {
	"static", "extern", "typedef", "struct", "enum", "union", "const",
	"void", "int", "float", "double", "char", "long", "short", "unsigned",
	"signed", "inline", "size_t", "_Static_assert", "__attribute__",
	"int64_t", "int32_t", "uint64_t", "uint32_t", "_Pragma",
};
static const char *const cplusplus_words[] = {
	"template", "namespace", "class", "using", "nullptr", "constexpr",
	"static_cast", "reinterpret_cast", "std", "typename", "operator",
};
/* Where a declaration of the entry stands. */
enum place { NOWHERE, NAME_SEEN, IN_PARAMETERS, AFTER_PARAMETERS };

struct cond {
	int braces, parens;	/* as they were at #if */
	bool skipped;		/* this branch is not code */
	bool outer_skipped;
};

struct scan {
	struct kf_lex lex;
	const char *entry;
	struct kf_facts *facts;
	int braces, parens, linkage;	/* linkage: open extern "C" { */
	struct cond cond[COND_MAX];
	size_t cond_count;
	bool skipped, is_static, broken;
	enum place place;
	struct kf_tok last[2];		/* before this one; the latest first */
};

static bool among(const struct kf_tok *tok, const char *const *words,
		  size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (kf_tok_is(tok, words[i]))
			return true;
	return false;
}

static void found(struct scan *s, enum kf_entry entry)
{
	if (entry > s->facts->entry)
		s->facts->entry = entry;
}

static void cond_open(struct scan *s, bool skip)
{
	if (s->cond_count == COND_MAX) {
		s->broken = true;
		return;
	}
	s->cond[s->cond_count++] = (struct cond) {
		.braces = s->braces,
		.parens = s->parens,
		.skipped = skip,
		.outer_skipped = s->skipped,
	};
	s->skipped |= skip;
}

/* #else and #elif: another version of the same lines, so that brackets count
 * from where the #if stood. */
static void cond_else(struct scan *s)
{
	struct cond *c;

	if (!s->cond_count) {
		s->broken = true;
		return;
	}
	c = &s->cond[s->cond_count - 1];
	if (!c->skipped) {
		s->braces = c->braces;
		s->parens = c->parens;
	}
	c->skipped = false;
	s->skipped = c->outer_skipped;
}

static void cond_close(struct scan *s)
{
	if (!s->cond_count) {
		s->broken = true;
		return;
	}
	s->skipped = s->cond[--s->cond_count].outer_skipped;
}

static bool condition_is_false(struct scan *s, const struct kf_tok *name)
{
	struct kf_tok rest = kf_lex_rest(&s->lex);

	if (kf_tok_is(name, "if"))
		return kf_tok_is(&rest, "0") ||
		       kf_tok_is(&rest, "defined(__cplusplus)");
	return kf_tok_is(name, "ifdef") && kf_tok_is(&rest, "__cplusplus");
}

static void directive(struct scan *s)
{
	struct kf_tok tok = kf_lex_next(&s->lex);
	bool define = kf_tok_is(&tok, "define");

	if (kf_tok_is(&tok, "if") || kf_tok_is(&tok, "ifdef") ||
	    kf_tok_is(&tok, "ifndef"))
		cond_open(s, condition_is_false(s, &tok));
	else if (kf_tok_is(&tok, "else") || kf_tok_is(&tok, "elif"))
		cond_else(s);
	else if (kf_tok_is(&tok, "endif"))
		cond_close(s);
	while (tok.kind != KF_TOK_EOL && tok.kind != KF_TOK_END) {
		if (define && !s->skipped && kf_tok_is(&tok, s->entry))
			found(s, KF_ENTRY_DEFINED);
		tok = kf_lex_next(&s->lex);
	}
}

static bool at_file_scope(const struct scan *s)
{
	return s->braces == 0 && s->parens == 0;
}

static void open_brace(struct scan *s)
{
	if (at_file_scope(s) && s->last[0].kind == KF_TOK_STRING &&
	    kf_tok_is(&s->last[1], "extern")) {
		s->linkage++;
		s->facts->cplusplus = true;
		return;
	}
	if (s->place == AFTER_PARAMETERS)
		found(s, s->is_static ? KF_ENTRY_STATIC : KF_ENTRY_DEFINED);
	s->place = NOWHERE;
	s->braces++;
}

static void close_brace(struct scan *s)
{
	if (s->braces > 0)
		s->braces--;
	else if (s->linkage > 0)
		s->linkage--;
	else
		s->broken = true;
	if (s->braces == 0)
		s->is_static = false;
}

static void close_paren(struct scan *s)
{
	if (s->parens > 0)
		s->parens--;
	else
		s->broken = true;
	if (s->parens == 0 && s->place == IN_PARAMETERS)
		s->place = AFTER_PARAMETERS;
}

static void end_declaration(struct scan *s)
{
	if (s->place == AFTER_PARAMETERS)
		found(s, KF_ENTRY_DECLARED);
	s->place = NOWHERE;
	if (at_file_scope(s))
		s->is_static = false;
}

static void open_paren(struct scan *s)
{
	s->parens++;
}

static void colon(struct scan *s)
{
	if (s->last[0].kind == KF_TOK_PUNCT && s->last[0].at[0] == ':')
		s->facts->cplusplus = true;
}

static void punct(struct scan *s, char c)
{
	static const struct { char c; void (*act)(struct scan *s); } row[] = {
		{ '{', open_brace }, { '}', close_brace },
		{ '(', open_paren }, { ')', close_paren },
		{ ';', end_declaration }, { ':', colon },
	};

	if (s->place == NAME_SEEN)
		s->place = c == '(' ? IN_PARAMETERS : NOWHERE;
	for (size_t i = 0; i < KF_COUNT(row); i++)
		if (row[i].c == c)
			row[i].act(s);
}

static void word(struct scan *s, const struct kf_tok *tok)
{
	if (s->place == NAME_SEEN)
		s->place = NOWHERE;
	if (among(tok, cplusplus_words, KF_COUNT(cplusplus_words)))
		s->facts->cplusplus = true;
	if (at_file_scope(s) && kf_tok_is(tok, "static"))
		s->is_static = true;
	if (!kf_tok_is(tok, s->entry))
		return;
	found(s, KF_ENTRY_MENTIONED);
	if (at_file_scope(s))
		s->place = NAME_SEEN;
}

static void scan_all(struct scan *s)
{
	struct kf_tok tok = kf_lex_next(&s->lex);

	s->facts->starts = tok.kind == KF_TOK_HASH ||
		(tok.kind == KF_TOK_WORD &&
		 among(&tok, file_starts, KF_COUNT(file_starts)));
	for (; tok.kind != KF_TOK_END; tok = kf_lex_next(&s->lex)) {
		s->facts->ends = tok.kind == KF_TOK_HASH ||
			(tok.kind == KF_TOK_PUNCT &&
			 (tok.at[0] == '}' || tok.at[0] == ';'));
		if (tok.kind == KF_TOK_HASH)
			directive(s);
		else if (s->skipped)
			continue;
		else if (tok.kind == KF_TOK_WORD)
			word(s, &tok);
		else if (tok.kind == KF_TOK_PUNCT)
			punct(s, tok.at[0]);
		s->last[1] = s->last[0];
		s->last[0] = tok;
	}
	s->facts->open_comment = s->lex.open_comment;
	s->facts->whole = !s->broken && at_file_scope(s) && !s->linkage &&
			  !s->cond_count && !s->lex.open_comment;
}

void kf_c_facts(const char *text, size_t len, const char *entry,
		struct kf_facts *out)
{
	struct scan s = { .entry = entry, .facts = out };

	*out = (struct kf_facts) { 0 };
	kf_lex_init(&s.lex, text, len);
	scan_all(&s);
	kf_lex_release(&s.lex);
}
