/* kforge platforms and kforge models. */
#include "cli/cli.h"

#define DEVICES_MAX 16

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
	return json_pack("{s:s, s:s, s:s, s:I, s:i, s:s, s:s}",
			 "id", info->id, "name", info->name,
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

static enum kf_code list_one(const char *name, bool verbose, json_t *list,
			     struct kf_err *err)
{
	struct kf_device_info *info = kf_alloc(DEVICES_MAX * sizeof(*info));
	json_t *devices = json_array();
	struct kf_platform *platform = NULL;
	enum kf_code code;
	size_t count = 0;

	code = kf_platform_load(name, &platform, err);
	if (!code)
		code = kf_driver_find(platform->driver, info, DEVICES_MAX,
				      verbose, &count, err);
	if (code)
		goto out;
	if (!list)
		printf("%-10s %s\n", platform->name, platform->title);
	for (size_t i = 0; i < count; i++) {
		json_array_append_new(devices, device_to_json(platform,
								&info[i]));
		if (!list)
			printf("  %-8s %s (trust: %s)\n", info[i].id,
			       info[i].name, trust_of(platform, &info[i]));
		if (!list && verbose)
			print_card(kf_buf_str(&info[i].card));
		kf_device_info_release(&info[i]);
	}
	if (list)
		json_array_append_new(list, json_pack(
			"{s:s, s:s, s:s, s:b, s:O}",
			"name", platform->name, "title", platform->title,
			"driver", platform->driver->name,
			"two_part", platform->driver->two_part,
			"devices", devices));
	else if (!count)
		printf("  no device here\n");
out:
	kf_platform_free(platform);
	json_decref(devices);
	free(info);
	return code;
}

static int platforms(const struct kf_options *options, const char **argument,
		     size_t argument_count)
{
	json_t *list = options->json ? json_array() : NULL;
	char **name = NULL;
	struct kf_err err = { 0 };
	enum kf_code code;
	size_t count = 0;

	(void)argument;
	(void)argument_count;
	code = kf_platform_list(&name, &count, &err);
	for (size_t i = 0; i < count; i++) {
		if (!code)
			code = list_one(name[i], options->verbose || list,
					list, &err);
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
