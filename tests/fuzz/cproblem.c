/* cproblem.c - any text as problem.json, or as an expression of sizes. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "cproblem/cproblem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char rows[] = "ROWS";
	const struct kf_size known = { rows, 64 };
	char *text = kf_strndup((const char *)data, size);
	struct kf_cproblem problem;
	json_t *json = NULL;
	int64_t value;

	if (kf_expr_eval(text, &known, 1, &value, NULL) != KF_OK && value)
		abort();
	if (kf_json_parse((const char *)data, size, "problem.json", &json,
			  NULL) == KF_OK &&
	    kf_cproblem_parse(json, "problem.json", &problem, NULL) == KF_OK) {
		if (!problem.in.count || !problem.out.count)
			abort();
		kf_cproblem_release(&problem);
	}
	json_decref(json);
	free(text);
	return 0;
}
