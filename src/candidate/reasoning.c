/*
 * Reasoning that came inside the text: a leading block in tags, or what stands
 * before a lone closing tag (services that begin the block themselves send
 * only its end).
 */
#include "candidate/reply.h"

#include <ctype.h>
#include <strings.h>

#include "candidate/language.h"

#define CLOSES_MAX 16	/* closing tags that are looked at */

static const char *const tags[] = { "think", "thinking", "reasoning" };

void kf_reply_clean(const char *reply, size_t len, struct kf_buf *out)
{
	struct kf_buf plain = { .max = len + 1 };

	if (len >= 3 && memcmp(reply, "\xef\xbb\xbf", 3) == 0) {
		reply += 3;
		len -= 3;
	}
	for (size_t i = 0; i < len; i++) {
		char c = reply[i];

		if (c == '\r' && i + 1 < len && reply[i + 1] == '\n')
			continue;
		if (c == '\r')
			c = '\n';
		else if (c == '\f' || c == '\v')
			c = ' ';
		kf_buf_add(&plain, &c, 1);
	}
	kf_utf8_clean(kf_buf_str(&plain), plain.len, out);
	kf_buf_release(&plain);
}

static size_t skip_space(const char *text, size_t len, size_t at)
{
	while (at < len && isspace((unsigned char)text[at]))
		at++;
	return at;
}

/* Bytes of "<NAME>" or, with slash, "</NAME>" at text; 0 if it is not there. */
static size_t tag_len(const char *text, size_t len, const char *name,
		      bool slash)
{
	size_t name_len = strlen(name), lead = slash ? 2 : 1;

	if (len < lead + name_len + 1 || text[0] != '<' ||
	    (slash && text[1] != '/') ||
	    strncasecmp(text + lead, name, name_len) != 0 ||
	    text[lead + name_len] != '>')
		return 0;
	return lead + name_len + 1;
}

/* The end of the first closing tag of that name (of any, for NULL), or 0. */
static size_t find_close(const char *text, size_t len, size_t at,
			 const char *name)
{
	for (; at < len; at++) {
		if (text[at] != '<')
			continue;
		for (size_t i = 0; i < KF_COUNT(tags); i++) {
			size_t n = tag_len(text + at, len - at, tags[i], true);

			if (n && (!name || strcmp(name, tags[i]) == 0))
				return at + n;
		}
	}
	return 0;
}

/* Past the leading blocks; len when the last one has no end. */
static size_t skip_leading(const char *text, size_t len)
{
	size_t at = skip_space(text, len, 0);

	for (;;) {
		size_t inner = 0, end, i;

		for (i = 0; i < KF_COUNT(tags) && !inner; i++)
			inner = tag_len(text + at, len - at, tags[i], false);
		if (!inner)
			return at;
		end = find_close(text, len, at + inner, tags[i - 1]);
		if (!end)
			return len;
		at = skip_space(text, len, end);
	}
}

/* Every program's entry has C linkage, whatever the platform's language. */
static bool has_program(const char *text, size_t len)
{
	struct kf_blocks blocks;
	bool found = false;

	kf_blocks_read_flat(text, len, &blocks);
	for (size_t i = 0; i < blocks.count && !found; i++) {
		struct kf_facts facts;

		kf_c_facts(blocks.item[i].text, blocks.item[i].len,
			   KF_ENTRY_NAME, &facts);
		found = facts.entry >= KF_ENTRY_STATIC;
	}
	kf_blocks_release(&blocks);
	return found;
}

/* Whether the byte stands inside a fence or a span of code on its line. */
static bool is_quoted(const char *text, size_t at)
{
	struct kf_fence fence, open;
	struct kf_lines lines;
	bool inside = false, span = false;
	size_t line_start = at;

	while (line_start && text[line_start - 1] != '\n')
		line_start--;
	for (size_t i = line_start; i < at; i++)
		span ^= text[i] == '`';
	kf_lines_split(text, line_start, &lines);
	for (size_t i = 0; i < lines.count; i++) {
		struct kf_line line = lines.line[i];
		size_t prefix = kf_line_prefix(line);

		line.at += prefix;
		line.len -= prefix;
		if (inside) {
			inside = !kf_fence_closes(line, &open);
		} else if (kf_fence_read(line, &fence)) {
			inside = true;
			open = fence;
		}
	}
	kf_lines_release(&lines);
	return inside || span;
}

static bool is_alone_on_line(const char *text, size_t len, size_t begin,
			     size_t end)
{
	while (begin && (text[begin - 1] == ' ' || text[begin - 1] == '\t'))
		begin--;
	while (end < len && (text[end] == ' ' || text[end] == '\t'))
		end++;
	return (!begin || text[begin - 1] == '\n') &&
	       (end == len || text[end] == '\n');
}

/* The first closing tag that is not quoted; false if there is none. Reasoning
 * can leave a fence open, so a line that is only the tag always counts. */
static bool find_lone_close(const char *text, size_t len, size_t *begin,
			    size_t *end)
{
	*end = 0;
	for (unsigned tries = 0; tries < CLOSES_MAX; tries++) {
		*end = find_close(text, len, *end, NULL);
		if (!*end)
			return false;
		for (*begin = *end - 1; text[*begin] != '<'; --*begin)
			;
		if (is_alone_on_line(text, len, *begin, *end) ||
		    !is_quoted(text, *begin))
			return true;
	}
	return false;
}

size_t kf_reply_answer(const char *text, size_t len)
{
	size_t start = skip_leading(text, len);
	size_t begin, end;

	if (!find_lone_close(text + start, len - start, &begin, &end))
		return start;
	/* A program before the tag and none after it is the answer. */
	if (has_program(text + start, begin) &&
	    !has_program(text + start + end, len - start - end))
		return start;
	return skip_space(text, len, start + end);
}
