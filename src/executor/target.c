#include "executor/target.h"

#include "executor/shapes.h"

/* Has the platform the types that a program would have to handle? */
static enum kf_code check_dtypes(const struct kf_platform *platform,
				 const char *what,
				 const struct kf_tensor_info *info,
				 size_t count, struct kf_err *err)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t bit = UINT64_C(1) << info[i].dtype;

		if (info[i].dtype && !(platform->dtypes & bit))
			return kf_fail(err, KF_E_INPUT, "platform %s has no "
				       "%s, which %s %s of the problem is; "
				       "choose another --dtype or --platform",
				       platform->name,
				       kf_dtype_name(info[i].dtype), what,
				       info[i].name);
	}
	return KF_OK;
}

static enum kf_code check_platform(const struct kf_platform *platform,
				   const struct kf_bundle *b,
				   struct kf_err *err)
{
	enum kf_code code = check_dtypes(platform, "input", b->in,
					 b->in_count, err);

	if (!code)
		code = check_dtypes(platform, "weight", b->weight,
				    b->weight_count, err);
	if (!code)
		code = check_dtypes(platform, "output", b->out, b->out_count,
				    err);
	return code;
}

/* Where the reference runs on a device, nobody times there meanwhile. */
static enum kf_code open_bundle(const struct kf_setup *setup,
				const struct kf_problem *problem,
				struct kf_bundle *out, struct kf_err *err)
{
	struct kf_problem_spec spec = setup->problem_spec;
	const struct kf_device_wait wait = kf_setup_wait(setup);
	struct kf_lock lock = { 0 };
	uint64_t waited_ns;
	enum kf_code code;

	if (!kf_problem_on_device(&spec) || !setup->lock_path ||
	    spec.cached_only)
		return kf_bundle_open(&spec, problem, out, err);
	spec.cached_only = true;
	code = kf_bundle_open(&spec, problem, out, err);
	if (code != KF_E_UNAVAIL)
		return code;
	kf_bundle_release(out);
	spec.cached_only = false;
	code = kf_device_share(&wait, &lock, &waited_ns, err);
	if (!code)
		code = kf_bundle_open(&spec, problem, out, err);
	kf_lock_release(&lock);
	return code;
}

/* A program in Python is made as the problem makes its own module. */
static enum kf_code check_form(const struct kf_platform *platform,
			       const struct kf_problem *problem,
			       struct kf_err *err)
{
	if (!platform->driver->python || problem->kind == KF_PROBLEM_PYTHON)
		return KF_OK;
	return kf_fail(err, KF_E_INPUT, "problem %s is no PyTorch module, so "
		       "programs for it cannot have the form %s; leave out "
		       "--form", problem->name, platform->form);
}

enum kf_code kf_target_open_take_problem(const struct kf_setup *setup,
					 struct kf_problem *problem,
					 struct kf_target *out,
					 struct kf_err *err)
{
	const struct kf_problem_spec *spec = &setup->problem_spec;
	struct kf_health_limits limits = { .cancel = spec->cancel };
	char measured_at[32];
	enum kf_code code;

	*out = (struct kf_target) { .problem = *problem };
	*problem = (struct kf_problem) { 0 };
	code = check_form(setup->platform, &out->problem, err);
	if (!code)
		code = open_bundle(setup, &out->problem, &out->bundle, err);
	if (!code)
		code = check_platform(setup->platform, &out->bundle, err);
	if (!code && setup->baseline == KF_BASELINE_LIVE)
		code = kf_baseline_start(spec, &out->problem, &out->bundle,
					 &out->baseline, err);
	if (!code && setup->baseline == KF_BASELINE_STORED &&
	    !kf_baseline_stored(spec, &out->problem, &out->baseline_stored_ns,
				measured_at, &out->baseline_stored_about))
		kf_logf(spec->log, KF_LOG_WARN, "no baseline of %s is stored "
			"yet for this device, driver and version, so there is "
			"no speed-up; judge once with --baseline live",
			out->problem.name);
	/* Last: a live baseline imports torch meanwhile. */
	if (!code)
		code = kf_health_open(&out->bundle, &limits, &out->health,
				      err);
	return code;
}

enum kf_code kf_target_open_take_shapes(const struct kf_setup *setup,
					struct kf_problem *problem,
					size_t count, struct kf_target *out,
					struct kf_err *err)
{
	enum kf_code code = kf_target_open_take_problem(setup, &problem[0],
							out, err);

	if (count > 1)
		out->more = kf_alloc((count - 1) * sizeof(out->more[0]));
	for (size_t i = 1; !code && i < count; i++) {
		code = kf_target_open_take_problem(setup, &problem[i],
						   &out->more[i - 1], err);
		out->more_count = i;
	}
	return code;
}

enum kf_code kf_target_open(const struct kf_setup *setup, const char *path,
			    struct kf_target *out, struct kf_err *err)
{
	struct kf_problem_spec spec = setup->problem_spec;
	struct kf_problem *problem;
	enum kf_code code;
	size_t count;

	*out = (struct kf_target) { 0 };
	spec.path = path;
	code = kf_shapes_problems(&spec, setup->shapes, &problem, &count, err);
	if (!code)
		code = kf_target_open_take_shapes(setup, problem, count, out,
						  err);
	kf_shapes_problems_free(problem, count);
	return code;
}

const struct kf_health *kf_target_health(const struct kf_target *target)
{
	const struct kf_health *health = &target->health;

	for (size_t i = 0; i < target->more_count && health->healthy; i++)
		if (!target->more[i].health.healthy)
			health = &target->more[i].health;
	return health;
}

enum kf_code kf_target_healthy(const struct kf_target *target,
			       struct kf_err *err)
{
	const struct kf_health *health = kf_target_health(target);

	if (health->healthy)
		return KF_OK;
	return kf_fail(err, KF_E_INPUT, "problem %s is unhealthy: %s; --force "
		       "works on it all the same", target->problem.name,
		       health->text);
}

void kf_target_release(struct kf_target *target)
{
	for (size_t i = 0; i < target->more_count; i++)
		kf_target_release(&target->more[i]);
	free(target->more);
	kf_baseline_free(target->baseline);
	json_decref(target->baseline_stored_about);
	kf_health_release(&target->health);
	kf_bundle_release(&target->bundle);
	kf_problem_release(&target->problem);
	*target = (struct kf_target) { 0 };
}
