/*
 * http.h - one POST at a time with the answer delivered as it comes. http.c is
 * the only file of the project that knows libcurl.
 *
 * Nothing here waits without a deadline, and whatever an answer says is the
 * caller's to judge: an error status is an answer.
 */
#ifndef KF_PROVIDER_HTTP_H
#define KF_PROVIDER_HTTP_H

#include "base/base.h"

struct kf_http;		/* keeps connections between requests */

struct kf_http_request {
	const char *url;
	const char *const *header;	/* "Name: value", NULL-terminated */
	const char *body;
	size_t body_len;
	uint64_t deadline_ns;		/* by kf_now_ns */
	uint64_t stall_ns;		/* longest time without a byte */
	const volatile int *cancel;	/* may be NULL */
	/* A piece of the answer's body, in order; false ends the transfer. */
	bool (*piece)(void *arg, long status, const char *bytes, size_t len);
	void *arg;
};

enum kf_http_end {
	KF_HTTP_NONE,
	KF_HTTP_ANSWERED,	/* the whole answer came, or piece had enough */
	KF_HTTP_BROKEN,		/* no connection, or it broke; may pass */
	KF_HTTP_HOPELESS,	/* bad URL or certificate; will not pass */
	KF_HTTP_STALLED,	/* no byte for stall_ns */
	KF_HTTP_LATE,		/* deadline_ns passed */
	KF_HTTP_CANCELED,
};

struct kf_http_answer {
	enum kf_http_end end;
	long status;			/* 0 until an answer began */
	char retry_after[64], retry_after_ms[32];	/* headers, or "" */
	char why[256];			/* for BROKEN and HOPELESS, in words */
};

/* KF_E_UNAVAIL if libcurl cannot be used. */
KF_MUST_CHECK enum kf_code kf_http_new(struct kf_http **out,
				       struct kf_err *err);
void kf_http_post(struct kf_http *http, const struct kf_http_request *request,
		  struct kf_http_answer *answer);
void kf_http_free(struct kf_http *http);

#endif
