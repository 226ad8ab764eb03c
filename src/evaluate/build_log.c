/* build_log.c - what the next prompt needs of a compiler's words. Pure. */
#include <ctype.h>

#include "evaluate/feedback.h"

#define ERRORS_MAX	3
#define LINES_PER_ERROR	8	/* the message and the source lines after it */
#define LINES_AT_END	20	/* where no line says "error" */
#define LINE_BYTES	400

struct line { const char *text; size_t len; };

static struct line next_line(const char *log, size_t len, size_t *at)
{
	const char *start = log + *at;
	const char *end = memchr(start, '\n', len - *at);
	struct line line = { start, end ? (size_t)(end - start) : len - *at };

	*at += line.len + (end != NULL);
	return line;
}

static bool contains(const struct line *line, const char *what)
{
	return memmem(line->text, line->len, what, strlen(what)) != NULL;
}

static bool is_error(const struct line *line)
{
	static const char *const sign[] = {
		"error:", "Error:", "undefined reference to",
		"multiple definition of", "cannot find ",
	};

	for (size_t i = 0; i < KF_COUNT(sign); i++)
		if (contains(line, sign[i]))
			return true;
	return false;
}

/* Source lines and carets, which compilers indent, and notes belong to the
 * message before them. */
static bool belongs_to_message(const struct line *line)
{
	return (line->len && line->text[0] == ' ') || contains(line, "note:");
}

static bool in_path(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("._-+/", c) != NULL);
}

/* A message without the folders of its file names; source lines as they are,
 * for there a slash divides. */
static void add_line(const struct line *line, struct kf_buf *out)
{
	bool source = line->len && line->text[0] == ' ';
	size_t len = line->len < LINE_BYTES ? line->len : LINE_BYTES;

	for (size_t i = 0; i < len;) {
		size_t end = i, name = i;

		if (source || line->text[i] != '/' ||
		    (i > 0 && in_path(line->text[i - 1]))) {
			kf_buf_add(out, line->text + i++, 1);
			continue;
		}
		for (; end < len && in_path(line->text[end]); end++)
			if (line->text[end] == '/')
				name = end + 1;
		if (name == end)	/* a folder alone: keep it */
			name = i;
		kf_buf_add(out, line->text + name, end - name);
		i = end;
	}
	kf_buf_puts(out, len < line->len ? " ...\n" : "\n");
}

/* What an error says, wherever it stands. */
static struct line message_of(const struct line *line)
{
	const char *at = memmem(line->text, line->len, "error: ", 7);

	return at ? (struct line) { at, line->len - (size_t)(at - line->text) }
		  : *line;
}

static bool was_told(const struct line *told, int count,
		     const struct line *line)
{
	struct line message = message_of(line);

	for (int i = 0; i < count; i++)
		if (told[i].len == message.len &&
		    memcmp(told[i].text, message.text, message.len) == 0)
			return true;
	return false;
}

/* Those that say the same are one cause. */
static int add_errors(const char *log, size_t len, struct kf_buf *out)
{
	struct line context = { 0 }, told[ERRORS_MAX];
	int errors = 0, lines = 0, again = 0;

	for (size_t at = 0; at < len;) {
		struct line line = next_line(log, len, &at);

		if (is_error(&line) && was_told(told, errors, &line)) {
			again++;
			lines = 0;
		} else if (is_error(&line)) {
			if (errors == ERRORS_MAX)
				break;
			told[errors++] = message_of(&line);
			if (context.len)
				add_line(&context, out);
			add_line(&line, out);
			lines = 1;
		} else if (lines && lines < LINES_PER_ERROR &&
			   belongs_to_message(&line)) {
			add_line(&line, out);
			lines++;
		} else if (!belongs_to_message(&line)) {
			lines = 0;
		}
		/* "program.c: In function 'kf_forward':" */
		context = contains(&line, ": In function") ? line :
			(struct line) { 0 };
	}
	if (again)
		kf_buf_printf(out, "(the same %d more time%s)\n", again,
			      again == 1 ? "" : "s");
	return errors;
}

/* An argument of kf_launch without its macro: compilers find fault with those
 * beside it, inside launch.h. */
static void add_hint(const char *log, size_t len, struct kf_buf *out)
{
	bool in_arguments = false;

	for (size_t at = 0; at < len;) {
		struct line line = next_line(log, len, &at);

		in_arguments |= contains(&line, "macro 'KF_ARGS_'");
		if (!in_arguments || !contains(&line, "macro 'kf_launch"))
			continue;
		if (contains(&line, "launch.h:"))
			continue;	/* of one macro in another */
		add_line(&line, out);
		kf_buf_puts(out, "hint: every argument of a kernel stands in "
			    "a macro, such as KF_BUF(tensor), KF_I64(number) "
			    "and KF_F32(number); here one does not\n");
		return;
	}
}

static void add_end(const char *log, size_t len, struct kf_buf *out)
{
	size_t start = len, lines = 0;

	while (start > 0 && lines <= LINES_AT_END) {
		start--;
		lines += log[start] == '\n';
	}
	if (start > 0)
		start++;
	while (start < len) {
		struct line line = next_line(log, len, &start);

		add_line(&line, out);
	}
}

void kf_build_log_reduce(const char *log, size_t len, struct kf_buf *out)
{
	struct kf_buf raw = { .max = out->max > out->len ?
			      out->max - out->len : 0 };

	if (!add_errors(log, len, &raw))
		add_end(log, len, &raw);
	else
		add_hint(log, len, &raw);
	kf_utf8_clean(kf_buf_str(&raw), raw.len, out);
	kf_buf_release(&raw);
}
