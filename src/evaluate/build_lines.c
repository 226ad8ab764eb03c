/* build_lines.c - the program's own lines around its first errors: not every
 * compiler shows any, and a cause often stands a line above its error. */
#include "evaluate/feedback.h"

#define PLACES_MAX	2
#define LINES_AROUND	3u
#define SOURCE_BYTES	(1u << 20)
#define LINE_SHOWN	200u

struct place { char name[64]; uint64_t line; };

/* "program.c:12:5: error: ..." and "kernels.cu(12): error: ..." */
static bool find_place(const char *text, size_t len, struct place *out)
{
	size_t name = 0, digits;
	char number[16];

	while (name < len && text[name] != ':' && text[name] != '(')
		name++;
	if (!name || name >= len || name >= sizeof(out->name) ||
	    memchr(text, '/', name) || memchr(text, ' ', name) ||
	    !memmem(text, len, "error", 5))
		return false;
	digits = name + 1;
	while (digits < len && text[digits] >= '0' && text[digits] <= '9')
		digits++;
	if (digits - name - 1 >= sizeof(number))
		return false;
	snprintf(out->name, sizeof(out->name), "%.*s", (int)name, text);
	snprintf(number, sizeof(number), "%.*s", (int)(digits - name - 1),
		 text + name + 1);
	return kf_parse_u64(number, &out->line) && out->line;
}

static bool is_near(const struct place *a, const struct place *b)
{
	uint64_t far = a->line > b->line ? a->line - b->line :
		       b->line - a->line;

	return strcmp(a->name, b->name) == 0 && far <= LINES_AROUND;
}

static void show(const struct place *place, const char *text,
		 struct kf_buf *out)
{
	uint64_t first = place->line > LINES_AROUND ?
			 place->line - LINES_AROUND : 1;
	uint64_t last = place->line + LINES_AROUND;

	kf_buf_printf(out, "%s around line %llu:\n", place->name,
		      (unsigned long long)place->line);
	for (uint64_t line = 1; *text && line <= last; line++) {
		size_t len = strcspn(text, "\n");

		if (line >= first)
			kf_buf_printf(out, "%s%5llu | %.*s\n",
				      line == place->line ? ">" : " ",
				      (unsigned long long)line,
				      (int)(len < LINE_SHOWN ? len :
					    kf_utf8_cut(text, LINE_SHOWN)),
				      text);
		text += len + (text[len] == '\n');
	}
}

static void show_place(const struct place *place, const char *source_dir,
		       struct kf_buf *out)
{
	struct kf_buf source = { .max = SOURCE_BYTES }, raw = source;
	char *path = kf_path_join(source_dir, place->name);

	if (kf_path_exists(path) && !kf_file_read(path, &source, NULL)) {
		show(place, kf_buf_str(&source), &raw);
		kf_utf8_clean(kf_buf_str(&raw), raw.len, out);
	}
	kf_buf_release(&raw);
	kf_buf_release(&source);
	free(path);
}

void kf_build_lines(const char *errors, const char *source_dir,
		    struct kf_buf *out)
{
	struct place shown[PLACES_MAX], place;
	size_t count = 0;

	while (*errors && count < PLACES_MAX) {
		size_t len = strcspn(errors, "\n");
		bool wanted = find_place(errors, len, &place);

		for (size_t i = 0; i < count; i++)
			wanted = wanted && !is_near(&place, &shown[i]);
		if (wanted) {
			shown[count++] = place;
			show_place(&place, source_dir, out);
		}
		errors += len + (errors[len] == '\n');
	}
}
