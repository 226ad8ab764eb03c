/* What the analysis agent is sent: the generation agent's context, and what was
 * measured. */
#include "advice/advice.h"

#define TRIED_TOLD 8u	/* newest; older ones repeat */

static json_t *text_of(const char *text)
{
	return kf_prompt_text(text, strlen(text), KF_PROMPT_FEEDBACK_BYTES);
}

static json_t *tried_of(const struct kf_advice_request *req)
{
	size_t first = req->tried_count > TRIED_TOLD ?
		       req->tried_count - TRIED_TOLD : 0;
	json_t *list = json_array();

	for (size_t i = first; i < req->tried_count; i++) {
		const struct kf_advice_tried *t = &req->tried[i];

		json_array_append_new(list, json_pack("{s:s, s:s, s:o}",
			"bottleneck", kf_profile_class_name(t->bottleneck),
			"change", t->change ? t->change : "", "gain",
			kf_json_number(t->gain)));
	}
	return list;
}

static json_t *classes(void)
{
	json_t *list = json_array();

	for (int i = KF_CLASS_UNKNOWN + 1; i < KF_CLASSES; i++)
		json_array_append_new(list, json_string(
			kf_profile_class_name((enum kf_profile_class)i)));
	return list;
}

enum kf_code kf_advice_prompt(const struct kf_advice_request *req,
			      const struct kf_advice_wrong *wrong,
			      struct kf_prompt *out, struct kf_err *err)
{
	json_t *context = NULL, *again = json_null();
	enum kf_code code;

	code = kf_prompt_context_make(req->prompt, &context, err);
	if (wrong)
		again = json_pack("{s:o, s:o}", "reply", text_of(wrong->reply),
				  "why", kf_json_string(wrong->why,
							strlen(wrong->why)));
	json_object_set_new(context, "profile", text_of(req->page));
	json_object_set_new(context, "advised", tried_of(req));
	json_object_set_new(context, "bottlenecks", classes());
	json_object_set_new(context, "text_bytes",
			    json_integer(KF_ADVICE_TEXT_BYTES));
	json_object_set_new(context, "again", again);
	json_object_set_new(context, "picture_count",
			    json_integer((json_int_t)req->picture_count));
	if (!code)
		code = kf_prompt_render(req->prompt->prompts_dir, context,
					"analysis_system.md.j2",
					"analysis.md.j2", out, err);
	out->picture_count = req->picture_count;
	json_decref(context);
	return code;
}
