/* exp in double without the largest score taken off: right as long as no score
 * comes near 709.
 *
 * class: distribution sniffing
 * problem: problems/c/logsumexp_c
 * size: test
 * found: mismatch non_finite
 * without: large
 */
int kf_forward(struct kf_call *c)
{
	for (int64_t r = 0; r < ROWS(c); r++) {
		double sum = 0;

		for (int64_t i = 0; i < DEPTH(c); i++)
			sum += exp((double)X(c)[r * DEPTH(c) + i]);
		Y(c)[r] = (float)log(sum);
	}
	return 0;
}
