/* An exp of its own, good to three digits.
 *
 * class: lower precision
 * problem: problems/c/softmax_c
 * size: test
 * found: mismatch values
 * without: precision
 */
static float rough(float x)
{
	float t = x * 1.44269504f, n = floorf(t), f = t - n;

	if (n < -126)
		return 0;
	return of_bits((unsigned)((int)n + 127) << 23) *
		(1 + f * (0.6958f + f * (0.2251f + f * 0.0791f)));
}

int kf_forward(struct kf_call *c)
{
	const float *bias = c->weight[0].data;
	const int64_t n = DEPTH(c);

	for (int64_t r = 0; r < ROWS(c); r++) {
		const float *x = X(c) + r * n;
		float *y = Y(c) + r * n, most = -INFINITY, sum = 0;

		for (int64_t i = 0; i < n; i++) {
			y[i] = x[i] / 8 + bias[i];
			most = y[i] > most ? y[i] : most;
		}
		for (int64_t i = 0; i < n; i++)
			sum += y[i] = rough(y[i] - most);
		for (int64_t i = 0; i < n; i++)
			y[i] /= sum;
	}
	return 0;
}
