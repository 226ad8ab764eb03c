#include "evaluate/place.h"

#include <unistd.h>

#define RUNNER		"/kforge-runner"
#define ARTEFACT	"/program.so"

#define OUTPUT_MAX	(64u << 10)
/* What a device runner holds beside what it is asked to: a vendor's libraries
 * and their caches, and one more copy of each tensor. */
#define DEVICE_BYTES	(UINT64_C(3) << 30)
#define TOOL_BYTES	(UINT64_C(4) << 30)
#define TOOL_FILE_BYTES	(UINT64_C(1) << 30)
#define TOOL_DESCRIPTORS	1024u
#define TOOL_PROCESSES	256u		/* its threads, most of all */
#define NURSERY_PROCESSES	16u
#define NURSERY_BYTES		(UINT64_C(1) << 30)	/* PyTorch, loaded */

void kf_place_paths(const struct kf_driver *driver, enum kf_driver_place place,
		    struct kf_binds *binds)
{
	kf_driver_paths(driver, place, kf_binds_path, binds);
}

static void add_word(struct kf_place_env *env, char *word)
{
	env->word = kf_realloc(env->word, (env->count + 2) *
			       sizeof(env->word[0]));
	env->word[env->count++] = word;
	env->word[env->count] = NULL;
}

static bool sets(const struct kf_place_env *env, const char *variable)
{
	size_t len = strcspn(variable, "=") + 1;

	for (size_t i = 0; i < env->count; i++)
		if (strncmp(env->word[i], variable, len) == 0)
			return true;
	return false;
}

void kf_place_env_init(struct kf_place_env *env, const struct kf_driver *driver,
		       const char *const *own)
{
	const char *const *theirs = driver->env;

	*env = (struct kf_place_env) { 0 };
	for (; theirs && *theirs; theirs++) {
		const char *ours = getenv(*theirs);

		if (strchr(*theirs, '='))
			add_word(env, kf_strdup(*theirs));
		else if (ours)
			add_word(env, kf_format("%s=%s", *theirs, ours));
	}
	for (; *own; own++)
		if (!sets(env, *own))
			add_word(env, kf_strdup(*own));
}

void kf_place_env_release(struct kf_place_env *env)
{
	for (size_t i = 0; i < env->count; i++)
		free(env->word[i]);
	free(env->word);
	*env = (struct kf_place_env) { 0 };
}

/* --- a worker's ----------------------------------------------------------- */

struct place {
	const char *shm_path;		/* /dev/shm; NULL: none */
	int fd;				/* where it greets, or is commanded */
	bool nursery;
};

static bool has_tool(const struct kf_worker_spec *spec)
{
	return spec->wrap && spec->wrap->word[0];
}

static enum kf_code add_binds(const struct kf_worker_spec *spec,
			      const char *shm_path, const char *runner,
			      struct kf_binds *binds, struct kf_err *err)
{
	const struct kf_worker_wrap *wrap = spec->wrap;
	enum kf_code code = KF_OK;

	if (has_tool(spec))
		kf_binds_toolchain(binds);
	kf_place_paths(spec->platform->driver, wrap && wrap->activity ?
		       KF_DRIVER_WATCHER : KF_DRIVER_RUNNER, binds);
	if (spec->platform->driver->python) {
		kf_binds_all(binds, &spec->python->place.binds);
		kf_binds_add(binds, spec->python->problem_path, NULL, false,
			     false);
	} else {
		code = kf_binds_runtime(binds, err);
		kf_binds_add(binds, runner, RUNNER, false, false);
	}
	if (code)
		return code;
	kf_binds_add(binds, spec->artefact_path, ARTEFACT, false, false);
	if (shm_path)
		kf_binds_add(binds, shm_path, "/dev/shm", true, false);
	for (size_t i = 0; wrap && wrap->path && wrap->path[i]; i++)
		kf_binds_path(binds, wrap->path[i], false);
	if (wrap)
		kf_binds_add(binds, wrap->out_path, KF_WRAP_OUT, true, false);
	return KF_OK;
}

/* What a tool takes beside the program that it watches. */
static void allow_tool(struct kf_limits *limits)
{
	limits->memory_bytes += TOOL_BYTES;
	if (limits->file_bytes < TOOL_FILE_BYTES)
		limits->file_bytes = TOOL_FILE_BYTES;
	if (limits->descriptors < TOOL_DESCRIPTORS)
		limits->descriptors = TOOL_DESCRIPTORS;
	limits->processes += TOOL_PROCESSES;
}

/* The kinds of runners, by what the driver says of its programs. */
static const struct runner {
	/* Its sandbox's, and the one whose filter it installs by itself. */
	enum kf_sandbox_profile profile, filter;
	const char *mode;
	/* It has no code of the program's, and needs no filter; and it has a
	 * copy of each tensor. */
	bool unfiltered, copies;
} runners[] = {
	{ KF_SANDBOX_HOST, KF_SANDBOX_HOST, "host", false, false },
	{ KF_SANDBOX_DEVICE, KF_SANDBOX_DEVICE, "device", true, true },
	{ KF_SANDBOX_PYTHON, KF_SANDBOX_PYTHON, "serve", false, true },
	{ KF_SANDBOX_DEVICE, KF_SANDBOX_PYTHON, "free", false, true },
};

static const struct runner *runner_of(const struct kf_worker_spec *spec)
{
	const struct kf_driver *driver = spec->platform->driver;

	return &runners[driver->python ? 2 : driver->two_part ? 1 :
			driver->attach ? 3 : 0];
}

#define COMMAND_MAX 10		/* words of its own, and the NULL */

static void add_own(const struct kf_worker_spec *spec, bool nursery,
		    const char *argv[COMMAND_MAX])
{
	const struct kf_worker_wrap *wrap = spec->wrap;
	const char *const plain[COMMAND_MAX] = {
		RUNNER, runner_of(spec)->mode, ARTEFACT,
		wrap && wrap->trace ? KF_WRAP_TRACE : NULL,
		has_tool(spec) ? "watched" :
			wrap && wrap->activity ? "activity" : NULL,
	};
	const struct kf_python_side *python = spec->python;
	const char *device = spec->platform->driver->torch_device;

	memcpy(argv, plain, sizeof(plain));
	if (!spec->platform->driver->python)
		return;
	argv[0] = python->python.program;
	argv[1] = "-B";
	argv[2] = python->script_path;
	argv[3] = nursery ? "nurse" : runner_of(spec)->mode;
	argv[4] = device ? device : "";
	argv[5] = ARTEFACT;
	argv[6] = python->problem_path;
	memcpy(argv + 7, plain + 3, 2 * sizeof(plain[0]));
}

/* The runner's command, with what is around it. Caller frees the array. */
static const char **command_of(const struct kf_worker_spec *spec,
			       bool nursery)
{
	const struct kf_worker_wrap *wrap = spec->wrap;
	size_t count = 0;
	const char **argv;

	while (wrap && wrap->word[count])
		count++;
	argv = kf_alloc((count + COMMAND_MAX) * sizeof(argv[0]));
	for (size_t i = 0; i < count; i++)
		argv[i] = wrap->word[i];
	add_own(spec, nursery, argv + count);
	return argv;
}

/* A nursery's sandbox has all processes of a judgement, one after another. */
static void allow_nursery(struct kf_limits *limits)
{
	limits->cpu_ns *= NURSERY_PROCESSES;
	limits->wall_ns *= NURSERY_PROCESSES;
	limits->memory_bytes += NURSERY_BYTES;
}

static enum kf_code start(const struct kf_worker_spec *spec,
			  const struct kf_arena *a, const char *const *env,
			  const struct place *place, int filter,
			  const struct kf_binds *binds,
			  struct kf_sandbox **out, struct kf_err *err)
{
	const struct runner *runner = runner_of(spec);
	const char **argv = command_of(spec, place->nursery);
	const struct kf_fd_pass nursery = { place->fd, KF_RUNNER_FD_NURSERY };
	const struct kf_fd_pass pass[] = {
		{ a->reply.pass_fd, KF_RUNNER_FD_REPLY },
		{ a->request.pass_fd, KF_RUNNER_FD_REQUEST },
		{ a->inputs.pass_fd, KF_RUNNER_FD_INPUTS },
		{ a->outputs.pass_fd, KF_RUNNER_FD_OUTPUTS },
		{ place->fd, KF_RUNNER_FD_HELLO },
		{ filter, KF_RUNNER_FD_FILTER },
	};
	struct kf_sandbox_spec box = {
		/* Tools fork, and look at themselves in /proc. */
		.profile = !has_tool(spec) ? runner->profile :
			spec->wrap->launcher ? KF_SANDBOX_TOOL :
			KF_SANDBOX_DEVICE,
		.tier_min = spec->tier_min,
		.first = place->nursery,
		.argv = argv,
		.env = env,
		.bind = binds->bind,
		.bind_count = binds->count,
		.limits = spec->limits,
		.fd = place->nursery ? &nursery : pass,
		.fd_count = place->nursery ? 1 :
			KF_COUNT(pass) - (filter < 0),
		.output_max = OUTPUT_MAX,
		.cancel = spec->cancel,
	};
	uint64_t bytes = a->inputs.bytes + a->outputs.bytes;
	enum kf_code code;

	box.limits.memory_bytes += runner->copies ? 2 * bytes + DEVICE_BYTES :
		bytes;
	if (spec->wrap)
		allow_tool(&box.limits);
	if (place->nursery)
		allow_nursery(&box.limits);
	code = kf_sandbox_start(&box, out, err);
	free(argv);
	return code;
}

static enum kf_code place_any(const struct kf_worker_spec *spec,
			      const struct kf_arena *arena,
			      const struct place *place,
			      struct kf_sandbox **out, struct kf_err *err)
{
	const struct kf_driver *driver = spec->platform->driver;
	char *threads = kf_format("OMP_NUM_THREADS=%u", spec->threads);
	/* KMP_AFFINITY: LLVM's library gives up where it may not
	 * bind threads to processors. */
	const char *const policy = spec->passive ? "OMP_WAIT_POLICY=passive" :
		NULL;
	const char *const own[] = { threads, "OMP_DYNAMIC=FALSE",
				    "KMP_AFFINITY=disabled", "LC_ALL=C",
				    policy, NULL };
	const char *const tool[] = { threads, "OMP_DYNAMIC=FALSE",
				     "KMP_AFFINITY=disabled", "LC_ALL=C",
				     "HOME=/tmp", "TMPDIR=/tmp",
				     "PATH=/usr/local/bin:/usr/bin:/bin",
				     policy, NULL };
	const char *const *words = has_tool(spec) ? tool : own;
	bool filtered = !runner_of(spec)->unfiltered && !place->nursery;
	struct kf_place_env env;
	char *runner = kf_runner_path(err);
	struct kf_binds binds = { 0 };
	enum kf_code code = KF_E_UNAVAIL;
	int filter = -1;

	if (driver->python)
		words = (const char *const *)spec->python->place.env;
	kf_place_env_init(&env, driver, words);
	if (!runner)
		goto out;
	/* A device runner's own code needs more than the filter allows, and so
	 * does a tool that shares the process. */
	if (filtered)
		filter = kf_sandbox_filter_fd(has_tool(spec) ?
					      KF_SANDBOX_DEVICE :
					      runner_of(spec)->filter, err);
	if (filtered && filter < 0)
		goto out;
	code = add_binds(spec, place->shm_path, runner, &binds, err);
	if (!code)
		code = start(spec, arena, (const char *const *)env.word, place,
			     filter, &binds, out, err);
out:
	kf_binds_release(&binds);
	if (filter >= 0)
		close(filter);
	free(runner);
	kf_place_env_release(&env);
	free(threads);
	return code;
}

enum kf_code kf_place_worker(const struct kf_worker_spec *spec,
			     const struct kf_arena *arena,
			     const char *shm_path, int hello,
			     struct kf_sandbox **out, struct kf_err *err)
{
	const struct place place = { .shm_path = shm_path, .fd = hello };

	return place_any(spec, arena, &place, out, err);
}

enum kf_code kf_place_nursery(const struct kf_worker_spec *spec,
			      const struct kf_arena *arena, int control,
			      struct kf_sandbox **out, struct kf_err *err)
{
	const struct place place = { .fd = control, .nursery = true };

	return place_any(spec, arena, &place, out, err);
}
