/*
 * clock.c - how often the intervals of times hold the true ratio, and whether
 * the stopping rule makes them lean to a side, on the simulated machines of
 * tests/unit/clock.h. Prints JSON.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "../tests/unit/clock.h"

#define TRIALS 10000
#define TRUE_RATIO 1.7

static json_t *number(double value)
{
	return isnan(value) ? json_null() : json_real(value);
}

static json_t *row(const struct clock_case *c, bool stopping, uint64_t seed)
{
	json_t *json = json_object();
	struct clock_found f;

	clock_trials(&c->machine, TRIALS, TRUE_RATIO, stopping, seed, &f);
	json_object_set_new(json, "machine", json_string(c->name));
	json_object_set_new(json, "rule", json_string(stopping ? "2 %, 5 to 20"
						      : "20 blocks"));
	json_object_set_new(json, "covered", number(f.covered));
	json_object_set_new(json, "bias", number(f.bias));
	json_object_set_new(json, "bias_error", number(f.bias_error));
	json_object_set_new(json, "narrow", number(f.narrow));
	json_object_set_new(json, "narrow_covered", number(f.narrow_covered));
	json_object_set_new(json, "blocks", number(f.blocks));
	return json;
}

int main(void)
{
	json_t *json = json_object(), *rows = json_array();
	char *text;

	for (size_t i = 0; i < 2 * KF_COUNT(clock_cases); i++)
		json_array_append_new(rows, row(&clock_cases[i / 2], i % 2,
						i));
	json_object_set_new(json, "trials", json_integer(TRIALS));
	json_object_set_new(json, "machines", rows);
	text = json_dumps(json, JSON_INDENT(1) | JSON_REAL_PRECISION(4));
	puts(text);
	free(text);
	json_decref(json);
	return 0;
}
