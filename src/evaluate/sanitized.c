/* What a sanitizer found, as a verdict. */
#include "evaluate/evaluate.h"

#include <math.h>

static void add(json_t *object, const char *key, const char *text)
{
	if (text[0])
		json_object_set_new(object, key,
				    kf_json_string(text, strlen(text)));
}

static json_t *to_json(const char *tool, const struct kf_found *f)
{
	json_t *object = json_object();

	add(object, "tool", tool);
	add(object, "what", f->what);
	add(object, "kernel", f->kernel);
	add(object, "thread", f->thread);
	add(object, "address", f->address);
	if (f->line)
		json_object_set_new(object, "line", json_integer(f->line));
	return object;
}

static void tell(const char *tool, const struct kf_found *f,
		 struct kf_buf *text)
{
	kf_buf_printf(text, "A sanitizer (%s) watched the program on the "
		      "problem's own inputs and found: %s\n", tool, f->what);
	if (f->kernel[0])
		kf_buf_printf(text, "in %s%s", f->kernel, f->line ? ", " : "");
	if (f->line)
		kf_buf_printf(text, "line %u", f->line);
	if (f->thread[0])
		kf_buf_printf(text, ", by %s", f->thread);
	if (f->address[0] && !strstr(f->what, f->address))
		kf_buf_printf(text, ", address %s", f->address);
	kf_buf_puts(text, "\nEvery access must lie in its buffer, and what "
		    "several threads share needs a barrier between a write and "
		    "another's access.\n");
}

void kf_verdict_sanitized(struct kf_verdict *v, const char *tool,
			  const struct kf_found *finding)
{
	const double nan = (double)NAN;
	struct kf_buf before = { .max = v->text.max };

	if (!v->evidence)
		v->evidence = json_object();
	json_object_set_new(v->evidence, "sanitizer",
			    tool ? to_json(tool, finding) : json_false());
	if (!tool) {
		kf_buf_puts(&v->text, "note: a sanitizer watched the program "
			    "and found nothing\n");
		return;
	}
	kf_buf_add(&before, kf_buf_str(&v->text), v->text.len);
	kf_buf_clear(&v->text);
	tell(tool, finding, &v->text);
	if (v->state != KF_CORRECT && before.len)
		kf_buf_printf(&v->text, "Without it, the verdict was %s: "
			      "%s\n%s", kf_state_name(v->state), v->reason,
			      kf_buf_str(&before));
	kf_buf_release(&before);
	v->state = KF_RUNTIME_ERROR;
	snprintf(v->reason, sizeof(v->reason), "sanitizer");
	v->time_ns = nan;
	v->speedup = (struct kf_ratio) { nan, nan, nan, nan, 0 };
	v->conclusive = false;
}
