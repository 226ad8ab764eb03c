/*
 * reply.h - a reply taken apart: clean text, reasoning set aside, and its
 * fenced blocks with all that their surroundings say about them.
 */
#ifndef KF_REPLY_H
#define KF_REPLY_H

#include "base/base.h"

#define KF_BLOCKS_MAX 4096	/* more are not read; .more says so */

enum kf_block_tone {		/* what the words before a block say of it */
	KF_TONE_PLAIN,
	KF_TONE_REVISION,	/* "the corrected version" */
	KF_TONE_SET_ASIDE,	/* "the original", "an alternative" */
};

struct kf_block {
	char *text;		/* owned */
	size_t len;
	char *tag;		/* owned; the language as written, "" if none */
	char *info_name;	/* owned; file name in the info string, NULL */
	char *near_line;	/* owned; the line before, when it stands close */
	enum kf_block_tone tone;
	bool closed;
	size_t first_line, last_line;	/* of the reply, fences included */
};

struct kf_blocks {
	struct kf_block *item;	/* owned */
	size_t count;
	bool more;
};
void kf_blocks_release(struct kf_blocks *blocks);

/* A copy in valid UTF-8, lines ended by \n alone, no NUL, no BOM. */
void kf_reply_clean(const char *reply, size_t len, struct kf_buf *out);

/* Where the answer begins: after leading blocks of reasoning and after a lone
 * closing tag. Tags elsewhere are the answer's own. A leading block without
 * its end leaves nothing. */
size_t kf_reply_answer(const char *text, size_t len);

/* Fenced blocks as CommonMark has them, blocks inside Markdown blocks
 * included. */
void kf_blocks_read(const char *text, size_t len, struct kf_blocks *out);
/* The same line by line, without lists and quotes: for fences whose
 * indentation CommonMark does not forgive. */
void kf_blocks_read_flat(const char *text, size_t len, struct kf_blocks *out);

/* --- between the files of this part --------------------------------------- */
struct kf_line { const char *at; size_t len; };	/* without its newline */
struct kf_lines { struct kf_line *line; size_t count; };	/* owned */
void kf_lines_split(const char *text, size_t len, struct kf_lines *out);
void kf_lines_release(struct kf_lines *lines);

struct kf_fence {
	char mark;		/* '`' or '~' */
	size_t run;		/* marks */
	const char *info;	/* the rest, trimmed; borrowed */
	size_t info_len;
};
/* Reads a fence at the start of a line whose prefix is already taken off. */
bool kf_fence_read(struct kf_line line, struct kf_fence *out);
bool kf_fence_closes(struct kf_line line, const struct kf_fence *open);
/* Blanks, quote marks and list markers before the text; at most 16 markers. */
size_t kf_line_prefix(struct kf_line line);

/* Fills tag and info_name; false when the info string is really the first
 * line of code. */
bool kf_info_read(const char *info, size_t len, struct kf_block *block);
/* The base name of name when text says that name and nothing else. */
bool kf_text_names(const char *text, size_t len, const char *name);
/* Whether the first comment of a source begins with that file name. */
bool kf_source_names(const char *source, size_t len, const char *name);
enum kf_block_tone kf_tone_read(const char *text, size_t len);

#endif
