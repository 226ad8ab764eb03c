/* job_files.c - what lies in a job's folder, which somebody else has made. */
#include <errno.h>
#include <sys/stat.h>

#include "executor/job.h"

enum kf_code kf_job_file(const char *folder, const char *name, char **path,
			 struct kf_err *err)
{
	enum kf_code code = KF_OK;
	struct stat st;

	*path = kf_path_join(folder, name);
	if (lstat(*path, &st))
		code = errno == ENOENT ? KF_OK :
			kf_fail_errno(err, "cannot look at %s", *path);
	else if (S_ISLNK(st.st_mode))
		code = kf_fail(err, KF_E_INPUT, "%s is a link: a job's folder "
			       "wants the file itself", *path);
	else if (!S_ISREG(st.st_mode))
		code = kf_fail(err, KF_E_INPUT, "%s is not a regular file, as "
			       "a job's folder wants it", *path);
	if (code) {
		free(*path);
		*path = NULL;
	}
	return code;
}

/* "NAME HASH", or "NAME none" for a file that is not there. Of a file that is
 * too large to be judged, what would be read of it. */
static enum kf_code add_file(const char *folder, const char *name,
			     struct kf_buf *list, struct kf_err *err)
{
	struct kf_buf text = { .max = KF_REPLY_BYTES_MAX };
	char hash[KF_HASH_HEX] = "none", *path;
	enum kf_code code = kf_job_file(folder, name, &path, err);

	if (!code && kf_path_exists(path)) {
		code = kf_file_read(path, &text, err);
		if (code == KF_E_LIMIT)
			code = KF_OK;
		kf_hash_hex(kf_buf_str(&text), text.len, hash);
	}
	kf_buf_printf(list, "%s %s\n", name, hash);
	kf_buf_release(&text);
	free(path);
	return code;
}

enum kf_code kf_job_hash(const char *folder, char out[KF_HASH_HEX],
			 struct kf_err *err)
{
	struct kf_buf list = { .max = KF_JOB_FILES_MAX * 256 };
	struct kf_job job;
	enum kf_code code = kf_job_read(folder, NULL, &job, err);

	out[0] = '\0';
	if (!code)
		code = add_file(folder, "job.json", &list, err);
	if (!code && job.reply)
		code = add_file(folder, job.reply, &list, err);
	for (size_t i = 0; !code && i < job.file_count; i++)
		code = add_file(folder, job.file[i].name, &list, err);
	if (!code)
		kf_hash_hex(kf_buf_str(&list), list.len, out);
	kf_buf_release(&list);
	kf_job_release(&job);
	return code;
}

json_t *kf_job_file_read(const char *folder, const char *name)
{
	json_t *json = NULL;
	char *path;

	if (kf_job_file(folder, name, &path, NULL))
		return NULL;
	if (kf_path_exists(path) && kf_json_read(path, &json, NULL))
		json = NULL;
	free(path);
	return json;
}

json_t *kf_job_result_of(const char *folder, const char *hash)
{
	json_t *result = kf_job_file_read(folder, "result.json");

	if (kf_json_int(result, "kforge_result", 0) == KF_RESULT_VERSION &&
	    strcmp(kf_json_str(result, "job", ""), hash) == 0)
		return result;
	json_decref(result);
	return NULL;
}
