/*
 * callgrind's file (format 1): "events:" names the columns, "fn=" and "fl=" the
 * function and the file that the following lines of cost belong to, names may
 * be numbers that stand for names said before, and the line after "calls=" is
 * the cost of what was called, which is not the function's own.
 */
#include "profile/read.h"

#include <math.h>

#include "profile/csv.h"

#define EVENTS_MAX	24u
#define NAMES_MAX	20000u
#define LINES_MAX	4000u
#define LINES_TOLD	5u	/* of the program's own text */
#define SHARE_LEAST	0.005	/* of all instructions: smaller functions are
				   not told */
#define SOURCE		"program.c"

static const struct { const char *event, *name; } events[] = {
	{ "Ir", "instructions" },
	{ "Dr", "data_reads" },
	{ "Dw", "data_writes" },
	{ "D1mr", "l1_read_misses_simulated" },
	{ "D1mw", "l1_write_misses_simulated" },
	{ "DLmr", "llc_read_misses_simulated" },
	{ "DLmw", "llc_write_misses_simulated" },
	{ "Bc", "branches" },
	{ "Bcm", "branch_misses" },
};

/* One function, or one line of the program. */
struct cost {
	char *name;			/* owned; NULL for lines */
	uint64_t line;
	double sum[EVENTS_MAX];
};

struct costs { struct cost *cost; size_t count; };

struct names { char **name; size_t count; };	/* by number; NULL: not said */

struct reading {
	char *event[EVENTS_MAX];	/* owned */
	size_t event_count, position_count;
	struct names functions, files;
	struct costs by_function, by_line;
	size_t function;		/* in by_function; SIZE_MAX: none yet */
	bool own_file;			/* the lines are the program's */
	bool skip;			/* the next line is what was called */
	uint64_t line;			/* the last position */
	bool started;			/* an "events:" line was seen */
	size_t cost_lines;
};

/* --- names ---------------------------------------------------------------- */

/* "(12) name", "(12)" or "name"; borrowed, NULL if it was never said. */
static const char *resolve(struct names *names, const char *text)
{
	uint64_t number = 0;
	const char *at = text + 1;

	if (*text != '(')
		return text;
	while (*at >= '0' && *at <= '9' && number < NAMES_MAX)
		number = number * 10 + (uint64_t)(*at++ - '0');
	if (*at != ')' || number >= NAMES_MAX)
		return text;
	at += 1 + (at[1] == ' ');
	if (number >= names->count) {
		names->name = kf_realloc(names->name, (number + 1) *
					 sizeof(names->name[0]));
		memset(names->name + names->count, 0,
		       (number + 1 - names->count) * sizeof(names->name[0]));
		names->count = number + 1;
	}
	if (*at) {
		free(names->name[number]);
		names->name[number] = kf_strdup(at);
	}
	return names->name[number];
}

static void names_release(struct names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->name[i]);
	free(names->name);
}

/* --- costs ---------------------------------------------------------------- */

static struct cost *add_cost(struct costs *costs)
{
	costs->cost = kf_realloc(costs->cost, (costs->count + 1) *
				 sizeof(costs->cost[0]));
	costs->cost[costs->count] = (struct cost) { .name = NULL };
	return &costs->cost[costs->count++];
}

static void set_function(struct reading *r, const char *text)
{
	const char *name = resolve(&r->functions, text);
	struct costs *all = &r->by_function;

	name = name ? name : "a function without a name";
	for (size_t i = 0; i < all->count; i++)
		if (strcmp(all->cost[i].name, name) == 0) {
			r->function = i;
			return;
		}
	r->function = SIZE_MAX;
	if (all->count == LINES_MAX)
		return;
	add_cost(all)->name = kf_strdup(name);
	r->function = all->count - 1;
}

static void set_file(struct reading *r, const char *text)
{
	const char *name = resolve(&r->files, text);
	size_t len = name ? strlen(name) : 0;

	r->own_file = len >= sizeof(SOURCE) - 1 &&
		strcmp(name + len - (sizeof(SOURCE) - 1), SOURCE) == 0;
}

static struct cost *line_cost(struct reading *r)
{
	struct costs *all = &r->by_line;

	for (size_t i = 0; i < all->count; i++)
		if (all->cost[i].line == r->line)
			return &all->cost[i];
	if (all->count == LINES_MAX)
		return NULL;
	add_cost(all)->line = r->line;
	return &all->cost[all->count - 1];
}

static void add_sums(struct cost *cost, const double *value, size_t count)
{
	for (size_t i = 0; cost && i < count; i++)
		cost->sum[i] += value[i];
}

/* The word at *at, which moves behind it. */
static bool next_word(const char **at, char out[32])
{
	size_t len;

	*at += strspn(*at, " \t\r");
	len = strcspn(*at, " \t\r");
	if (!len || len >= 32)
		return false;
	memcpy(out, *at, len);
	out[len] = '\0';
	*at += len;
	return true;
}

/* "12", "+3", "-3", "*": from the last one. */
static bool take_position(const char *word, uint64_t *line)
{
	uint64_t number = 0;
	bool relative = *word == '+' || *word == '-';

	if (strcmp(word, "*") == 0)
		return true;
	if (strncmp(word, "0x", 2) == 0)	/* an address */
		return true;
	if (!kf_parse_u64(word + relative, &number))
		return false;
	*line = *word == '+' ? *line + number : *word == '-' ?
		*line - number : number;
	return true;
}

static bool take_cost(struct reading *r, const char *text)
{
	double value[EVENTS_MAX];
	size_t count = 0;
	char word[32];

	for (size_t i = 0; i < r->position_count; i++)
		if (!next_word(&text, word) ||
		    !take_position(word, &r->line))
			return false;
	while (count < r->event_count && next_word(&text, word))
		if (!kf_csv_number(word, &value[count++]))
			return false;
	if (!count)
		return false;
	if (r->skip) {
		r->skip = false;
		return true;
	}
	r->cost_lines++;
	if (r->function != SIZE_MAX)
		add_sums(&r->by_function.cost[r->function], value, count);
	if (r->own_file && r->line)
		add_sums(line_cost(r), value, count);
	return true;
}

/* --- lines ---------------------------------------------------------------- */

static void take_events(struct reading *r, const char *text)
{
	char word[32];

	for (size_t i = 0; i < r->event_count; i++)
		free(r->event[i]);
	r->event_count = 0;
	while (r->event_count < EVENTS_MAX && next_word(&text, word))
		r->event[r->event_count++] = kf_strdup(word);
	r->started = true;
}

static void take_positions(struct reading *r, const char *text)
{
	char word[32];

	r->position_count = 0;
	while (r->position_count < 2 && next_word(&text, word))
		r->position_count++;
}

static const char *after(const char *line, const char *prefix)
{
	size_t len = strlen(prefix);

	return strncmp(line, prefix, len) == 0 ? line + len : NULL;
}

static void take_line(struct reading *r, const char *line)
{
	const char *rest;

	if ((rest = after(line, "events:")))
		take_events(r, rest);
	else if ((rest = after(line, "positions:")))
		take_positions(r, rest);
	else if ((rest = after(line, "fn=")))
		set_function(r, rest);
	else if ((rest = after(line, "fl=")) || (rest = after(line, "fi=")) ||
		 (rest = after(line, "fe=")))
		set_file(r, rest);
	else if ((rest = after(line, "cfn=")))
		(void)resolve(&r->functions, rest);
	else if ((rest = after(line, "cfi=")) || (rest = after(line, "cfl=")))
		(void)resolve(&r->files, rest);
	else if (after(line, "calls="))
		r->skip = true;
	else if (r->started && line[0] && strchr("0123456789+-*", line[0]))
		(void)take_cost(r, line);
}

/* --- what it comes to ----------------------------------------------------- */

static void tell(struct kf_profile *out, const struct reading *r,
		 const char *kernel, const double *sum)
{
	double calls = out->call_count ? out->call_count : 1;

	for (size_t i = 0; i < KF_COUNT(events); i++)
		for (size_t k = 0; k < r->event_count; k++)
			if (strcmp(r->event[k], events[i].event) == 0)
				kf_metrics_add(&out->metrics, kernel,
					       events[i].name, sum[k] / calls,
					       "count");
}

static size_t instructions_column(const struct reading *r)
{
	for (size_t i = 0; i < r->event_count; i++)
		if (strcmp(r->event[i], "Ir") == 0)
			return i;
	return EVENTS_MAX;
}

static void tell_functions(const struct reading *r, size_t column, double all,
			   struct kf_profile *out)
{
	for (size_t i = 0; i < r->by_function.count; i++) {
		const struct cost *c = &r->by_function.cost[i];
		double share = c->sum[column] / all;
		struct kf_profile_kernel *kernel = share < SHARE_LEAST ? NULL :
			kf_profile_add_kernel(out, c->name);

		if (!kernel)
			continue;
		kernel->share = share;
		tell(out, r, c->name, c->sum);
	}
	snprintf(out->share_of, sizeof(out->share_of), "instructions");
	kf_profile_sort(out);
}

static void tell_lines(struct reading *r, size_t column, struct kf_profile *out)
{
	for (unsigned n = 0; n < LINES_TOLD; n++) {
		struct cost *most = NULL;
		char name[64];

		for (size_t i = 0; i < r->by_line.count; i++)
			if (!most || r->by_line.cost[i].sum[column] >
			    most->sum[column])
				most = &r->by_line.cost[i];
		if (!most || most->sum[column] <= 0)
			return;
		snprintf(name, sizeof(name), SOURCE ":%llu",
			 (unsigned long long)most->line);
		tell(out, r, name, most->sum);
		most->sum[column] = 0;
	}
}

static void conclude(struct reading *r, struct kf_profile *out)
{
	size_t column = instructions_column(r);
	double sum[EVENTS_MAX] = { 0 };

	if (!r->started || column == EVENTS_MAX) {
		out->end = KF_PROFILE_FORMAT;
		return;
	}
	for (size_t i = 0; i < r->by_function.count; i++)
		for (size_t k = 0; k < r->event_count; k++)
			sum[k] += r->by_function.cost[i].sum[k];
	if (!(sum[column] > 0)) {
		out->end = KF_PROFILE_EMPTY;
		return;
	}
	tell(out, r, NULL, sum);
	tell_functions(r, column, sum[column], out);
	tell_lines(r, column, out);
	out->end = KF_PROFILE_GOOD;
}

static void reading_release(struct reading *r)
{
	for (size_t i = 0; i < r->event_count; i++)
		free(r->event[i]);
	for (size_t i = 0; i < r->by_function.count; i++)
		free(r->by_function.cost[i].name);
	free(r->by_function.cost);
	free(r->by_line.cost);
	names_release(&r->functions);
	names_release(&r->files);
}

void kf_read_callgrind(const struct kf_profile_bytes *bytes,
		       struct kf_profile *out)
{
	struct reading *r = kf_alloc(sizeof(*r));
	struct kf_csv line = { 0 };
	size_t at = 0;

	r->position_count = 1;
	r->function = SIZE_MAX;
	if (!bytes->len) {
		out->end = KF_PROFILE_EMPTY;
		free(r);
		return;
	}
	/* No separator: a line is one field. */
	while (kf_csv_next(&line, bytes->text, bytes->len, &at, '\0'))
		take_line(r, line.field[0]);
	kf_csv_release(&line);
	conclude(r, out);
	reading_release(r);
	free(r);
}
