#include "executor/targets.h"

struct entry {
	struct kf_job job;	/* a copy: the setup borrows from it */
	char *key;		/* owned; NULL: free */
	struct kf_setup setup;
	struct kf_target target;
	uint64_t used;		/* when, by the count of calls */
};

struct kf_targets {
	struct kf_targets_spec spec;
	struct entry entry[KF_TARGETS_MAX];
	uint64_t calls;
	struct kf_devices shared;	/* by spec.share; none at first */
};

struct kf_targets *kf_targets_new(const struct kf_targets_spec *spec)
{
	struct kf_targets *targets = kf_alloc(sizeof(*targets));

	targets->spec = *spec;
	return targets;
}

static void release(struct entry *e)
{
	kf_target_release(&e->target);
	kf_setup_release(&e->setup);
	kf_job_release(&e->job);
	free(e->key);
	*e = (struct entry) { 0 };
}

void kf_targets_free(struct kf_targets *targets)
{
	for (size_t i = 0; targets && i < KF_TARGETS_MAX; i++)
		release(&targets->entry[i]);
	if (targets)
		kf_devices_release(&targets->shared);
	free(targets);
}

void kf_targets_drop(struct kf_targets *targets,
		     const struct kf_target *target)
{
	for (size_t i = 0; i < KF_TARGETS_MAX; i++)
		if (&targets->entry[i].target == target)
			release(&targets->entry[i]);
}

/* Only a job that comes to times needs the reference to run. */
static enum kf_baseline_use baseline_of(const struct kf_job *job)
{
	bool times = job->ask == KF_ASK_VERDICT &&
		     (job->stop_after == KF_REACH_NONE ||
		      job->stop_after == KF_REACH_TIME);

	return times ? (enum kf_baseline_use)job->baseline :
		KF_BASELINE_NONE;
}

/* --- which device --------------------------------------------------------- */

static bool is_shared(const struct kf_targets *targets,
		      const struct kf_job *job)
{
	const struct kf_device_share *share = &targets->spec.share;

	return share->platform && strcmp(share->platform, job->platform) == 0;
}

/* They are asked for once: it takes a third of a second on some. */
static enum kf_code find_shared(struct kf_targets *targets,
				struct kf_err *err)
{
	const struct kf_device_share *share = &targets->spec.share;
	struct kf_platform *platform = NULL;
	enum kf_code code;

	if (targets->shared.count)
		return KF_OK;
	code = kf_platform_load(share->platform, &platform, err);
	if (!code)
		code = kf_devices_find(platform, &share->list,
				       &targets->shared, err);
	kf_platform_free(platform);
	return code;
}

/* "NAME:N": that of those that are well whose turn it is. Caller frees. */
static enum kf_code name_shared(struct kf_targets *targets, char **out,
				struct kf_err *err)
{
	const struct kf_device_share *share = &targets->spec.share;
	size_t well[KF_DEVICES_MAX], count;
	enum kf_code code = find_shared(targets, err);

	if (code)
		return code;
	count = kf_devices_well(&targets->shared, targets->spec.cache_path,
				well);
	*out = kf_device_place(share->platform,
		&targets->shared.info[well[share->number % count]]);
	return KF_OK;
}

/* --- what judgements share ------------------------------------------------ */

/* Of the job only what its setup and target depend on, so that jobs that
 * differ in the rest share them. */
static enum kf_code copy_what_matters(const struct kf_targets *targets,
				      const struct kf_job *job,
				      struct kf_job *out, struct kf_err *err)
{
	json_t *json = kf_job_to_json(job);
	static const char *const other[] = {
		"files", "reply", "seed", "calls", "rules", "libraries",
		"stop_after", "profile", "problem_hash", "limits",
	};
	enum kf_code code;

	for (size_t i = 0; i < KF_COUNT(other); i++)
		json_object_del(json, other[i]);
	if (job->ask == KF_ASK_VERDICT)
		json_object_set_new(json, "reply", json_string("none"));
	code = kf_job_from_json(json, KF_JOB_FOLDER, "the job", out, err);
	json_decref(json);
	out->baseline = baseline_of(job);
	/* Who made the job may not say how little holds its program. */
	if (out->sandbox < targets->spec.tier_min)
		out->sandbox = targets->spec.tier_min;
	return code;
}

static struct kf_setup_spec setup_spec(const struct kf_targets *targets,
				       const struct kf_job *job)
{
	uint64_t threads = job->threads ? job->threads :
		targets->spec.threads;

	return (struct kf_setup_spec) {
		.platform = job->platform,
		.form = job->form,
		.python = targets->spec.python,
		.set = (const char *const *)(uintptr_t)job->set,
		.set_count = job->set_count,
		.size = job->size,
		.dtype = (enum kf_dtype)job->dtype,
		.cache_path = targets->spec.cache_path,
		.threads = (unsigned)threads,
		.at_once = targets->spec.at_once,
		.tier_min = (enum kf_sandbox_tier)job->sandbox,
		.baseline = (enum kf_baseline_use)job->baseline,
		.log = targets->spec.log,
		.cancel = targets->spec.cancel,
	};
}

/* Which entry it is: the job's settings and the problem's content. */
static char *key_of(const struct kf_job *job, const struct kf_problem *problem)
{
	json_t *json = kf_job_to_json(job);
	char *key;

	json_object_set_new(json, "problem_hash", json_string(problem->hash));
	key = kf_json_text(json);
	json_decref(json);
	return key;
}

static enum kf_code check_hash(const struct kf_job *job,
			       const struct kf_problem *problem,
			       struct kf_err *err)
{
	if (!job->problem_hash || strcmp(job->problem_hash,
					 problem->hash) == 0)
		return KF_OK;
	return kf_fail(err, KF_E_INPUT, "problem %s is not the one that this "
		       "job was made for: its content has the hash %.12s, and "
		       "%.12s is asked for", problem->path, problem->hash,
		       job->problem_hash);
}

static struct entry *find(struct kf_targets *targets, const char *key)
{
	for (size_t i = 0; i < KF_TARGETS_MAX; i++)
		if (targets->entry[i].key &&
		    strcmp(targets->entry[i].key, key) == 0)
			return &targets->entry[i];
	return NULL;
}

/* A free one, else the one that was not used for longest, emptied. */
static struct entry *make_room(struct kf_targets *targets)
{
	struct entry *oldest = &targets->entry[0];

	for (size_t i = 1; i < KF_TARGETS_MAX; i++)
		if (targets->entry[i].used < oldest->used)
			oldest = &targets->entry[i];
	release(oldest);
	return oldest;
}

/* A live baseline keeps its memory on the device: there is one at a time. */
static void make_device_room(struct kf_targets *targets,
			     const struct entry *but)
{
	for (size_t i = 0; i < KF_TARGETS_MAX; i++)
		if (&targets->entry[i] != but &&
		    targets->entry[i].target.baseline &&
		    kf_problem_on_device(&targets->entry[i].setup.problem_spec))
			release(&targets->entry[i]);
}

static enum kf_code open_take(struct kf_targets *targets,
			      struct kf_job *wanted, struct kf_problem *problem,
			      char **key, struct entry **out,
			      struct kf_err *err)
{
	struct entry *e = make_room(targets);
	struct kf_setup_spec spec;
	enum kf_code code;

	e->job = *wanted;
	*wanted = (struct kf_job) { 0 };
	spec = setup_spec(targets, &e->job);
	code = kf_setup_open(&spec, &e->setup, err);
	if (!code && kf_problem_on_device(&e->setup.problem_spec))
		make_device_room(targets, e);
	/* Who only asks what the problem is needs no data to time with. */
	e->setup.problem_spec.light = e->job.ask == KF_ASK_PROBLEM;
	if (!code)
		code = kf_target_open_take_problem(&e->setup, problem,
						   &e->target, err);
	if (code) {
		release(e);
		return code;
	}
	e->key = *key;
	*key = NULL;
	*out = e;
	return KF_OK;
}

enum kf_code kf_targets_problem(const struct kf_job *job, const char *folder,
				struct kf_problem *out, struct kf_err *err)
{
	char *path = folder && job->problem[0] != '/' ?
		kf_path_join(folder, job->problem) : kf_strdup(job->problem);
	struct kf_problem_spec spec = {
		.path = path,
		.size = job->size,
		.set = (const char *const *)(uintptr_t)job->set,
		.set_count = job->set_count,
		.dtype = (enum kf_dtype)job->dtype,
	};
	enum kf_code code = kf_problem_read(&spec, out, err);

	free(path);
	return code;
}

enum kf_code kf_targets_get(struct kf_targets *targets,
			    const struct kf_job *job, const char *folder,
			    struct kf_setup **setup, struct kf_target **target,
			    struct kf_err *err)
{
	struct kf_job wanted = { 0 };
	struct kf_problem problem = { 0 };
	struct entry *e = NULL;
	char *key = NULL;
	enum kf_code code;

	code = copy_what_matters(targets, job, &wanted, err);
	if (!code && is_shared(targets, &wanted)) {
		free(wanted.platform);
		wanted.platform = NULL;
		code = name_shared(targets, &wanted.platform, err);
	}
	if (!code)
		code = kf_targets_problem(job, folder, &problem, err);
	if (!code)
		code = check_hash(job, &problem, err);
	if (code)
		goto out;
	key = key_of(&wanted, &problem);
	e = find(targets, key);
	if (!e)
		code = open_take(targets, &wanted, &problem, &key, &e, err);
	if (code)
		goto out;
	e->used = ++targets->calls;
	*setup = &e->setup;
	*target = &e->target;
out:
	free(key);
	kf_problem_release(&problem);
	kf_job_release(&wanted);
	return code;
}
