/*
 * sse.h - a text/event-stream, in pieces of any size, into events. Pure.
 *
 * The same bytes give the same events however they are cut. Lines end in LF,
 * CRLF or CR; a byte order mark is skipped; comments, ids and retry times are
 * of no use here and are dropped. Unlike a browser, the end of the stream also
 * ends the last event: many servers leave out the final empty line.
 */
#ifndef KF_PROVIDER_SSE_H
#define KF_PROVIDER_SSE_H

#include "base/base.h"

struct kf_sse {
	/* One event that has data; name is "" unless the server gave one.
	 * Return false to stop: what follows is then ignored. */
	bool (*event)(void *arg, const char *name, const char *data,
		      size_t len);
	void *arg;
	bool stopped;		/* event returned false, or too_large */
	bool too_large;		/* an event or a line outgrew its ceiling */
	/* private */
	struct kf_buf line, data;
	char name[32];
	bool after_cr, has_data;
	unsigned bom;		/* bytes of the mark seen; 3 when past it */
};

#define KF_SSE_EVENT_BYTES (16u << 20)

void kf_sse_init(struct kf_sse *sse,
		 bool (*event)(void *arg, const char *name, const char *data,
			       size_t len),
		 void *arg);
/* False once stopped. */
bool kf_sse_feed(struct kf_sse *sse, const char *bytes, size_t len);
/* The stream has ended: delivers what is complete but for its last line end. */
void kf_sse_end(struct kf_sse *sse);
void kf_sse_release(struct kf_sse *sse);

#endif
