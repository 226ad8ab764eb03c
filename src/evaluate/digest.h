/*
 * digest.h - is an output right of which a condensed bundle keeps windows and
 * sums (docs/judging.md, "Condensed bundles")? Pure; on all processors.
 *
 * The windows are judged as compare.h says, in blocks of 1,024 consecutive
 * elements. Everywhere, for each chunk and each of its sums
 *
 *	|sum of signs * c - sum of signs * r| <= 8 T scale
 *
 * must hold, scale being the root of the chunk's sum of sigma^2. Signs are
 * random and secret: what errors of a relative size of T add up to passes it
 * but once in 10^13, and a single element must not be off by more than 8 T 64
 * times the chunk's usual sigma. Where there may be ties (compare.h), one chunk
 * in 64, or any where windows hold all elements, may be off by up to 16 scale.
 */
#ifndef KF_EVALUATE_DIGEST_H
#define KF_EVALUATE_DIGEST_H

#include "evaluate/compare.h"
#include "problem/problem.h"

/* req is of the whole output, but for expect, exact, react, noise and typical,
 * which are of the windows. KernelBench's rule is asked of windows alone. In
 * *out, wrong_count is of windows, but for elements that are unwritten or no
 * numbers; block_count and block_bad_count include the chunks. */
void kf_digest_compare(const struct kf_compare_request *req,
		       const struct kf_digest *digest, bool by_kernelbench,
		       struct kf_compare *out);

/* How many expected values there are: of all elements without a digest, else
 * of windows; and where the k-th of them lies in the output. digest may be
 * NULL. */
int64_t kf_expect_count(const struct kf_tensor_info *info,
			const struct kf_digest *digest);
int64_t kf_digest_place(const struct kf_digest *digest, int64_t k);

/* What makers of bundles share with it, so that both add up alike: one chunk of
 * numel elements as double, filled up with zeros; the signs as double, which
 * the caller frees; the chunk's sums with them. */
void kf_digest_read(enum kf_dtype dtype, const void *data, int64_t numel,
		    int64_t chunk, double value[KF_CHUNK]);
double *kf_digest_signs(const int8_t *signs);
void kf_digest_sum(const double value[KF_CHUNK], const double *sign,
		   double sum[KF_CHUNK_SUMS]);

#endif
