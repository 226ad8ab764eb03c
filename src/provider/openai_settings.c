#include "provider/openai_settings.h"

#include <ctype.h>

#define PUBLIC_URL "https://api.openai.com/v1"
#define STALL_S 300.0

static const char *setting(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

static enum kf_code read_numbers(struct kf_openai_settings *out,
				 struct kf_err *err)
{
	const char *retries = setting("KFORGE_RETRIES");
	const char *stall = setting("KFORGE_STALL_SECONDS");
	double stall_s = STALL_S;
	uint64_t retry_max;

	out->policy = kf_retry_default;
	if (retries && (!kf_parse_u64(retries, &retry_max) || retry_max > 100))
		return kf_fail(err, KF_E_INPUT,
			       "KFORGE_RETRIES is '%s': give a number from 0 "
			       "to 100", retries);
	if (retries)
		out->policy.retry_max = (unsigned)retry_max;
	if (stall && (!kf_parse_double(stall, &stall_s) || stall_s < 0.1 ||
		      stall_s > 86400))
		return kf_fail(err, KF_E_INPUT,
			       "KFORGE_STALL_SECONDS is '%s': give a number "
			       "from 0.1 to 86400", stall);
	out->stall_ns = (uint64_t)(stall_s * (double)KF_NS_PER_S);
	return KF_OK;
}

static enum kf_code read_url(struct kf_openai_settings *out, struct kf_err *err)
{
	const char *url = setting("KFORGE_OPENAI_BASE_URL");
	size_t len;

	if (!url)
		url = setting("OPENAI_BASE_URL");
	if (!url)
		url = PUBLIC_URL;
	/* Not quoted in the sentence: it may hold a password. */
	if (strpbrk(url, "@?#"))
		return kf_fail(err, KF_E_INPUT,
			       "the base URL may hold no user, password or "
			       "query: put the key into OPENAI_API_KEY");
	if (strncmp(url, "http://", 7) && strncmp(url, "https://", 8))
		return kf_fail(err, KF_E_INPUT,
			       "the base URL '%s' must begin with http:// or "
			       "https://", url);
	len = strlen(url);
	while (len && url[len - 1] == '/')
		len--;
	out->service = kf_strndup(url, len);
	out->url = kf_format("%s/chat/completions", out->service);
	return KF_OK;
}

static enum kf_code read_key(struct kf_openai_settings *out, struct kf_err *err)
{
	const char *key = setting("OPENAI_API_KEY");
	size_t len = key ? strlen(key) : 0;

	while (len && isspace((unsigned char)key[len - 1]))
		len--;
	if (!len && strcmp(out->service, PUBLIC_URL) == 0)
		return kf_fail(err, KF_E_UNAVAIL,
			       "no key for %s: set OPENAI_API_KEY, or "
			       "KFORGE_OPENAI_BASE_URL for another server",
			       PUBLIC_URL);
	if (!len)
		return KF_OK;
	for (size_t i = 0; i < len; i++)
		if (key[i] <= ' ' || key[i] > '~')
			return kf_fail(err, KF_E_INPUT,
				       "OPENAI_API_KEY holds a character that "
				       "no key has (a space or a line end?)");
	out->key = kf_strndup(key, len);
	out->authorization = kf_format("Authorization: Bearer %s",
					  out->key);
	return KF_OK;
}

enum kf_code kf_openai_settings_read(struct kf_openai_settings *out,
				     struct kf_err *err)
{
	enum kf_code code;

	*out = (struct kf_openai_settings) { 0 };
	code = read_numbers(out, err);
	if (!code)
		code = read_url(out, err);
	if (!code)
		code = read_key(out, err);
	return code;
}

void kf_openai_settings_release(struct kf_openai_settings *settings)
{
	free(settings->authorization);
	free(settings->key);
	free(settings->url);
	free(settings->service);
	*settings = (struct kf_openai_settings) { 0 };
}
