/* What came of the cells, out of their stores. */
#include "cli/experiment.h"

#include "cli/outcome.h"
#include "store/advice.h"

static enum kf_code read_store(struct kf_store *store,
			       struct kf_cell_result *out, struct kf_err *err)
{
	struct kf_attempts attempts = { 0 };
	json_t *problems = NULL;
	uint64_t tokens = 0;
	unsigned advice = 0;
	enum kf_code code;

	code = kf_store_problems(store, &problems, err);
	if (!code)
		code = kf_attempts_load_verdicts(store, kf_json_int(
			json_array_get(problems, 0), "id", 0), &attempts,
			err);
	if (!code)
		code = kf_store_advice_used(store, 0, &tokens, &advice, err);
	kf_cli_figures(&attempts, true, &out->figure);
	out->started = attempts.count && !attempts.attempt[0].number;
	out->cost[KF_COST_REPLIES] = (double)(attempts.count - out->started);
	out->cost[KF_COST_ADVICE] = advice;
	for (size_t i = 0; i < attempts.count; i++)
		tokens += attempts.attempt[i].tokens;
	out->cost[KF_COST_TOKENS] = (double)tokens;
	kf_attempts_release(&attempts);
	json_decref(problems);
	return code;
}

static enum kf_code read_cell(struct kf_results *results, size_t i,
			      struct kf_err *err)
{
	const struct kf_experiment *e = results->experiment;
	struct kf_cell cell = kf_experiment_cell(e, i);
	struct kf_cell_result *out = &results->result[i];
	struct kf_cell_note note = { 0 };
	struct kf_store *store = NULL;
	struct kf_cell_run run;
	enum kf_code code;

	code = kf_cell_open(e, &cell, NULL, &run, err);
	if (!code)
		code = kf_cell_note_read(e, &cell, &run, &note, err);
	results->attempt_max[cell.arm] = run.run.spec.attempt_max;
	if (code || !note.done)
		goto out;
	code = kf_store_open(run.dir, KF_STORE_READ, &store, err);
	if (!code)
		code = read_store(store, out, err);
	out->cost[KF_COST_SECONDS] = note.seconds;
	out->done = !code;
out:
	kf_store_close(store);
	kf_cell_note_release(&note);
	kf_cell_close(&run);
	return code;
}

enum kf_code kf_results_read(const struct kf_experiment *e,
			     struct kf_results *out, struct kf_err *err)
{
	size_t count = kf_experiment_cells(e);
	enum kf_code code = KF_OK;

	*out = (struct kf_results) {
		.experiment = e,
		.result = kf_alloc(count * sizeof(*out->result)),
		.attempt_max = kf_alloc(e->arm_count *
					sizeof(*out->attempt_max)),
	};
	for (size_t i = 0; !code && i < count; i++)
		code = read_cell(out, i, err);
	for (size_t i = 0; i < e->arm_count; i++)
		if (out->attempt_max[i] > out->most_attempts)
			out->most_attempts = out->attempt_max[i];
	return code;
}

void kf_results_release(struct kf_results *results)
{
	size_t count = results->result ?
		       kf_experiment_cells(results->experiment) : 0;

	for (size_t i = 0; i < count; i++)
		free(results->result[i].figure.attempt);
	free(results->result);
	free(results->attempt_max);
	*results = (struct kf_results) { 0 };
}
