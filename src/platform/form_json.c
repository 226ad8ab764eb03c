#include "platform/form_json.h"

#include "base/base.h"

/* What a form must say itself, and what it takes from the file if it does
 * not. */
static const char *const own[] = { "title", "driver", "files", "compiler",
				   "command" };
static const char *const inherited[] = { "limits", "dtypes" };
/* What it may say, and is made for the default form's programs there. */
static const char *const defaults_alone[] = { "export", "profilers" };

static void add_name(struct kf_forms *forms, const char *name)
{
	forms->name = kf_realloc(forms->name, (forms->count + 1) *
				 sizeof(forms->name[0]));
	forms->name[forms->count++] = kf_strdup(name);
}

void kf_forms_release(struct kf_forms *forms)
{
	for (size_t i = 0; i < forms->count; i++)
		free(forms->name[i]);
	free(forms->name);
	*forms = (struct kf_forms) { 0 };
}

/* A folder is called like it, and so is a template. */
static bool is_name(const char *name)
{
	size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-");

	return len && len <= 16 && !name[len];
}

static enum kf_code list_names(const json_t *description, const char *file,
			       struct kf_forms *forms, struct kf_err *err)
{
	const json_t *first = json_object_get(description, "form");
	json_t *others = json_object_get(description, "forms"), *value;
	const char *name;

	add_name(forms, kf_json_str(description, "form", "c"));
	if ((first && !json_is_string(first)) || !is_name(forms->name[0]))
		return kf_fail(err, KF_E_INPUT, "%s: \"form\" must be the name "
			       "of a form", file);
	if (others && !json_is_object(others))
		return kf_fail(err, KF_E_INPUT, "%s: \"forms\" must be an "
			       "object", file);
	json_object_foreach(others, name, value) {
		if (!is_name(name) || strcmp(name, forms->name[0]) == 0 ||
		    !json_is_object(value))
			return kf_fail(err, KF_E_INPUT, "%s: \"forms\" has "
				       "\"%s\", which is no further form",
				       file, name);
		add_name(forms, name);
	}
	return KF_OK;
}

static bool among(const char *name, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(list[i], name) == 0)
			return true;
	return false;
}

/* Takes the place of the default form in whole. */
static enum kf_code put(const char *file, const char *form, json_t *members,
			json_t *whole, struct kf_err *err)
{
	const char *name;
	json_t *value;

	for (size_t i = 0; i < KF_COUNT(own); i++)
		if (!json_object_get(members, own[i]))
			return kf_fail(err, KF_E_INPUT, "%s: form \"%s\" lacks "
				       "\"%s\"", file, form, own[i]);
	json_object_foreach(members, name, value)
		if (!among(name, own, KF_COUNT(own)) &&
		    !among(name, inherited, KF_COUNT(inherited)) &&
		    strcmp(name, "profilers") != 0)
			return kf_fail(err, KF_E_INPUT, "%s: unknown member "
				       "\"%s\" in form \"%s\"", file, name,
				       form);
	for (size_t i = 0; i < KF_COUNT(defaults_alone); i++)
		json_object_del(whole, defaults_alone[i]);
	json_object_update(whole, members);
	return KF_OK;
}

static enum kf_code unknown(const char *file, const char *asked,
			    const struct kf_forms *forms, struct kf_err *err)
{
	struct kf_buf names = { .max = 256 };

	for (size_t i = 0; i < forms->count; i++)
		kf_buf_printf(&names, "%s%s", i ? ", " : "", forms->name[i]);
	kf_fail(err, KF_E_INPUT, "programs have no form \"%.20s\" on this "
		"platform; %s names: %s", asked, file, kf_buf_str(&names));
	kf_buf_release(&names);
	return KF_E_INPUT;
}

enum kf_code kf_form_choose(const json_t *description, const char *file,
			    const char *asked, struct kf_forms *forms,
			    json_t **out, struct kf_err *err)
{
	json_t *others = json_object_get(description, "forms");
	bool found = !asked;
	enum kf_code code;

	*forms = (struct kf_forms) { 0 };
	*out = json_deep_copy(description);
	code = list_names(description, file, forms, err);
	json_object_del(*out, "form");
	json_object_del(*out, "forms");
	for (size_t i = 0; asked && !code && i < forms->count; i++) {
		if (strcmp(forms->name[i], asked) != 0)
			continue;
		found = true;
		if (i)
			code = put(file, asked, json_object_get(others, asked),
				   *out, err);
	}
	if (!code && !found)
		code = unknown(file, asked, forms, err);
	return code;
}
