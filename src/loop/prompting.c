#include "loop/prompting.h"

#include <math.h>

#include "store/advice.h"

void kf_prompting_release(struct kf_prompting *prompting)
{
	free(prompting->history);
	prompting->history = NULL;
}

static struct kf_prompt_attempt *find(struct kf_prompting *p, int64_t number)
{
	for (size_t i = 0; i < p->req.history_count; i++)
		if (p->history[i].number == number)
			return &p->history[i];
	return NULL;
}

/* What each attempt was advised to gain, and what it gained. */
static enum kf_code add_gains(const struct kf_lane *lane,
			      struct kf_prompting *p, struct kf_err *err)
{
	json_t *list = NULL, *row;
	enum kf_code code;
	size_t i;

	code = kf_store_advices(lane->run->store, lane->problem_id, &list,
				err);
	json_array_foreach(list, i, row) {
		struct kf_prompt_attempt *a = find(p, kf_json_int(row,
							"number", -1));

		if (!a)
			continue;
		a->expected_gain = kf_json_real(row, "expected_gain", 0);
		a->gain = kf_json_real(row, "gain", 0);
	}
	json_decref(list);
	return code;
}

enum kf_code kf_prompting_make(const struct kf_lane *lane,
			       const struct kf_policy_next *next,
			       unsigned number, struct kf_prompting *out,
			       struct kf_err *err)
{
	const struct kf_run_spec *spec = lane->run->spec;
	const struct kf_attempts *list = &lane->attempts;
	size_t count = kf_attempts_judged(list);

	out->history = kf_alloc((count + 1) * sizeof(out->history[0]));
	for (size_t i = 0; i < count; i++)
		out->history[i] = kf_attempt_for_prompt(&list->attempt[i]);
	out->req = (struct kf_prompt_request) {
		.shape = out->shape,
		.shape_count = kf_loop_shapes(&lane->target, out->shape),
		.platform = lane->run->setup.platform,
		.device = &lane->run->setup.device,
		.problem = &lane->target.problem,
		.bundle = &lane->target.bundle,
		.prompts_dir = spec->prompts_dir,
		.attempt = number,
		.attempt_max = spec->attempt_max,
		.optimize = next->kind == KF_POLICY_OPTIMIZE,
		.plateau = next->plateau,
		.target_speedup = spec->target_speedup,
		.no_libraries = spec->libraries == KF_LIBRARIES_REFUSE,
		.history = out->history,
		.history_count = count,
	};
	if (next->previous != KF_POLICY_NO_ATTEMPT)
		out->req.previous = &out->history[next->previous];
	if (next->best != KF_POLICY_NO_ATTEMPT)
		out->req.best = &out->history[next->best];
	return add_gains(lane, out, err);
}
