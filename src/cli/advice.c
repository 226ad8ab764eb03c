#include "cli/advice.h"

#include <math.h>

/* --- a table of many ------------------------------------------------------ */

#define GROUPS_MAX 64

/* Geometric means: gains multiply. */
struct group {
	const char *source, *bottleneck;
	size_t count, correct_count, expected_count;
	double expected_log, gain_log;
};

static struct group *group_of(struct group *group, size_t *count,
			      const json_t *row)
{
	const char *source = kf_json_str(row, "source", "?");
	const char *bottleneck = kf_json_str(row, "bottleneck", "?");

	for (size_t i = 0; i < *count; i++)
		if (strcmp(group[i].source, source) == 0 &&
		    strcmp(group[i].bottleneck, bottleneck) == 0)
			return &group[i];
	if (*count == GROUPS_MAX)
		return NULL;
	group[*count] = (struct group) { .source = source,
					 .bottleneck = bottleneck };
	return &group[(*count)++];
}

static void count_in(struct group *g, const json_t *row)
{
	double expected = kf_json_real(row, "expected_gain", 0);
	double gain = kf_json_real(row, "gain", 0);

	g->count++;
	if (expected > 0) {
		g->expected_count++;
		g->expected_log += log(expected);
	}
	if (gain > 0) {
		g->correct_count++;
		g->gain_log += log(gain);
	}
}

static void put_mean(double sum, size_t count, struct kf_buf *out)
{
	if (count)
		kf_buf_printf(out, " %.2fx |", exp(sum / (double)count));
	else
		kf_buf_puts(out, " |");
}

void kf_advice_table(const json_t *rows, struct kf_buf *out)
{
	struct group group[GROUPS_MAX];
	size_t count = 0, i;
	const json_t *row;

	json_array_foreach(rows, i, row) {
		struct group *g = group_of(group, &count, row);

		if (g && kf_json_str(row, "state", "")[0])
			count_in(g, row);
	}
	if (count)
		kf_buf_puts(out, "\n| advice by | bottleneck | attempts | "
			    "correct | expected | brought |\n"
			    "|---|---|---|---|---|---|\n");
	for (i = 0; i < count; i++) {
		const struct group *g = &group[i];

		kf_buf_printf(out, "| %s | %s | %zu | %zu |", g->source,
			      g->bottleneck, g->count, g->correct_count);
		put_mean(g->expected_log, g->expected_count, out);
		put_mean(g->gain_log, g->correct_count, out);
		kf_buf_puts(out, "\n");
	}
	if (count)
		kf_buf_puts(out, "\nGeometric means of how many times as fast "
			    "as the program before; brought: of those that "
			    "were correct.\n");
}

/* --- one ------------------------------------------------------------------ */

static void put_evidence(const json_t *advice, struct kf_buf *out)
{
	const json_t *entry;
	size_t i;

	json_array_foreach(json_object_get(advice, "evidence"), i, entry) {
		const char *counter = kf_json_str(entry, "counter", "");
		const char *kernel = kf_json_str(entry, "kernel", "");
		const char *line = kf_json_str(entry, "line", "");
		double value = kf_json_real(entry, "value", (double)NAN);

		kf_buf_printf(out, "evidence: %s%s%s", counter, kernel[0] ?
			      " of " : "", kernel);
		if (!isnan(value))
			kf_buf_printf(out, " = %.4g", value);
		kf_buf_printf(out, "%s%s\n", counter[0] && line[0] ? ", " : "",
			      line);
	}
}

static void put_named(const char *title, const json_t *advice,
		      const char *key, struct kf_buf *out)
{
	const char *text = kf_json_str(advice, key, "");

	if (text[0])
		kf_buf_printf(out, "%s: %s\n", title, text);
}

void kf_advice_words(const json_t *row, struct kf_buf *out)
{
	const json_t *advice = json_object_get(row, "advice");
	double expected = kf_json_real(row, "expected_gain", (double)NAN);
	double gain = kf_json_real(row, "gain", (double)NAN);

	kf_buf_printf(out, "by %s, about attempt %lld; bottleneck: %s\n",
		      kf_json_str(row, "source", "?"),
		      (long long)kf_json_int(row, "base", 0),
		      kf_json_str(row, "bottleneck", "?"));
	put_named("change", advice, "change", out);
	put_evidence(advice, out);
	put_named("leave alone", advice, "keep", out);
	put_named("algorithm in use", advice, "algorithm", out);
	if (!isnan(expected))
		kf_buf_printf(out, "expected: %.2f times as fast\n", expected);
	if (!isnan(gain))
		kf_buf_printf(out, "brought: %.2f times as fast\n", gain);
}
