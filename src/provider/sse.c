#include "provider/sse.h"

#define BOM "\xef\xbb\xbf"

void kf_sse_init(struct kf_sse *sse,
		 bool (*event)(void *arg, const char *name, const char *data,
			       size_t len),
		 void *arg)
{
	*sse = (struct kf_sse) {
		.event = event,
		.arg = arg,
		.line.max = KF_SSE_EVENT_BYTES,
		.data.max = KF_SSE_EVENT_BYTES,
	};
}

static void overflow(struct kf_sse *sse)
{
	sse->too_large = true;
	sse->stopped = true;
}

static void dispatch(struct kf_sse *sse)
{
	if (sse->has_data &&
	    !sse->event(sse->arg, sse->name, kf_buf_str(&sse->data),
			sse->data.len))
		sse->stopped = true;
	kf_buf_clear(&sse->data);
	sse->has_data = false;
	sse->name[0] = '\0';
}

static void take_field(struct kf_sse *sse, const char *field, size_t len)
{
	const char *colon = memchr(field, ':', len);
	size_t name_len = colon ? (size_t)(colon - field) : len;
	const char *value = colon ? colon + 1 : field + len;
	size_t value_len = len - (size_t)(value - field);

	if (value_len && *value == ' ') {
		value++;
		value_len--;
	}
	if (name_len == 4 && memcmp(field, "data", 4) == 0) {
		if ((sse->has_data && !kf_buf_puts(&sse->data, "\n")) ||
		    !kf_buf_add(&sse->data, value, value_len))
			overflow(sse);
		sse->has_data = true;
	} else if (name_len == 5 && memcmp(field, "event", 5) == 0) {
		snprintf(sse->name, sizeof(sse->name), "%.*s",
			 (int)(value_len < 31 ? value_len : 31), value);
	}
}

static void end_line(struct kf_sse *sse)
{
	const char *line = kf_buf_str(&sse->line);

	if (!sse->line.len)
		dispatch(sse);
	else if (line[0] != ':')
		take_field(sse, line, sse->line.len);
	kf_buf_clear(&sse->line);
}

/* Takes the mark's bytes away; puts them back if they were not the mark. */
static size_t skip_bom(struct kf_sse *sse, const char *bytes, size_t len)
{
	size_t used = 0;

	while (sse->bom < 3 && used < len) {
		if (bytes[used] != BOM[sse->bom]) {
			kf_buf_add(&sse->line, BOM, sse->bom);
			sse->bom = 3;
			break;
		}
		sse->bom++;
		used++;
	}
	return used;
}

bool kf_sse_feed(struct kf_sse *sse, const char *bytes, size_t len)
{
	size_t i = skip_bom(sse, bytes, len);

	while (i < len && !sse->stopped) {
		size_t n = 0;

		if (sse->after_cr && bytes[i] == '\n') {
			sse->after_cr = false;
			i++;
			continue;
		}
		sse->after_cr = false;
		while (i + n < len && bytes[i + n] != '\n' &&
		       bytes[i + n] != '\r')
			n++;
		if (!kf_buf_add(&sse->line, bytes + i, n)) {
			overflow(sse);
			break;
		}
		i += n;
		if (i == len)
			break;
		sse->after_cr = bytes[i] == '\r';
		i++;
		end_line(sse);
	}
	return !sse->stopped;
}

void kf_sse_end(struct kf_sse *sse)
{
	if (!sse->stopped && sse->line.len)
		end_line(sse);
	if (!sse->stopped)
		dispatch(sse);
}

void kf_sse_release(struct kf_sse *sse)
{
	kf_buf_release(&sse->line);
	kf_buf_release(&sse->data);
}
