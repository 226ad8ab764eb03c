/* kforge doctor: what is there, what is missing, and what to do about it. */
#include "cli/doctor.h"

#include "cli/cli.h"

static int doctor(const struct kf_options *options, const char **argument,
		  size_t argument_count)
{
	struct kf_doctor d = { .root = "", .list = json_array() };
	struct kf_buf text = { .max = 1u << 16 };

	(void)argument;
	(void)argument_count;
	kf_doctor_files(&d, options);
	kf_doctor_sandbox(&d, options);
	kf_doctor_python(&d, options);
	kf_doctor_platforms(&d);
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
	.options = "sandbox python cache json help",
	.run = doctor,
};
