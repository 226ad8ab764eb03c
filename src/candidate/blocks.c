#include "candidate/reply.h"

#include <cmark.h>

#include "candidate/language.h"

#define NESTING_MAX 3
#define PARAGRAPH_LINES 6	/* before a block, that are read for its tone */

static void block_release(struct kf_block *block)
{
	free(block->text);
	free(block->tag);
	free(block->info_name);
	free(block->near_line);
	*block = (struct kf_block) { 0 };
}

void kf_blocks_release(struct kf_blocks *blocks)
{
	for (size_t i = 0; i < blocks->count; i++)
		block_release(&blocks->item[i]);
	free(blocks->item);
	*blocks = (struct kf_blocks) { 0 };
}

/* Takes block over. */
static void push(struct kf_blocks *blocks, struct kf_block *block)
{
	size_t n = blocks->count;

	if (n == KF_BLOCKS_MAX) {
		blocks->more = true;
		block_release(block);
		return;
	}
	if ((n & (n - 1)) == 0)
		blocks->item = kf_realloc(blocks->item, (n ? 2 * n : 1) *
					  sizeof(blocks->item[0]));
	blocks->item[blocks->count++] = *block;
	*block = (struct kf_block) { 0 };
}

static struct kf_line after_prefix(struct kf_line line)
{
	size_t n = kf_line_prefix(line);

	return (struct kf_line) { line.at + n, line.len - n };
}

static bool fence_at(const struct kf_lines *lines, size_t i,
		     struct kf_fence *out)
{
	return i < lines->count &&
	       kf_fence_read(after_prefix(lines->line[i]), out);
}

/* --- the words before a block --------------------------------------------- */

static bool is_heading(struct kf_line line)
{
	return line.len && line.at[0] == '#';
}

/* The last paragraph between begin and end (lines), and a heading right over
 * it, decide the tone; the last line and that heading may name the file. */
static void read_lead(const struct kf_lines *lines, size_t begin, size_t end,
		      struct kf_block *block)
{
	struct kf_buf lead = { .max = 1024 };
	struct kf_buf near = { .max = 1024 };
	size_t first;

	while (end > begin && !after_prefix(lines->line[end - 1]).len)
		end--;
	for (first = end; first > begin && end - first < PARAGRAPH_LINES;
	     first--)
		if (!after_prefix(lines->line[first - 1]).len)
			break;
	for (size_t i = first; i < end; i++) {
		struct kf_line line = after_prefix(lines->line[i]);

		kf_buf_add(&lead, line.at, line.len);
		kf_buf_puts(&lead, "\n");
		if (i + 1 == end)
			kf_buf_add(&near, line.at, line.len);
	}
	while (first > begin && !after_prefix(lines->line[first - 1]).len)
		first--;
	if (first > begin && is_heading(after_prefix(lines->line[first - 1]))) {
		struct kf_line line = after_prefix(lines->line[first - 1]);

		kf_buf_puts(&near, "\n");
		kf_buf_add(&near, line.at, line.len);
		kf_buf_add(&lead, line.at, line.len);
	}
	block->near_line = kf_strdup(kf_buf_str(&near));
	block->tone = kf_tone_read(kf_buf_str(&lead), lead.len);
	kf_buf_release(&lead);
	kf_buf_release(&near);
}

/* --- building one block --------------------------------------------------- */

static void set_text(struct kf_block *block, const char *text, size_t len,
		     const struct kf_fence *fence)
{
	struct kf_buf buf = { .max = SIZE_MAX / 4 };

	if (!kf_info_read(fence->info, fence->info_len, block)) {
		kf_buf_add(&buf, fence->info, fence->info_len);
		kf_buf_puts(&buf, "\n");
	}
	kf_buf_add(&buf, text, len);
	block->text = kf_strndup(kf_buf_str(&buf), buf.len);
	block->len = buf.len;
	kf_buf_release(&buf);
}

/* A closing fence that stands at the end of the last line of code. */
static void cut_glued_fence(struct kf_block *block, const struct kf_fence *open)
{
	size_t end = block->len, run = 0;

	while (end && (block->text[end - 1] == '\n' ||
		       block->text[end - 1] == ' '))
		end--;
	while (run < end && block->text[end - 1 - run] == open->mark)
		run++;
	if (run < open->run || run == end)
		return;
	block->len = end - run;
	block->text[block->len] = '\0';
	block->closed = true;
}

static bool holds_fence(const struct kf_block *block)
{
	struct kf_lines lines;
	struct kf_fence fence;
	bool holds = false;

	kf_lines_split(block->text, block->len, &lines);
	for (size_t i = 0; i < lines.count && !holds; i++)
		holds = fence_at(&lines, i, &fence);
	kf_lines_release(&lines);
	return holds;
}

typedef void (*block_reader)(const char *text, size_t len, unsigned depth,
			     struct kf_blocks *out);

/* Adds the block, or, when it holds a reply of its own, that one's blocks. An
 * inner block without its end took the outer one's fence for it: CommonMark
 * ends the outer block at the first fence of its kind. */
static void add(struct kf_blocks *out, struct kf_block *block,
		const struct kf_fence *fence, unsigned depth,
		block_reader reader)
{
	struct kf_blocks inner = { 0 };

	if (depth >= NESTING_MAX || !(kf_tag_is_markdown(block->tag) ||
	    kf_tag_is_neutral(block->tag)) || !holds_fence(block)) {
		push(out, block);
		return;
	}
	reader(block->text, block->len, depth + 1, &inner);
	for (size_t i = 0; i < inner.count; i++) {
		struct kf_block *it = &inner.item[i];

		if (i + 1 == inner.count && !it->closed && fence->run == 3)
			it->closed = block->closed;
		it->first_line += block->first_line;
		it->last_line += block->first_line;
		push(out, it);
	}
	out->more |= inner.more;
	free(inner.item);	/* what it held was taken over */
	block_release(block);
}

/* --- CommonMark ----------------------------------------------------------- */

/*
 * cmark is asked for the structure of blocks only, so it gets a shadow of the
 * text: every line of prose becomes its prefix and an x. That keeps the cost
 * of inline markup, which nobody needs, out of it, and HTML cannot swallow a
 * fence. Lines marked as inside a block are copied as they are.
 */
static cmark_node *parse_shadow(const struct kf_lines *lines,
				const bool *inside)
{
	struct kf_buf shadow = { .max = SIZE_MAX / 4 };
	struct kf_fence fence;
	cmark_node *document;

	for (size_t i = 0; i < lines->count; i++) {
		struct kf_line line = lines->line[i];
		size_t prefix = kf_line_prefix(line);

		if (inside[i] || fence_at(lines, i, &fence)) {
			kf_buf_add(&shadow, line.at, line.len);
		} else {
			kf_buf_add(&shadow, line.at, prefix);
			if (prefix < line.len)
				kf_buf_puts(&shadow, "x");
		}
		kf_buf_puts(&shadow, "\n");
	}
	document = cmark_parse_document(kf_buf_str(&shadow), shadow.len,
					CMARK_OPT_DEFAULT);
	kf_buf_release(&shadow);
	return document;
}

/* cmark gives indented code the same type: there the fence is a line of the
 * text, which a fence can never be of its own block's. */
static bool is_fenced(cmark_node *node, const struct kf_fence *fence)
{
	const char *text = cmark_node_get_literal(node);
	struct kf_fence first;
	struct kf_line line;

	if (!text)
		return true;
	line.at = text + strspn(text, " \t");
	line.len = strcspn(line.at, "\n");
	if (!kf_fence_read(line, &first))
		return true;
	return first.mark != fence->mark || first.run != fence->run ||
	       first.info_len != fence->info_len ||
	       memcmp(first.info, fence->info, first.info_len) != 0;
}

static size_t line_of(int number, const struct kf_lines *lines)
{
	size_t line = number > 0 ? (size_t)number - 1 : 0;

	return line < lines->count ? line : lines->count - 1;
}

/* Marks the lines between the fences of every block. */
static void mark_inside(cmark_node *document, const struct kf_lines *lines,
			bool *inside)
{
	cmark_iter *iter = cmark_iter_new(document);

	while (cmark_iter_next(iter) != CMARK_EVENT_DONE) {
		cmark_node *node = cmark_iter_get_node(iter);
		size_t first, last;

		if (cmark_node_get_type(node) != CMARK_NODE_CODE_BLOCK)
			continue;
		first = line_of(cmark_node_get_start_line(node), lines);
		last = line_of(cmark_node_get_end_line(node), lines);
		for (size_t i = first + 1; i <= last; i++)
			inside[i] = true;
	}
	cmark_iter_free(iter);
}

static void collect(cmark_node *document, const struct kf_lines *lines,
		    unsigned depth, struct kf_blocks *out,
		    block_reader reader)
{
	cmark_iter *iter = cmark_iter_new(document);
	size_t free_from = 0;	/* the first line after the last block */

	while (cmark_iter_next(iter) != CMARK_EVENT_DONE) {
		cmark_node *node = cmark_iter_get_node(iter);
		struct kf_block block = { 0 };
		struct kf_fence fence;
		const char *text;

		if (cmark_node_get_type(node) != CMARK_NODE_CODE_BLOCK)
			continue;
		block.first_line = line_of(cmark_node_get_start_line(node),
					   lines);
		block.last_line = line_of(cmark_node_get_end_line(node), lines);
		if (block.first_line < free_from ||
		    !fence_at(lines, block.first_line, &fence) ||
		    !is_fenced(node, &fence))
			continue;
		text = cmark_node_get_literal(node);
		set_text(&block, text ? text : "", text ? strlen(text) : 0,
			 &fence);
		block.closed = block.last_line > block.first_line &&
			kf_fence_closes(after_prefix(
				lines->line[block.last_line]), &fence);
		if (!block.closed)
			cut_glued_fence(&block, &fence);
		read_lead(lines, free_from, block.first_line, &block);
		free_from = block.last_line + 1;
		add(out, &block, &fence, depth, reader);
	}
	cmark_iter_free(iter);
}

static void read_commonmark(const char *text, size_t len, unsigned depth,
			    struct kf_blocks *out)
{
	cmark_node *document;
	struct kf_lines lines;
	bool *inside;

	kf_lines_split(text, len, &lines);
	inside = kf_alloc(lines.count + 1);
	if (!lines.count)
		goto out;
	document = parse_shadow(&lines, inside);
	mark_inside(document, &lines, inside);
	cmark_node_free(document);
	document = parse_shadow(&lines, inside);
	collect(document, &lines, depth, out, read_commonmark);
	cmark_node_free(document);
out:
	free(inside);
	kf_lines_release(&lines);
}

void kf_blocks_read(const char *text, size_t len, struct kf_blocks *out)
{
	*out = (struct kf_blocks) { 0 };
	read_commonmark(text, len, 0, out);
}

/* --- line by line --------------------------------------------------------- */

/* Takes blanks off the line, up to the columns that the fence had before it;
 * a tab that reaches further stays. */
static void add_line(struct kf_buf *text, struct kf_line line, size_t indent)
{
	size_t n = 0, column = 0;

	while (n < line.len && column < indent) {
		if (line.at[n] == '\t' && (column | 3) + 1 <= indent)
			column = (column | 3) + 1;
		else if (line.at[n] == ' ')
			column++;
		else
			break;
		n++;
	}
	kf_buf_add(text, line.at + n, line.len - n);
	kf_buf_puts(text, "\n");
}

static void read_flat(const char *text, size_t len, unsigned depth,
		      struct kf_blocks *out)
{
	struct kf_buf body = { .max = SIZE_MAX / 4 };
	struct kf_lines lines;
	size_t free_from = 0;

	kf_lines_split(text, len, &lines);
	for (size_t i = 0; i < lines.count; i++) {
		struct kf_block block = { .first_line = i };
		struct kf_fence fence;
		size_t indent;

		if (!fence_at(&lines, i, &fence))
			continue;
		indent = kf_line_prefix(lines.line[i]);
		kf_buf_clear(&body);
		for (i++; i < lines.count; i++) {
			block.closed = kf_fence_closes(
				after_prefix(lines.line[i]), &fence);
			if (block.closed)
				break;
			add_line(&body, lines.line[i], indent);
		}
		block.last_line = i < lines.count ? i : lines.count - 1;
		set_text(&block, kf_buf_str(&body), body.len, &fence);
		if (!block.closed)
			cut_glued_fence(&block, &fence);
		read_lead(&lines, free_from, block.first_line, &block);
		free_from = block.last_line + 1;
		add(out, &block, &fence, depth, read_flat);
	}
	kf_buf_release(&body);
	kf_lines_release(&lines);
}

void kf_blocks_read_flat(const char *text, size_t len, struct kf_blocks *out)
{
	*out = (struct kf_blocks) { 0 };
	read_flat(text, len, 0, out);
}
