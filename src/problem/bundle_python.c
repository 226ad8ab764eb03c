/* A Python problem's bundle, made by python/reference.py. */
#include "problem/bundle_python.h"

#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "problem/bundle_cache.h"
#include "problem/bundle_load.h"
#include "problem/reference.h"

#define RESULT_BYTES (64u << 10)
#define POLL_NS (10 * KF_NS_PER_MS)
#define SIZE_POLLS 25		/* polls between looks at the folder's size */

/* What making one needs to know. */
struct job {
	const struct kf_problem_spec *spec;
	const struct kf_problem *problem;
	const struct kf_python *python;
	struct kf_refusal refusal;
	struct kf_bundle_limits limits;
};

/* Waits for the end and watches how much is written meanwhile. */
static enum kf_code watch(struct job *job, struct kf_sandbox *box,
			  const char *out_folder, struct kf_outcome *outcome,
			  struct kf_err *err)
{
	uint64_t bytes = 0, most = job->limits.room_bytes;

	for (unsigned i = 0; !kf_sandbox_ended(box); i++) {
		if (i % SIZE_POLLS == 0)
			bytes = kf_folder_bytes(out_folder, NULL);
		if (bytes > most + (most >> 3)) {
			enum kf_code code = kf_sandbox_kill(box, outcome, err);

			job->refusal = (struct kf_refusal) {
				"limit", (double)NAN
			};
			return code ? code : kf_fail(err, KF_E_LIMIT,
				"problem %s: its bundle takes more than %.1f "
				"GB, half of what was free; choose smaller "
				"sizes with --set, or another place with "
				"--cache", job->problem->name,
				(double)most / 1e9);
		}
		kf_sleep_ns(POLL_NS);
	}
	return kf_sandbox_wait(box, outcome, err);
}

/* result.json, or NULL: a process that was killed has written none. */
static json_t *read_result(const char *out_folder)
{
	char *path = kf_path_join(out_folder, "result.json");
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	json_t *result = NULL;
	char *text = NULL;
	struct stat st;
	ssize_t got;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    st.st_size <= RESULT_BYTES) {
		text = kf_alloc(RESULT_BYTES);
		got = read(fd, text, RESULT_BYTES);
		if (got > 0 && kf_json_parse(text, (size_t)got, "result.json",
					     &result, NULL))
			result = NULL;
	}
	if (fd >= 0)
		close(fd);
	unlink(path);
	free(text);
	free(path);
	return result;
}

static json_t *new_request(const struct job *job, const char *out_folder)
{
	return json_pack("{s:s, s:I, s:I, s:I, s:b, s:n}",
			 "out", out_folder,
			 "bytes_whole", (json_int_t)job->limits.whole_bytes,
			 "bytes_max", (json_int_t)job->limits.room_bytes,
			 "memory_bytes",
			 (json_int_t)job->spec->memory_bytes,
			 "light", (int)job->spec->light, "seed");
}

static enum kf_code run_reference(void *arg, const char *job_folder,
				  const char *out_folder, struct kf_err *err)
{
	struct job *job = arg;
	const struct kf_problem_spec *spec = job->spec;
	const char *name = job->problem->name;
	json_t *request;
	struct kf_reference_spec reference = {
		.problem_spec = spec, .problem = job->problem,
		.python = job->python,
		.mode = "bundle", .job_folder = job_folder,
		.out_folder = out_folder, .wall_ns = spec->timeout_ns,
	};
	struct kf_outcome outcome = { 0 };
	struct kf_sandbox *box = NULL;
	json_t *result = NULL;
	enum kf_code code;

	kf_bundle_limits_find(spec, out_folder, &job->limits);
	reference.file_bytes = job->limits.room_bytes;
	reference.request = request = new_request(job, out_folder);
	if (spec->light)
		json_object_set_new(request, "seconds",
				    json_real((double)spec->timeout_ns / 1e9));
	code = kf_reference_start(&reference, &box, err);
	if (!code)
		code = watch(job, box, out_folder, &outcome, err);
	if (code)
		goto out;
	if (outcome.end == KF_END_EXITED && outcome.exit_code == 0)
		result = read_result(out_folder);
	if (!result)
		code = kf_reference_ended(&outcome, spec, name, &job->refusal,
					  err);
	else
		code = kf_reference_error(result, name, &job->refusal, err);
out:
	kf_sandbox_free(box);
	kf_outcome_release(&outcome);
	json_decref(result);
	json_decref(request);
	return code;
}

enum kf_code kf_bundle_python(const struct kf_problem_spec *spec,
			      const struct kf_problem *problem,
			      struct kf_bundle *out, struct kf_err *err)
{
	uint64_t start_ns = kf_now_ns();
	struct kf_python python = { 0 };
	struct job job = { .spec = spec, .problem = problem,
			   .python = &python };
	struct kf_bundle_maker maker = { .make = run_reference, .arg = &job };
	char code_hash[KF_HASH_HEX], *content = NULL;
	enum kf_code code;
	char *cache;

	*out = (struct kf_bundle) { 0 };
	code = kf_cache_folder(spec->cache_path, &cache, err);
	if (!code)
		code = kf_python_probe(spec->python, cache, &python, err);
	if (!code)
		code = kf_reference_hash(code_hash, err);
	if (code)
		goto out;
	content = kf_format("bundle %d\n%s\n%s\n%s\n%s", KF_BUNDLE_FORMAT,
			    problem->hash, code_hash, python.torch,
			    kf_problem_on_device(spec) ? spec->device_name
						       : "");
	maker.content = content;
	code = kf_bundle_cached(spec, problem, &maker, out, err);
	out->refusal = job.refusal;
	out->took_ns = kf_now_ns() - start_ns;
out:
	kf_python_release(&python);
	free(content);
	free(cache);
	return code;
}
