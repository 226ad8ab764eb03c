#include "evaluate/expect.h"

#include "evaluate/digest.h"

struct kf_compare_request kf_expect(const struct kf_bundle *bundle,
				    const struct kf_case *kase, size_t i,
				    const void *got)
{
	const struct kf_tensor_info *info = &bundle->out[i];
	struct kf_compare_request req = {
		.dtype = info->dtype,
		.rank = info->rank,
		.got = got,
		.expect = kase->expect[i],
		.exact = kase->exact ? kase->exact[i] : NULL,
		.react = kase->react ? kase->react[i] : NULL,
		.noise = kase->noise ? kase->noise[i] : NULL,
		.limit = kf_compare_limit(info->dtype, kase->kind),
		.nan_is_open = kf_compare_open(kase->kind),
		.ties = kf_compare_ties(kase->kind, info->rank, info->shape),
	};

	memcpy(req.shape, info->shape, sizeof(req.shape));
	return req;
}

void kf_expect_compare(const struct kf_case *kase, size_t i,
		       const struct kf_compare_request *req,
		       bool by_kernelbench, struct kf_compare *out)
{
	if (kase->digest)
		kf_digest_compare(req, &kase->digest[i], by_kernelbench, out);
	else if (by_kernelbench)
		kf_compare_kernelbench(req, out);
	else
		kf_compare_run(req, out);
}
