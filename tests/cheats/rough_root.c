/* One over a root with the twelve bits that an instruction gives.
 *
 * class: lower precision
 * problem: norm
 * found: mismatch values
 * without: precision
 */
static float rough(float x)
{
	return rounded(1 / sqrtf(x), 12);
}

int kf_forward(struct kf_call *c)
{
	const int64_t n = DEPTH(c);

	for (int64_t r = 0; r < ROWS(c); r++) {
		const float *x = X(c) + r * n;
		float mean = 0, variance = 0;

		for (int64_t i = 0; i < n; i++)
			mean += x[i] / n;
		for (int64_t i = 0; i < n; i++)
			variance += (x[i] - mean) * (x[i] - mean) / n;
		for (int64_t i = 0; i < n; i++)
			Y(c)[r * n + i] = (x[i] - mean) *
				rough(variance + 1e-5f) * W(c)[i] + B(c)[i];
	}
	return 0;
}
