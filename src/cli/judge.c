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

/* How many have room: as many on each as on the fullest. */
static unsigned with_room(const struct kf_platform *platform,
			  const struct kf_device_info *device, unsigned count,
			  unsigned asked, unsigned usual)
{
	unsigned wanted = asked ? asked : usual < count ? count : usual;
	uint64_t bytes = memory_of(platform, &device[0]), most;

	for (unsigned i = 1; i < count; i++) {
		uint64_t its = memory_of(platform, &device[i]);

		bytes = its < bytes ? its : bytes;
	}
	most = bytes / (asked ? JOB_BYTES_LEAST : JOB_BYTES);
	if (bytes && !most)
		most = 1;
	if (bytes && wanted > most * count)
		wanted = (unsigned)most * count;
	return wanted > KF_POOL_MAX ? KF_POOL_MAX : wanted;
}

/* Of the one that the platform means; what cannot be found out here, the job
 * tells. */
static unsigned at_once_on_one(const struct kf_platform *platform,
			       const char *name, unsigned asked,
			       unsigned usual)
{
	struct kf_device_info device = { 0 };
	unsigned count = asked ? asked : usual;

	if (platform->driver->torch_device &&
	    kf_setup_device(platform, name, false, &device, NULL) == KF_OK)
		count = with_room(platform, &device, 1, asked, usual);
	kf_device_info_release(&device);
	return count;
}

enum kf_code kf_judge_at_once(const char *name,
			      const struct kf_device_list *list,
			      unsigned asked, unsigned usual, unsigned *out,
			      struct kf_err *err)
{
	struct kf_platform *platform = NULL;
	struct kf_devices devices = { .count = 0 };
	enum kf_code code;

	*out = asked ? asked : usual;
	code = kf_platform_load(name, &platform, list ? err : NULL);
	if (!code && !list)
		*out = at_once_on_one(platform, name, asked, usual);
	if (!code && list)
		code = kf_devices_find(platform, list, false, &devices, err);
	if (!code && list)
		*out = with_room(platform, devices.info,
				 (unsigned)devices.count, asked, usual);
	kf_devices_release(&devices);
	kf_platform_free(platform);
	return list ? code : KF_OK;
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
	struct kf_device_list devices;
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
			"both say which device", options->devices,
			options->platform);
	else if (options->devices && kf_device_list_parse(options->devices,
							  &devices, &err) ==
		 KF_OK)
		work.spec.devices = &devices;
	if (err.code)
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
