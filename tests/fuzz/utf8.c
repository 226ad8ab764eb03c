/* utf8.c - whatever the bytes, what comes out is UTF-8 and keeps its ceiling */
#include <stdint.h>

#include "base/base.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool promise)
{
	if (!promise)
		abort();
}

/* Cleaning and repairing again must find nothing to do. */
static void check_whole(const char *bytes, size_t len)
{
	struct kf_buf once = { .max = 3 * len + 1 };
	struct kf_buf twice = { .max = 3 * len + 1 };

	kf_utf8_clean(bytes, len, &once);
	require(strlen(kf_buf_str(&once)) == once.len);
	kf_utf8_clean(kf_buf_str(&once), once.len, &twice);
	require(strcmp(kf_buf_str(&once), kf_buf_str(&twice)) == 0);
	kf_buf_clear(&twice);
	require(kf_utf8_repair(kf_buf_str(&once), once.len, &twice));
	require(strcmp(kf_buf_str(&once), kf_buf_str(&twice)) == 0);
	kf_buf_release(&once);
	kf_buf_release(&twice);
}

/* A text that is cut is still UTF-8: repairing it changes nothing. */
static void check_cut(const char *bytes, size_t len, size_t max)
{
	struct kf_buf cut = { .max = max }, again = { .max = max };

	kf_utf8_clean(bytes, len, &cut);
	require(cut.len <= max);
	require(kf_utf8_cut(kf_buf_str(&cut), cut.len) == cut.len);
	require(kf_utf8_repair(kf_buf_str(&cut), cut.len, &again));
	require(strcmp(kf_buf_str(&cut), kf_buf_str(&again)) == 0);
	kf_buf_release(&cut);
	kf_buf_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1)
		return 0;
	check_whole((const char *)data + 1, size - 1);
	check_cut((const char *)data + 1, size - 1, data[0]);
	return 0;
}
