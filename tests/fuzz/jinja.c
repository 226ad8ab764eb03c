/* A template of any bytes: it renders, or it is refused with a sentence. */
#include "prompt/jinja.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct source { const uint8_t *data; size_t size; };

/* Any other name is the same template: includes and parents are reached. */
static char *load(void *arg, const char *name)
{
	const struct source *source = arg;

	if (name[0] == '-')
		return NULL;
	return kf_strndup((const char *)source->data, source->size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char text[] =
		"{\"n\": 7, \"f\": 2.5, \"s\": \"hello\", \"yes\": true,"
		" \"xs\": [3, 1, 2], \"d\": {\"b\": 2, \"a\": [1, null]},"
		" \"rows\": [{\"k\": \"a\", \"v\": 1}, {\"k\": \"B\"}]}";
	struct source source = { data, size };
	struct kf_jinja_loader loader = { load, &source };
	struct kf_buf out = { .max = 1u << 16 };
	struct kf_err err = { 0 };
	json_t *context = NULL;

	if (kf_json_parse(text, sizeof(text) - 1, "context", &context, &err))
		abort();
	if (kf_jinja_render(&loader, "t", context, &out, &err) && !err.text[0])
		abort();
	json_decref(context);
	kf_buf_release(&out);
	return 0;
}
