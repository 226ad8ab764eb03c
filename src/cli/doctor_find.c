#include "cli/doctor.h"

#define COLUMNS 80
#define INDENT 18	/* where the words of a finding begin */

void kf_doctor_find(struct kf_doctor *d, enum kf_finding finding,
		    const char *what, const char *fmt, ...)
{
	static const char *const word[] = { "good", "note", "bad" };
	struct kf_buf text = { .max = 2048 };
	va_list ap;

	va_start(ap, fmt);
	kf_buf_vprintf(&text, fmt, ap);
	va_end(ap);
	d->bad_count += finding == KF_FINDING_BAD;
	json_array_append_new(d->list, json_pack("{s:s, s:s, s:o}",
		"finding", word[finding], "what", what,
		"text", kf_json_string(kf_buf_str(&text), text.len)));
	kf_buf_release(&text);
}

/* Words stay whole; one that is longer than a line sticks out. */
static void print_wrapped(const char *text, struct kf_buf *out)
{
	size_t column = INDENT;

	while (*text) {
		size_t len = strcspn(text, " ");

		if (column > INDENT && column + 1 + len > COLUMNS) {
			kf_buf_printf(out, "\n%*s", INDENT, "");
			column = INDENT;
		} else if (column > INDENT) {
			kf_buf_puts(out, " ");
			column++;
		}
		kf_buf_add(out, text, len);
		column += len;
		text += len;
		text += strspn(text, " ");
	}
	kf_buf_puts(out, "\n");
}

void kf_doctor_print(const struct kf_doctor *d, struct kf_buf *out)
{
	const json_t *found;
	size_t i;

	json_array_foreach(d->list, i, found) {
		kf_buf_printf(out, "%-5s %-11s ",
			      kf_json_str(found, "finding", ""),
			      kf_json_str(found, "what", ""));
		print_wrapped(kf_json_str(found, "text", ""), out);
	}
}

bool kf_doctor_read(const struct kf_doctor *d, const char *path,
		    struct kf_buf *out)
{
	char *full = kf_format("%s%s", d->root, path);
	bool good;

	kf_buf_clear(out);
	good = kf_file_read(full, out, NULL) == KF_OK && out->len;
	free(full);
	if (good && out->data[out->len - 1] == '\n')
		out->data[--out->len] = '\0';
	return good;
}
