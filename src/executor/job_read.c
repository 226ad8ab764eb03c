/* job_read.c - jobs from JSON and back, by one table of members. */
#include "executor/job.h"
#include "executor/words.h"

#define JOB_BYTES (1u << 20)

enum kind { TEXT, TEXTS, COUNT, WORD, OTHER };

struct member {
	const char *name;
	enum kind kind;
	size_t offset;			/* in struct kf_job, or its limits */
	uint64_t most;			/* COUNT */
	const struct kf_word *word;	/* WORD; ends with a NULL name */
};

#define AT(m) offsetof(struct kf_job, m)

static const struct member member_table[] = {
	{ "problem", TEXT, AT(problem), 0, NULL },
	{ "ask", WORD, AT(ask), 0, kf_words_ask },
	{ "problem_hash", TEXT, AT(problem_hash), 0, NULL },
	{ "set", TEXTS, AT(set), 0, NULL },
	{ "size", TEXT, AT(size), 0, NULL },
	{ "dtype", WORD, AT(dtype), 0, kf_words_dtype },
	{ "platform", TEXT, AT(platform), 0, NULL },
	{ "form", TEXT, AT(form), 0, NULL },
	{ "profile", TEXT, AT(profile), 0, NULL },
	{ "reply", TEXT, AT(reply), 0, NULL },
	{ "rules", WORD, AT(rules), 0, kf_words_rules },
	{ "libraries", WORD, AT(libraries), 0, kf_words_libraries },
	{ "baseline", WORD, AT(baseline), 0, kf_words_baseline },
	{ "stop_after", WORD, AT(stop_after), 0, kf_words_stop_after },
	{ "sandbox", WORD, AT(sandbox), 0, kf_words_sandbox },
	{ "seed", COUNT, AT(seed), INT64_MAX, NULL },
	{ "calls", COUNT, AT(calls), 100000000, NULL },
	{ "threads", COUNT, AT(threads), 4096, NULL },
	{ "files", OTHER, 0, 0, NULL },
	{ "limits", OTHER, 0, 0, NULL },
	{ "kforge_job", OTHER, 0, 0, NULL },
};

static const struct member limit_table[] = {
	{ "build_s", COUNT, AT(limits.build_s), 86400, NULL },
	{ "build_mib", COUNT, AT(limits.build_mib), 1u << 24, NULL },
	{ "run_mib", COUNT, AT(limits.run_mib), 1u << 24, NULL },
	{ "call_s", COUNT, AT(limits.call_s), 86400, NULL },
};

void kf_job_release(struct kf_job *job)
{
	for (size_t i = 0; i < job->file_count; i++) {
		free(job->file[i].name);
		free(job->file[i].text);
	}
	for (size_t i = 0; i < job->set_count; i++)
		free(job->set[i]);
	free(job->file);
	free(job->set);
	free(job->problem);
	free(job->problem_hash);
	free(job->size);
	free(job->platform);
	free(job->form);
	free(job->profile);
	free(job->reply);
	*job = (struct kf_job) { 0 };
}

/* --- one member ----------------------------------------------------------- */

static enum kf_code refuse(const char *what, const char *name,
			   const char *wants, struct kf_err *err)
{
	return kf_fail(err, KF_E_INPUT, "%s: \"%s\" wants %s", what, name,
		       wants);
}

/* NULL if it is no string. */
static char *copy_text(const json_t *value)
{
	return kf_strdup(json_string_value(value));
}

static enum kf_code read_text(const struct member *m, const json_t *value,
			      const char *what, char **out,
			      struct kf_err *err)
{
	*out = copy_text(value);
	return *out ? KF_OK : refuse(what, m->name, "a string", err);
}

/* Always "set": the count lies behind the list. */
static enum kf_code read_texts(const struct member *m, const json_t *value,
			       const char *what, struct kf_job *job,
			       struct kf_err *err)
{
	const json_t *text;
	size_t i;

	if (!json_is_array(value))
		return refuse(what, m->name, "a list of strings", err);
	job->set = kf_alloc((json_array_size(value) + 1) *
			    sizeof(job->set[0]));
	json_array_foreach(value, i, text) {
		char *copy = copy_text(text);

		if (!copy)
			return refuse(what, m->name, "a list of strings", err);
		job->set[job->set_count++] = copy;
	}
	return KF_OK;
}

static enum kf_code read_count(const struct member *m, const json_t *value,
			       const char *what, uint64_t *out,
			       struct kf_err *err)
{
	if (!json_is_integer(value) || json_integer_value(value) < 0)
		return refuse(what, m->name, "a whole number of at least 0",
			      err);
	*out = (uint64_t)json_integer_value(value);
	if (*out > m->most)
		return kf_fail(err, KF_E_INPUT, "%s: \"%s\" can be at most "
			       "%llu", what, m->name,
			       (unsigned long long)m->most);
	return KF_OK;
}

static enum kf_code read_word(const struct member *m, const json_t *value,
			      const char *what, uint64_t *out,
			      struct kf_err *err)
{
	const char *text = json_string_value(value);
	struct kf_buf names = { .max = 128 };

	for (const struct kf_word *w = m->word; w->name; w++) {
		if (text && strcmp(w->name, text) == 0) {
			*out = w->value;
			kf_buf_release(&names);
			return KF_OK;
		}
		kf_buf_printf(&names, "%s\"%s\"", names.len ? ", " : "",
			      w->name);
	}
	kf_fail(err, KF_E_INPUT, "%s: \"%s\" wants one of %s", what, m->name,
		kf_buf_str(&names));
	kf_buf_release(&names);
	return KF_E_INPUT;
}

static enum kf_code read_member(const struct member *m, const json_t *value,
				const char *what, struct kf_job *job,
				struct kf_err *err)
{
	void *at = (char *)job + m->offset;

	switch (m->kind) {
	case TEXT:
		return read_text(m, value, what, at, err);
	case TEXTS:
		return read_texts(m, value, what, job, err);
	case COUNT:
		return read_count(m, value, what, at, err);
	case WORD:
		return read_word(m, value, what, at, err);
	case OTHER:
		break;
	}
	return KF_OK;
}

static const struct member *find(const struct member *table, size_t count,
				 const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(table[i].name, name) == 0)
			return &table[i];
	return NULL;
}

static enum kf_code unknown(const char *what, const char *name,
			    struct kf_err *err)
{
	return kf_fail(err, KF_E_INPUT, "%s has an unknown member \"%.40s\"; "
		       "docs/jobs.md lists all that there are", what, name);
}

/* --- files ---------------------------------------------------------------- */

/* Names that the folder of a job uses itself. */
static bool is_ours(const char *name)
{
	static const char *const ours[] = {
		"job.json", "result.json", "error.json", "log.txt", "lock",
		"work", "problem", "profile",
	};

	for (size_t i = 0; i < KF_COUNT(ours); i++)
		if (strcmp(ours[i], name) == 0)
			return true;
	return false;
}

static bool plain_name(const char *name)
{
	return name && name[0] && name[0] != '.' && strlen(name) < 128 &&
		!strchr(name, '/') && !is_ours(name);
}

static enum kf_code add_file(struct kf_job *job, const char *what,
			     char *name_taken, const json_t *text,
			     struct kf_err *err)
{
	struct kf_job_file *file = &job->file[job->file_count++];

	file->name = name_taken;
	if (!plain_name(file->name))
		return kf_fail(err, KF_E_INPUT, "%s: \"files\" wants plain "
			       "names of the candidate's files, not \"%.60s\"",
			       what, file->name ? file->name : "");
	for (size_t i = 0; i + 1 < job->file_count; i++)
		if (strcmp(job->file[i].name, file->name) == 0)
			return kf_fail(err, KF_E_INPUT, "%s: \"files\" names "
				       "%s twice", what, file->name);
	if (!text)
		return KF_OK;
	file->text = copy_text(text);
	if (!file->text)
		return kf_fail(err, KF_E_INPUT, "%s: \"files\" wants the text "
			       "of %s as a string", what, file->name);
	file->len = strlen(file->text);
	return KF_OK;
}

static enum kf_code read_files(const json_t *files, enum kf_job_form form,
			       const char *what, struct kf_job *job,
			       struct kf_err *err)
{
	bool line = form == KF_JOB_LINE;
	size_t count = line ? json_object_size(files) : json_array_size(files);
	enum kf_code code = KF_OK;
	const char *name;
	json_t *value;
	size_t i;

	if (line ? !json_is_object(files) : !json_is_array(files))
		return refuse(what, "files", line ? "an object of names and "
			      "texts" : "a list of names", err);
	if (!count || count > KF_JOB_FILES_MAX)
		return kf_fail(err, KF_E_INPUT, "%s: \"files\" wants 1 to %d "
			       "files, not %zu", what, KF_JOB_FILES_MAX, count);
	job->file = kf_alloc(count * sizeof(job->file[0]));
	if (!line) {
		json_array_foreach(files, i, value) {
			if (!code)
				code = add_file(job, what, copy_text(value),
						NULL, err);
		}
		return code;
	}
	json_object_foreach((json_t *)(uintptr_t)files, name, value) {
		if (!code)
			code = add_file(job, what, kf_strdup(name), value,
					err);
	}
	return code;
}

static enum kf_code read_limits(const json_t *limits, const char *what,
				struct kf_job *job, struct kf_err *err)
{
	const struct member *m;
	enum kf_code code = KF_OK;
	const char *name;
	json_t *value;

	if (!json_is_object(limits))
		return refuse(what, "limits", "an object", err);
	json_object_foreach((json_t *)(uintptr_t)limits, name, value) {
		if (code)
			break;
		m = find(limit_table, KF_COUNT(limit_table), name);
		code = m ? read_member(m, value, what, job, err) :
			unknown(what, name, err);
	}
	return code;
}

/* --- a whole job ---------------------------------------------------------- */

static enum kf_code check_version(const json_t *json, enum kf_job_form form,
				  const char *what, struct kf_err *err)
{
	const json_t *version = json_object_get(json, "kforge_job");

	if (!json_is_object(json))
		return kf_fail(err, KF_E_INPUT, "%s is not a JSON object",
			       what);
	if (!version && form == KF_JOB_LINE)
		return KF_OK;
	if (!json_is_integer(version))
		return kf_fail(err, KF_E_INPUT, "%s is not a job: it lacks "
			       "\"kforge_job\": %d", what, KF_JOB_VERSION);
	if (json_integer_value(version) != KF_JOB_VERSION)
		return kf_fail(err, KF_E_INPUT, "%s has version %lld, and "
			       "this kforge reads version %d", what,
			       (long long)json_integer_value(version),
			       KF_JOB_VERSION);
	return KF_OK;
}

static enum kf_code read_members(const json_t *json, enum kf_job_form form,
				 const char *what, struct kf_job *job,
				 struct kf_err *err)
{
	const struct member *m;
	enum kf_code code = KF_OK;
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)json, name, value) {
		if (code)
			break;
		if (form == KF_JOB_LINE && strcmp(name, "id") == 0)
			continue;
		m = find(member_table, KF_COUNT(member_table), name);
		if (!m)
			code = unknown(what, name, err);
		else if (strcmp(name, "files") == 0)
			code = read_files(value, form, what, job, err);
		else if (strcmp(name, "limits") == 0)
			code = read_limits(value, what, job, err);
		else
			code = read_member(m, value, what, job, err);
	}
	return code;
}

static enum kf_code check_whole(const struct kf_job *job,
				enum kf_job_form form, const char *what,
				struct kf_err *err)
{
	if (job->ask == KF_ASK_PROBLEM && (job->file_count || job->reply))
		return kf_fail(err, KF_E_INPUT, "%s asks for the problem, "
			       "so it wants neither \"files\" nor \"reply\"",
			       what);
	if (job->ask == KF_ASK_VERDICT && !job->file_count == !job->reply)
		return kf_fail(err, KF_E_INPUT, "%s wants either \"files\" or "
			       "\"reply\"", what);
	if (job->profile && !plain_name(job->profile))	/* "command:..." */
		return kf_fail(err, KF_E_INPUT, "%s: \"profile\" wants "
			       "\"auto\" or the name of a profiler "
			       "(docs/profiling.md); commands of a job's "
			       "writer are not run", what);
	if (form == KF_JOB_FOLDER && job->reply && !plain_name(job->reply))
		return refuse(what, "reply", "a plain name", err);
	if (form == KF_JOB_FOLDER && (!job->problem || !job->problem[0]))
		return kf_fail(err, KF_E_INPUT, "%s lacks \"problem\", the "
			       "path of one", what);
	return KF_OK;
}

enum kf_code kf_job_from_json(const json_t *json, enum kf_job_form form,
			      const char *what, struct kf_job *out,
			      struct kf_err *err)
{
	enum kf_code code;

	*out = (struct kf_job) { .sandbox = KF_TIER_MEDIUM };
	code = check_version(json, form, what, err);
	if (!code)
		code = read_members(json, form, what, out, err);
	if (!code)
		code = check_whole(out, form, what, err);
	if (code)
		kf_job_release(out);
	else if (!out->platform)
		out->platform = kf_strdup("cpu");
	return code;
}

static json_t *with_defaults_take(json_t *json, const json_t *defaults)
{
	json_t *whole;

	if (!defaults || !json_is_object(json))
		return json;
	whole = json_deep_copy(defaults);
	json_object_del(whole, "kforge_job");
	json_object_update(whole, json);
	json_decref(json);
	return whole;
}

enum kf_code kf_job_read(const char *folder, const json_t *defaults,
			 struct kf_job *out, struct kf_err *err)
{
	struct kf_buf text = { .max = JOB_BYTES };
	json_t *json = NULL;
	enum kf_code code;
	char *path;

	*out = (struct kf_job) { 0 };
	code = kf_job_file(folder, "job.json", &path, err);
	if (code)
		return code;
	if (!kf_path_exists(path))
		code = kf_fail(err, KF_E_INPUT, "%s is not a job: it has no "
			       "job.json", folder);
	else
		code = kf_file_read(path, &text, err);
	if (!code)
		code = kf_json_parse(kf_buf_str(&text), text.len, path, &json,
				     err);
	if (!code) {
		json = with_defaults_take(json, defaults);
		code = kf_job_from_json(json, KF_JOB_FOLDER, path, out, err);
	}
	json_decref(json);
	kf_buf_release(&text);
	free(path);
	return code;
}

/* --- and back ------------------------------------------------------------- */

static const char *word_of(const struct kf_word *word, uint64_t value)
{
	while (word->name && word->value != value)
		word++;
	return word->name;
}

static json_t *member_to_json(const struct member *m,
			      const struct kf_job *job)
{
	const char *at = (const char *)job + m->offset;
	const char *text = NULL;
	uint64_t count = 0;
	json_t *list;

	if (m->kind == TEXT)
		text = *(char *const *)(const void *)at;
	else if (m->kind == COUNT || m->kind == WORD)
		count = *(const uint64_t *)(const void *)at;
	if (m->kind == WORD)
		text = word_of(m->word, count);
	if (text)
		return kf_json_string(text, strlen(text));
	if (m->kind == COUNT && count)
		return json_integer((json_int_t)count);
	if (m->kind != TEXTS || !job->set_count)
		return NULL;
	list = json_array();
	for (size_t i = 0; i < job->set_count; i++)
		json_array_append_new(list, kf_json_string(job->set[i],
						strlen(job->set[i])));
	return list;
}

static void add_members(const struct member *table, size_t count,
			const struct kf_job *job, json_t *out)
{
	for (size_t i = 0; i < count; i++) {
		json_t *value = member_to_json(&table[i], job);

		if (value)
			json_object_set_new(out, table[i].name, value);
	}
}

json_t *kf_job_to_json(const struct kf_job *job)
{
	json_t *json = json_object(), *limits = json_object();
	json_t *files = json_array();

	json_object_set_new(json, "kforge_job", json_integer(KF_JOB_VERSION));
	add_members(member_table, KF_COUNT(member_table), job, json);
	for (size_t i = 0; i < job->file_count; i++)
		json_array_append_new(files, json_string(job->file[i].name));
	if (job->file_count)
		json_object_set(json, "files", files);
	add_members(limit_table, KF_COUNT(limit_table), job, limits);
	if (json_object_size(limits))
		json_object_set(json, "limits", limits);
	json_decref(limits);
	json_decref(files);
	return json;
}
