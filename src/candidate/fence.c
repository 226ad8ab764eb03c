#include "candidate/reply.h"

#include <ctype.h>

#define MARKERS_MAX 16	/* a deeper nesting is nobody's reply */

void kf_lines_split(const char *text, size_t len, struct kf_lines *out)
{
	size_t cap = 1, begin = 0;

	for (size_t i = 0; i < len; i++)
		cap += text[i] == '\n';
	*out = (struct kf_lines) {
		.line = kf_alloc(cap * sizeof(out->line[0])),
	};
	while (begin < len) {
		const char *end = memchr(text + begin, '\n', len - begin);
		size_t n = end ? (size_t)(end - text) - begin : len - begin;

		out->line[out->count++] = (struct kf_line) { text + begin, n };
		begin += n + 1;
	}
}

void kf_lines_release(struct kf_lines *lines)
{
	free(lines->line);
	*lines = (struct kf_lines) { 0 };
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Bytes of a quote mark, a bullet or a number at the line's place; 0 if none.
 * A list marker stands before a blank or the end of the line. */
static size_t marker_len(struct kf_line line, size_t at)
{
	char c = line.at[at];
	size_t n = 1;

	if (c == '>')
		return 1;
	if (isdigit((unsigned char)c)) {
		while (at + n < line.len && n < 9 &&
		       isdigit((unsigned char)line.at[at + n]))
			n++;
		if (at + n == line.len ||
		    (line.at[at + n] != '.' && line.at[at + n] != ')'))
			return 0;
		n++;
	} else if (c != '-' && c != '+' && c != '*') {
		return 0;
	}
	return at + n == line.len || is_blank(line.at[at + n]) ? n : 0;
}

size_t kf_line_prefix(struct kf_line line)
{
	unsigned markers = 0;
	size_t i = 0;

	while (i < line.len) {
		size_t n;

		if (is_blank(line.at[i])) {
			i++;
			continue;
		}
		n = markers < MARKERS_MAX ? marker_len(line, i) : 0;
		if (!n)
			break;
		markers++;
		i += n;
	}
	return i;
}

bool kf_fence_read(struct kf_line line, struct kf_fence *out)
{
	size_t run = 0, end = line.len;

	if (!line.len || (line.at[0] != '`' && line.at[0] != '~'))
		return false;
	while (run < line.len && line.at[run] == line.at[0])
		run++;
	if (run < 3)
		return false;
	if (line.at[0] == '`' && memchr(line.at + run, '`', line.len - run))
		return false;	/* a span of code in a line of text */
	*out = (struct kf_fence) { .mark = line.at[0], .run = run };
	while (end > run && isspace((unsigned char)line.at[end - 1]))
		end--;
	while (run < end && isspace((unsigned char)line.at[run]))
		run++;
	out->info = line.at + run;
	out->info_len = end - run;
	return true;
}

bool kf_fence_closes(struct kf_line line, const struct kf_fence *open)
{
	struct kf_fence fence;

	return kf_fence_read(line, &fence) && fence.mark == open->mark &&
	       fence.run >= open->run && !fence.info_len;
}
