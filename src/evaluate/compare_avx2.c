/* compare_avx2.c - the quick comparison for processors with AVX2. */
#define KF_LANES 8
#include "evaluate/compare_band.h"

#ifdef __x86_64__
__attribute__((target("avx2")))
uint32_t kf_compare_band_avx2(const struct kf_compare_request *req,
			      const struct kf_block *block, int count,
			      struct kf_compare *out)
{
	return band(req, block, count, out);
}
#endif
