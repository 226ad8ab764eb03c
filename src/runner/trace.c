/*
 * What the operations of a call took, as lines of text for a profile; the
 * header names the columns, after a line that says why there are none, if that
 * is so; a line without a name says how many of a call were lost
 * (src/profile/read_launches.c).
 */
#include "runner/runner.h"

#include <math.h>

#define LINE_BYTES 512u

static enum kf_code append(const char *path, const struct kf_buf *text,
			   struct kf_err *err)
{
	FILE *file = fopen(path, "ae");
	bool good;

	if (!file)
		return kf_fail_errno(err, "cannot write %s", path);
	good = fwrite(kf_buf_str(text), 1, text->len, file) == text->len;
	if (fclose(file) || !good)
		return kf_fail_errno(err, "cannot write %s", path);
	return KF_OK;
}

enum kf_code kf_serve_trace_begin(struct kf_serve *s, struct kf_err *err)
{
	struct kf_buf text = { .max = LINE_BYTES };
	enum kf_code code;

	if (!kf_driver_trace(s->driver, s->device, &s->trace))
		return kf_fail(err, KF_E_UNAVAIL, "driver %s times no single "
			       "launches", s->driver->name);
	s->traced = true;
	if (s->trace.unseen[0])
		kf_buf_printf(&text, "unseen %s\n", s->trace.unseen);
	kf_buf_puts(&text, "call,name,start_ns,end_ns,groups,group_size,"
		    "registers,shared_bytes,local_bytes,occupancy,bytes,"
		    "lost\n");
	code = append(s->trace_path, &text, err);
	kf_buf_release(&text);
	return code;
}

/* An unknown number is an empty field. */
static void add_numbers(const struct kf_trace_op *op, struct kf_buf *text)
{
	const double number[] = {
		op->groups, op->group_size, op->registers, op->shared_bytes,
		op->local_bytes, op->occupancy, op->bytes,
	};

	for (size_t i = 0; i < KF_COUNT(number); i++) {
		kf_buf_puts(text, ",");
		if (!isnan(number[i]))
			kf_buf_printf(text, "%.9g", number[i]);
	}
	kf_buf_puts(text, ",\n");
}

enum kf_code kf_serve_trace_add(struct kf_serve *s, struct kf_err *err)
{
	const struct kf_trace *trace = &s->trace;
	struct kf_buf text = { .max = LINE_BYTES * (trace->count + 2) };
	enum kf_code code;

	s->call_count++;
	for (size_t i = 0; i < trace->count; i++) {
		const struct kf_trace_op *op = &trace->op[i];

		kf_buf_printf(&text, "%u,%s,%llu,%llu", s->call_count, op->name,
			      (unsigned long long)op->start_ns,
			      (unsigned long long)op->end_ns);
		add_numbers(op, &text);
	}
	if (trace->lost)
		kf_buf_printf(&text, "%u,,,,,,,,,,,%zu\n", s->call_count,
			      trace->lost);
	code = append(s->trace_path, &text, err);
	kf_buf_release(&text);
	return code;
}
