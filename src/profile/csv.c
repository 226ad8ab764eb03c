#include "profile/csv.h"

#include <ctype.h>

void kf_csv_release(struct kf_csv *csv)
{
	free(csv->line);
	*csv = (struct kf_csv) { 0 };
}

/* Where this line ends; quotes hold line ends together, but an odd quote does
 * not swallow more than KF_CSV_LINE. */
static size_t line_end(const char *text, size_t len, size_t at, bool quotes)
{
	size_t end = at, most = at + KF_CSV_LINE;
	bool quoted = false;

	for (; end < len && (text[end] != '\n' || quoted); end++) {
		if (quotes && text[end] == '"')
			quoted = !quoted;
		if (end == most && quoted) {
			const char *first = memchr(text + at, '\n', len - at);

			return first ? (size_t)(first - text) : len;
		}
	}
	return end;
}

/* One field, unquoted in place; returns what follows its separator, NULL after
 * the last. */
static char *take_field(char *at, char separator)
{
	char *to = at;
	bool quoted = separator && *at == '"';

	if (quoted)
		at++;
	for (; *at; at++) {
		if (quoted && *at == '"' && at[1] == '"')
			at++;
		else if (quoted && *at == '"') {
			quoted = false;
			continue;
		} else if (!quoted && *at == separator) {
			*to = '\0';
			return at + 1;
		}
		*to++ = *at;
	}
	*to = '\0';
	return NULL;
}

bool kf_csv_next(struct kf_csv *csv, const char *text, size_t len, size_t *at,
		 char separator)
{
	size_t end, bytes;
	char *next;

	kf_csv_release(csv);
	if (*at >= len)
		return false;
	end = line_end(text, len, *at, separator);
	bytes = end - *at < KF_CSV_LINE ? end - *at : KF_CSV_LINE;
	csv->line = kf_strndup(text + *at, bytes);
	*at = end + 1;
	bytes = strlen(csv->line);
	if (bytes && csv->line[bytes - 1] == '\r')
		csv->line[bytes - 1] = '\0';
	for (next = csv->line; next && csv->count < KF_CSV_FIELDS;) {
		csv->field[csv->count++] = next;
		next = take_field(next, separator);
	}
	return true;
}

size_t kf_csv_column(const struct kf_csv *header, const char *name)
{
	for (size_t i = 0; i < header->count; i++)
		if (strcmp(header->field[i], name) == 0)
			return i;
	return KF_CSV_FIELDS;
}

const char *kf_csv_field(const struct kf_csv *csv, size_t column)
{
	return column < csv->count ? csv->field[column] : "";
}

/* Commas between groups of three digits, before a point: nothing else. */
static bool take_thousands(const char *field, char *out, size_t size)
{
	size_t len = 0, digits = 0;
	bool grouped = false, fraction = false;

	for (; *field; field++) {
		if (*field == ',' && !fraction) {
			if (!digits || digits > 3 || (grouped && digits != 3))
				return false;
			grouped = true;
			digits = 0;
			continue;
		}
		fraction = fraction || (!isdigit((unsigned char)*field) &&
					*field != '-' && *field != '+');
		if (grouped && fraction && digits != 3)
			return false;
		digits += !fraction && isdigit((unsigned char)*field);
		if (len + 1 >= size)
			return false;
		out[len++] = *field;
	}
	out[len] = '\0';
	return len && (!grouped || fraction || digits == 3);
}

bool kf_csv_number(const char *field, double *value)
{
	char text[64], *copy;
	size_t len;
	bool good;

	while (*field == ' ' || *field == '\t')
		field++;
	len = strlen(field);
	while (len && (field[len - 1] == ' ' || field[len - 1] == '%' ||
		       field[len - 1] == '\t'))
		len--;
	if (!len || len >= sizeof(text))
		return false;
	copy = kf_strndup(field, len);
	good = take_thousands(copy, text, sizeof(text)) &&
		kf_parse_double(text, value);
	free(copy);
	return good;
}
