/*
 * jinja_render - renders templates for jinja.py, which compares the results
 * with Python's jinja2. Reads JSON, one request a line:
 *
 *	{"templates": {NAME: TEXT}, "name": NAME, "context": {...}}
 *
 * and writes one line for each: {"ok": true, "text": ...} or
 * {"ok": false, "error": ...}.
 */
#include "prompt/jinja.h"

#define OUTPUT_BYTES (8u << 20)

static char *load(void *arg, const char *name)
{
	return kf_strdup(kf_json_str(arg, name, NULL));
}

static json_t *render(const json_t *request)
{
	struct kf_jinja_loader loader = {
		.load = load,
		.arg = json_object_get(request, "templates"),
	};
	struct kf_buf out = { .max = OUTPUT_BYTES };
	struct kf_err err = { 0 };
	enum kf_code code;
	json_t *answer;

	code = kf_jinja_render(&loader, kf_json_str(request, "name", ""),
			       json_object_get(request, "context"), &out, &err);
	answer = json_pack("{s:b}", "ok", code == KF_OK);
	if (code)
		json_object_set_new(answer, "error",
				    kf_json_string(err.text, strlen(err.text)));
	else
		json_object_set_new(answer, "text",
				    json_stringn(kf_buf_str(&out), out.len));
	kf_buf_release(&out);
	return answer;
}

int main(void)
{
	char *line = NULL;
	size_t cap = 0;
	ssize_t len;

	while ((len = getline(&line, &cap, stdin)) > 0) {
		struct kf_err err = { 0 };
		json_t *request = NULL, *answer;
		char *text;

		if (kf_json_parse(line, (size_t)len, "request", &request,
				  &err)) {
			fprintf(stderr, "jinja_render: %s\n", err.text);
			return 1;
		}
		answer = render(request);
		text = kf_json_text(answer);
		printf("%s\n", text);
		free(text);
		json_decref(answer);
		json_decref(request);
	}
	free(line);
	return 0;
}
