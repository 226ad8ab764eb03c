#include "executor/devices.h"

#include <string.h>

#include "executor/device_files.h"
#include "executor/quarantine.h"

#define NAMES_BYTES (KF_DEVICES_MAX * 34)	/* ids with ", " between */

static bool has(const struct kf_device_list *list, uint64_t number)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->number[i] == number)
			return true;
	return false;
}

static enum kf_code add_number(const char *text, const char *word,
			       struct kf_device_list *out, struct kf_err *err)
{
	uint64_t number;

	if (!kf_parse_u64(word, &number))
		return kf_fail(err, KF_E_INPUT, "devices '%s': give numbers, "
			       "as in 0,2,3, or all", text);
	if (has(out, number))
		return kf_fail(err, KF_E_INPUT, "devices '%s': number %s is "
			       "there twice", text, word);
	if (out->count == KF_DEVICES_MAX)
		return kf_fail(err, KF_E_LIMIT, "devices '%s': %d at most",
			       text, KF_DEVICES_MAX);
	out->number[out->count++] = number;
	return KF_OK;
}

enum kf_code kf_device_list_parse(const char *text,
				  struct kf_device_list *out,
				  struct kf_err *err)
{
	enum kf_code code = KF_OK;
	const char *at = text;

	*out = (struct kf_device_list) { .count = 0 };
	if (strcmp(text, "all") == 0)
		return KF_OK;
	while (!code && at) {
		size_t len = strcspn(at, ",");
		char *word = kf_strndup(at, len);

		code = add_number(text, word, out, err);
		free(word);
		at = at[len] ? at + len + 1 : NULL;
	}
	return code;
}

/* --- those that are here -------------------------------------------------- */

static bool is_number(const struct kf_device_info *info, uint64_t number)
{
	const char *colon = strrchr(info->id, ':');
	uint64_t its;

	return colon && kf_parse_u64(colon + 1, &its) && its == number;
}

static enum kf_code miss(const struct kf_platform *platform, uint64_t number,
			 const struct kf_devices *here, struct kf_err *err)
{
	struct kf_buf names = { .max = NAMES_BYTES };
	enum kf_code code;

	for (size_t i = 0; i < here->count; i++)
		kf_buf_printf(&names, "%s%s", i ? ", " : "", here->info[i].id);
	code = kf_fail(err, KF_E_UNAVAIL, "platform %s has no number %llu "
		       "here, only %s; see `kforge platforms`",
		       platform->name, (unsigned long long)number,
		       kf_buf_str(&names));
	kf_buf_release(&names);
	return code;
}

/* Moves the device of this number from `here` to the end of out. */
static enum kf_code take(const struct kf_platform *platform, uint64_t number,
			 struct kf_devices *here, struct kf_devices *out,
			 struct kf_err *err)
{
	size_t i = 0;

	while (i < here->count && !is_number(&here->info[i], number))
		i++;
	if (i == here->count)
		return miss(platform, number, here, err);
	out->info[out->count++] = here->info[i];
	here->info[i].card = (struct kf_buf) { 0 };
	return KF_OK;
}

enum kf_code kf_devices_find(const struct kf_platform *platform,
			     const struct kf_device_list *list, bool measure,
			     struct kf_devices *out, struct kf_err *err)
{
	struct kf_devices here = { .count = 0 };
	enum kf_code code;

	*out = (struct kf_devices) { .count = 0 };
	code = kf_driver_find(platform->driver, here.info, KF_DEVICES_MAX,
			      measure, &here.count, err);
	if (!code && !here.count)
		code = kf_fail(err, KF_E_UNAVAIL, "platform %s has no device "
			       "here; see `kforge platforms`", platform->name);
	for (size_t i = 0; !code && i < list->count; i++)
		code = take(platform, list->number[i], &here, out, err);
	if (!code && !list->count) {
		*out = here;
		return KF_OK;
	}
	kf_devices_release(&here);
	if (code)
		kf_devices_release(out);
	return code;
}

static bool is_ill(const char *device_id, const char *cache_path)
{
	char *path = NULL;
	bool ill = kf_device_quarantine_path(cache_path, device_id, &path,
					     NULL) == KF_OK &&
		kf_quarantine_check(device_id, path, NULL) != KF_OK;

	free(path);
	return ill;
}

size_t kf_devices_well(const struct kf_devices *devices,
		       const char *cache_path, size_t out[KF_DEVICES_MAX])
{
	size_t count = 0;

	for (size_t i = 0; i < devices->count; i++)
		if (!is_ill(devices->info[i].id, cache_path))
			out[count++] = i;
	if (count)
		return count;
	for (size_t i = 0; i < devices->count; i++)
		out[i] = i;
	return devices->count;
}

void kf_devices_release(struct kf_devices *devices)
{
	for (size_t i = 0; i < devices->count; i++)
		kf_device_info_release(&devices->info[i]);
	devices->count = 0;
}
