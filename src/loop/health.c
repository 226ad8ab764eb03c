/* Whether the run's problems are worth the tokens. */
#include "loop/run.h"

static enum kf_code keep(struct kf_run *run, int64_t problem_id,
			 const struct kf_health *health, bool skipped,
			 struct kf_err *err)
{
	json_t *json = kf_health_to_json(health);
	enum kf_code code;

	json_object_set_new(json, "skipped", json_boolean(skipped));
	code = kf_store_problem_health(run->store, problem_id, json, err);
	json_decref(json);
	return code;
}

/* A problem that could not be opened: what is random or not the same twice is
 * unhealthy, whatever --force says; all else is no matter of health. */
static void keep_refusal(struct kf_run *run, int64_t problem_id,
			 const struct kf_target *target,
			 const struct kf_err *err)
{
	struct kf_health health = { 0 };
	struct kf_err ignored = { 0 };

	if (kf_health_of_refusal(&target->bundle.refusal, err->text,
				 &health)) {
		run->summary->unhealthy_count++;
		if (keep(run, problem_id, &health, true, &ignored))
			kf_logf(run->spec->setup.log, KF_LOG_WARN, "%s",
				ignored.text);
	}
	kf_health_release(&health);
}

enum kf_code kf_run_check_health(struct kf_run *run, int64_t problem_id,
				 const struct kf_target *target,
				 enum kf_code code, struct kf_err *err)
{
	const struct kf_health *health = kf_target_health(target);
	bool skipped = !health->healthy && !run->spec->force;

	if (code) {
		if (err)
			keep_refusal(run, problem_id, target, err);
		return code;
	}
	code = keep(run, problem_id, health, skipped, err);
	if (code || !skipped)
		return code;
	run->summary->unhealthy_count++;
	return kf_target_healthy(target, err);
}
