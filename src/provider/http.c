#include "provider/http.h"
#include "provider/certificates.h"

#include <curl/curl.h>
#include <strings.h>

#define POLL_MS 50		/* how late cancel and deadlines are noticed */
#define CONNECT_S 30L

struct kf_http {
	CURLM *multi;
	CURL *easy;
	struct kf_certificates certificates;
};

/* One request on its way. */
struct transfer {
	const struct kf_http_request *request;
	struct kf_http_answer *answer;
	CURL *easy;
	const struct kf_certificates *certificates;
	uint64_t heard_ns;	/* when the last byte came */
	bool enough;		/* piece said so */
};

/* Where this libcurl looks for certificates; NULL: it does not say. */
static const char *built_in_certificates(void)
{
#if LIBCURL_VERSION_NUM >= 0x074600
	const curl_version_info_data *info = curl_version_info(CURLVERSION_NOW);

	return info->age >= CURLVERSION_SEVENTH ? info->cainfo : NULL;
#else
	return NULL;
#endif
}

enum kf_code kf_http_new(struct kf_http **out, struct kf_err *err)
{
	struct kf_http *http;

	*out = NULL;
	if (curl_global_init(CURL_GLOBAL_DEFAULT))
		return kf_fail(err, KF_E_UNAVAIL, "cannot start libcurl");
	http = kf_alloc(sizeof(*http));
	http->multi = curl_multi_init();
	http->easy = curl_easy_init();
	if (!http->multi || !http->easy) {
		kf_http_free(http);
		return kf_fail(err, KF_E_UNAVAIL, "cannot start libcurl");
	}
	kf_certificates_find("", built_in_certificates(),
			     &http->certificates);
	*out = http;
	return KF_OK;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *arg)
{
	struct transfer *t = arg;
	size_t len = size * count;

	t->heard_ns = kf_now_ns();
	curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &t->answer->status);
	if (!t->request->piece(t->request->arg, t->answer->status, bytes, len))
		t->enough = true;
	return t->enough ? 0 : len;
}

/* The value of a header line if it has this name, into out. */
static void take_header(const char *line, size_t len, const char *name,
			char *out, size_t out_bytes)
{
	size_t name_len = strlen(name);

	if (len <= name_len || line[name_len] != ':' ||
	    strncasecmp(line, name, name_len))
		return;
	line += name_len + 1;
	len -= name_len + 1;
	while (len && (*line == ' ' || *line == '\t')) {
		line++;
		len--;
	}
	while (len && strchr(" \t\r\n", line[len - 1]))
		len--;
	if (len < out_bytes)
		snprintf(out, out_bytes, "%.*s", (int)len, line);
}

static size_t on_header(char *line, size_t size, size_t count, void *arg)
{
	struct transfer *t = arg;
	struct kf_http_answer *answer = t->answer;
	size_t len = size * count;

	t->heard_ns = kf_now_ns();
	take_header(line, len, "retry-after", answer->retry_after,
		    sizeof(answer->retry_after));
	take_header(line, len, "retry-after-ms", answer->retry_after_ms,
		    sizeof(answer->retry_after_ms));
	return len;
}

static void set_options(struct transfer *t, struct curl_slist *headers)
{
	const struct kf_http_request *request = t->request;
	CURL *easy = t->easy;

	curl_easy_reset(easy);
	curl_easy_setopt(easy, CURLOPT_URL, request->url);
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
			 (curl_off_t)request->body_len);
	curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request->body);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, t);
	curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(easy, CURLOPT_HEADERDATA, t);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, t->answer->why);
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, CONNECT_S);
	curl_easy_setopt(easy, CURLOPT_USERAGENT, "kforge");
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	if (t->certificates->file)
		curl_easy_setopt(easy, CURLOPT_CAINFO, t->certificates->file);
	if (t->certificates->folder)
		curl_easy_setopt(easy, CURLOPT_CAPATH,
				 t->certificates->folder);
	/* A redirect would carry the key to wherever it points. */
	curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
#if LIBCURL_VERSION_NUM >= 0x075500
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
#else
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS,
			 CURLPROTO_HTTP | CURLPROTO_HTTPS);
#endif
}

static enum kf_http_end end_of(CURLcode result)
{
	static const CURLcode hopeless[] = {
		CURLE_UNSUPPORTED_PROTOCOL, CURLE_URL_MALFORMAT,
		CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE,
		CURLE_SSL_CERTPROBLEM, CURLE_SSL_ENGINE_NOTFOUND,
		CURLE_BAD_FUNCTION_ARGUMENT, CURLE_NOT_BUILT_IN,
	};

	for (size_t i = 0; i < KF_COUNT(hopeless); i++)
		if (result == hopeless[i])
			return KF_HTTP_HOPELESS;
	return result ? KF_HTTP_BROKEN : KF_HTTP_ANSWERED;
}

static bool must_stop(const struct transfer *t, enum kf_http_end *end)
{
	const struct kf_http_request *request = t->request;
	uint64_t now_ns = kf_now_ns();

	if (request->cancel && *request->cancel)
		*end = KF_HTTP_CANCELED;
	else if (now_ns >= request->deadline_ns)
		*end = KF_HTTP_LATE;
	else if (now_ns - t->heard_ns >= request->stall_ns)
		*end = KF_HTTP_STALLED;
	return *end != KF_HTTP_NONE;
}

/* Turns the wheel until the transfer has ended or must be ended. */
static enum kf_http_end drive(struct kf_http *http, const struct transfer *t,
			      CURLcode *result)
{
	enum kf_http_end end = KF_HTTP_NONE;
	int running = 1, left;

	while (!must_stop(t, &end)) {
		CURLMcode trouble = curl_multi_perform(http->multi, &running);
		CURLMsg *message = curl_multi_info_read(http->multi, &left);

		if (message && message->msg == CURLMSG_DONE) {
			*result = message->data.result;
			return t->enough ? KF_HTTP_ANSWERED : end_of(*result);
		}
		if (!trouble)
			trouble = curl_multi_poll(http->multi, NULL, 0,
						  POLL_MS, NULL);
		if (trouble) {
			*result = CURLE_FAILED_INIT;
			return KF_HTTP_BROKEN;
		}
	}
	return end;
}

/* What can be done about a certificate, behind curl's words about it. */
static void advise(CURLcode result, char *why, size_t why_bytes)
{
	size_t len = strlen(why);

	if (result == CURLE_PEER_FAILED_VERIFICATION ||
	    result == CURLE_SSL_CACERT_BADFILE)
		snprintf(why + len, why_bytes - len, "; SSL_CERT_FILE names "
			 "the certificates to trust");
}

void kf_http_post(struct kf_http *http, const struct kf_http_request *request,
		  struct kf_http_answer *answer)
{
	struct transfer t = {
		.request = request,
		.answer = answer,
		.easy = http->easy,
		.certificates = &http->certificates,
		.heard_ns = kf_now_ns(),
	};
	struct curl_slist *headers = NULL;
	CURLcode result = CURLE_OK;

	*answer = (struct kf_http_answer) { 0 };
	for (size_t i = 0; request->header[i]; i++)
		headers = curl_slist_append(headers, request->header[i]);
	/* Without this curl waits a second for "100 Continue". */
	headers = curl_slist_append(headers, "Expect:");
	if (!headers)
		abort();
	set_options(&t, headers);
	if (curl_multi_add_handle(http->multi, http->easy))
		abort();
	answer->end = drive(http, &t, &result);
	curl_easy_getinfo(http->easy, CURLINFO_RESPONSE_CODE, &answer->status);
	curl_multi_remove_handle(http->multi, http->easy);
	/* The handle must not remember what lives on this stack. */
	curl_easy_reset(http->easy);
	curl_slist_free_all(headers);
	if (result && !answer->why[0])
		snprintf(answer->why, sizeof(answer->why), "%s",
			 curl_easy_strerror(result));
	advise(result, answer->why, sizeof(answer->why));
}

void kf_http_free(struct kf_http *http)
{
	if (!http)
		return;
	if (http->easy)
		curl_easy_cleanup(http->easy);
	if (http->multi)
		curl_multi_cleanup(http->multi);
	kf_certificates_release(&http->certificates);
	free(http);
	curl_global_cleanup();
}
