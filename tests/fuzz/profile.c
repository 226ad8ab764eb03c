/* profile.c - whatever a tool left: no reader trips, what is told is finite,
 * what is kept can be read back, and the page stays a page. The first byte
 * chooses the reader. */
#include <math.h>

#include "profile/read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static kf_profile_read_fn *reader_of(uint8_t letter)
{
	static const struct { uint8_t letter; kf_profile_read_fn *reader; }
	rows[] = {
		{ 'p', kf_read_perf }, { 'c', kf_read_callgrind },
		{ 'n', kf_read_ncu }, { 's', kf_read_nsys },
		{ 'l', kf_read_launches }, { 't', kf_read_table },
		{ 'k', kf_read_compiler },
	};

	for (size_t i = 0; i < KF_COUNT(rows); i++)
		if (rows[i].letter == letter)
			return rows[i].reader;
	return rows[letter % KF_COUNT(rows)].reader;
}

static void check_values(const struct kf_profile *p)
{
	if (p->end == KF_PROFILE_NONE || p->end >= KF_PROFILE_ENDS ||
	    p->metrics.count > KF_METRICS_MAX ||
	    p->kernel_count > KF_PROFILE_KERNELS_MAX)
		abort();
	for (size_t i = 0; i < p->metrics.count; i++)
		if (!isfinite(p->metrics.metric[i].value))
			abort();
}

static void check_json(const struct kf_profile *p)
{
	struct kf_profile back;
	json_t *json = kf_profile_json(p), *again;
	char *text = kf_json_text(json);

	if (!text || kf_profile_from_json(json, &back, NULL))
		abort();
	again = kf_profile_json(&back);
	if (back.metrics.count > p->metrics.count || !again)
		abort();
	json_decref(again);
	json_decref(json);
	free(text);
	kf_profile_release(&back);
}

static void check_page(const struct kf_profile *p)
{
	struct kf_buf page = { .max = 1u << 20 };

	if (kf_profile_reduce(p, NULL, &page) >= KF_CLASSES ||
	    page.len > KF_PROFILE_PAGE_BYTES)
		abort();
	kf_buf_release(&page);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kf_profile p = { .call_count = 3 };
	char *text;

	if (!size)
		return 0;
	text = kf_strndup((const char *)data + 1, size - 1);
	reader_of(data[0])(&(struct kf_profile_bytes) {
		(const char *)data + 1, size - 1, text,
	}, &p);
	check_values(&p);
	check_json(&p);
	check_page(&p);
	kf_profile_release(&p);
	free(text);
	return 0;
}
