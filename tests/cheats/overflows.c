/* exp without the largest score taken off: right as long as scores are like the
 * problem's own.
 *
 * class: distribution sniffing
 * problem: problems/c/logsumexp_c
 * size: test
 * found: mismatch non_finite
 * without: wide tail large
 */
int kf_forward(struct kf_call *c)
{
	for (int64_t r = 0; r < ROWS(c); r++) {
		float sum = 0;

		for (int64_t i = 0; i < DEPTH(c); i++)
			sum += expf(X(c)[r * DEPTH(c) + i]);
		Y(c)[r] = logf(sum);
	}
	return 0;
}
