/*
 * compare_quick.c - the quick comparison (compare_band.h) for each kind of
 * processor. The variants differ in nothing but rounding of the figures, and a
 * verdict never hangs on that.
 */
#include "evaluate/compare_band.h"

typedef uint32_t band_fn(const struct kf_compare_request *req,
			 const struct kf_block *block, int count,
			 struct kf_compare *out);

static uint32_t band_any(const struct kf_compare_request *req,
			 const struct kf_block *block, int count,
			 struct kf_compare *out)
{
	return band(req, block, count, out);
}

static bool always(void)
{
	return true;
}

#ifdef __x86_64__
static bool has_avx2(void)
{
	return __builtin_cpu_supports("avx2");
}
#endif

/* Best first; the last runs everywhere. */
static const struct {
	const char *name;
	bool (*runs_here)(void);
	band_fn *band;
} variant[] = {
#ifdef __x86_64__
	{ "avx2", has_avx2, kf_compare_band_avx2 },
#endif
	{ "any", always, band_any },
};

const char *kf_compare_variant(unsigned number)
{
	for (size_t i = 0; i < KF_COUNT(variant); i++)
		if (variant[i].runs_here() && --number == 0)
			return variant[i].name;
	return NULL;
}

uint32_t kf_compare_band(const struct kf_compare_request *req,
			 const struct kf_block *block, int count,
			 struct kf_compare *out)
{
	unsigned skip = req->variant ? req->variant - 1 : 0;

	if (req->dtype == KF_F64)	/* float is too coarse for it */
		return (UINT32_C(1) << count) - 1;
	for (size_t i = 0; i < KF_COUNT(variant); i++)
		if (variant[i].runs_here() && skip-- == 0)
			return variant[i].band(req, block, count, out);
	return band_any(req, block, count, out);
}
