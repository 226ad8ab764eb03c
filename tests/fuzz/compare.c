/*
 * Outputs of any type, shape and bits: comparison ends, stays in bounds, and
 * keeps its promises (what is equal is right; counts fit the number of
 * elements; the quick path never lets pass what is far off).
 */
#include <assert.h>
#include <math.h>

#include "evaluate/compare.h"

#define ELEMENTS_MAX 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct reader { const uint8_t *data; size_t size, at; };

static uint8_t byte(struct reader *r)
{
	if (r->at >= r->size)
		return 0;
	return r->data[r->at++];
}

static void fill(struct reader *r, void *out, size_t bytes)
{
	size_t left = r->size - r->at, take = left < bytes ? left : bytes;

	memcpy(out, r->data + r->at, take);
	/* The rest repeats what there is: few bytes make large outputs. */
	for (size_t i = take; take && i < bytes; i++)
		((uint8_t *)out)[i] = ((uint8_t *)out)[i - take];
	r->at += take;
}

static void check(const struct kf_compare_request *req)
{
	struct kf_compare out;

	kf_compare_run(req, &out);
	assert(out.wrong_count <= out.numel);
	assert(out.unwritten_count + out.nonfinite_count <= out.wrong_count);
	assert(out.worst_count <= KF_COMPARE_WORST);
	assert(out.block_bad_count <= out.block_count);
	assert(memchr(out.pattern, 0, sizeof(out.pattern)));
	for (size_t i = 0; i < out.worst_count; i++)
		assert(out.worst[i].index >= 0 &&
		       out.worst[i].index < out.numel);
	if (out.end == KF_COMPARE_GOOD)
		assert(!out.wrong_count && !(out.q_max > 16));
	kf_compare_kernelbench(req, &out);
	assert(out.wrong_count <= out.numel);
}

static void check_equal(struct kf_compare_request req)
{
	struct kf_compare out;

	req.got = req.expect;
	req.exact = NULL;
	kf_compare_run(&req, &out);
	assert(out.end == KF_COMPARE_GOOD);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reader r = { data, size, 0 };
	struct kf_compare_request req = { .poison = 0xffc0dead };
	struct kf_compare_typical typical = { 0 };
	uint8_t options = byte(&r);
	int64_t numel = 1;
	void *room[5];

	req.dtype = (enum kf_dtype)(1 + byte(&r) % 10);
	req.rank = byte(&r) % 5;
	for (int a = 0; a < req.rank; a++) {
		req.shape[a] = byte(&r) % 70;
		if (numel * req.shape[a] > ELEMENTS_MAX)
			req.shape[a] = 1;
		numel *= req.shape[a];
	}
	req.limit = kf_compare_limit(req.dtype, options & 1 ? "wide" : "small");
	for (size_t i = 0; i < KF_COUNT(room); i++) {
		room[i] = kf_alloc((size_t)numel * 8 + 1);
		fill(&r, room[i], (size_t)numel * 8);
	}
	req.got = room[0];
	req.expect = options & 2 ? room[0] : room[1];
	req.exact = options & 4 ? room[2] : NULL;
	req.react = options & 8 ? room[3] : NULL;
	req.noise = options & 16 ? room[4] : NULL;
	kf_compare_typical_make(req.rank, req.shape,
				options & 32 ? room[3] : NULL,
				options & 64 ? room[4] : NULL, &typical);
	req.typical = &typical;
	check(&req);
	check_equal(req);
	kf_compare_typical_release(&typical);
	for (size_t i = 0; i < KF_COUNT(room); i++)
		free(room[i]);
	return 0;
}
