#include "problem/rewrite.h"

#include <ctype.h>

#define LISTED_BYTES 400	/* of names in a sentence */
#define EXPRESSION "0123456789abcdefghijklmnopqrstuvwxyz" \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZ_.+-*/%()[], '\""

/* A place in Python text, and what it is inside of. */
struct scan {
	const char *at;
	int depth;	/* of brackets */
};

static bool is_name_start(char c)
{
	return isalpha((unsigned char)c) || c == '_' || (unsigned char)c >= 128;
}

static bool is_name(char c)
{
	return is_name_start(c) || isdigit((unsigned char)c);
}

/* From an opening quote to after the closing one, or the end of the line or
 * text where it is missing. */
static const char *after_string(const char *at)
{
	char quote = *at;
	bool triple = at[1] == quote && at[2] == quote;

	for (at += triple ? 3 : 1; *at; at++) {
		if (*at == '\\' && at[1])
			at++;
		else if (triple && at[0] == quote && at[1] == quote &&
			 at[2] == quote)
			return at + 3;
		else if (!triple && *at == quote)
			return at + 1;
		else if (!triple && *at == '\n')
			return at;
	}
	return at;
}

/* One step through code: a string, a comment, a joined line or one sign. */
static void step(struct scan *s)
{
	if (*s->at == '\'' || *s->at == '"') {
		s->at = after_string(s->at);
	} else if (*s->at == '#') {
		s->at += strcspn(s->at, "\n");
	} else if (*s->at == '\\' && s->at[1]) {
		s->at += 2;
	} else {
		if (strchr("([{", *s->at))
			s->depth++;
		else if (strchr(")]}", *s->at) && s->depth)
			s->depth--;
		s->at++;
	}
}

static bool ends_statement(const struct scan *s)
{
	return !*s->at || (!s->depth && strchr("\n;#", *s->at));
}

/* An '=' that assigns, not part of ==, <=, +=, := and their kind. */
static bool is_assign(const char *text, const char *at)
{
	return *at == '=' && at[1] != '=' &&
		(at == text || !strchr("=!<>:+-*/%&|^@", at[-1]));
}

struct assignment {
	const char *name;
	size_t name_len;
	const char *value, *value_end;	/* without white space around it */
	bool together;	/* a = b = 1; a, b = f(): no value is its own */
	bool one_of;	/* a, b = 1, 2 */
	bool lines;	/* goes over more than one line */
};

/* The place-th of the names before an '=': `NAME`, `NAME: type`, `NAME, NAME`.
 * Moves *at behind them; returns how many there are, 0 if these are no names.
 */
static size_t read_names(const char **at, size_t place, struct assignment *out)
{
	struct scan s = { .at = *at };
	size_t count = 0;

	for (;;) {
		const char *name = s.at;

		if (!is_name_start(*s.at))
			return 0;
		while (is_name(*s.at))
			s.at++;
		if (count++ == place) {
			out->name = name;
			out->name_len = (size_t)(s.at - name);
		}
		s.at += strspn(s.at, " \t");
		if (*s.at != ',')
			break;
		s.at++;
		s.at += strspn(s.at, " \t");
	}
	if (*s.at == ':' && count == 1)
		while (!ends_statement(&s) &&
		       (s.depth || !is_assign(*at, s.at)))
			step(&s);
	*at = s.at;
	return count;
}

/* The place-th of the values from `at` on to the statement's end, or all of
 * it if place is NO_PLACE. Returns how many there are. */
#define NO_PLACE SIZE_MAX
static size_t read_values(const char *at, size_t place,
			  struct assignment *out)
{
	struct scan s = { .at = at };
	size_t count = 1;

	out->value = at;
	out->value_end = NULL;
	for (; !ends_statement(&s); step(&s)) {
		out->together |= !s.depth && is_assign(at, s.at);
		if (s.depth || *s.at != ',' || place == NO_PLACE)
			continue;
		if (count == place + 1)
			out->value_end = s.at;
		if (count++ == place)
			out->value = s.at + 1;
	}
	if (!out->value_end)
		out->value_end = s.at;
	out->value += strspn(out->value, " \t");
	while (out->value_end > out->value &&
	       isspace((unsigned char)out->value_end[-1]))
		out->value_end--;
	return count;
}

/* Is there an assignment at `at`, a line's beginning, with so many names? */
static bool read_assignment(const char *at, size_t place,
			    struct assignment *out)
{
	size_t names;

	*out = (struct assignment) { .name = NULL };
	names = read_names(&at, place, out);
	if (place >= names || *at != '=' || at[1] == '=')
		return false;
	at++;
	out->one_of = names > 1;
	if (read_values(at, out->one_of ? place : NO_PLACE, out) != names &&
	    out->one_of)
		out->together = true;
	out->lines = memchr(out->value, '\n', (size_t)(out->value_end -
						       out->value)) != NULL;
	return true;
}

const char *kf_rewrite_after_line(const char *at)
{
	struct scan s = { .at = at };

	while (*s.at && (s.depth || *s.at != '\n'))
		step(&s);
	return *s.at ? s.at + 1 : s.at;
}

/* The next name that is assigned at top level from *at on. */
static bool next_assignment(struct kf_rewrite_at *at, struct assignment *out)
{
	while (*at->line) {
		if (read_assignment(at->line, at->place++, out))
			return true;
		at->line = kf_rewrite_after_line(at->line);
		at->place = 0;
	}
	return false;
}

bool kf_rewrite_next(struct kf_rewrite_at *at, struct kf_assignment *out)
{
	struct assignment a;

	do {
		if (!next_assignment(at, &a))
			return false;
	} while (a.together);
	*out = (struct kf_assignment) {
		.name = a.name, .name_len = a.name_len, .value = a.value,
		.value_len = (size_t)(a.value_end - a.value),
	};
	return true;
}

static enum kf_code fail_unknown(const char *source, const char *by,
				 const char *name, struct kf_err *err)
{
	struct kf_buf names = { .max = LISTED_BYTES };
	struct kf_rewrite_at at = { source, 0 };
	struct assignment a;
	enum kf_code code;

	while (next_assignment(&at, &a))
		kf_buf_printf(&names, "%s%.*s", names.len ? ", " : "",
			      (int)a.name_len, a.name);
	code = kf_fail(err, KF_E_INPUT, "%s: the file assigns no %s at top "
		       "level; it assigns %s", by, name,
		       names.len ? kf_buf_str(&names) : "nothing");
	kf_buf_release(&names);
	return code;
}

static enum kf_code check_set(const char *set, size_t name_len,
			      const char *by, struct kf_err *err)
{
	const char *value = set + name_len + 1;
	bool good = name_len && is_name_start(set[0]) && set[name_len] == '=';

	for (size_t i = 0; good && i < name_len; i++)
		good = is_name(set[i]);
	if (!good)
		return kf_fail(err, KF_E_INPUT,
			       "%s %s: NAME=VALUE is wanted", by, set);
	if (!*value || value[strspn(value, EXPRESSION)])
		return kf_fail(err, KF_E_INPUT, "%s %s: the value must be "
			       "a number, a string or a plain expression",
			       by, set);
	return KF_OK;
}

enum kf_code kf_rewrite(const char *source, const char *set, const char *by,
			char **out, struct kf_err *err)
{
	size_t name_len = strcspn(set, "=");
	struct assignment a, found = { 0 };
	struct kf_rewrite_at at = { source, 0 };
	bool in_brackets;
	char *name = NULL;
	size_t count = 0;
	enum kf_code code;

	*out = NULL;
	code = check_set(set, name_len, by, err);
	if (code)
		return code;
	name = kf_strndup(set, name_len);
	while (next_assignment(&at, &a)) {
		if (a.name_len != name_len ||
		    memcmp(a.name, name, name_len) != 0)
			continue;
		found = a;
		count++;
	}
	/* a, b = 1, 2: what a becomes must not become b's. */
	in_brackets = found.one_of && strchr(set, ',');
	if (!count)
		code = fail_unknown(source, by, name, err);
	else if (count > 1)
		code = kf_fail(err, KF_E_INPUT, "%s: %s is assigned %zu "
			       "times at top level", by, name, count);
	else if (found.together)
		code = kf_fail(err, KF_E_INPUT, "%s: %s is assigned "
			       "together with other names", by, name);
	else if (found.lines)
		code = kf_fail(err, KF_E_INPUT, "%s: the assignment of %s "
			       "goes over several lines", by, name);
	else
		*out = kf_format("%.*s%s%s%s%s", (int)(found.value - source),
				 source, in_brackets ? "(" : "",
				 set + name_len + 1, in_brackets ? ")" : "",
				 found.value_end);
	free(name);
	return code;
}
