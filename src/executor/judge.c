#include "executor/judge.h"
#include "executor/quarantine.h"

#include <math.h>

#include "evaluate/shapes.h"

#define JUDGE_TRIES 3

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

enum kf_code kf_compiler_prove(const struct kf_platform *platform,
			       const struct kf_device_info *device,
			       const struct kf_problem_spec *spec,
			       const char *work_dir, char **compiler,
			       struct kf_err *err)
{
	char *dir = kf_path_join(work_dir, "example");
	struct kf_build_job job = {
		.platform = platform,
		.device_id = device->id,
		.arch = device->arch,
		.source_dir = dir,
		.work_dir = dir,
		.tier_min = spec->tier_min,
		.cancel = spec->cancel,
	};
	struct kf_python_side python = { .problem_path = NULL };
	struct kf_build build = { .log.max = KF_BUILD_LOG_BYTES };
	struct kf_artefact artefact = { 0 };
	enum kf_code code = write_example(platform, dir, err);

	job.python = &python;
	if (!code)
		code = kf_python_side_open(&(struct kf_python_side_spec) {
			.platform = platform,
			.device_id = device->id,
			.python = spec->python,
			.cache_path = spec->cache_path,
			.passive = true,
			.problem = platform->example_problem,
			.folder = dir,
		}, &python, err);
	if (!code)
		code = kf_build_run(&job, &build, &artefact, err);
	if (!code && build.end != KF_BUILD_DONE)
		code = kf_fail(err, KF_E_UNAVAIL, "the compiler of platform %s "
			       "does not work: it refuses our own example "
			       "too: %.*s", platform->name,
			       (int)strcspn(kf_buf_str(&build.log), "\n"),
			       kf_buf_str(&build.log));
	if (compiler)
		*compiler = code ? NULL : kf_strdup(artefact.compiler);
	kf_artefact_release(&artefact);
	kf_build_release(&build);
	kf_python_side_release(&python);
	free(dir);
	return code;
}

/* A compiler that is broken refuses everything: not the candidate's fault. */
static enum kf_code prove_compiler(struct kf_setup *setup,
				   const char *work_dir, struct kf_err *err)
{
	enum kf_code code = kf_compiler_prove(setup->platform,
					      &setup->device,
					      &setup->problem_spec, work_dir,
					      NULL, err);

	setup->compiler_proved = !code;
	return code;
}

static bool worth_repeating(enum kf_code code)
{
	return code == KF_E_IO || code == KF_E_TIMEOUT;
}

/* A compiler that found no room may have met a disk that others filled since
 * it was proved. */
static bool ran_out(const struct kf_verdict *verdict)
{
	return strcmp(verdict->reason, "compile_resource") == 0;
}

/* No program can send itself that signal, but it can end with a status that
 * looks like it, or say in the place of the driver that its device is in
 * trouble: one that does so each time has its verdict, if the device is well. A
 * compiler that was stopped for want of memory is asked once more. */
static bool may_be_others(enum kf_code code, const struct kf_verdict *out,
			  const struct kf_log *log, unsigned try)
{
	bool compiler = ran_out(out) && try == 1;

	if (code || try == JUDGE_TRIES ||
	    (!out->killed && !out->device_trouble && !compiler))
		return false;
	if (out->device_trouble)
		kf_logf(log, KF_LOG_WARN, "harness_error, try %u of %d: the "
			"device was in trouble, or the program made it so",
			try, JUDGE_TRIES);
	else
		kf_logf(log, KF_LOG_WARN, "harness_error, try %u of %d: the "
			"%s was stopped, perhaps by others", try, JUDGE_TRIES,
			compiler ? "compiler" : "program's process");
	return true;
}

/* Of a program that shares its process with who tells that there is no memory
 * left: do others hold what it may have? */
static enum kf_code check_room(const struct kf_judge_spec *spec,
			       const struct kf_verdict *out,
			       struct kf_err *err)
{
	const struct kf_platform *platform = spec->setup->platform;
	const struct kf_device_info *device = &spec->setup->device;
	uint64_t needed = kf_bundle_bytes(&spec->target->bundle) +
		platform->run_limits.memory_bytes, left;

	if (!out->device_trouble || strcmp(out->reason, "memory") != 0 ||
	    !platform->driver->memory_free)
		return KF_OK;
	if (needed > device->memory_bytes / 2)
		needed = device->memory_bytes / 2;	/* a small one */
	left = platform->driver->memory_free(device->id);
	if (!left || left >= needed)
		return KF_OK;
	return kf_fail(err, KF_E_LIMIT, "device %s had no memory left, and "
		       "others hold so much that %.3g GB are free of %.3g GB "
		       "that a program may need: judge it again when they "
		       "have ended", device->id, (double)left / 1e9,
		       (double)needed / 1e9);
}

static void lower(uint64_t *ceiling, uint64_t asked, uint64_t unit)
{
	if (asked && asked * unit < *ceiling)
		*ceiling = asked * unit;
}

/* The platform as this judgement is to see it; owns nothing. */
static struct kf_platform limited(const struct kf_platform *platform,
				  const struct kf_judge_limits *limits)
{
	struct kf_platform p = *platform;

	lower(&p.build_limits.wall_ns, limits->build_s, KF_NS_PER_S);
	lower(&p.build_limits.memory_bytes, limits->build_mib, 1u << 20);
	lower(&p.run_limits.memory_bytes, limits->run_mib, 1u << 20);
	return p;
}

void kf_generation_failure(const struct kf_candidate *candidate,
			   struct kf_verdict *out)
{
	const double nan = (double)NAN;

	*out = (struct kf_verdict) {
		.state = KF_GENERATION_FAILURE,
		.text.max = sizeof(candidate->text),
		.time_ns = nan,
		.baseline_ns = nan,
		.speedup = { nan, nan, nan, nan, 0 },
	};
	snprintf(out->reason, sizeof(out->reason), "%s",
		 kf_extract_name(candidate->end));
	kf_buf_puts(&out->text, candidate->text);
}

struct kf_evaluate_request kf_judge_request(const struct kf_judge_spec *spec)
{
	const struct kf_setup *setup = spec->setup;
	const struct kf_problem_spec *problem_spec = &setup->problem_spec;

	return (struct kf_evaluate_request) {
		.platform = setup->platform,
		.device_id = setup->device.id,
		.device_name = setup->device.name,
		.device_arch = setup->device.arch,
		.device_in_process = setup->device.in_process,
		.device_ceiling = setup->device.ceiling,
		.problem = &spec->target->problem,
		.bundle = &spec->target->bundle,
		.baseline = spec->target->baseline,
		.baseline_stored_ns = spec->target->baseline_stored_ns,
		.baseline_stored_about = spec->target->baseline_stored_about,
		.rules = spec->rules,
		.libraries = spec->libraries,
		.source_dir = spec->source_dir,
		.work_dir = spec->work_dir,
		.seed = spec->seed,
		.call_count_fixed = spec->call_count_fixed,
		.stop_after = spec->stop_after,
		.lock_path = setup->lock_path,
		.handshakes = setup->handshakes,
		.call_timeout_ns = spec->limits.call_s * KF_NS_PER_S,
		.threads = setup->threads,
		.python = problem_spec->python,
		.cache_path = problem_spec->cache_path,
		.tier_min = problem_spec->tier_min,
		.log = problem_spec->log,
		.cancel = spec->cancel ? spec->cancel : problem_spec->cancel,
	};
}

/* May the device have come to harm? Not where others only worked on it. */
static bool may_have_harmed(enum kf_code code, const struct kf_verdict *verdict)
{
	return code ? code != KF_E_CANCELED && code != KF_E_INPUT &&
		code != KF_E_TIMEOUT :
		verdict->state == KF_RUNTIME_ERROR;
}

/* Before the next program meets it. Of a device that is ill a program has told
 * the truth, and has no verdict for that. */
static enum kf_code look_at_device(const struct kf_judge_spec *spec,
				   const struct kf_verdict *verdict,
				   enum kf_code code, struct kf_err *err)
{
	const struct kf_setup *setup = spec->setup;
	enum kf_code looked = KF_OK;

	if (may_have_harmed(code, verdict))
		looked = kf_quarantine_look(&(struct kf_quarantine) {
			.driver = setup->platform->driver,
			.device_id = setup->device.id,
			.lock_path = setup->lock_path,
			.path = setup->quarantine_path,
			.log = setup->problem_spec.log,
			.cancel = spec->cancel ? spec->cancel :
				setup->problem_spec.cancel,
		}, code ? NULL : err);
	if (!code && !looked && verdict->device_trouble &&
	    setup->quarantine_path)
		looked = kf_quarantine_check(setup->device.id,
					     setup->quarantine_path, err);
	return code ? code : looked;
}

static enum kf_code judge_one(const struct kf_judge_spec *spec,
			      struct kf_verdict *out, struct kf_err *err)
{
	struct kf_setup *setup = spec->setup;
	const struct kf_problem_spec *problem_spec = &setup->problem_spec;
	struct kf_platform platform = limited(setup->platform, &spec->limits);
	struct kf_evaluate_request req = kf_judge_request(spec);
	enum kf_code code = KF_OK;

	req.platform = &platform;
	*out = (struct kf_verdict) { 0 };
	if (setup->quarantine_path)
		code = kf_quarantine_check(setup->device.id,
					   setup->quarantine_path, err);
	if (code)
		return code;
	for (unsigned try = 1; try <= JUDGE_TRIES; try++) {
		kf_verdict_release(out);
		code = kf_remove_tree(spec->work_dir, err);
		if (!code)
			code = kf_mkdir_p(spec->work_dir, err);
		if (!code)
			code = kf_evaluate(&req, out, err);
		if (may_be_others(code, out, problem_spec->log, try))
			continue;
		if (!worth_repeating(code))
			break;
		kf_logf(problem_spec->log, KF_LOG_WARN,
			"harness_error, try %u of %d: %s", try, JUDGE_TRIES,
			err ? err->text : "");
	}
	if (!code)
		code = check_room(spec, out, err);
	if (!code && out->state == KF_MISMATCH)
		code = kf_bundle_check(&spec->target->bundle, err);
	code = look_at_device(spec, out, code, err);
	if (!code)
		kf_verdict_set_health(out, &spec->target->health);
	if (!code && out->state == KF_COMPILATION_FAILURE &&
	    setup->platform->example_text &&
	    (!setup->compiler_proved || ran_out(out)))
		code = prove_compiler(setup, spec->work_dir, err);
	if (!code && out->baseline_live && out->baseline_ns > 0)
		code = kf_baseline_store(problem_spec, &spec->target->problem,
					 (uint64_t)out->baseline_ns,
					 out->baseline_about, err);
	return code;
}

/* Does the program deserve to be tried on the next shape? */
static bool goes_on(const struct kf_verdict *verdict)
{
	return verdict->state == KF_CORRECT;
}

static enum kf_code judge_shapes(const struct kf_judge_spec *spec,
				 struct kf_verdict *out, struct kf_err *err)
{
	const struct kf_target *first = spec->target;
	size_t count = first->more_count + 1;
	struct kf_judge_spec one = *spec;
	enum kf_code code = KF_OK;

	*out = (struct kf_verdict) { 0 };
	for (size_t i = 0; !code && i < count; i++) {
		struct kf_verdict verdict;

		one.target = i ? &first->more[i - 1] : first;
		code = judge_one(&one, &verdict, err);
		if (!code)
			kf_shapes_take(out, one.target->problem.shape,
				       &verdict);
		kf_verdict_release(&verdict);
		if (!code && !goes_on(out))
			break;
	}
	if (!code)
		kf_shapes_end(out, count);
	return code;
}

enum kf_code kf_judge(const struct kf_judge_spec *spec,
		      struct kf_verdict *out, struct kf_err *err)
{
	if (spec->target->problem.shape)
		return judge_shapes(spec, out, err);
	return judge_one(spec, out, err);
}
