/* kforge build: compiles a program and does not run it, for machines that have
 * the compiler and not the device. */
#include <dirent.h>
#include <errno.h>
#include <unistd.h>

#include "cli/cli.h"
#include "evaluate/build.h"
#include "executor/job.h"
#include "executor/setup.h"

#define BUILD_VERSION 1
#define ARTEFACT "program.so"
#define SCRATCH "build"		/* begins the name of the scratch folder */

struct building {
	const struct kf_options *options;
	struct kf_platform *platform;
	struct kf_problem problem;	/* empty where none was given */
	struct kf_candidate candidate;
	struct kf_build build;
	struct kf_artefact artefact;
	struct kf_device_info device;	/* of a two-part platform */
	char *folder;			/* absolute */
};

static bool is_problem(const char *path)
{
	const char *dot = strrchr(path, '.');

	return (dot && strcmp(dot, ".py") == 0) ||
		kf_problem_kind_of(path) != KF_PROBLEM_PYTHON;
}

static enum kf_code read_input(struct building *b, const char **argument,
			       size_t count, struct kf_err *err)
{
	const struct kf_options *options = b->options;
	struct kf_problem_spec spec = {
		.path = argument[0],
		.set = options->set.text,
		.set_count = options->set.count,
		.size = options->size,
		.dtype = (enum kf_dtype)options->dtype,
	};
	bool problem = count > 1 && is_problem(argument[0]);
	enum kf_code code = kf_platform_load(options->platform, &b->platform,
					     err);

	if (!code && problem)
		code = kf_problem_read(&spec, &b->problem, err);
	if (!code && !problem &&
	    (spec.set_count || spec.size || spec.dtype))
		code = kf_fail(err, KF_E_INPUT, "sizes are a problem's, and "
			       "none was given; name it before the program's "
			       "files");
	if (!code)
		code = kf_candidate_read(argument + problem, count - problem,
					 b->platform, &b->candidate, err);
	if (!code && b->platform->driver->two_part)
		code = kf_setup_device(b->platform, options->platform,
				       &b->device, err);
	return code;
}

static bool has_file(const char *folder, const char *name)
{
	char *path = kf_path_join(folder, name);
	bool has = kf_path_exists(path);

	free(path);
	return has;
}

/* Does the folder hold anything but the scratch of builds that were killed? */
static bool is_used(DIR *dir)
{
	static const char scratch[] = SCRATCH ".tmp-";
	const struct dirent *entry;
	bool used = false;

	while (!used && (entry = readdir(dir)))
		used = strcmp(entry->d_name, ".") != 0 &&
		       strcmp(entry->d_name, "..") != 0 &&
		       strncmp(entry->d_name, scratch, strlen(scratch)) != 0;
	return used;
}

/* Files are replaced by name, so only a folder that a build or a job has made
 * may hold some. */
static enum kf_code check_folder(const char *folder, struct kf_err *err)
{
	DIR *dir = opendir(folder);
	bool used;

	if (!dir)
		return errno == ENOENT ? KF_OK :
			kf_fail_errno(err, "cannot read folder %s", folder);
	used = is_used(dir) && !has_file(folder, "build.json") &&
		!has_file(folder, "job.json");
	closedir(dir);
	if (!used)
		return KF_OK;
	return kf_fail(err, KF_E_INPUT, "%s holds files that no build and no "
		       "job has put there, and some might be replaced: name a "
		       "new or an empty folder with --out DIR", folder);
}

static enum kf_code make_folder(struct building *b, struct kf_err *err)
{
	enum kf_code code = check_folder(b->options->out, err);

	if (!code)
		code = kf_mkdir_p(b->options->out, err);
	if (code)
		return code;
	b->folder = realpath(b->options->out, NULL);
	if (!b->folder)
		return kf_fail_errno(err, "cannot find %s", b->options->out);
	kf_temporaries_sweep(b->folder, SCRATCH ".");
	return KF_OK;
}

/* A job where there is a problem, else the files alone. */
static enum kf_code write_folder(struct building *b, struct kf_err *err)
{
	struct kf_job job = {
		.platform = (char *)(uintptr_t)b->options->platform,
		.sandbox = b->options->sandbox,
	};

	if (b->problem.name)
		return kf_job_write(b->folder, &job, &b->candidate,
				    &b->problem, err);
	return kf_candidate_write(&b->candidate, b->folder, err);
}

static enum kf_code keep_artefact(const struct building *b,
				  struct kf_err *err)
{
	char *path = kf_path_join(b->folder, ARTEFACT);
	enum kf_code code = KF_OK;

	if (b->build.end != KF_BUILD_DONE)
		unlink(path);
	else if (rename(b->artefact.path, path))
		code = kf_fail_errno(err, "cannot rename to %s", path);
	free(path);
	return code;
}

/* The folder gets nothing before the compiler has ended, so that one who is
 * stopped meanwhile can begin again. */
static enum kf_code compile(struct building *b, struct kf_err *err)
{
	char *beside = kf_path_join(b->folder, SCRATCH);
	char *source_dir = NULL;
	struct kf_build_job job = {
		.platform = b->platform,
		.device_id = b->device.id,
		.arch = b->device.arch,
		.tier_min = (enum kf_sandbox_tier)b->options->sandbox,
		.cancel = kf_cli_cancel(),
	};
	struct kf_temporary work = { .fd = -1 };
	enum kf_code code = kf_temporary_folder(beside, &work, err);

	if (code)
		goto out;
	job.work_dir = work.path;
	job.source_dir = source_dir = kf_path_join(work.path, "source");
	code = kf_candidate_write(&b->candidate, source_dir, err);
	if (!code)
		code = kf_build_run(&job, &b->build, &b->artefact, err);
	if (!code)
		code = write_folder(b, err);
	if (!code)
		code = keep_artefact(b, err);
out:
	if (kf_temporary_remove(&work, code ? NULL : err) && !code)
		code = KF_E_IO;
	free(source_dir);
	free(beside);
	return code;
}

static const char *end_name(enum kf_build_end end)
{
	static const char *const name[] = {
		[KF_BUILD_NONE] = "none", [KF_BUILD_DONE] = "built",
		[KF_BUILD_REFUSED] = "refused",
		[KF_BUILD_TOO_SLOW] = "too_slow",
		[KF_BUILD_TOO_LARGE] = "too_large",
	};

	return name[end];
}

static void set(json_t *object, const char *key, const char *text)
{
	json_object_set_new(object, key, text && text[0] ?
			    kf_json_string(text, strlen(text)) : json_null());
}

static json_t *about(const struct building *b)
{
	bool built = b->build.end == KF_BUILD_DONE;
	json_t *json = json_object();
	char now[32];

	kf_time_iso(now);
	json_object_set_new(json, "kforge_build", json_integer(BUILD_VERSION));
	set(json, "end", end_name(b->build.end));
	set(json, "platform", b->platform->name);
	set(json, "problem", b->problem.name);
	set(json, "candidate", b->candidate.hash);
	set(json, "artefact", built ? ARTEFACT : NULL);
	set(json, "artefact_hash", b->artefact.hash);
	set(json, "compiler", b->artefact.compiler);
	set(json, "sandbox", kf_sandbox_tier_name(b->artefact.tier));
	set(json, "version", KF_VERSION);
	json_object_set_new(json, "took_ns",
			    json_integer((json_int_t)b->build.took_ns));
	set(json, "at", now);
	set(json, "log", kf_buf_str(&b->build.log));
	return json;
}

static enum kf_code keep_words(const struct building *b, json_t *json,
			       struct kf_err *err)
{
	char *log = kf_path_join(b->folder, "log.txt");
	char *path = kf_path_join(b->folder, "build.json");
	enum kf_code code = kf_file_write_scratch(log,
					kf_buf_str(&b->build.log),
					b->build.log.len, err);

	if (!code)
		code = kf_json_write(path, json, err);
	free(path);
	free(log);
	return code;
}

static void print_words(const struct building *b)
{
	char *quoted = kf_cli_quote(b->options->out);

	printf("%s", kf_buf_str(&b->build.log));
	if (b->build.end == KF_BUILD_DONE)
		printf("built %s/" ARTEFACT " with %s\n", b->options->out,
		       b->artefact.compiler ? b->artefact.compiler :
		       "an unnamed compiler");
	else
		printf("not built: %s\n", end_name(b->build.end));
	if (b->problem.name && b->build.end == KF_BUILD_DONE)
		printf("judge it with `kforge judge %s`\n", quoted);
	free(quoted);
}

static enum kf_code run_stages(struct building *b, const char **argument,
			       size_t argument_count, struct kf_err *err)
{
	json_t *json = NULL;
	enum kf_code code;

	if (!b->options->out)
		return kf_fail(err, KF_E_INPUT, "say where with --out DIR");
	code = read_input(b, argument, argument_count, err);
	if (code || b->candidate.end != KF_EXTRACT_GOOD)
		return code;
	code = make_folder(b, err);
	if (!code)
		code = compile(b, err);
	if (code)
		return code;
	json = about(b);
	code = keep_words(b, json, err);
	if (!code && b->options->json)
		kf_cli_print_json_take(json_incref(json));
	else if (!code)
		print_words(b);
	json_decref(json);
	return code;
}

static int build(const struct kf_options *options, const char **argument,
		 size_t argument_count)
{
	struct building b = { .options = options };
	struct kf_err err = { 0 };
	int status = KF_EXIT_GOOD;

	kf_cli_catch_signals();
	if (run_stages(&b, argument, argument_count, &err)) {
		status = kf_cli_fail(&err);
	} else if (b.candidate.end != KF_EXTRACT_GOOD) {
		fprintf(stderr, "kforge: %s: %s\n",
			kf_extract_name(b.candidate.end), b.candidate.text);
		status = KF_EXIT_GENERATION_FAILURE;
	} else if (b.build.end != KF_BUILD_DONE) {
		status = KF_EXIT_COMPILATION_FAILURE;
	}
	kf_device_info_release(&b.device);
	kf_artefact_release(&b.artefact);
	kf_build_release(&b.build);
	kf_candidate_release(&b.candidate);
	kf_problem_release(&b.problem);
	kf_platform_free(b.platform);
	free(b.folder);
	return status;
}

const struct kf_command kf_command_build = {
	.name = "build",
	.arguments = "[PROBLEM] FILE...|DIR|REPLY.md|-",
	.summary = "compile a program without running it, into a job's folder",
	.options = "out platform set size dtype sandbox json quiet help",
	.argument_min = 1,
	.argument_max = 64,
	.run = build,
};
