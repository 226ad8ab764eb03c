/* kforge compare: several programs for one problem, timed in turn. */
#include <unistd.h>

#include "cli/cli.h"
#include "executor/contest.h"

/* Everything that one comparison holds. */
struct compare {
	struct kf_setup setup;
	struct kf_target target;
	size_t count;			/* programs */
	struct kf_candidate candidate[KF_DUEL_PROGRAMS];
	struct kf_contestant contestant[KF_DUEL_PROGRAMS];
	const char *name[KF_DUEL_SIDES];	/* borrowed */
	char baseline[32];		/* its name, the last of these */
	size_t judged;			/* the last one judged, or the wrong one */
	struct kf_duel duel;
	bool dueled;
	struct kf_temporary scratch;	/* removed at the end */
};

static const struct kf_verdict *verdict_of(const struct compare *c)
{
	return &c->contestant[c->judged].verdict;
}

/* --- values first --------------------------------------------------------- */

static enum kf_code judge_program(struct compare *c,
				  const struct kf_options *options, size_t i,
				  struct kf_err *err)
{
	char *folder = kf_format("%s/%zu", c->scratch.path, i);
	enum kf_code code;

	c->judged = i;
	c->contestant[i].candidate = &c->candidate[i];
	code = kf_contest_judge(&(struct kf_judge_spec) {
		.setup = &c->setup,
		.target = &c->target,
		.seed = options->seed,
		.stop_after = KF_REACH_VALUES,
	}, folder, &c->contestant[i], err);
	free(folder);
	return code;
}

static enum kf_code judge_all(struct compare *c,
			      const struct kf_options *options,
			      struct kf_err *err)
{
	enum kf_code code = kf_cli_scratch("compare", &c->scratch, err);

	for (size_t i = 0; i < c->count && !code; i++) {
		code = judge_program(c, options, i, err);
		if (verdict_of(c)->state != KF_CORRECT)
			break;
	}
	if (!code)
		kf_cli_add_hint(options, &c->name[c->judged], 1,
				&c->contestant[c->judged].verdict);
	return code;
}

/* --- then times ----------------------------------------------------------- */

static enum kf_code duel(struct compare *c, const struct kf_options *options,
			 struct kf_err *err)
{
	struct kf_contestant *contestant[KF_DUEL_PROGRAMS];
	enum kf_code code;

	for (size_t i = 0; i < c->count; i++)
		contestant[i] = &c->contestant[i];
	code = kf_contest_duel(&(struct kf_judge_spec) {
		.setup = &c->setup,
		.target = &c->target,
		.seed = options->seed,
	}, contestant, c->count, &c->duel, err);
	c->dueled = !code && c->duel.wrong == c->count;
	if (!code && !c->dueled)
		c->judged = c->duel.wrong;
	return code;
}

static enum kf_code run_stages(struct compare *c,
			       const struct kf_options *options,
			       const struct kf_log *log,
			       const char **argument, struct kf_err *err)
{
	struct kf_setup_spec spec = kf_cli_setup_spec(options, log);
	enum kf_code code = kf_cli_open(options, &spec, argument[0],
					&(struct kf_cli_programs) {
		.path = argument + 1, .count = c->count, .path_count = 1,
		.candidate = c->candidate,
	}, &c->setup, &c->target, err);

	for (size_t i = 0; i < c->count; i++)
		c->name[i] = argument[1 + i];
	snprintf(c->baseline, sizeof(c->baseline), "%s%s",
		 kf_problem_baseline_words(c->target.problem.kind),
		 c->target.baseline ? "" : " (stored)");
	c->name[c->count] = c->baseline;
	if (!code)
		code = judge_all(c, options, err);
	if (code || verdict_of(c)->state != KF_CORRECT)
		return code;
	return duel(c, options, err);
}

/* --- telling -------------------------------------------------------------- */

static void print_json(const struct compare *c)
{
	json_t *json = c->dueled ? kf_duel_to_json(&c->duel, c->name) :
		json_object();

	json_object_set_new(json, "problem",
			    json_string(c->target.problem.name));
	json_object_set_new(json, "platform",
			    json_string(c->setup.platform->name));
	json_object_set_new(json, "device", json_string(c->setup.device.name));
	json_object_set_new(json, "threads", json_integer(c->setup.threads));
	if (!c->dueled) {
		json_object_set_new(json, "incorrect",
				    json_string(c->name[c->judged]));
		json_object_set_new(json, "verdict",
				    kf_verdict_to_json(verdict_of(c)));
	}
	kf_cli_print_json_take(json);
}

static void print_words(const struct compare *c)
{
	struct kf_buf words = { .max = 1u << 16 };

	if (c->dueled) {
		kf_duel_explain(&c->duel, c->name, &words);
	} else {
		kf_buf_printf(&words, "%s is not correct, so nothing was "
			      "compared:\n", c->name[c->judged]);
		kf_verdict_explain(verdict_of(c), &words);
	}
	fputs(kf_buf_str(&words), stdout);
	kf_buf_release(&words);
}

static void release(struct compare *c, const struct kf_log *log)
{
	struct kf_err ignored = { 0 };

	if (kf_temporary_remove(&c->scratch, &ignored))
		kf_logf(log, KF_LOG_WARN, "%s", ignored.text);
	for (size_t i = 0; i < KF_DUEL_PROGRAMS; i++) {
		kf_contestant_release(&c->contestant[i]);
		kf_candidate_release(&c->candidate[i]);
	}
	kf_target_release(&c->target);
	kf_setup_release(&c->setup);
}

static int compare(const struct kf_options *options, const char **argument,
		   size_t argument_count)
{
	struct compare c = { .count = argument_count - 1 };
	struct kf_err err = { 0 };
	struct kf_log log;
	enum kf_code code;
	int status;

	kf_cli_log(options, &log);
	kf_cli_catch_signals();
	code = run_stages(&c, options, &log, argument, &err);
	if (code)
		status = kf_cli_fail(&err);
	else if (c.dueled)
		status = KF_EXIT_GOOD;
	else
		status = kf_cli_status(verdict_of(&c));
	if (!code && options->json)
		print_json(&c);
	else if (!code)
		print_words(&c);
	release(&c, &log);
	return status;
}

const struct kf_command kf_command_compare = {
	.name = "compare",
	.arguments = "PROBLEM A B [C...]",
	.summary = "time several correct programs in turn: which is faster, and is it sure?",
	.options = "platform form set size dtype baseline seed threads sandbox python cache "
		   "json quiet verbose help",
	.argument_min = 3,
	.argument_max = 1 + KF_DUEL_PROGRAMS,
	.run = compare,
};
