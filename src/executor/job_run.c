/* job_run.c - a folder that somebody has made: claimed, judged, finished. */
#include <errno.h>
#include <unistd.h>

#include "executor/targets.h"

#define LOG_BYTES (1u << 20)
#define CLAIM_NS (86400 * KF_NS_PER_S)	/* for another's judgement to end */

void kf_job_outcome_release(struct kf_job_outcome *outcome)
{
	json_decref(outcome->result);
	*outcome = (struct kf_job_outcome) { 0 };
}

static void remove_named(const char *folder, const char *name)
{
	char *path = kf_path_join(folder, name);

	unlink(path);
	free(path);
}

enum kf_code kf_job_finish(const char *folder, const json_t *result,
			   const struct kf_buf *log_text, struct kf_err *err)
{
	char *log = kf_path_join(folder, "log.txt");
	char *path = kf_path_join(folder, "result.json");
	enum kf_code code = kf_file_write_scratch(log, kf_buf_str(log_text),
						  log_text->len, err);

	if (!code)
		code = kf_json_write(path, result, err);
	if (!code)
		remove_named(folder, "error.json");
	free(path);
	free(log);
	return code;
}

/* --- what is there already ------------------------------------------------ */

static enum kf_code claim(const char *folder, const struct kf_job_how *how,
			  struct kf_lock *lock, struct kf_err *err)
{
	char *path = kf_path_join(folder, "lock");
	enum kf_code code = how->wait ?
		kf_lock_wait(path, CLAIM_NS, how->cancel, lock, err) :
		kf_lock_try(path, lock, err);

	free(path);
	return code;
}

/* NULL if there is none, or none that can be read: judged anew then. */
static json_t *read_result(const char *folder)
{
	char *path = kf_path_join(folder, "result.json");
	json_t *result = NULL;

	if (kf_path_exists(path) && kf_json_read(path, &result, NULL))
		result = NULL;
	if (result && kf_json_int(result, "kforge_result", 0) !=
	    KF_RESULT_VERSION) {
		json_decref(result);
		result = NULL;
	}
	free(path);
	return result;
}

static uint64_t seed_of(const json_t *result)
{
	int64_t seed = kf_json_int(json_object_get(result, "verdict"), "seed",
				   0);

	return seed > 0 ? (uint64_t)seed : 0;
}

/* --- the candidate -------------------------------------------------------- */

static enum kf_code read_candidate(const char *folder,
				   const struct kf_job *job,
				   const struct kf_platform *platform,
				   struct kf_candidate *out,
				   struct kf_err *err)
{
	size_t count = job->reply ? 1 : job->file_count;
	char **path = kf_alloc(count * sizeof(*path));
	enum kf_code code;

	for (size_t i = 0; i < count; i++)
		path[i] = kf_path_join(folder, job->reply ? job->reply :
				       job->file[i].name);
	code = kf_candidate_read((const char *const *)(uintptr_t)path, count,
				 platform, out, err);
	for (size_t i = 0; i < count; i++)
		free(path[i]);
	free(path);
	return code;
}

/* --- judged --------------------------------------------------------------- */

static enum kf_code judge(struct kf_targets *targets, const char *folder,
			  const struct kf_job *job, json_t **result,
			  struct kf_err *err)
{
	struct kf_buf log_text = { .max = LOG_BYTES };
	struct kf_candidate candidate = { 0 };
	struct kf_verdict verdict = { 0 };
	struct kf_target *target = NULL;
	struct kf_job_spec spec = {
		.job = job, .candidate = &candidate, .folder = folder,
	};
	enum kf_code code;

	code = kf_targets_get(targets, job, folder, &spec.setup, &target, err);
	spec.target = target;
	if (!code)
		code = kf_evaluate_check_calls(&target->problem,
					       &target->bundle,
					       (unsigned)job->calls, err);
	if (!code)
		code = read_candidate(folder, job, spec.setup->platform,
				      &candidate, err);
	if (!code) {
		code = kf_job_judge(&spec, &verdict, &log_text, err);
		if (code)
			kf_targets_drop(targets, target);
	}
	if (!code) {
		*result = kf_job_result(&spec, &verdict);
		code = kf_job_finish(folder, *result, &log_text, err);
	}
	kf_verdict_release(&verdict);
	kf_candidate_release(&candidate);
	kf_buf_release(&log_text);
	return code;
}

/* What could not be judged says so in its folder, and is tried again. */
static enum kf_code note_trouble(const char *folder,
				 const struct kf_err *trouble,
				 struct kf_err *err)
{
	char *path = kf_path_join(folder, "error.json");
	char now[32];
	enum kf_code code;
	json_t *json;

	kf_time_iso(now);
	json = json_object();
	json_object_set_new(json, "kforge_error", json_integer(1));
	json_object_set_new(json, "kind",
			    json_string(kf_code_name(trouble->code)));
	json_object_set_new(json, "text", kf_json_string(trouble->text,
						strlen(trouble->text)));
	json_object_set_new(json, "at", json_string(now));
	code = kf_json_write(path, json, err);
	json_decref(json);
	free(path);
	return code;
}

static enum kf_code run_claimed(struct kf_targets *targets,
				const char *folder,
				const struct kf_job_how *how,
				struct kf_job_outcome *out, struct kf_err *err)
{
	json_t *before = read_result(folder);
	struct kf_err trouble = { 0 };
	struct kf_job job = { 0 };
	enum kf_code code;

	if (before && !how->again) {
		out->end = KF_JOB_HAD_RESULT;
		out->result = before;
		return KF_OK;
	}
	code = kf_job_read(folder, how->defaults, &job, &trouble);
	if (!code && !job.seed)
		job.seed = seed_of(before);
	if (!code)
		code = judge(targets, folder, &job, &out->result, &trouble);
	json_decref(before);
	kf_job_release(&job);
	if (code == KF_E_CANCELED) {
		*err = trouble;
		return code;
	}
	if (!code)
		return KF_OK;
	out->end = KF_JOB_TROUBLE;
	out->trouble = trouble;
	return note_trouble(folder, &trouble, err);
}

enum kf_code kf_job_run(struct kf_targets *targets, const char *folder,
			const struct kf_job_how *how,
			struct kf_job_outcome *out, struct kf_err *err)
{
	struct kf_lock lock;
	enum kf_code code;

	*out = (struct kf_job_outcome) { .end = KF_JOB_DONE };
	code = claim(folder, how, &lock, err);
	if (code)
		return code;
	if (lock.held)
		code = run_claimed(targets, folder, how, out, err);
	else
		out->end = KF_JOB_TAKEN;
	kf_lock_release(&lock);
	return code;
}
