/* kforge platforms and kforge models. */
#include "cli/cli.h"
#include "executor/device_files.h"
#include "executor/devices.h"

#define MEASURE_WAIT_NS (10 * KF_NS_PER_S)

/* What keeps a program there apart from what judges it. */
static const char *trust_of(const struct kf_platform *platform,
			    const struct kf_device_info *info)
{
	return platform->driver->in_process || info->in_process ?
		"in-process" : "isolated";
}

static json_t *device_to_json(const struct kf_platform *platform,
			      const struct kf_device_info *info)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:i, s:s, s:s}",
			 "id", info->id, "name", info->name,
			 "driver_name", info->driver_name,
			 "hardware", info->hardware,
			 "arch", info->arch,
			 "memory_bytes", (json_int_t)info->memory_bytes,
			 "units", (int)info->units,
			 "card", kf_buf_str(&info->card),
			 "trust", trust_of(platform, info));
}

/* The card's lines, indented. */
static void print_card(const char *card)
{
	while (*card) {
		size_t len = strcspn(card, "\n");

		printf("      %.*s\n", (int)len, card);
		card += len + (card[len] == '\n');
	}
}

/* What is known of one platform's devices. */
struct listed {
	const struct kf_platform *platform;
	struct kf_device_info info[KF_DEVICES_MAX];
	size_t count;
	/* Why its driver cannot say what there is; "" if it did. Other
	 * platforms are listed all the same. */
	struct kf_err trouble;
};

static void print_one(const struct listed *l, bool verbose)
{
	const struct kf_platform *p = l->platform;

	printf("%-10s %s\n", p->name, p->title);
	for (size_t i = 0; p->form_count > 1 && i < p->form_count; i++)
		printf("%s%s%s", i ? ", " : "  forms: ", p->form_name[i],
		       i + 1 < p->form_count ? "" : "\n");
	for (size_t i = 0; i < l->count; i++) {
		printf("  %-8s %s (%s%strust: %s)\n", l->info[i].id,
		       l->info[i].name, l->info[i].driver_name,
		       l->info[i].driver_name[0] ? "; " : "",
		       trust_of(l->platform, &l->info[i]));
		if (verbose && l->info[i].hardware[0])
			printf("      hardware: %s\n", l->info[i].hardware);
		if (verbose)
			print_card(kf_buf_str(&l->info[i].card));
	}
	if (l->trouble.code)
		printf("  no device can be used: %s\n", l->trouble.text);
	else if (!l->count)
		printf("  no device here\n");
}

static json_t *one_to_json(const struct listed *l)
{
	json_t *devices = json_array(), *forms = json_array();

	for (size_t i = 0; i < l->count; i++)
		json_array_append_new(devices, device_to_json(l->platform,
							      &l->info[i]));
	for (size_t i = 0; i < l->platform->form_count; i++)
		json_array_append_new(forms, json_string(
			l->platform->form_name[i]));
	return json_pack("{s:s, s:o, s:s, s:s, s:b, s:o, s:s?}",
			 "name", l->platform->name, "forms", forms,
			 "title", l->platform->title,
			 "driver", l->platform->driver->name,
			 "two_part", l->platform->driver->two_part,
			 "devices", devices, "trouble",
			 l->trouble.code ? l->trouble.text : NULL);
}

/* Each can be read, not only the default one. */
static enum kf_code check_forms(const struct kf_platform *platform,
				struct kf_err *err)
{
	enum kf_code code = KF_OK;

	for (size_t i = 1; !code && i < platform->form_count; i++) {
		struct kf_platform *other = NULL;

		code = kf_platform_load_form(platform->name,
					     platform->form_name[i], &other,
					     err);
		kf_platform_free(other);
	}
	return code;
}

/* Who asks what there is waits for nobody's timing: a card without what is
 * measured tells as well. */
static enum kf_code measure(const struct listed *l,
			    struct kf_device_info *info,
			    const struct kf_log *log, struct kf_err *err)
{
	struct kf_device_wait wait = {
		.device_id = info->id, .timeout_ns = MEASURE_WAIT_NS,
		.notice_ns = KF_NS_PER_S, .log = log,
		.cancel = kf_cli_cancel(),
	};
	char *path = NULL;
	enum kf_code code = kf_device_lock_path(info, NULL, log, &path, err);

	wait.lock_path = path;
	if (!code)
		code = kf_device_measure(l->platform, &wait, info, err);
	free(path);
	return code;
}

static void find(struct listed *l, const struct kf_log *log, bool verbose)
{
	struct kf_err why = { 0 };

	if (kf_driver_find(l->platform->driver, l->info, KF_DEVICES_MAX, NULL,
			   &l->count, &l->trouble))
		l->count = 0;
	for (size_t i = 0; i < l->count && verbose; i++) {
		if (!measure(l, &l->info[i], log, &why))
			continue;
		if (why.code == KF_E_CANCELED) {
			l->trouble = why;
			return;
		}
		kf_logf(log, KF_LOG_WARN, "%s was not measured: %s",
			l->info[i].id, why.text);
	}
}

static enum kf_code list_one(const char *name, const struct kf_log *log,
			     bool verbose, json_t *list, struct kf_err *err)
{
	struct listed *l = kf_alloc(sizeof(*l));
	struct kf_platform *platform = NULL;
	enum kf_code code = kf_platform_load(name, &platform, err);

	if (!code)
		code = check_forms(platform, err);
	if (code)
		goto out;
	l->platform = platform;
	find(l, log, verbose);
	if (l->trouble.code == KF_E_CANCELED)
		code = kf_fail(err, KF_E_CANCELED, "%s", l->trouble.text);
	else if (list)
		json_array_append_new(list, one_to_json(l));
	else
		print_one(l, verbose);
	for (size_t i = 0; i < KF_DEVICES_MAX; i++)
		kf_device_info_release(&l->info[i]);
out:
	kf_platform_free(platform);
	free(l);
	return code;
}

static int platforms(const struct kf_options *options, const char **argument,
		     size_t argument_count)
{
	json_t *list = options->json ? json_array() : NULL;
	char **name = NULL;
	struct kf_log log;
	struct kf_err err = { 0 };
	enum kf_code code;
	size_t count = 0;

	(void)argument;
	(void)argument_count;
	kf_cli_log(options, &log);
	kf_cli_catch_signals();
	code = kf_platform_list(&name, &count, &err);
	for (size_t i = 0; i < count; i++) {
		if (!code)
			code = list_one(name[i], &log,
					options->verbose || list, list, &err);
		free(name[i]);
	}
	free(name);
	if (!code && list)
		kf_cli_print_json_take(list);
	return code ? kf_cli_fail(&err) : KF_EXIT_GOOD;
}

const struct kf_command kf_command_platforms = {
	.name = "platforms",
	.arguments = "",
	.summary = "where programs can run, and the devices found here",
	.options = "json verbose help",
	.run = platforms,
};

static int models(const struct kf_options *options, const char **argument,
		  size_t argument_count)
{
	json_t *list = json_array();

	(void)argument;
	(void)argument_count;
	for (size_t i = 0; kf_providers[i]; i++) {
		json_array_append_new(list, json_pack("{s:s, s:s, s:b}",
			"name", kf_providers[i]->name,
			"usage", kf_providers[i]->usage,
			"needs_network", kf_providers[i]->needs_network));
		if (!options->json)
			printf("%-8s %s\n", kf_providers[i]->name,
			       kf_providers[i]->usage);
	}
	if (options->json)
		kf_cli_print_json_take(list);
	else
		json_decref(list);
	return KF_EXIT_GOOD;
}

const struct kf_command kf_command_models = {
	.name = "models",
	.arguments = "",
	.summary = "the kinds of --model and how to name one",
	.options = "json help",
	.run = models,
};
