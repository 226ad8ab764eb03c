/* kforge judge: many judgements, side by side. */
#include "cli/judge.h"

/* Of a device's memory, for one job: PyTorch and a program, each with a context
 * and data of some gigabytes; the least, where the problems are small. */
#define JOB_BYTES	(UINT64_C(20) << 30)
#define JOB_BYTES_LEAST	(UINT64_C(4) << 30)

unsigned kf_judge_cores(void)
{
	unsigned count = kf_processors();

	return count > KF_POOL_MAX ? KF_POOL_MAX : count;
}

/* What is free of it, else all of it. 0: references do not run there, or it is
 * not known. */
static uint64_t memory_of(const struct kf_platform *platform,
			  const struct kf_device_info *device)
{
	uint64_t bytes = platform->driver->torch_device ?
		device->memory_bytes : 0;
	uint64_t left = bytes && platform->driver->memory_free ?
		platform->driver->memory_free(device->id) : 0;

	return left && left < bytes ? left : bytes;
}

/* How many have room on one device of which so much is left (0: not known). */
static uint64_t with_room(uint64_t bytes, unsigned asked)
{
	uint64_t count = bytes / (asked ? JOB_BYTES_LEAST : JOB_BYTES);

	return !bytes ? KF_POOL_MAX : count ? count : 1;
}

unsigned kf_judge_at_once(const char *name, unsigned asked, unsigned usual)
{
	struct kf_platform *platform = NULL;
	struct kf_device_info device = { 0 };
	unsigned wanted = asked ? asked : usual;
	uint64_t most = KF_POOL_MAX;

	if (kf_platform_load(name, &platform, NULL) == KF_OK &&
	    platform->driver->torch_device &&
	    kf_setup_device(platform, name, &device, NULL) == KF_OK)
		most = with_room(memory_of(platform, &device), asked);
	kf_device_info_release(&device);
	kf_platform_free(platform);
	return wanted < most ? wanted : (unsigned)most;
}

/* As many on each as the fullest has room for. */
static unsigned at_once_on(const struct kf_platform *platform,
			   const struct kf_devices *devices,
			   const struct kf_targets_spec *spec, unsigned asked,
			   unsigned usual)
{
	size_t well[KF_DEVICES_MAX];
	unsigned count = (unsigned)kf_devices_well(devices, spec->cache_path,
						   well);
	unsigned wanted = asked ? asked : usual < count ? count : usual;
	uint64_t most = KF_POOL_MAX;

	for (unsigned i = 0; i < count; i++) {
		uint64_t room = with_room(
			memory_of(platform, &devices->info[well[i]]), asked);

		most = room < most ? room : most;
	}
	most = most * count < KF_POOL_MAX ? most * count : KF_POOL_MAX;
	if (wanted < count)
		kf_logf(spec->log, KF_LOG_WARN, "with %u at once only %u of "
			"the %u devices work", wanted, wanted, count);
	return wanted < most ? wanted : (unsigned)most;
}

enum kf_code kf_judge_at_once_shared(const struct kf_targets_spec *spec,
				     unsigned asked, unsigned usual,
				     unsigned *out, struct kf_err *err)
{
	struct kf_platform *platform = NULL;
	struct kf_devices devices = { .count = 0 };
	enum kf_code code = kf_platform_load(spec->share.platform, &platform,
					     err);

	*out = 0;
	if (!code)
		code = kf_devices_find(platform, &spec->share.list, &devices,
				       err);
	if (!code)
		*out = at_once_on(platform, &devices, spec, asked, usual);
	kf_devices_release(&devices);
	kf_platform_free(platform);
	return code;
}

enum kf_code kf_judge_wants_platform(const struct kf_options *options,
				     struct kf_err *err)
{
	return kf_fail(err, KF_E_INPUT, "--devices %s: say of which platform "
		       "with several they are, --platform NAME; see `kforge "
		       "platforms`", options->devices);
}

/* What jobs leave out; problem may be NULL. */
static json_t *defaults(const struct kf_options *options, const char *problem)
{
	struct kf_job job = {
		.problem = (char *)(uintptr_t)problem,
		.set = (char **)(uintptr_t)options->set.text,
		.set_count = options->set.count,
		.size = (char *)(uintptr_t)options->size,
		.platform = (char *)(uintptr_t)options->platform,
		.form = (char *)(uintptr_t)options->form,
		.dtype = options->dtype,
		.rules = options->rules,
		.libraries = options->libraries,
		.baseline = options->baseline,
		.stop_after = options->stop_after,
		.sandbox = options->sandbox,
		.seed = options->seed,
		.calls = options->calls,
		.threads = options->threads,
	};

	return kf_job_to_json(&job);
}

static int judge(const struct kf_options *options, const char **argument,
		 size_t argument_count)
{
	struct kf_err err = { 0 };
	struct kf_log log;
	json_t *members;
	int status;
	struct kf_work work = {
		.spec = {
			.python = options->python,
			.cache_path = options->cache,
			.threads = options->threads,
			.tier_min = (enum kf_sandbox_tier)options->sandbox,
			.log = &log,
			.cancel = kf_cli_cancel(),
		},
	};

	kf_cli_log(options, &log);
	kf_cli_catch_signals();
	if (options->jsonl && argument_count > 1)
		kf_fail(&err, KF_E_INPUT, "--jsonl takes one problem at most, "
			"the one of lines that name none");
	else if (!options->jsonl && !argument_count)
		kf_fail(&err, KF_E_INPUT, "give a job's folder, or a folder of "
			"them, or --jsonl for jobs on standard input");
	else if (options->jsonl && options->again)
		kf_fail(&err, KF_E_INPUT, "--again is for folders, not for "
			"--jsonl");
	else if (options->jsonl && options->watch)
		kf_fail(&err, KF_E_INPUT, "--watch is for folders: --jsonl "
			"reads until its input ends");
	else if (options->devices && strchr(options->platform, ':'))
		kf_fail(&err, KF_E_INPUT, "--devices %s and --platform %s "
			"both say which device: leave one of them out",
			options->devices, options->platform);
	if (err.code || (options->devices &&
			 kf_device_list_parse(options->devices,
					      &work.spec.share.list, &err)))
		return kf_cli_fail(&err);
	members = defaults(options, options->jsonl && argument_count ?
			   argument[0] : NULL);
	work.defaults = members;
	status = options->jsonl ? kf_judge_lines(options, &work) :
		kf_judge_folders(options, &work, argument, argument_count);
	json_decref(members);
	return status;
}

const struct kf_command kf_command_judge = {
	.name = "judge",
	.arguments = "DIR... | --jsonl [PROBLEM]",
	.summary = "judge jobs: folders of them, or lines of JSON on standard input",
	.options = "jsonl again watch jobs devices platform form set size dtype rules libraries baseline "
		   "calls seed stop-after threads sandbox python cache json "
		   "quiet verbose help",
	.argument_min = 0,
	.argument_max = 1000000,
	.run = judge,
};
