#include "loop/setup.h"

#include <unistd.h>

#define DEVICES_MAX 16
#define BUNDLE_TIMEOUT_NS (600 * KF_NS_PER_S)
#define JUDGE_TRIES 3

/* What a reference may use: most of the machine, never all of it. */
static uint64_t reference_memory_bytes(void)
{
	uint64_t pages = (uint64_t)sysconf(_SC_PHYS_PAGES);
	uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);

	return pages * page_bytes / 10 * 8;
}

/* "cpu:1" asks for the second device; "cpu" for the first. */
static enum kf_code wanted_index(const char *name, uint64_t *index,
				 struct kf_err *err)
{
	const char *colon = strchr(name, ':');

	*index = 0;
	if (!colon || kf_parse_u64(colon + 1, index))
		return KF_OK;
	return kf_fail(err, KF_E_INPUT,
		       "platform '%s': what follows the colon must be the "
		       "number of a device", name);
}

static enum kf_code find_device(const struct kf_setup_spec *spec,
				struct kf_setup *setup, struct kf_err *err)
{
	struct kf_device_info *info = kf_alloc(DEVICES_MAX * sizeof(*info));
	enum kf_code code;
	size_t count = 0;
	uint64_t index;

	code = wanted_index(spec->platform, &index, err);
	if (!code)
		code = kf_driver_find(setup->platform->driver, info,
				      DEVICES_MAX, spec->measure, &count, err);
	if (!code && index >= count)
		code = kf_fail(err, KF_E_UNAVAIL,
			       "platform %s has %zu device%s here, so there is "
			       "no number %llu; see `kforge platforms`",
			       setup->platform->name, count,
			       count == 1 ? "" : "s",
			       (unsigned long long)index);
	for (size_t i = 0; i < count; i++) {
		if (!code && i == index)
			setup->device = info[i];
		else
			kf_device_info_release(&info[i]);
	}
	free(info);
	return code;
}

enum kf_code kf_setup_open(const struct kf_setup_spec *spec,
			   struct kf_setup *out, struct kf_err *err)
{
	enum kf_code code;

	*out = (struct kf_setup) { .baseline = spec->baseline };
	code = kf_platform_load(spec->platform, &out->platform, err);
	if (code)
		return code;
	code = find_device(spec, out, err);
	if (code)
		return code;
	out->threads = spec->threads ? spec->threads : out->device.units;
	if (!out->threads)
		out->threads = 1;
	out->problem_spec = (struct kf_problem_spec) {
		.set = spec->set,
		.set_count = spec->set_count,
		.python = spec->python,
		.cache_path = spec->cache_path,
		.threads = out->threads,
		.tier_min = spec->tier_min,
		.timeout_ns = BUNDLE_TIMEOUT_NS,
		.memory_bytes = reference_memory_bytes(),
		.log = spec->log,
		.cancel = spec->cancel,
	};
	return KF_OK;
}

void kf_setup_release(struct kf_setup *setup)
{
	kf_device_info_release(&setup->device);
	kf_platform_free(setup->platform);
	*setup = (struct kf_setup) { 0 };
}

enum kf_code kf_target_open_take_problem(const struct kf_setup *setup,
					 struct kf_problem *problem,
					 struct kf_target *out,
					 struct kf_err *err)
{
	const struct kf_problem_spec *spec = &setup->problem_spec;
	char measured_at[32];
	enum kf_code code;

	*out = (struct kf_target) { .problem = *problem };
	*problem = (struct kf_problem) { 0 };
	code = kf_bundle_open(spec, &out->problem, &out->bundle, err);
	if (!code && setup->baseline == KF_BASELINE_LIVE)
		code = kf_baseline_start(spec, &out->problem, &out->bundle,
					 &out->baseline, err);
	if (!code && setup->baseline == KF_BASELINE_STORED &&
	    !kf_baseline_stored(spec, &out->problem, &out->baseline_stored_ns,
				measured_at))
		kf_logf(spec->log, KF_LOG_WARN, "no baseline of %s is stored "
			"yet, so there is no speed-up; judge once with "
			"--baseline live", out->problem.name);
	return code;
}

enum kf_code kf_target_open(const struct kf_setup *setup, const char *path,
			    struct kf_target *out, struct kf_err *err)
{
	struct kf_problem_spec spec = setup->problem_spec;
	struct kf_problem problem = { 0 };
	enum kf_code code;

	*out = (struct kf_target) { 0 };
	spec.path = path;
	code = kf_problem_read(&spec, &problem, err);
	if (code) {
		kf_problem_release(&problem);
		return code;
	}
	return kf_target_open_take_problem(setup, &problem, out, err);
}

void kf_target_release(struct kf_target *target)
{
	kf_baseline_free(target->baseline);
	kf_bundle_release(&target->bundle);
	kf_problem_release(&target->problem);
	*target = (struct kf_target) { 0 };
}

static enum kf_code write_example(const struct kf_platform *platform,
				  const char *dir, struct kf_err *err)
{
	enum kf_code code = kf_mkdir_p(dir, err);

	for (size_t i = 0; !code && i < platform->file_count; i++) {
		const char *text = platform->example_text[i];
		char *path = kf_path_join(dir, platform->file[i].name);

		if (text)
			code = kf_file_write(path, text, strlen(text), err);
		free(path);
	}
	return code;
}

/* A compiler that is broken refuses everything: not the candidate's fault. */
static enum kf_code prove_compiler(struct kf_setup *setup,
				   const char *work_dir, struct kf_err *err)
{
	char *dir = kf_path_join(work_dir, "example");
	struct kf_build_job job = {
		.platform = setup->platform,
		.source_dir = dir,
		.work_dir = dir,
		.tier_min = setup->problem_spec.tier_min,
		.cancel = setup->problem_spec.cancel,
	};
	struct kf_build build = { .log.max = KF_BUILD_LOG_BYTES };
	struct kf_artefact artefact = { 0 };
	enum kf_code code = write_example(setup->platform, dir, err);

	if (!code)
		code = kf_build_run(&job, &build, &artefact, err);
	setup->compiler_proved = !code && build.end == KF_BUILD_DONE;
	if (!code && !setup->compiler_proved)
		code = kf_fail(err, KF_E_UNAVAIL, "the compiler of platform %s "
			       "does not work: it refuses our own example "
			       "too: %.*s", setup->platform->name,
			       (int)strcspn(kf_buf_str(&build.log), "\n"),
			       kf_buf_str(&build.log));
	kf_artefact_release(&artefact);
	kf_build_release(&build);
	free(dir);
	return code;
}

static bool worth_repeating(enum kf_code code)
{
	return code == KF_E_IO || code == KF_E_TIMEOUT;
}

enum kf_code kf_judge(const struct kf_judge_spec *spec,
		      struct kf_verdict *out, struct kf_err *err)
{
	struct kf_setup *setup = spec->setup;
	const struct kf_problem_spec *problem_spec = &setup->problem_spec;
	struct kf_evaluate_request req = {
		.platform = setup->platform,
		.device_id = setup->device.id,
		.problem = &spec->target->problem,
		.bundle = &spec->target->bundle,
		.baseline = spec->target->baseline,
		.baseline_stored_ns = spec->target->baseline_stored_ns,
		.rules = spec->rules,
		.source_dir = spec->source_dir,
		.work_dir = spec->work_dir,
		.seed = spec->seed,
		.call_count_fixed = spec->call_count_fixed,
		.threads = setup->threads,
		.tier_min = problem_spec->tier_min,
		.log = problem_spec->log,
		.cancel = problem_spec->cancel,
	};
	enum kf_code code = KF_OK;

	*out = (struct kf_verdict) { 0 };
	for (unsigned try = 1; try <= JUDGE_TRIES; try++) {
		kf_verdict_release(out);
		code = kf_remove_tree(spec->work_dir, err);
		if (!code)
			code = kf_mkdir_p(spec->work_dir, err);
		if (!code)
			code = kf_evaluate(&req, out, err);
		if (!worth_repeating(code))
			break;
		kf_logf(problem_spec->log, KF_LOG_WARN,
			"harness_error, try %u of %d: %s", try, JUDGE_TRIES,
			err ? err->text : "");
	}
	if (!code && out->state == KF_COMPILATION_FAILURE &&
	    setup->platform->example_text && !setup->compiler_proved)
		code = prove_compiler(setup, spec->work_dir, err);
	if (!code && out->baseline_live && out->baseline_ns > 0)
		code = kf_baseline_store(problem_spec, &spec->target->problem,
					 (uint64_t)out->baseline_ns, err);
	return code;
}
