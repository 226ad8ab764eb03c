/*
 * What the surroundings of a block say about it: its info string, the words
 * before it, its first comment.
 */
#include "candidate/reply.h"

#include <ctype.h>
#include <strings.h>

#define WORDS_MAX 64		/* of a sentence that is looked at */
#define SHORT_SENTENCE 10	/* words; longer ones argue, they do not label */

/* Words that may stand beside a file's name when a line names a file. */
static const char *const filler[] = {
	"file", "filename", "name", "path", "source", "code", "program", "the",
	"here", "is", "here's", "complete", "full", "final", "updated",
	"corrected", "fixed", "new", "revised", "improved", "optimized",
	"optimised", "this", "and", "for", "of", "contents", "content",
	"below", "as", "a", "my", "c", "c11", "whole", "entire", "output",
	"listing", NULL,
};
static const char *const revision[] = {
	"final", "corrected", "fixed", "revised", "updated", "rewritten",
	"improved", "complete", "full", "optimized", "optimised", "new", NULL,
};
static const char *const set_aside[] = {
	"original", "old", "previous", "earlier", "alternative",
	"alternatively", "variant", "naive", "before", "wrong", "incorrect",
	"broken", "buggy", NULL,
};
/* With these, the words above speak of another program than the block's. */
static const char *const compares[] = { "than", "unlike", "compared",
					"replaces", "replace", NULL };

struct word { const char *at; size_t len; };

static bool word_among(struct word word, const char *const *list)
{
	for (; *list; list++)
		if (strlen(*list) == word.len &&
		    strncasecmp(*list, word.at, word.len) == 0)
			return true;
	return false;
}

/* The part after the last slash of either kind. */
static struct word base_name(struct word word)
{
	for (size_t i = word.len; i > 0; i--) {
		if (word.at[i - 1] != '/' && word.at[i - 1] != '\\')
			continue;
		word.at += i;
		word.len -= i;
		break;
	}
	return word;
}

/* "program.c", "src/kernels.cu": a base and an extension of 1 to 5 letters or
 * digits that begins with a letter. */
static bool is_file_name(struct word word)
{
	size_t dot = word.len;

	word = base_name(word);
	while (dot > 0 && (dot >= word.len || word.at[dot] != '.'))
		dot--;
	if (dot == 0 || dot + 1 >= word.len || word.len - dot > 6 ||
	    !isalpha((unsigned char)word.at[dot + 1]))
		return false;
	for (size_t i = dot + 1; i < word.len; i++)
		if (!isalnum((unsigned char)word.at[i]))
			return false;
	for (size_t i = 0; i < dot; i++)
		if (!isalnum((unsigned char)word.at[i]) &&
		    !strchr("_-.+", word.at[i]))
			return false;
	return true;
}

static bool next_word(const char *text, size_t len, const char *separators,
		      size_t *at, struct word *out)
{
	size_t i = *at;

	while (i < len && strchr(separators, text[i]))
		i++;
	out->at = text + i;
	while (i < len && !strchr(separators, text[i]))
		i++;
	out->len = (size_t)(text + i - out->at);
	*at = i;
	return out->len > 0;
}

/* A line of code that slipped onto the fence's line. */
static bool info_is_code(const char *info, size_t len)
{
	char last = info[len - 1];

	if (info[0] == '#' || strncmp(info, "//", 2) == 0 ||
	    strncmp(info, "/*", 2) == 0)
		return true;
	return last == ';' || (last == '{' && memchr(info, '(', len));
}

bool kf_info_read(const char *info, size_t len, struct kf_block *block)
{
	static const char separators[] = " \t,;:{}()[]=\"'";
	struct word word, tag = { "", 0 };
	bool first = true;
	size_t at = 0;
	char *copy;

	if (len && info_is_code(info, len)) {
		block->tag = kf_strdup("");
		return false;
	}
	copy = kf_strndup(info, len);
	for (; next_word(copy, len, separators, &at, &word); first = false) {
		if (word.at[0] != '.' && is_file_name(word)) {
			struct word name = base_name(word);

			block->info_name = kf_strndup(name.at, name.len);
			break;
		}
		if (!first)
			continue;
		tag = word;
		if (tag.at[0] == '.') {		/* {.c title="program.c"} */
			tag.at++;
			tag.len--;
		}
	}
	block->tag = kf_strndup(tag.at, tag.len);
	free(copy);
	return true;
}

static bool is_mark(char c)
{
	return isspace((unsigned char)c) || strchr("*_`#:\"'()[]<>=.,", c);
}

/* Whether what follows a name only comments on it: nothing, or a dash or a
 * colon first. */
static bool is_remark(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (text[i] == ':' || text[i] == '-' || text[i] == '(' ||
		    (unsigned char)text[i] >= 0x80)
			return true;
		if (!is_mark(text[i]))
			return false;
	}
	return true;
}

static bool only_digits(struct word word)
{
	for (size_t i = 0; i < word.len; i++)
		if (!isdigit((unsigned char)word.at[i]))
			return false;
	return true;
}

bool kf_text_names(const char *text, size_t len, const char *name)
{
	bool seen = false;
	struct word word;
	size_t at = 0;

	while (next_word(text, len, " \t\n*`\"'()[]<>=,", &at, &word)) {
		while (word.len && is_mark(word.at[0])) {
			word.at++;
			word.len--;
		}
		while (word.len && is_mark(word.at[word.len - 1]))
			word.len--;
		if (!word.len || word_among(word, filler) || only_digits(word))
			continue;
		word = base_name(word);
		if (word.len == strlen(name) &&
		    strncasecmp(word.at, name, word.len) == 0) {
			seen = true;
			if (is_remark(word.at + word.len,
				      (size_t)(text + len - word.at) -
				      word.len))
				return true;
			continue;
		}
		/* "File:Program.c" in one word */
		if (word.len > 5 && strncasecmp(word.at, "file:", 5) == 0)
			return kf_text_names(word.at + 5, (size_t)(text + len -
					     word.at) - 5, name);
		return false;
	}
	return seen;
}

bool kf_source_names(const char *source, size_t len, const char *name)
{
	size_t i = 0, end;

	while (i < len && isspace((unsigned char)source[i]))
		i++;
	if (len - i < 2 || source[i] != '/' ||
	    (source[i + 1] != '/' && source[i + 1] != '*'))
		return false;
	for (i += 2; i < len && (isspace((unsigned char)source[i]) ||
				 strchr("*/=-!", source[i])); i++)
		;
	for (end = i; end < len && source[end] != '\n'; end++)
		if (source[end] == '*' && end + 1 < len &&
		    source[end + 1] == '/')
			break;
	return kf_text_names(source + i, end - i, name);
}

enum kf_block_tone kf_tone_read(const char *text, size_t len)
{
	static const char separators[] = " \t\n.,;:!?()[]*_`\"'#>|/";
	bool is_revision = false, is_aside = false, is_compared = false;
	size_t at = 0, words = 0;
	struct word word;

	while (words < WORDS_MAX &&
	       next_word(text, len, separators, &at, &word)) {
		words++;
		is_revision |= word_among(word, revision);
		is_aside |= word_among(word, set_aside);
		is_compared |= word_among(word, compares);
	}
	if (is_revision)
		return KF_TONE_REVISION;
	if (is_aside && !is_compared && words <= SHORT_SENTENCE)
		return KF_TONE_SET_ASIDE;
	return KF_TONE_PLAIN;
}
