#include "prompt/prompt.h"

#include "prompt/context.h"
#include "prompt/jinja.h"

#define SYSTEM_BYTES	(KF_PROMPT_BYTES / 8)
#define TEMPLATE_BYTES	(1u << 20)

/* Where templates are looked for, first to last. */
struct places { const char *dir[2]; };

/* A template is named by a path below its folder, never by one that leaves. */
static bool good_name(const char *name)
{
	return name[0] && name[0] != '/' && !strstr(name, "..");
}

static char *load(void *arg, const char *name)
{
	const struct places *places = arg;
	struct kf_buf text = { .max = TEMPLATE_BYTES };
	struct kf_err err;
	char *copy = NULL;

	for (size_t i = 0; i < KF_COUNT(places->dir) && !copy; i++) {
		char *path;

		if (!places->dir[i] || !good_name(name))
			continue;
		path = kf_path_join(places->dir[i], name);
		if (!kf_file_read(path, &text, &err))
			copy = kf_strndup(kf_buf_str(&text), text.len);
		kf_buf_clear(&text);
		free(path);
	}
	kf_buf_release(&text);
	return copy;
}

void kf_prompt_release(struct kf_prompt *prompt)
{
	kf_buf_release(&prompt->system_text);
	kf_buf_release(&prompt->user_text);
}

static const char *template_of(const struct kf_prompt_request *req)
{
	static const char *const name[] = { "generate.md.j2", "repair.md.j2",
					    "optimize.md.j2" };
	const char *mode = kf_prompt_mode(req);

	for (size_t i = 1; i < KF_COUNT(name); i++)
		if (!strncmp(name[i], mode, strlen(mode)))
			return name[i];
	return name[0];
}

enum kf_code kf_prompt_render(const char *prompts_dir, const json_t *context,
			      const char *system, const char *user,
			      struct kf_prompt *out, struct kf_err *err)
{
	struct places places = { 0 };
	struct kf_jinja_loader loader = { .load = load, .arg = &places };
	enum kf_code code = KF_OK;
	char *home, *folder = NULL;

	*out = (struct kf_prompt) {
		.system_text.max = SYSTEM_BYTES,
		.user_text.max = KF_PROMPT_BYTES - SYSTEM_BYTES,
		.template_name = user,
	};
	home = kf_home(err);
	if (!home)
		return KF_E_UNAVAIL;
	if (prompts_dir && !kf_path_is_dir(prompts_dir)) {
		code = kf_fail(err, KF_E_INPUT, "there is no folder %s",
			       prompts_dir);
		goto out;
	}
	folder = kf_path_join(home, "prompts");
	places.dir[0] = prompts_dir;
	places.dir[1] = folder;
	code = kf_jinja_render(&loader, system, context, &out->system_text,
			       err);
	if (!code)
		code = kf_jinja_render(&loader, user, context,
				       &out->user_text, err);
out:
	free(folder);
	free(home);
	return code;
}

enum kf_code kf_prompt_make(const struct kf_prompt_request *req,
			    struct kf_prompt *out, struct kf_err *err)
{
	json_t *context = NULL;
	enum kf_code code = kf_prompt_context_make(req, &context, err);

	*out = (struct kf_prompt) { .template_name = template_of(req) };
	if (!code)
		code = kf_prompt_render(req->prompts_dir, context,
					"system.md.j2", template_of(req), out,
					err);
	json_decref(context);
	return code;
}
