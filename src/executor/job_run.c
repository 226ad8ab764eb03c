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
static enum kf_code read_result(const char *folder, json_t **out,
				struct kf_err *err)
{
	char *path;
	enum kf_code code = kf_job_file(folder, "result.json", &path, err);

	*out = NULL;
	if (!code && kf_path_exists(path) && kf_json_read(path, out, NULL))
		*out = NULL;
	if (kf_json_int(*out, "kforge_result", 0) != KF_RESULT_VERSION) {
		json_decref(*out);
		*out = NULL;
	}
	free(path);
	return code;
}

static bool has(const json_t *result, const char *key, const char *hash)
{
	return strcmp(kf_json_str(result, key, ""), hash) == 0;
}

/* A problem that cannot be read is nobody's: judging tells why. */
static bool is_result_of(const json_t *result, const char *folder,
			 const struct kf_job *job, const char *hash)
{
	struct kf_problem problem = { 0 };
	bool its = has(result, "job", hash) &&
		kf_targets_problem(job, folder, &problem, NULL) == KF_OK &&
		has(result, "problem_hash", problem.hash);

	kf_problem_release(&problem);
	return its;
}

static uint64_t seed_of(const json_t *result)
{
	int64_t seed = kf_json_int(json_object_get(result, "verdict"), "seed",
				   0);

	return seed > 0 ? (uint64_t)seed : 0;
}

/* --- the candidate -------------------------------------------------------- */

static enum kf_code read_candidate(const struct kf_job *job,
				   const struct kf_platform *platform,
				   const char *folder,
				   struct kf_candidate *out,
				   struct kf_err *err)
{
	size_t count = job->reply ? 1 : job->file_count;
	char **path = kf_alloc(count * sizeof(*path));
	enum kf_code code = KF_OK;

	for (size_t i = 0; !code && i < count; i++)
		code = kf_job_file(folder, job->reply ? job->reply :
				   job->file[i].name, &path[i], err);
	if (!code)
		code = kf_candidate_read((const char *const *)(uintptr_t)path,
					 count, platform, out, err);
	for (size_t i = 0; i < count; i++)
		free(path[i]);
	free(path);
	return code;
}

/* --- judged --------------------------------------------------------------- */

static enum kf_code judge(struct kf_targets *targets, const char *folder,
			  const struct kf_job *job, const char *hash,
			  json_t **result, struct kf_err *err)
{
	struct kf_buf log_text = { .max = LOG_BYTES };
	struct kf_judged judged;
	enum kf_code code = kf_job_open_and_judge(targets,
		&(struct kf_job_steps) {
			.job = job, .folder = folder, .hash = hash,
			.problem_folder = folder, .read = read_candidate,
			.log_text = &log_text,
		}, &judged, err);

	if (!code) {
		*result = kf_job_result(&judged.spec, &judged.verdict);
		code = kf_job_finish(folder, *result, &log_text, err);
	}
	kf_judged_release(&judged);
	kf_buf_release(&log_text);
	return code;
}

/* What could not be judged says so in its folder, and is tried again. */
enum kf_code kf_job_note_trouble(const char *folder,
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

/* *before, a result that is there, becomes NULL unless it is this job's: one of
 * another program may tell of a seed that its writer has chosen. */
static enum kf_code read_all(const char *folder, const struct kf_job_how *how,
			     struct kf_job *job, char hash[KF_HASH_HEX],
			     json_t **before, struct kf_err *err)
{
	enum kf_code code = read_result(folder, before, err);

	if (!code)
		code = kf_job_read(folder, how->defaults, job, err);
	if (!code)
		code = kf_job_hash(folder, hash, err);
	if (!code && *before && is_result_of(*before, folder, job, hash))
		return KF_OK;
	json_decref(*before);
	*before = NULL;
	return code;
}

static enum kf_code run_claimed(struct kf_targets *targets,
				const char *folder,
				const struct kf_job_how *how,
				struct kf_job_outcome *out, struct kf_err *err)
{
	struct kf_err trouble = { 0 };
	struct kf_job job = { 0 };
	char hash[KF_HASH_HEX];
	json_t *before = NULL;
	enum kf_code code;

	code = read_all(folder, how, &job, hash, &before, &trouble);
	if (before && !how->again) {
		out->end = KF_JOB_HAD_RESULT;
		out->result = json_incref(before);
	} else if (!code) {
		if (!job.seed)
			job.seed = seed_of(before);
		code = judge(targets, folder, &job, hash, &out->result,
			     &trouble);
	}
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
	return kf_job_note_trouble(folder, &trouble, err);
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
