/*
 * An event stream in any bytes, cut in any way, gives the same events. The
 * first byte chooses the cutting.
 */
#include "provider/sse.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static bool write_down(void *arg, const char *name, const char *data,
		       size_t len)
{
	struct kf_buf *seen = arg;

	kf_buf_printf(seen, "%s|%zu|", name, len);
	kf_buf_add(seen, data, len);
	return len != 7;
}

static struct kf_buf parse(const char *bytes, size_t len, struct kf_rng *cut)
{
	struct kf_buf seen = { .max = 1u << 24 };
	struct kf_sse sse;
	size_t at = 0;

	kf_sse_init(&sse, write_down, &seen);
	while (at < len) {
		size_t n = cut ? 1 + kf_rng_below(cut, 16) : len;

		if (n > len - at)
			n = len - at;
		if (!kf_sse_feed(&sse, bytes + at, n))
			break;
		at += n;
	}
	kf_sse_end(&sse);
	kf_sse_release(&sse);
	return seen;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct kf_rng cut = { len ? bytes[0] : 0 };
	struct kf_buf whole, pieces;

	if (!len)
		return 0;
	whole = parse((const char *)bytes + 1, len - 1, NULL);
	pieces = parse((const char *)bytes + 1, len - 1, &cut);
	if (whole.len != pieces.len ||
	    memcmp(kf_buf_str(&whole), kf_buf_str(&pieces), whole.len))
		abort();
	kf_buf_release(&whole);
	kf_buf_release(&pieces);
	return 0;
}
