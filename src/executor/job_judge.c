/* job_judge.c - from a job and a candidate to a verdict and a result. */
#include <sys/utsname.h>

#include "executor/targets.h"

#define LOG_BYTES (1u << 20)

/* Lines go where they went, and into the job's log. */
struct tee {
	const struct kf_log *next;	/* may be NULL */
	struct kf_buf *text;
};

static void write_line(void *arg, enum kf_log_level level, const char *line)
{
	const struct tee *tee = arg;

	kf_buf_printf(tee->text, "%s\n", line);
	kf_logf(tee->next, level, "%s", line);
}

/* --- what the time of a correct program is made of ------------------------ */

/* Trouble with profilers costs the profile, not the verdict. */
static enum kf_code profile(const struct kf_job_spec *spec,
			    const struct kf_judge_spec *judged,
			    const char *folder, const struct kf_log *log,
			    struct kf_verdict *verdict, struct kf_err *err)
{
	struct kf_evaluate_request request = kf_judge_request(judged);
	const char *name = spec->job->profile;
	char *raw = kf_path_join(folder, "profile");
	char *artefact = kf_artefact_path(judged->work_dir,
					  verdict->artefact_hash);
	struct kf_profile taken = { 0 };
	struct kf_err why = { 0 };
	enum kf_code code = kf_remove_tree(raw, &why);

	if (!code)
		code = kf_mkdir_p(raw, &why);
	if (!code)
		code = kf_profile_take(&(struct kf_profile_request) {
			.base = &request,
			.artefact_path = artefact,
			.compiler_log = kf_buf_str(&verdict->compiler_log),
			.time_ns = verdict->time_ns,
			.profiler = strcmp(name, "auto") == 0 ? NULL : name,
			.work_dir = raw,
			.denied = &spec->setup->denied,
		}, &taken, &why);
	if (!code)
		verdict->profile = kf_profile_json(&taken);
	else if (code == KF_E_CANCELED)
		*err = why;
	else
		kf_logf(log, KF_LOG_WARN, "not profiled: %s", why.text);
	kf_profile_release(&taken);
	free(artefact);
	free(raw);
	return code == KF_E_CANCELED ? code : KF_OK;
}

static enum kf_code judge_files(const struct kf_job_spec *spec,
				const char *folder, const struct kf_log *log,
				struct kf_verdict *out, struct kf_err *err)
{
	const struct kf_job *job = spec->job;
	char *work = kf_path_join(folder, "work");
	char *source_dir = kf_path_join(work, "source");
	char *work_dir = kf_path_join(work, "judge");
	struct kf_setup setup = *spec->setup;
	struct kf_judge_spec how = {
		.setup = &setup,
		.target = spec->target,
		.rules = (enum kf_rules)job->rules,
		.libraries = (enum kf_libraries)job->libraries,
		.seed = job->seed,
		.call_count_fixed = (unsigned)job->calls,
		.stop_after = (enum kf_reach)job->stop_after,
		.limits = job->limits,
		.source_dir = source_dir,
		.work_dir = work_dir,
		.cancel = spec->cancel,
	};
	struct kf_err ignored = { 0 };
	enum kf_code code = kf_remove_tree(work, err);

	setup.problem_spec.log = log;
	if (!code)
		code = kf_candidate_write(spec->candidate, source_dir, err);
	if (!code)
		code = kf_judge(&how, out, err);
	if (!code && job->profile && out->state == KF_CORRECT)
		code = profile(spec, &how, folder, log, out, err);
	spec->setup->compiler_proved = setup.compiler_proved;
	if (kf_remove_tree(work, &ignored))
		kf_logf(log, KF_LOG_WARN, "%s", ignored.text);
	free(work_dir);
	free(source_dir);
	free(work);
	return code;
}

enum kf_code kf_job_judge(const struct kf_job_spec *spec,
			  struct kf_verdict *out, struct kf_buf *log_text,
			  struct kf_err *err)
{
	const struct kf_log *next = spec->setup->problem_spec.log;
	struct tee tee = { next, log_text };
	struct kf_log both = {
		.level = next && next->level > KF_LOG_DEBUG ? next->level :
			KF_LOG_DEBUG,
		.write = write_line, .arg = &tee,
	};
	enum kf_code code;
	char *folder;

	*out = (struct kf_verdict) { 0 };
	if (spec->candidate->end != KF_EXTRACT_GOOD) {
		kf_generation_failure(spec->candidate, out);
		kf_verdict_set_health(out, kf_target_health(spec->target));
		out->rules = (enum kf_rules)spec->job->rules;
		return KF_OK;
	}
	folder = realpath(spec->folder, NULL);	/* sandboxes want it whole */
	if (!folder)
		return kf_fail_errno(err, "cannot find the folder %s",
				     spec->folder);
	code = judge_files(spec, folder, log_text ? &both : next, out, err);
	free(folder);
	if (log_text && out->compiler_log.len)
		kf_buf_printf(log_text, "the compiler said:\n%s\n",
			      kf_buf_str(&out->compiler_log));
	return code;
}

static json_t *text(const char *value)
{
	return kf_json_string(value, strlen(value));
}

static json_t *device_to_json(const struct kf_setup *setup)
{
	json_t *json = json_object();

	json_object_set_new(json, "id", text(setup->device.id));
	json_object_set_new(json, "name", text(setup->device.name));
	json_object_set_new(json, "arch", text(setup->device.arch));
	json_object_set_new(json, "driver",
			    text(setup->platform->driver->name));
	json_object_set_new(json, "memory_bytes", json_integer(
			    (json_int_t)setup->device.memory_bytes));
	json_object_set_new(json, "units", json_integer(setup->device.units));
	return json;
}

/* What a writer must know and only the machine with the device does. */
static json_t *about_to_json(const struct kf_target *target)
{
	return json_pack("{s:O, s:o}", "bundle", target->bundle.info, "health",
			 kf_health_to_json(&target->health));
}

static json_t *machine_to_json(void)
{
	json_t *json = json_object();
	struct utsname about;

	if (uname(&about))
		return json;
	json_object_set_new(json, "name", text(about.nodename));
	json_object_set_new(json, "system", text(about.sysname));
	json_object_set_new(json, "release", text(about.release));
	return json;
}

static json_t *ceilings_to_json(const struct kf_ceilings *c)
{
	return json_pack("{s:o, s:o, s:o, s:I, s:o}",
			 "bytes_per_s", kf_json_number(c->bytes_per_s),
			 "flops_per_s", kf_json_number(c->flops_per_s),
			 "matrix_flops_per_s",
			 kf_json_number(c->matrix_flops_per_s),
			 "cache_bytes", (json_int_t)c->cache_bytes,
			 "bytes_per_s_in_theory",
			 kf_json_number(c->bytes_per_s_in_theory));
}

static void set_about(json_t *json, const struct kf_job_spec *spec)
{
	const struct kf_buf *card = &spec->setup->device.card;
	json_t *device = json_object_get(json, "device");

	json_object_set_new(json, "about", about_to_json(spec->target));
	json_object_set_new(device, "card",
			    kf_json_string(kf_buf_str(card), card->len));
	json_object_set_new(device, "ceilings",
			    ceilings_to_json(&spec->setup->device.ceiling));
}

json_t *kf_job_result(const struct kf_job_spec *spec,
		      const struct kf_verdict *verdict)
{
	const struct kf_problem *problem = &spec->target->problem;
	json_t *json = json_object();
	char now[32];

	kf_time_iso(now);
	json_object_set_new(json, "kforge_result",
			    json_integer(KF_RESULT_VERSION));
	json_object_set_new(json, "problem", text(problem->name));
	json_object_set_new(json, "problem_hash", text(problem->hash));
	if (spec->job->ask == KF_ASK_VERDICT)
		json_object_set_new(json, "candidate",
				    text(spec->candidate->hash));
	if (spec->hash)
		json_object_set_new(json, "job", text(spec->hash));
	json_object_set_new(json, "platform",
			    text(spec->setup->platform->name));
	json_object_set_new(json, "device", device_to_json(spec->setup));
	json_object_set_new(json, "machine", machine_to_json());
	json_object_set_new(json, "threads",
			    json_integer(spec->setup->threads));
	json_object_set_new(json, "at", json_string(now));
	if (spec->job->ask == KF_ASK_VERDICT)
		json_object_set_new(json, "verdict",
				    kf_verdict_to_json(verdict));
	else
		set_about(json, spec);
	return json;
}

void kf_judged_release(struct kf_judged *judged)
{
	kf_verdict_release(&judged->verdict);
	kf_candidate_release(&judged->candidate);
	*judged = (struct kf_judged) { 0 };
}

enum kf_code kf_job_open_and_judge(struct kf_targets *targets,
				   const struct kf_job_steps *steps,
				   struct kf_judged *out, struct kf_err *err)
{
	const struct kf_job *job = steps->job;
	struct kf_target *target = NULL;
	struct kf_job_spec *spec = &out->spec;
	enum kf_code code;

	*out = (struct kf_judged) { .spec = {
		.job = job, .candidate = &out->candidate,
		.folder = steps->folder, .hash = steps->hash,
	} };
	code = kf_targets_get(targets, job, steps->problem_folder,
			      &spec->setup, &target, err);
	spec->target = target;
	if (!code && job->ask == KF_ASK_PROBLEM)
		return kf_setup_measure(spec->setup, err);
	if (!code)
		code = kf_evaluate_check_calls(&target->problem,
					       &target->bundle,
					       (unsigned)job->calls, err);
	if (!code)
		code = steps->read(job, spec->setup->platform, steps->folder,
				   &out->candidate, err);
	if (code)
		return code;
	code = kf_job_judge(spec, &out->verdict, steps->log_text, err);
	if (code)
		kf_targets_drop(targets, target);
	return code;
}

enum kf_code kf_job_do(const struct kf_job_spec *asked, struct kf_verdict *out,
		       struct kf_err *err)
{
	struct kf_buf log_text = { .max = LOG_BYTES };
	struct kf_job_spec spec = *asked;
	char hash[KF_HASH_HEX];
	json_t *result = NULL;
	enum kf_code code;

	*out = (struct kf_verdict) { 0 };
	spec.hash = hash;
	code = kf_job_write(spec.folder, spec.job, spec.candidate,
			    &spec.target->problem, err);
	if (!code)
		code = kf_job_hash(spec.folder, hash, err);
	if (!code)
		code = kf_job_judge(&spec, out, &log_text, err);
	if (!code) {
		result = kf_job_result(&spec, out);
		code = kf_job_finish(spec.folder, result, &log_text, err);
	}
	json_decref(result);
	kf_buf_release(&log_text);
	return code;
}
