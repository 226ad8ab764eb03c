#include "base/laps.h"

#include <assert.h>

#define TOLD_PART 1000

static void add(struct kf_laps *laps, const char *name, uint64_t ns)
{
	size_t i = 0;

	while (i < laps->count && strcmp(laps->lap[i].name, name) != 0)
		i++;
	assert(i < KF_LAPS_MAX);
	if (i == laps->count)
		laps->lap[laps->count++].name = name;
	laps->lap[i].ns += ns;
}

void kf_laps_begin(struct kf_laps *laps)
{
	laps->since_ns = kf_now_ns();
}

void kf_laps_end(struct kf_laps *laps, const char *name)
{
	uint64_t now_ns = kf_now_ns();

	add(laps, name, now_ns - laps->since_ns);
	laps->since_ns = now_ns;
}

void kf_laps_add(struct kf_laps *laps, const struct kf_laps *other)
{
	for (size_t i = 0; i < other->count; i++)
		add(laps, other->lap[i].name, other->lap[i].ns);
}

void kf_laps_text(const struct kf_laps *laps, char out[KF_LAPS_TEXT])
{
	uint64_t all_ns = 0;
	char time[32];
	size_t len = 0;

	out[0] = '\0';
	for (size_t i = 0; i < laps->count; i++)
		all_ns += laps->lap[i].ns;
	for (size_t i = 0; i < laps->count && len < KF_LAPS_TEXT; i++) {
		if (laps->lap[i].ns <= all_ns / TOLD_PART)
			continue;
		len += (size_t)snprintf(out + len, KF_LAPS_TEXT - len,
					"%s%s %s", len ? ", " : "",
					laps->lap[i].name,
					kf_time_words((double)laps->lap[i].ns,
						      3, time));
	}
}
