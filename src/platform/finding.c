/* See finding.h. */
#include "platform/finding.h"

#include "base/base.h"

bool kf_finding_after(const char *text, const char *mark, const char *end,
		      char *out, size_t size)
{
	const char *at = strstr(text, mark);
	size_t len;

	out[0] = '\0';
	if (!at)
		return false;
	at += strlen(mark);
	at += strspn(at, " ");
	len = strcspn(at, end);
	if (len > strcspn(at, "\n"))
		len = strcspn(at, "\n");
	while (len && at[len - 1] == ' ')
		len--;
	snprintf(out, size, "%.*s", (int)(len < size ? len : size - 1), at);
	return true;
}

unsigned kf_finding_number(const char *text, const char *mark)
{
	char digits[16];
	uint64_t number;

	if (!kf_finding_after(text, mark, " )\t", digits, sizeof(digits)) ||
	    !kf_parse_u64(digits, &number) || number > UINT32_MAX)
		return 0;
	return (unsigned)number;
}

static bool begins(const char *text, const char *word)
{
	return strncmp(text, word, strlen(word)) == 0;
}

const char *kf_finding_line(const char *log, const char *prefix,
			    const char *const *words)
{
	while (*log) {
		const char *text = log + strlen(prefix);

		if (begins(log, prefix))
			for (size_t i = 0; words[i]; i++)
				if (begins(text, words[i]))
					return text;
		log += strcspn(log, "\n");
		log += *log == '\n';
	}
	return NULL;
}
