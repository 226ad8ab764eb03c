#include "executor/devices.h"

#include <ctype.h>
#include <string.h>

#include "executor/device_files.h"
#include "executor/quarantine.h"

#define NAMES_BYTES	800u		/* of a sentence, for devices */
#define UUID_BEGINS	"GPU-"		/* of kf_device_hardware */

/* What is beyond ASCII is a letter. */
static bool has_letter(const char *text)
{
	while (*text && !isalpha((unsigned char)*text) &&
	       (unsigned char)*text < 0x80)
		text++;
	return *text != '\0';
}

bool kf_device_word_read(const char *text, struct kf_device_word *out)
{
	*out = (struct kf_device_word) { .number = 0 };
	if (!has_letter(text))
		return kf_parse_u64(text, &out->number);
	snprintf(out->name, sizeof(out->name), "%s", text);
	return strlen(text) < sizeof(out->name);
}

enum kf_code kf_device_wanted(const char *platform_name,
			      struct kf_device_list *out, struct kf_err *err)
{
	const char *colon = strchr(platform_name, ':');

	out->count = colon != NULL;
	if (!colon || kf_device_word_read(colon + 1, &out->word[0]))
		return KF_OK;
	return kf_fail(err, KF_E_INPUT,
		       "platform '%s': what follows the colon must be the "
		       "number of a device, or its name", platform_name);
}

static bool has(const struct kf_device_list *list, uint64_t number)
{
	for (size_t i = 0; i < list->count; i++)
		if (!list->word[i].name[0] && list->word[i].number == number)
			return true;
	return false;
}

static enum kf_code add_word(const char *text, const char *word,
			     struct kf_device_list *out, struct kf_err *err)
{
	struct kf_device_word read;

	if (!kf_device_word_read(word, &read) || strcmp(word, "all") == 0)
		return kf_fail(err, KF_E_INPUT, "devices '%s': give numbers "
			       "or names, as in 0,2,h200, or all", text);
	if (!read.name[0] && has(out, read.number))
		return kf_fail(err, KF_E_INPUT, "devices '%s': number %s is "
			       "there twice", text, word);
	if (out->count == KF_DEVICES_MAX)
		return kf_fail(err, KF_E_LIMIT, "devices '%s': %d at most",
			       text, KF_DEVICES_MAX);
	out->word[out->count++] = read;
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

		code = add_word(text, word, out, err);
		free(word);
		at = at[len] ? at + len + 1 : NULL;
	}
	return code;
}

/* --- those that are here -------------------------------------------------- */

/* How well a word fits a device. */
enum fit { NOT, IN_PART, WHOLLY };

static bool is_number(const struct kf_device_info *info, uint64_t number)
{
	const char *colon = strrchr(info->id, ':');
	uint64_t its;

	return colon && kf_parse_u64(colon + 1, &its) && its == number;
}

static bool begins_uuid(const struct kf_device_info *info, const char *name)
{
	const size_t begins = strlen(UUID_BEGINS), len = strlen(name);

	return len > begins && strncasecmp(name, UUID_BEGINS, begins) == 0 &&
	       strncasecmp(name, info->hardware, len) == 0;
}

static enum fit fit_of(const struct kf_device_word *word,
		       const struct kf_device_info *info)
{
	if (!word->name[0])
		return is_number(info, word->number) ? WHOLLY : NOT;
	if (strcasecmp(info->name, word->name) == 0)
		return WHOLLY;
	return strcasestr(info->name, word->name) ||
	       strcasestr(info->driver_name, word->name) ||
	       begins_uuid(info, word->name) ? IN_PART : NOT;
}

/* Those that it fits best: sets fits for them; returns how many. */
static size_t find_best(const struct kf_device_word *word,
			const struct kf_devices *here,
			bool fits[KF_DEVICES_MAX])
{
	enum fit best = IN_PART;
	size_t count = 0;

	for (size_t i = 0; i < here->count; i++)
		if (fit_of(word, &here->info[i]) > best)
			best = WHOLLY;
	for (size_t i = 0; i < here->count; i++) {
		fits[i] = fit_of(word, &here->info[i]) == best;
		count += fits[i];
	}
	return count;
}

/* "opencl:0 (NVIDIA H200; NVIDIA CUDA), ...": those that fit; NULL: all. */
static void list_names(const struct kf_devices *here, const bool *fits,
		       struct kf_buf *out)
{
	for (size_t i = 0; i < here->count; i++)
		if (!fits || fits[i])
			kf_buf_printf(out, "%s%s (%s%s%s)",
				      out->len ? ", " : "", here->info[i].id,
				      here->info[i].name,
				      here->info[i].driver_name[0] ? "; " : "",
				      here->info[i].driver_name);
}

static enum kf_code miss_number(const struct kf_platform *platform,
				uint64_t number, const struct kf_devices *here,
				struct kf_err *err)
{
	struct kf_buf ids = { .max = NAMES_BYTES };
	enum kf_code code;

	for (size_t i = 0; i < here->count; i++)
		kf_buf_printf(&ids, "%s%s", i ? ", " : "", here->info[i].id);
	code = kf_fail(err, KF_E_UNAVAIL, "platform %s has no number %llu "
		       "here, only %s; see `kforge platforms`",
		       platform->name, (unsigned long long)number,
		       kf_buf_str(&ids));
	kf_buf_release(&ids);
	return code;
}

/* fits: several; NULL: it fits none. */
static enum kf_code miss_name(const struct kf_platform *platform,
			      const char *name, const bool *fits,
			      const struct kf_devices *here,
			      struct kf_err *err)
{
	struct kf_buf names = { .max = NAMES_BYTES };
	enum kf_code code;

	list_names(here, fits, &names);
	if (fits)
		code = kf_fail(err, KF_E_UNAVAIL, "platform %s has several "
			       "devices that '%s' may be: %s; say more of the "
			       "name, or the number", platform->name, name,
			       kf_buf_str(&names));
	else
		code = kf_fail(err, KF_E_UNAVAIL, "platform %s has no device "
			       "here with '%s' in its name, only %s",
			       platform->name, name, kf_buf_str(&names));
	kf_buf_release(&names);
	return code;
}

/* Moves the device that is meant from `here`, which keeps its names, to the end
 * of out. */
static enum kf_code take(const struct kf_platform *platform,
			 const struct kf_device_word *word,
			 struct kf_devices *here, struct kf_devices *out,
			 struct kf_err *err)
{
	bool fits[KF_DEVICES_MAX] = { false };
	const size_t count = find_best(word, here, fits);
	size_t i = 0;

	if (!count && !word->name[0])
		return miss_number(platform, word->number, here, err);
	if (count != 1)
		return miss_name(platform, word->name, count ? fits : NULL,
				 here, err);
	while (!fits[i])
		i++;
	for (size_t j = 0; j < out->count; j++)
		if (strcmp(out->info[j].id, here->info[i].id) == 0)
			return kf_fail(err, KF_E_INPUT, "%s (%s) is among the "
				       "devices twice", here->info[i].id,
				       here->info[i].name);
	out->info[out->count++] = here->info[i];
	here->info[i].card = (struct kf_buf) { 0 };
	return KF_OK;
}

enum kf_code kf_devices_find(const struct kf_platform *platform,
			     const struct kf_device_list *list,
			     struct kf_devices *out, struct kf_err *err)
{
	struct kf_devices here = { .count = 0 };
	enum kf_code code;

	*out = (struct kf_devices) { .count = 0 };
	code = kf_driver_find(platform->driver, here.info, KF_DEVICES_MAX,
			      NULL, &here.count, err);
	if (!code && !here.count)
		code = kf_fail(err, KF_E_UNAVAIL, "platform %s has no device "
			       "here; see `kforge platforms`", platform->name);
	for (size_t i = 0; !code && i < list->count; i++)
		code = take(platform, &list->word[i], &here, out, err);
	if (!code && !list->count) {
		*out = here;
		return KF_OK;
	}
	kf_devices_release(&here);
	if (code)
		kf_devices_release(out);
	return code;
}

/* Not by name: which device that means only all together tell. */
static enum kf_code find_alone(const struct kf_platform *platform,
			       const struct kf_device_list *list,
			       struct kf_device_info *out, bool *there,
			       struct kf_err *err)
{
	const struct kf_driver *driver = platform->driver;
	const struct kf_device_word *word = &list->word[0];
	enum kf_code code;

	*there = false;
	if (!driver->find_one || (list->count && (word->name[0] ||
				  word->number >= KF_DEVICES_MAX)))
		return KF_OK;
	code = kf_driver_find_one(driver, list->count ? (int64_t)word->number :
				  KF_DEVICE_FIRST, out, there, err);
	if (code || !*there)
		kf_device_info_release(out);
	return code;
}

enum kf_code kf_devices_find_one(const struct kf_platform *platform,
				 const struct kf_device_list *list,
				 struct kf_device_info *out,
				 struct kf_err *err)
{
	struct kf_devices devices = { .count = 0 };
	bool there;
	enum kf_code code = find_alone(platform, list, out, &there, err);

	if (code || there)
		return code;
	*out = (struct kf_device_info) { .units = 0 };
	code = kf_devices_find(platform, list, &devices, err);
	if (code)
		return code;
	*out = devices.info[0];
	devices.info[0].card = (struct kf_buf) { 0 };
	kf_devices_release(&devices);
	return KF_OK;
}

char *kf_device_place(const char *platform_name,
		      const struct kf_device_info *device)
{
	const char *number = strrchr(device->id, ':');

	return kf_format("%s%s", platform_name, number ? number : "");
}

static void take_measured(struct kf_devices *here,
			  struct kf_device_info *device)
{
	for (size_t i = 0; i < here->count; i++) {
		struct kf_device_info *found = &here->info[i];

		if (strcmp(found->id, device->id) != 0)
			continue;
		kf_buf_release(&device->card);
		device->card = found->card;
		device->ceiling = found->ceiling;
		found->card = (struct kf_buf) { 0 };
	}
}

enum kf_code kf_device_measure(const struct kf_platform *platform,
			       const struct kf_device_wait *wait,
			       struct kf_device_info *device,
			       struct kf_err *err)
{
	struct kf_devices here = { .count = 0 };
	struct kf_lock lock = { 0 };
	uint64_t waited_ns;
	enum kf_code code = kf_device_lock(wait, &lock, &waited_ns, err);

	if (!code)
		code = kf_driver_find(platform->driver, here.info,
				      KF_DEVICES_MAX, device->id, &here.count,
				      err);
	kf_lock_release(&lock);
	if (!code)
		take_measured(&here, device);
	kf_devices_release(&here);
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
