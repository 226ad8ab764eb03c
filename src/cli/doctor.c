/* kforge doctor: what is there, what is missing, and what to do about it. */
#include "cli/cli.h"

#define DEVICES_MAX 16

enum finding { GOOD, NOTE, BAD };

struct doctor {
	json_t *list;		/* of findings, for --json */
	bool json;
	unsigned bad_count;
};

static void find(struct doctor *d, enum finding finding, const char *what,
		 const char *fmt, ...) KF_PRINTF(4, 5);

static void find(struct doctor *d, enum finding finding, const char *what,
		 const char *fmt, ...)
{
	static const char *const word[] = { "good", "note", "bad" };
	struct kf_buf text = { .max = 1024 };
	va_list ap;

	va_start(ap, fmt);
	kf_buf_vprintf(&text, fmt, ap);
	va_end(ap);
	d->bad_count += finding == BAD;
	json_array_append_new(d->list, json_pack("{s:s, s:s, s:s}",
		"finding", word[finding], "what", what,
		"text", kf_buf_str(&text)));
	if (!d->json)
		printf("%-5s %-12s %s\n", word[finding], what,
		       kf_buf_str(&text));
	kf_buf_release(&text);
}

static void check_home(struct doctor *d)
{
	struct kf_err err = { 0 };
	char *home = kf_home(&err);
	char *runner = home ? kf_runner_path(&err) : NULL;

	if (runner)
		find(d, GOOD, "kforge", "data in %s", home);
	else
		find(d, BAD, "kforge", "%s", err.text);
	free(runner);
	free(home);
}

static void check_sandbox(struct doctor *d)
{
	struct kf_buf why = { .max = 512 };
	enum kf_sandbox_tier tier = kf_sandbox_probe(&why);
	const char *name = kf_sandbox_tier_name(tier);

	if (tier == KF_TIER_STRONG)
		find(d, GOOD, "sandbox", "%s", name);
	else if (tier == KF_TIER_MEDIUM)
		find(d, NOTE, "sandbox", "%s: %s", name, kf_buf_str(&why));
	else if (tier == KF_TIER_WEAK)
		find(d, BAD, "sandbox", "only weak, to be asked for with "
		     "--sandbox=weak: %s", kf_buf_str(&why));
	else
		find(d, BAD, "sandbox", "none: %s", kf_buf_str(&why));
	kf_buf_release(&why);
}

static void check_python(struct doctor *d)
{
	struct kf_err err = { 0 };
	char version[32] = "";
	char *path = NULL;

	if (kf_python_find(NULL, &path, version, &err))
		find(d, BAD, "python", "%s", err.text);
	else
		find(d, GOOD, "python", "%s with torch %s", path, version);
	free(path);
}

static void check_compilers(struct doctor *d,
			    const struct kf_platform *platform)
{
	for (size_t i = 0; i < platform->compiler_count; i++) {
		char *path = kf_proc_which(platform->compiler[i]);

		if (!path && i + 1 < platform->compiler_count)
			continue;
		if (path)
			find(d, GOOD, platform->name, "compiler %s", path);
		else
			find(d, BAD, platform->name, "no compiler: install "
			     "%s", platform->compiler[0]);
		free(path);
		return;
	}
}

static void check_platform(struct doctor *d, const char *name)
{
	struct kf_device_info *info = kf_alloc(DEVICES_MAX * sizeof(*info));
	struct kf_platform *platform = NULL;
	struct kf_err err = { 0 };
	size_t count = 0;

	if (kf_platform_load(name, &platform, &err) ||
	    kf_driver_find(platform->driver, info, DEVICES_MAX, false, &count,
			   &err)) {
		find(d, BAD, name, "%s", err.text);
		goto out;
	}
	check_compilers(d, platform);
	if (!count)
		find(d, NOTE, name, "no device here");
	for (size_t i = 0; i < count; i++) {
		find(d, GOOD, name, "%s: %s, %u units", info[i].id,
		     info[i].name, info[i].units);
		kf_device_info_release(&info[i]);
	}
out:
	kf_platform_free(platform);
	free(info);
}

static void check_platforms(struct doctor *d)
{
	struct kf_err err = { 0 };
	char **name = NULL;
	size_t count = 0;

	if (kf_platform_list(&name, &count, &err))
		find(d, BAD, "platforms", "%s", err.text);
	for (size_t i = 0; i < count; i++) {
		check_platform(d, name[i]);
		free(name[i]);
	}
	free(name);
}

/* What makes times unreliable, as far as the system tells. */
static void check_clocks(struct doctor *d)
{
	static const char path[] =
		"/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";
	struct kf_buf governor = { .max = 64 };

	if (kf_file_read(path, &governor, NULL)) {
		find(d, NOTE, "clocks", "the processor's frequency cannot be "
		     "read here (a virtual machine?): trust ratios, not times");
	} else {
		governor.data[strcspn(governor.data, "\n")] = '\0';
		if (strcmp(governor.data, "performance") == 0)
			find(d, GOOD, "clocks", "governor performance");
		else
			find(d, NOTE, "clocks", "governor %s: for steadier "
			     "times, `cpupower frequency-set -g performance`",
			     governor.data);
	}
	kf_buf_release(&governor);
}

/* Which keys are set; never their values. */
static void check_keys(struct doctor *d)
{
	static const char *const name[] = {
		"OPENAI_API_KEY", "OPENAI_BASE_URL", "KFORGE_OPENAI_BASE_URL",
	};

	for (size_t i = 0; i < KF_COUNT(name); i++) {
		const char *value = getenv(name[i]);

		find(d, value && *value ? GOOD : NOTE, "model", "%s is %s",
		     name[i], value && *value ? "set" : "not set");
	}
}

static int doctor(const struct kf_options *options, const char **argument,
		  size_t argument_count)
{
	struct doctor d = { .list = json_array(), .json = options->json };

	(void)argument;
	(void)argument_count;
	check_home(&d);
	check_sandbox(&d);
	check_python(&d);
	check_platforms(&d);
	check_clocks(&d);
	check_keys(&d);
	if (d.json)
		kf_cli_print_json_take(d.list);
	else
		json_decref(d.list);
	return d.bad_count ? KF_EXIT_UNAVAIL : KF_EXIT_GOOD;
}

const struct kf_command kf_command_doctor = {
	.name = "doctor",
	.arguments = "",
	.summary = "what is there, what is missing, what makes times unreliable",
	.options = "json verbose help",
	.run = doctor,
};
