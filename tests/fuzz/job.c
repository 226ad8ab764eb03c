/* job.c - a job.json, or a line of `kforge judge --jsonl`, in any bytes: it is
 * refused with a sentence, or reads the same again when it is written. The
 * first byte chooses which of the two it is. */
#include "executor/job.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Lines hold texts, which are not written back. */
static void check_written(const struct kf_job *job)
{
	json_t *json = kf_job_to_json(job), *again_json;
	struct kf_err err = { 0 };
	struct kf_job again;

	if (kf_job_from_json(json, KF_JOB_FOLDER, "the job", &again, &err))
		abort();
	again_json = kf_job_to_json(&again);
	if (!json_equal(json, again_json))
		abort();
	json_decref(again_json);
	json_decref(json);
	kf_job_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum kf_job_form form;
	struct kf_err err = { 0 };
	struct kf_job job = { 0 };
	json_t *json = NULL;

	if (!size)
		return 0;
	form = data[0] == 'l' ? KF_JOB_LINE : KF_JOB_FOLDER;
	if (kf_json_parse((const char *)data + 1, size - 1, "the job", &json,
			  &err)) {
		if (!err.text[0])
			abort();
		return 0;
	}
	if (kf_job_from_json(json, form, "the job", &job, &err)) {
		if (!err.text[0])
			abort();
	} else if (form == KF_JOB_FOLDER) {
		check_written(&job);
	}
	kf_job_release(&job);
	json_decref(json);
	return 0;
}
