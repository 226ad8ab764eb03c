#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "provider/sse.h"

/* Events as text: "name|data;" for each. */
static bool write_down(void *arg, const char *name, const char *data,
		       size_t len)
{
	struct kf_buf *seen = arg;

	kf_buf_printf(seen, "%s|", name);
	kf_buf_add(seen, data, len);
	kf_buf_puts(seen, ";");
	return strcmp(name, "stop") != 0;
}

/* Feeds len bytes in pieces of at most step bytes; 0: of random sizes. */
static struct kf_buf parse(const char *bytes, size_t len, size_t step,
			   struct kf_rng *rng)
{
	struct kf_buf seen = { .max = 1u << 20 };
	struct kf_sse sse;

	kf_sse_init(&sse, write_down, &seen);
	for (size_t i = 0; i < len;) {
		size_t n = step ? step : 1 + kf_rng_below(rng, 9);

		if (n > len - i)
			n = len - i;
		kf_sse_feed(&sse, bytes + i, n);
		i += n;
	}
	kf_sse_end(&sse);
	kf_sse_release(&sse);
	return seen;
}

static void test_streams_become_events(void **state)
{
	static const struct { const char *bytes, *events; } rows[] = {
		{ "data: a\n\n", "|a;" },
		{ "data:a\n\ndata: b\n\n", "|a;|b;" },
		{ "data:  a \n\n", "| a ;" },
		{ "data: a\ndata: b\n\n", "|a\nb;" },
		{ "data\n\n", "|;" },
		{ "data:\ndata:\n\n", "|\n;" },
		{ "event: ping\ndata: a\n\ndata: b\n\n", "ping|a;|b;" },
		{ "event: ping\n\ndata: b\n\n", "|b;" },
		{ "event: 0123456789012345678901234567890123456789\ndata: b\n\n",
		  "0123456789012345678901234567890|b;" },
		{ ": comment\n\n:\n\ndata: a\n\n", "|a;" },
		{ "id: 4\nretry: 10\nother: x\ndatas: y\n\n", "" },
		{ "data: a\r\n\r\ndata: b\r\n\r\n", "|a;|b;" },
		{ "event: x\r\ndata: a\r\ndata: b\r\n\r\n", "x|a\nb;" },
		{ "data: a\r\rdata: b\r\r", "|a;|b;" },
		{ "data: a\r\n\rdata: b\n\r\n", "|a;|b;" },
		{ "\xef\xbb\xbf" "data: a\n\n", "|a;" },
		{ "\xef\xbb" "data: a\n\ndata: b\n\n", "|b;" },
		{ "data: \xef\xbb\xbf\n\n", "|\xef\xbb\xbf;" },
		{ "data: a", "|a;" },
		{ "data: a\n", "|a;" },
		{ "data: a\n\ndat", "|a;" },
		{ "event: stop\ndata: a\n\ndata: b\n\n", "stop|a;" },
		{ "", "" },
		{ "\n\n\n", "" },
	};

	(void)state;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		size_t len = strlen(rows[i].bytes);

		for (size_t step = 1; step <= len + 1; step++) {
			struct kf_buf seen = parse(rows[i].bytes, len, step,
						   NULL);

			if (strcmp(kf_buf_str(&seen), rows[i].events))
				fail_msg("row %zu in steps of %zu: %s", i,
					 step, kf_buf_str(&seen));
			kf_buf_release(&seen);
		}
	}
}

/* A stream of random pieces, chosen to meet every branch often. */
static struct kf_buf random_stream(struct kf_rng *rng)
{
	static const char *const piece[] = {
		"data: ", "data", "event: ", ":", " ", "\n", "\r", "\r\n",
		"\n\n", "x", "\xef\xbb\xbf", "\xef", "{\"a\":1}", "stop", "id",
	};
	struct kf_buf stream = { .max = 4096 };
	size_t count = kf_rng_below(rng, 40);

	for (size_t i = 0; i < count; i++)
		kf_buf_puts(&stream, piece[kf_rng_below(rng,
							KF_COUNT(piece))]);
	return stream;
}

static void test_events_are_the_same_however_cut(void **state)
{
	struct kf_rng rng = { 20261127 };

	(void)state;
	for (int round = 0; round < 3000; round++) {
		struct kf_buf stream = random_stream(&rng);
		const char *bytes = kf_buf_str(&stream);
		struct kf_buf whole = parse(bytes, stream.len, 4096, NULL);
		struct kf_buf one = parse(bytes, stream.len, 1, NULL);
		struct kf_buf some = parse(bytes, stream.len, 0, &rng);

		assert_string_equal(kf_buf_str(&one), kf_buf_str(&whole));
		assert_string_equal(kf_buf_str(&some), kf_buf_str(&whole));
		kf_buf_release(&stream);
		kf_buf_release(&whole);
		kf_buf_release(&one);
		kf_buf_release(&some);
	}
}

static void test_an_event_has_a_ceiling(void **state)
{
	struct kf_buf seen = { .max = 100 };
	char line[1000];
	struct kf_sse sse;
	size_t fed = 0;

	(void)state;
	memset(line, 'x', sizeof(line));
	memcpy(line, "data: ", 6);
	line[sizeof(line) - 1] = '\n';
	kf_sse_init(&sse, write_down, &seen);
	sse.data.max = 10000;
	while (kf_sse_feed(&sse, line, sizeof(line)) && fed < 20000)
		fed += sizeof(line);
	assert_true(sse.too_large);
	assert_in_range(fed, 9000, 11000);
	assert_int_equal(seen.len, 0);
	kf_sse_release(&sse);
	kf_sse_init(&sse, write_down, &seen);
	sse.line.max = 500;
	assert_false(kf_sse_feed(&sse, line, sizeof(line)));
	assert_true(sse.too_large);
	kf_sse_end(&sse);
	assert_int_equal(seen.len, 0);
	kf_sse_release(&sse);
	kf_buf_release(&seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_streams_become_events),
		cmocka_unit_test(test_events_are_the_same_however_cut),
		cmocka_unit_test(test_an_event_has_a_ceiling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
