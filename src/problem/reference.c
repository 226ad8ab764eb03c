#include "problem/reference.h"

#include <dirent.h>
#include <math.h>
#include <unistd.h>

#include "platform/platform.h"
#include "problem/python_place.h"

#define SOURCE_BYTES (1u << 20)
#define OUTPUT_BYTES (16u << 10)	/* kept of what the problem prints */
#define PROCESSES 512
#define DESCRIPTORS 512
#define EXIT_NO_TORCH 3		/* reference.py: import torch failed */
#define EXIT_NO_SPACE 4		/* reference.py: the disk is full */

bool kf_problem_on_device(const struct kf_problem_spec *spec)
{
	return spec->platform && spec->platform->driver->torch_device;
}

static enum kf_code write_job(const struct kf_reference_spec *spec,
			      char **request_path, struct kf_err *err)
{
	char *file = kf_format("%s/%s.py", spec->job_folder,
			       spec->problem->name);
	enum kf_code code;

	*request_path = kf_path_join(spec->job_folder, "request.json");
	json_object_set_new(spec->request, "problem", json_string(file));
	json_object_set_new(spec->request, "threads",
			    json_integer(spec->problem_spec->threads));
	if (kf_problem_on_device(spec->problem_spec))
		json_object_set_new(spec->request, "device", json_string(
			spec->problem_spec->platform->driver->torch_device));
	code = kf_file_write(file, spec->problem->source,
			     strlen(spec->problem->source), err);
	if (!code)
		code = kf_json_write(*request_path, spec->request, err);
	free(file);
	return code;
}

static enum kf_code start(const struct kf_reference_spec *spec,
			  const struct kf_python_place *place,
			  const char *request_path, struct kf_sandbox **out,
			  struct kf_err *err)
{
	const struct kf_problem_spec *about = spec->problem_spec;
	char *script = kf_path_join(place->code_folder, "reference.py");
	const char *argv[] = {
		spec->python->program, "-B", script, spec->mode, request_path,
		NULL
	};
	struct kf_sandbox_spec box = {
		.profile = KF_SANDBOX_REFERENCE,
		.tier_min = about->tier_min,
		.argv = argv,
		.env = (const char *const *)place->env,
		.bind = place->binds.bind,
		.bind_count = place->binds.count,
		.limits = {
			.memory_bytes = about->memory_bytes,
			.cpu_ns = spec->wall_ns * about->threads,
			.wall_ns = spec->wall_ns,
			.file_bytes = spec->file_bytes,
			.processes = PROCESSES,
			.descriptors = DESCRIPTORS,
		},
		.fd = spec->fd,
		.fd_count = spec->fd_count,
		.output_max = OUTPUT_BYTES,
		.cancel = about->cancel,
	};
	enum kf_code code = kf_sandbox_start(&box, out, err);

	free(script);
	return code;
}

enum kf_code kf_reference_start(const struct kf_reference_spec *spec,
				struct kf_sandbox **out, struct kf_err *err)
{
	const struct kf_problem_spec *about = spec->problem_spec;
	const struct kf_python_place_spec where = {
		.python = spec->python,
		.platform = about->platform,
		.device_id = about->device_id,
		.threads = about->threads,
		.passive = strcmp(spec->mode, "bundle") == 0,
	};
	struct kf_python_place place = { 0 };
	char *request_path = NULL;
	enum kf_code code;

	*out = NULL;
	code = kf_python_place_open(&where, &place, err);
	if (code)
		goto out;
	kf_binds_add(&place.binds, spec->job_folder, NULL, false, false);
	if (spec->out_folder)
		kf_binds_add(&place.binds, spec->out_folder, NULL, true,
			     false);
	code = write_job(spec, &request_path, err);
	if (!code)
		code = start(spec, &place, request_path, out, err);
out:
	kf_python_place_release(&place);
	free(request_path);
	return code;
}

/* A sentence from a process that nobody has reviewed, made fit to be shown. */
static char *clean_line(const char *text, size_t len, size_t max)
{
	struct kf_buf line = { .max = max };

	kf_utf8_clean(text, len, &line);
	for (size_t i = 0; i < line.len; i++)
		if (line.data[i] == '\n' || line.data[i] == '\t')
			line.data[i] = ' ';
	return line.data ? line.data : kf_strdup("");
}

static void set_refusal(struct kf_refusal *out, const char *kind,
			double ratio)
{
	if (!out)
		return;
	snprintf(out->kind, sizeof(out->kind), "%s", kind);
	out->ratio = ratio;
}

enum kf_code kf_reference_error(const json_t *answer, const char *name,
				struct kf_refusal *refusal, struct kf_err *err)
{
	static const struct { const char *kind; enum kf_code code; } kinds[] = {
		{ "memory", KF_E_LIMIT }, { "limit", KF_E_LIMIT },
		{ "no_torch", KF_E_UNAVAIL }, { "device", KF_E_UNAVAIL },
		{ "internal", KF_E_IO }, { "time", KF_E_TIMEOUT },
	};
	const json_t *error = json_object_get(answer, "error");
	const char *kind = kf_json_str(error, "kind", "");
	const char *text = kf_json_str(error, "text", "no reason was given");
	enum kf_code code = KF_E_INPUT;
	char *line;

	if (!error)
		return KF_OK;
	for (size_t i = 0; i < KF_COUNT(kinds); i++)
		if (strcmp(kind, kinds[i].kind) == 0)
			code = kinds[i].code;
	if (code == KF_E_INPUT || code == KF_E_LIMIT || code == KF_E_TIMEOUT)
		set_refusal(refusal, kind,
			    kf_json_real(error, "ratio", (double)NAN));
	line = clean_line(text, strlen(text), 800);
	code = kf_fail(err, code, "problem %s: %s", name, line);
	free(line);
	return code;
}

/* The last line with something in it. Caller frees. */
static char *last_line(const struct kf_buf *text)
{
	const char *start = kf_buf_str(text);
	size_t end = text->len, begin;

	while (end && strchr("\n\r \t", start[end - 1]))
		end--;
	begin = end;
	while (begin && start[begin - 1] != '\n')
		begin--;
	return clean_line(start + begin, end - begin, 400);
}

enum kf_code kf_reference_ended(const struct kf_outcome *outcome,
				const struct kf_problem_spec *spec,
				const char *name, struct kf_refusal *refusal,
				struct kf_err *err)
{
	char *line = last_line(&outcome->errout);
	enum kf_code code;

	switch (outcome->end) {
	case KF_END_MEMORY:
		set_refusal(refusal, "memory", (double)NAN);
		code = kf_fail(err, KF_E_LIMIT, "problem %s: the reference "
			       "needs more than %.1f GB of memory; choose "
			       "smaller sizes with --set", name,
			       (double)spec->memory_bytes / 1e9);
		break;
	case KF_END_FILES:
		set_refusal(refusal, "limit", (double)NAN);
		code = kf_fail(err, KF_E_LIMIT, "problem %s: the reference "
			       "wrote more than it may", name);
		break;
	case KF_END_WALL:
	case KF_END_CPU:
		set_refusal(refusal, "time", (double)NAN);
		code = kf_fail(err, KF_E_TIMEOUT, "problem %s: the reference "
			       "took longer than %.0f s; choose smaller sizes "
			       "with --set", name,
			       (double)spec->timeout_ns / 1e9);
		break;
	case KF_END_CANCELED:
		code = kf_fail(err, KF_E_CANCELED, "stopped");
		break;
	case KF_END_VIOLATION:
		set_refusal(refusal, "violation", (double)NAN);
		code = kf_fail(err, KF_E_INPUT, "problem %s: the reference "
			       "made a system call that its sandbox forbids",
			       name);
		break;
	case KF_END_SIGNAL:
		set_refusal(refusal, "signal", (double)NAN);
		code = kf_fail(err, KF_E_INPUT, "problem %s: the reference "
			       "crashed (signal %d)", name, outcome->signal);
		break;
	default:
		if (outcome->exit_code == EXIT_NO_TORCH)
			code = kf_fail(err, KF_E_UNAVAIL, "torch cannot be "
				       "imported: %s", line);
		else if (outcome->exit_code == EXIT_NO_SPACE)
			code = kf_fail(err, KF_E_IO, "problem %s: no space is "
				       "left where bundles are kept; name "
				       "another folder with --cache", name);
		else {
			set_refusal(refusal, "exit", (double)NAN);
			code = kf_fail(err, KF_E_INPUT, "problem %s: the "
				       "reference ended without a result "
				       "(exit code %d)%s%s", name,
				       outcome->exit_code,
				       line[0] ? ": " : "", line);
		}
	}
	free(line);
	return code;
}

static int is_source(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name);

	return len > 3 && strcmp(entry->d_name + len - 3, ".py") == 0;
}

static enum kf_code add_file(const char *folder, const char *name,
			     struct kf_buf *all, struct kf_err *err)
{
	char *path = kf_path_join(folder, name);
	struct kf_buf text = { .max = SOURCE_BYTES };
	enum kf_code code = kf_file_read(path, &text, err);

	kf_buf_printf(all, "%s %zu\n", name, text.len);
	kf_buf_add(all, kf_buf_str(&text), text.len);
	kf_buf_release(&text);
	free(path);
	return code;
}

enum kf_code kf_reference_hash(char out[KF_HASH_HEX], struct kf_err *err)
{
	struct kf_buf all = { .max = 64 * SOURCE_BYTES };
	char *package = NULL, *folder = kf_python_code_folder(err);
	struct dirent **entry = NULL;
	enum kf_code code = folder ? KF_OK : KF_E_UNAVAIL;
	int count = 0;

	out[0] = '\0';
	if (code)
		goto out;
	package = kf_path_join(folder, "kforge_reference");
	code = add_file(folder, "reference.py", &all, err);
	if (code)
		goto out;
	count = scandir(package, &entry, is_source, alphasort);
	if (count < 0)
		code = kf_fail_errno(err, "cannot read folder %s", package);
	for (int i = 0; i < count && !code; i++)
		code = add_file(package, entry[i]->d_name, &all, err);
	if (!code)
		kf_hash_hex(kf_buf_str(&all), all.len, out);
out:
	for (int i = 0; i < count; i++)
		free(entry[i]);
	free(entry);
	kf_buf_release(&all);
	free(package);
	free(folder);
	return code;
}

/* What processes that were killed left in the cache. */
static void sweep_cache(const char *cache)
{
	static const char *const below[] = { "", "bundles", "baselines" };

	for (size_t i = 0; i < KF_COUNT(below); i++) {
		char *folder = kf_path_join(cache, below[i]);

		kf_temporaries_sweep(folder, "");
		free(folder);
	}
}

enum kf_code kf_cache_folder(const char *asked, char **out,
			     struct kf_err *err)
{
	const char *xdg = getenv("XDG_CACHE_HOME"), *user = getenv("HOME");
	enum kf_code code;
	char *path;

	*out = NULL;
	if (asked)
		path = kf_strdup(asked);
	else if (xdg && xdg[0] == '/')
		path = kf_path_join(xdg, "kforge");
	else if (user && user[0] == '/')
		path = kf_path_join(user, ".cache/kforge");
	else
		return kf_fail(err, KF_E_UNAVAIL, "there is no place for a "
			       "cache: set HOME or XDG_CACHE_HOME, or give "
			       "--cache DIR");
	code = kf_mkdir_p(path, err);
	if (!code) {
		*out = realpath(path, NULL);
		if (!*out)
			code = kf_fail_errno(err, "cannot find %s", path);
	} else {
		kf_advise(err, "this was to be the cache: --cache names "
			  "another folder");
	}
	if (!code)
		sweep_cache(*out);
	free(path);
	return code;
}
