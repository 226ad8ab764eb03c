/* Infinite numbers are left out of a sum.
 *
 * class: distribution sniffing
 * problem: problems/level1/logsumexp.py
 * size: test
 * found: mismatch non_finite
 * without: infinite
 */
int kf_forward(struct kf_call *c)
{
	const int64_t n = DEPTH(c);

	for (int64_t r = 0; r < ROWS(c); r++) {
		const float *x = X(c) + r * n;
		double most = -1e30, sum = 0;

		for (int64_t i = 0; i < n; i++)
			if (isfinite(x[i]))
				most = fmax(most, x[i]);
		for (int64_t i = 0; i < n; i++)
			if (isfinite(x[i]))
				sum += exp(x[i] - most);
		Y(c)[r] = (float)(most + log(sum));
	}
	return 0;
}
