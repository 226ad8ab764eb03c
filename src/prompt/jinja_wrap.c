/*
 * textwrap.wrap of Python, for one line: chunks first (words, white space,
 * dashes), then lines filled with them.
 */
#include "prompt/jinja_internal.h"

struct wrap {
	const char *text;
	size_t len;
	bool hyphens;
	size_t chunk, chunk_stop;	/* the chunk that was found last */
};

static uint32_t char_at(const struct wrap *w, size_t at, size_t *width)
{
	*width = 1;
	return at < w->len ?
		jinja_char_at(w->text + at, w->len - at, width) : 0;
}

/* textwrap knows only ASCII white space. */
static bool is_gap(uint32_t c)
{
	return c == ' ' || (c >= 9 && c <= 13);
}

static bool is_letter(uint32_t c)
{
	return c && jinja_is_word(c) && !(c >= '0' && c <= '9');
}

static bool is_punct_or_word(uint32_t c)
{
	return c && (jinja_is_word(c) ||
		     (c < 128 && strchr("!\"'&.,?", (int)c)));
}

static uint32_t before(const struct wrap *w, size_t at, size_t *begin)
{
	size_t width;

	if (!at)
		return 0;
	*begin = at - 1;
	while (*begin && at - *begin < 4 &&
	       ((unsigned char)w->text[*begin] & 0xc0) == 0x80)
		--*begin;
	return char_at(w, *begin, &width);
}

/* A run of two dashes or more from at, between words. Its length, or 0. */
static size_t long_dash(const struct wrap *w, size_t at)
{
	size_t end = at, begin = 0, width;

	while (end < w->len && w->text[end] == '-')
		end++;
	if (end - at < 2 || !is_punct_or_word(before(w, at, &begin)) ||
	    !jinja_is_word(char_at(w, end, &width)) || end >= w->len)
		return 0;
	return end - at;
}

/* May a line end behind the hyphen at `at`? Between two letters before and
 * a letter behind, or after "x-y-". */
static bool breaks_after(const struct wrap *w, size_t at)
{
	size_t one = 0, two = 0, three = 0, after = at + 1, width;
	uint32_t last, prior;

	if (w->text[at] != '-')
		return false;
	last = before(w, at, &one);
	prior = last ? before(w, one, &two) : 0;
	if (!(is_letter(last) && is_letter(prior)) &&
	    !(is_punct_or_word(last) && prior == '-' &&
	      is_letter(before(w, two, &three))))
		return false;
	if (!is_letter(char_at(w, after, &width)))
		return false;
	after += width;
	if (char_at(w, after, &width) == '-')
		after++;
	return is_letter(char_at(w, after, &width));
}

static size_t find_chunk_end(const struct wrap *w, size_t at)
{
	size_t width, end = at, dash;

	if (is_gap(char_at(w, at, &width))) {
		while (end < w->len && is_gap(char_at(w, end, &width)))
			end += width;
		return end;
	}
	dash = w->hyphens ? long_dash(w, at) : 0;
	if (dash)
		return at + dash;
	while (end < w->len) {
		uint32_t c = char_at(w, end, &width);

		if (is_gap(c))
			break;
		if (w->hyphens && end > at && long_dash(w, end))
			break;
		if (w->hyphens && end > at && breaks_after(w, end))
			return end + 1;
		end += width;
	}
	return end;
}

/* The rest of a chunk that was split ends where the chunk does. */
static size_t chunk_end(struct wrap *w, size_t at)
{
	if (at < w->chunk || at >= w->chunk_stop) {
		w->chunk = at;
		w->chunk_stop = find_chunk_end(w, at);
	}
	return w->chunk_stop;
}

/* Characters, counted up to one more than a line holds. */
static size_t count_chars(const struct wrap *w, size_t at, size_t end,
			  size_t most)
{
	size_t count = 0, width;

	for (; at < end && count <= most; at += width, count++)
		jinja_char_at(w->text + at, end - at, &width);
	return count;
}

static bool is_blank(const char *text, size_t begin, size_t end)
{
	return jinja_skip_space(text, end, begin) >= end;
}

/* How much of a chunk that is longer than a line goes into the room left. */
static size_t split_long(const struct wrap *w, size_t at, size_t end,
			 size_t room)
{
	size_t cut = at + jinja_char_offset(w->text + at, end - at, room);
	size_t hyphen = cut, other = at;

	if (!w->hyphens)
		return cut;
	while (hyphen > at && w->text[hyphen - 1] != '-')
		hyphen--;
	/* Something other than dashes must stand before it. */
	while (other < hyphen && w->text[other] == '-')
		other++;
	return hyphen > at + 1 && other + 1 < hyphen ? hyphen : cut;
}

/* One line from `at` on; *end is where its text ends. Returns where the next
 * line begins. */
static size_t fill_line(struct wrap *w, size_t at, size_t width,
			bool break_words, size_t *end)
{
	size_t chars = 0, last = at, next = at, begin = at, size = 0;

	while (next < w->len) {
		size_t stop = chunk_end(w, next);

		size = count_chars(w, next, stop, width);
		if (chars + size > width)
			break;
		last = next;
		next = stop;
		chars += size;
	}
	if (next < w->len && size > width) {
		size_t stop = chunk_end(w, next);

		if (break_words) {
			last = next;
			next = split_long(w, next, stop, width - chars);
		} else if (next == begin) {
			next = stop;
		}
	}
	/* White space at the end goes, unless an empty piece follows it: so it
	 * is in Python. */
	*end = last < next && is_blank(w->text, last, next) ? last : next;
	return next;
}

void jinja_wrap(struct kf_buf *out, const char *text, size_t len,
		size_t width, bool break_words, bool break_hyphens,
		const char *join)
{
	struct wrap w = { .text = text, .len = len,
			  .hyphens = break_hyphens };
	size_t at = 0, lines = 0, end, next;

	while (at < len) {
		next = chunk_end(&w, at);
		if (lines && is_blank(text, at, next))
			at = next;
		if (at == len)
			break;
		next = fill_line(&w, at, width, break_words, &end);
		if (end > at) {
			if (lines++)
				kf_buf_puts(out, join);
			kf_buf_add(out, text + at, end - at);
		}
		at = next;
	}
}
