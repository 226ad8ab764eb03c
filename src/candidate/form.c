/* Which form a program has, by its files. */
#include "candidate/candidate.h"

#include <strings.h>

#include "candidate/choose.h"
#include "platform/platform.h"

#define MODULE_CLASS "class ModelNew"

static bool is_plain(const char *path)
{
	return strcmp(path, "-") != 0 && !kf_path_is_dir(path);
}

/* Any Python file could be a problem; a program says so. */
static bool could_be_program(const char *path)
{
	struct kf_buf text = { .max = KF_SOURCE_BYTES };
	const char *dot = strrchr(path, '.');
	bool could = true;

	if (dot && strcasecmp(dot, ".py") == 0)
		could = kf_file_read(path, &text, NULL) == KF_OK &&
			strstr(kf_buf_str(&text), MODULE_CLASS);
	kf_buf_release(&text);
	return could;
}

static bool has_all(const struct kf_platform *platform, const char *dir)
{
	bool all = true;

	for (size_t i = 0; i < platform->file_count; i++) {
		char *path = kf_path_join(dir, platform->file[i].name);

		if (platform->file[i].required && !kf_path_exists(path))
			all = false;
		free(path);
	}
	return all;
}

static size_t required_count(const struct kf_platform *platform)
{
	size_t count = 0;

	for (size_t i = 0; i < platform->file_count; i++)
		count += platform->file[i].required;
	return count;
}

/* Has the platform a place for each of the files? Other names than its own say
 * little: then all that it must have is to be there. */
static bool fits(const struct kf_platform *platform, const char *const *path,
		 size_t count, bool by_name)
{
	if (count == 1 && kf_path_is_dir(path[0]))
		return has_all(platform, path[0]);
	if (!by_name && count < required_count(platform))
		return false;
	for (size_t i = 0; i < count; i++)
		if (!is_plain(path[i]) || !could_be_program(path[i]) ||
		    kf_platform_place(platform, path[i], by_name) ==
		    platform->file_count)
			return false;
	return true;
}

/* Fills in the first form of the platform that the files fit, by their names or
 * else by what their names end in. */
static bool find(const struct kf_platform *first, const char *const *path,
		 size_t count, bool by_name, char **form)
{
	for (size_t i = 0; i < first->form_count; i++) {
		struct kf_platform *platform = NULL;
		bool good = kf_platform_load_form(first->name,
						  first->form_name[i],
						  &platform, NULL) == KF_OK &&
			fits(platform, path, count, by_name);

		kf_platform_free(platform);
		if (!good)
			continue;
		*form = kf_strdup(first->form_name[i]);
		return true;
	}
	return false;
}

enum kf_code kf_candidate_form(const char *platform_name,
			       const char *const *path, size_t count,
			       char **form, struct kf_err *err)
{
	struct kf_platform *first = NULL;
	enum kf_code code = kf_platform_load(platform_name, &first, err);

	*form = NULL;
	if (!code && first->form_count > 1 &&
	    !find(first, path, count, true, form))
		(void)find(first, path, count, false, form);
	kf_platform_free(first);
	return code;
}
