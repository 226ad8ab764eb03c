#include "prompt/jinja.h"

#include "prompt/jinja_internal.h"

enum kf_code kf_jinja_render(const struct kf_jinja_loader *loader,
			     const char *name, const json_t *context,
			     struct kf_buf *out, struct kf_err *err)
{
	struct jinja j = {
		.loader = loader,
		.file = name,
		.line = 1,
		.none = { .kind = V_NONE },
		.yes = { .kind = V_BOOL, .u.b = true },
		.no = { .kind = V_BOOL },
		.empty = { .kind = V_STR, .u.s.text = "" },
	};
	struct value *given = jinja_from_json(&j, context);
	struct template *template = NULL;
	enum kf_code code;

	if (!jinja_failed(&j) && given->kind != V_DICT)
		jinja_fail(&j, "the context is not an object");
	if (!jinja_failed(&j))
		template = jinja_template_must(&j, jinja_str(&j, name,
							     strlen(name)));
	if (template && !jinja_failed(&j))
		jinja_render_root(&j, template,
				  jinja_context_new(&j, template,
						    &given->u.dict), out);
	code = j.err.code;
	if (code)
		kf_fail(err, code, "%s", j.err.text);
	jinja_free_all(&j);
	return code;
}
