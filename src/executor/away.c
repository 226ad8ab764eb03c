#include "executor/away.h"

#include <math.h>
#include <unistd.h>

#include "problem/bundle_load.h"

#define POLL_NS		(200 * KF_NS_PER_MS)
#define TELL_NS		(600 * KF_NS_PER_S)	/* between "still waiting" */

enum kf_code kf_away_folder(const char *executor, char **out,
			    struct kf_err *err)
{
	enum kf_code code;

	*out = NULL;
	if (!executor || strcmp(executor, "local") == 0)
		return KF_OK;
	if (strncmp(executor, "folder:", 7) != 0 || !executor[7])
		return kf_fail(err, KF_E_INPUT, "--executor %s is not known: "
			       "it is local, or folder:DIR", executor);
	code = kf_mkdir_p(executor + 7, err);
	if (code)
		return code;
	*out = realpath(executor + 7, NULL);
	return *out ? KF_OK : kf_fail_errno(err, "cannot find %s",
					    executor + 7);
}

/* --- waiting -------------------------------------------------------------- */

static enum kf_code code_by_name(const char *name)
{
	for (int c = KF_E_INPUT; c < KF_E_CANCELED; c++)
		if (strcmp(kf_code_name((enum kf_code)c), name) == 0)
			return (enum kf_code)c;
	return KF_E_UNAVAIL;
}

static enum kf_code trouble_of(const char *folder, struct kf_err *err)
{
	json_t *error = kf_job_file_read(folder, "error.json");
	const char *text = kf_json_str(error, "text", "no reason was given");
	const char *kind = kf_json_str(error, "kind", "");
	enum kf_code code = KF_OK;

	/* A bad problem is passed over, as it is where it is judged here. */
	if (error)
		code = kf_fail(err, code_by_name(kind), "the job %s could not "
			       "be judged: %.300s", folder, text);
	json_decref(error);
	return code;
}

/* Until there is a result. Trouble of the other side ends it: what is to be
 * done about that stands in the sentence, and the run can be resumed. */
static enum kf_code wait_for(const struct kf_setup *setup, const char *folder,
			     const char *hash, json_t **out,
			     struct kf_err *err)
{
	const volatile int *cancel = setup->problem_spec.cancel;
	uint64_t told_ns = kf_now_ns() - TELL_NS;
	enum kf_code code;

	while (!(*out = kf_job_result_of(folder, hash))) {
		code = trouble_of(folder, err);
		if (code)
			return code;
		if (cancel && *cancel)
			return kf_fail(err, KF_E_CANCELED, "stopped");
		if (kf_now_ns() - told_ns >= TELL_NS) {
			kf_logf(setup->problem_spec.log, KF_LOG_WARN,
				"waiting for %s/result.json; `kforge judge "
				"%s` on the machine with the device makes it",
				folder, setup->away);
			told_ns = kf_now_ns();
		}
		kf_sleep_ns(POLL_NS);
	}
	return KF_OK;
}

/* Runs may share the folder: what makes a job another one is in its name. */
static char *folder_of(const struct kf_setup *setup, const char *name,
		       const struct kf_job *job,
		       const struct kf_candidate *candidate,
		       const struct kf_problem *problem)
{
	json_t *json = kf_job_to_json(job);
	char *job_text = kf_json_text(json), hash[KF_HASH_HEX];
	char *text = kf_format("%s %s %s", job_text, problem->hash,
			       candidate ? candidate->hash : "");
	char *folder;

	kf_hash_hex(text, strlen(text), hash);
	folder = kf_format("%s/%s-%.12s", setup->away, name, hash);
	free(text);
	free(job_text);
	json_decref(json);
	return folder;
}

/* Writes the job unless it lies there, just so, and waits for its result. */
static enum kf_code ask(const struct kf_setup *setup, const char *name,
			const struct kf_job *job,
			const struct kf_candidate *candidate,
			const struct kf_problem *problem, json_t **out,
			struct kf_err *err)
{
	char *folder = folder_of(setup, name, job, candidate, problem);
	char hash[KF_HASH_HEX];
	enum kf_code code;

	code = kf_job_write_if_other(folder, job, candidate, problem, err);
	if (!code)
		code = kf_job_hash(folder, hash, err);
	if (!code)
		code = wait_for(setup, folder, hash, out, err);
	free(folder);
	return code;
}

/* --- what a problem is ---------------------------------------------------- */

static void take_device(const json_t *about, struct kf_setup *setup)
{
	struct kf_device_info *d = &setup->device;
	const char *card = kf_json_str(about, "card", "");
	const json_t *ceilings = json_object_get(about, "ceilings");

	if (d->id[0])
		return;
	*d = (struct kf_device_info) {
		.memory_bytes = (uint64_t)kf_json_int(about, "memory_bytes",
						      0),
		.units = (unsigned)kf_json_int(about, "units", 0),
		.ceiling = {
			kf_json_real(ceilings, "bytes_per_s", 0),
			kf_json_real(ceilings, "flops_per_s", 0),
			kf_json_real(ceilings, "matrix_flops_per_s", 0),
			(uint64_t)kf_json_int(ceilings, "cache_bytes", 0),
			kf_json_real(ceilings, "bytes_per_s_in_theory", 0),
		},
		.card.max = strlen(card) + 1,
	};
	snprintf(d->id, sizeof(d->id), "%s", kf_json_str(about, "id", "?"));
	snprintf(d->name, sizeof(d->name), "%s",
		 kf_json_str(about, "name", ""));
	snprintf(d->arch, sizeof(d->arch), "%s",
		 kf_json_str(about, "arch", ""));
	kf_buf_puts(&d->card, card);
}

static enum kf_code take_about(struct kf_setup *setup, const json_t *result,
			       struct kf_target *out, struct kf_err *err)
{
	const json_t *about = json_object_get(result, "about");
	const json_t *bundle = json_object_get(about, "bundle");

	take_device(json_object_get(result, "device"), setup);
	if (kf_json_int(bundle, "format", 0) != KF_BUNDLE_FORMAT ||
	    !kf_health_from_json(json_object_get(about, "health"),
				 &out->health))
		return kf_fail(err, KF_E_INPUT, "problem %s: the kforge that "
			       "told about it is of another version: remove "
			       "about-%s-*/result.json, and judge that job "
			       "again by one of this version",
			       out->problem.name, out->problem.name);
	return kf_bundle_from_info(bundle, &out->bundle, err);
}

static enum kf_code open_take(struct kf_setup *setup,
			      struct kf_problem *problem,
			      struct kf_target *out, struct kf_err *err)
{
	struct kf_job job = {
		.platform = setup->place,
		.form = kf_setup_form(setup),
		.threads = setup->threads_asked,
		.sandbox = setup->problem_spec.tier_min,
		.ask = KF_ASK_PROBLEM,
	};
	json_t *result = NULL;
	enum kf_code code;
	char *name;

	*out = (struct kf_target) { .problem = *problem };
	*problem = (struct kf_problem) { 0 };
	name = kf_format("about-%s", out->problem.name);
	code = ask(setup, name, &job, NULL, &out->problem, &result, err);
	if (!code)
		code = take_about(setup, result, out, err);
	json_decref(result);
	free(name);
	return code;
}

enum kf_code kf_away_open_take_shapes(struct kf_setup *setup,
				      struct kf_problem *problem, size_t count,
				      struct kf_target *out,
				      struct kf_err *err)
{
	if (count > 1)
		return kf_fail(err, KF_E_INPUT, "problem %s: --shapes and "
			       "--executor folder: do not go together: make a "
			       "run for each shape", problem[0].name);
	return open_take(setup, &problem[0], out, err);
}

/* --- judging -------------------------------------------------------------- */

enum kf_code kf_away_judge(const struct kf_job_spec *spec,
			   struct kf_verdict *out, struct kf_err *err)
{
	const struct kf_problem *problem = &spec->target->problem;
	const char *slash = strrchr(spec->folder, '/');
	json_t *result = NULL;
	enum kf_code code;

	*out = (struct kf_verdict) { 0 };
	if (spec->candidate->end != KF_EXTRACT_GOOD) {
		kf_generation_failure(spec->candidate, out);
		kf_verdict_set_health(out, kf_target_health(spec->target));
		out->rules = (enum kf_rules)spec->job->rules;
		return KF_OK;
	}
	code = ask(spec->setup, slash ? slash + 1 : spec->folder, spec->job,
		   spec->candidate, problem, &result, err);
	if (!code)
		code = kf_verdict_from_json(json_object_get(result, "verdict"),
					    out, err);
	out->kind = problem->kind;
	json_decref(result);
	return code;
}
