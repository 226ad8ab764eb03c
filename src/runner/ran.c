/*
 * What a traced call ran, as lines for the supervisor (kf_host_reply.ran): of a
 * program that shares the process.
 */
#include "runner/runner.h"

#include <link.h>

#define NAME_MAX_BYTES	100

static const char too_many[] = "\nunseen more names than there is room for\n";

struct objects {
	unsigned count, skip;		/* those before are not told */
	struct kf_buf *lines;		/* NULL: only counted */
};

static int look(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct objects *o = arg;
	const char *slash = strrchr(info->dlpi_name, '/');

	(void)size;
	if (o->lines && o->count >= o->skip && info->dlpi_name[0])
		kf_buf_printf(o->lines, "library %.*s\n", NAME_MAX_BYTES,
			      slash ? slash + 1 : info->dlpi_name);
	o->count++;
	return 0;
}

unsigned kf_serve_loaded(void)
{
	struct objects objects = { 0 };

	dl_iterate_phdr(look, &objects);
	return objects.count;
}

/* Each name once. */
static void add_kernels(const struct kf_trace *trace, struct kf_buf *lines)
{
	for (size_t i = 0; i < trace->count; i++) {
		size_t k = 0;

		while (k < i && strcmp(trace->op[k].name, trace->op[i].name))
			k++;
		if (k == i)
			kf_buf_printf(lines, "kernel %s\n", trace->op[i].name);
	}
}

enum kf_code kf_serve_trace_call(struct kf_serve *s, struct kf_err *err)
{
	struct kf_buf lines = {
		.max = sizeof(s->reply->ran) - sizeof(too_many),
	};
	struct objects objects = { .skip = s->loaded_before, .lines = &lines };
	enum kf_code code = KF_OK;

	s->reply->ran[0] = '\0';
	if (!s->traced && !kf_driver_trace(s->driver, s->device, &s->trace))
		snprintf(s->trace.unseen, sizeof(s->trace.unseen), "driver %s "
			 "cannot tell", s->driver->name);
	s->traced = true;
	code = kf_serve_forward(s, err);
	if (code)
		return code;
	if (s->trace.unseen[0])
		kf_buf_printf(&lines, "unseen %s\n", s->trace.unseen);
	else
		add_kernels(&s->trace, &lines);
	dl_iterate_phdr(look, &objects);
	snprintf(s->reply->ran, sizeof(s->reply->ran), "%s%s",
		 kf_buf_str(&lines), lines.len == lines.max ? too_many : "");
	kf_buf_release(&lines);
	return KF_OK;
}
