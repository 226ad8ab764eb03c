#include "executor/work.h"

#include <unistd.h>

void kf_work_begin(void *arg, unsigned number)
{
	struct kf_work *work = arg;

	work->spec.share.number = number;
	work->targets = kf_targets_new(&work->spec);
}

void kf_work_end(void *arg)
{
	struct kf_work *work = arg;

	kf_targets_free(work->targets);
	work->targets = NULL;
}

static void set(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
}

static json_t *error_to_json(const struct kf_err *trouble)
{
	json_t *error = json_object();

	set(error, "kind", json_string(kf_code_name(trouble->code)));
	set(error, "text", kf_json_string(trouble->text,
					  strlen(trouble->text)));
	return error;
}

static void answer_take(json_t *json, struct kf_buf *answer)
{
	char *text = kf_json_text(json);

	kf_buf_puts(answer, text);
	free(text);
	json_decref(json);
}

/* --- folders -------------------------------------------------------------- */

void kf_work_folder(void *arg, const char *item, size_t len,
		    struct kf_buf *answer)
{
	static const char *const end_name[] = {
		[KF_JOB_DONE] = "done", [KF_JOB_HAD_RESULT] = "had_result",
		[KF_JOB_TAKEN] = "taken", [KF_JOB_TROUBLE] = "trouble",
	};
	struct kf_work *work = arg;
	struct kf_job_outcome outcome = { 0 };
	struct kf_err err = { 0 };
	json_t *asked = NULL, *out = json_object();
	const char *folder, *end;
	struct kf_job_how how;
	enum kf_code code;

	code = kf_json_parse(item, len, "the item", &asked, &err);
	folder = kf_json_str(asked, "folder", "");
	if (!code && !folder[0])
		code = kf_fail(&err, KF_E_INPUT, "no folder was named");
	how = (struct kf_job_how) {
		.again = kf_json_bool(asked, "again", false),
		.wait = kf_json_bool(asked, "wait", false),
		.defaults = work->defaults,
		.cancel = work->spec.cancel,
	};
	if (!code)
		code = kf_job_run(work->targets, folder, &how, &outcome, &err);
	if (code)
		outcome.end = KF_JOB_TROUBLE;
	else
		err = outcome.trouble;
	end = code == KF_E_CANCELED ? "stopped" : end_name[outcome.end];
	set(out, "folder", json_string(folder));
	set(out, "end", json_string(end));
	if (outcome.end == KF_JOB_TROUBLE)
		set(out, "error", error_to_json(&err));
	if (outcome.result)
		json_object_set(out, "result", outcome.result);
	answer_take(out, answer);
	kf_job_outcome_release(&outcome);
	json_decref(asked);
}

/* --- lines ---------------------------------------------------------------- */

json_t *kf_work_error(const json_t *id, uint64_t line,
		      const struct kf_err *trouble)
{
	json_t *out = json_object();

	set(out, "id", id ? json_deep_copy(id) : json_null());
	set(out, "line", json_integer((json_int_t)line));
	set(out, "error", error_to_json(trouble));
	return out;
}

static enum kf_code read_line(const struct kf_work *work, json_t *request,
			      const char *what, struct kf_job *job,
			      struct kf_err *err)
{
	json_t *whole = work->defaults ? json_deep_copy(work->defaults) :
		json_object();
	enum kf_code code;

	if (json_is_object(request))
		json_object_update(whole, request);
	code = kf_job_from_json(json_is_object(request) ? whole : request,
				KF_JOB_LINE, what, job, err);
	if (!code && (!job->problem || !job->problem[0])) {
		kf_job_release(job);
		code = kf_fail(err, KF_E_INPUT, "%s lacks \"problem\", the "
			       "path of one, and none was given on the "
			       "command line", what);
	}
	json_decref(whole);
	return code;
}

static enum kf_code write_files(const struct kf_job *job, const char *folder,
				char **path, struct kf_err *err)
{
	enum kf_code code = KF_OK;

	for (size_t i = 0; !code && i < job->file_count; i++) {
		path[i] = kf_path_join(folder, job->file[i].name);
		code = kf_file_write_scratch(path[i], job->file[i].text,
					     job->file[i].len, err);
	}
	return code;
}

/* Files go by way of the disk, so that they are read as everybody's are. */
static enum kf_code read_candidate(const struct kf_job *job,
				   const struct kf_platform *platform,
				   const char *folder,
				   struct kf_candidate *out,
				   struct kf_err *err)
{
	char **path = kf_alloc((job->file_count + 1) * sizeof(*path));
	enum kf_code code = KF_OK;

	if (job->reply) {
		kf_candidate_extract(&(struct kf_extract_request) {
			.reply = job->reply,
			.reply_len = strlen(job->reply),
			.finish = KF_FINISH_UNKNOWN,
			.platform = platform,
		}, out);
	} else {
		code = write_files(job, folder, path, err);
		if (!code)
			code = kf_candidate_read(
				(const char *const *)(uintptr_t)path,
				job->file_count, platform, out, err);
	}
	for (size_t i = 0; i < job->file_count; i++)
		free(path[i]);
	free(path);
	return code;
}

static json_t *verdict_to_json(const struct kf_job_spec *spec,
			       const struct kf_verdict *verdict,
			       const json_t *id, uint64_t line)
{
	json_t *out = json_object(), *json = kf_verdict_to_json(verdict);

	set(out, "id", id ? json_deep_copy(id) : json_null());
	set(out, "line", json_integer((json_int_t)line));
	set(out, "problem", json_string(spec->target->problem.name));
	set(out, "platform", json_string(spec->setup->platform->name));
	set(out, "device_id", json_string(spec->setup->device.id));
	set(out, "threads", json_integer(spec->setup->threads));
	json_object_update(out, json);
	json_decref(json);
	return out;
}

static enum kf_code judge_line(struct kf_work *work, const struct kf_job *job,
			       const char *folder, const json_t *id,
			       uint64_t line, json_t **out,
			       struct kf_err *err)
{
	struct kf_judged judged;
	enum kf_code code = kf_job_open_and_judge(work->targets,
		&(struct kf_job_steps) {
			.job = job, .folder = folder, .read = read_candidate,
		}, &judged, err);

	if (!code)
		*out = verdict_to_json(&judged.spec, &judged.verdict, id,
				       line);
	kf_judged_release(&judged);
	return code;
}

static enum kf_code judge_in_scratch(struct kf_work *work,
				     const struct kf_job *job,
				     const json_t *id, uint64_t line,
				     json_t **out, struct kf_err *err)
{
	char *folder = kf_path_join(work->scratch_folder, "line-XXXXXX");
	struct kf_err ignored = { 0 };
	enum kf_code code;

	if (!mkdtemp(folder))
		code = kf_fail_errno(err, "cannot make a folder %s", folder);
	else
		code = judge_line(work, job, folder, id, line, out, err);
	if (kf_remove_tree(folder, &ignored))
		kf_logf(work->spec.log, KF_LOG_WARN, "%s", ignored.text);
	free(folder);
	return code;
}

void kf_work_line(void *arg, const char *item, size_t len,
		  struct kf_buf *answer)
{
	struct kf_work *work = arg;
	char *space, *what;
	uint64_t line = strtoull(item, &space, 10);
	size_t skip = (size_t)(space - item) + 1;
	json_t *request = NULL, *out = NULL;
	const json_t *id = NULL;
	struct kf_job job = { 0 };
	struct kf_err err = { 0 };
	enum kf_code code;

	what = kf_format("line %llu", (unsigned long long)line);
	code = kf_json_parse(item + skip, len - skip, what, &request, &err);
	if (!code) {
		id = json_object_get(request, "id");
		code = read_line(work, request, what, &job, &err);
	}
	if (!code)
		code = judge_in_scratch(work, &job, id, line, &out, &err);
	if (code)
		out = kf_work_error(id, line, &err);
	answer_take(out, answer);
	kf_job_release(&job);
	json_decref(request);
	free(what);
}
