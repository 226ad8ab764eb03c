/* kforge doctor: what is there, what is missing, and what to do about it. */
#include "cli/doctor.h"

#include "cli/cli.h"
#include "executor/device_files.h"
#include "executor/devices.h"
#include "executor/quarantine.h"
#include "executor/setup.h"

/* One that is called by its name must be here, one with a number need not. */
static enum kf_code find_id(const char *asked, char id[32], struct kf_err *err)
{
	struct kf_device_info device = { 0 };
	struct kf_platform *platform = NULL;
	struct kf_device_list list;
	enum kf_code code = kf_device_wanted(asked, &list, err);

	if (code || !list.count || !list.word[0].name[0]) {
		snprintf(id, 32, "%s", asked);
		return code;
	}
	code = kf_platform_load(asked, &platform, err);
	if (!code)
		code = kf_setup_device(platform, asked, &device, err);
	snprintf(id, 32, "%s", device.id);
	kf_device_info_release(&device);
	kf_platform_free(platform);
	return code;
}

/* Whoever says so has looked at the device. */
static int release(const struct kf_options *options)
{
	struct kf_err err = { 0 };
	char *path = NULL, id[32];
	bool was = false;
	enum kf_code code = find_id(options->release, id, &err);

	if (!code)
		code = kf_device_quarantine_path(options->cache, id, &path,
						 &err);
	if (!code)
		code = kf_quarantine_release(path, &was, &err);
	free(path);
	if (code)
		return kf_cli_fail(&err);
	printf(was ? "device %s is out of quarantine\n" :
	       "device %s is not in quarantine\n", id);
	return KF_EXIT_GOOD;
}

static int doctor(const struct kf_options *options, const char **argument,
		  size_t argument_count)
{
	struct kf_doctor d = { .root = "" };
	struct kf_buf text = { .max = 1u << 16 };

	(void)argument;
	(void)argument_count;
	if (options->release)
		return release(options);
	d.list = json_array();
	kf_doctor_files(&d, options);
	kf_doctor_sandbox(&d, options);
	kf_doctor_python(&d, options);
	kf_doctor_platforms(&d, options);
	kf_doctor_export(&d);
	kf_doctor_clocks(&d);
	kf_doctor_models(&d);
	if (options->json) {
		kf_cli_print_json_take(d.list);
	} else {
		kf_doctor_print(&d, &text);
		fputs(kf_buf_str(&text), stdout);
		json_decref(d.list);
	}
	kf_buf_release(&text);
	return d.bad_count ? KF_EXIT_UNAVAIL : KF_EXIT_GOOD;
}

const struct kf_command kf_command_doctor = {
	.name = "doctor",
	.arguments = "",
	.summary = "what is there, what is missing, what makes times unreliable",
	.options = "sandbox python cache release json help",
	.run = doctor,
};
