/* Softmax with an exponential of its own, good to the last bits of float32.
 *
 * class: own elementary functions
 * problem: problems/c/softmax_c
 * size: test
 * found: correct -
 */
static float own(float x)
{
	float n = rintf(x * 1.442695041f), f, p;

	if (x < -87)
		return 0;
	f = fmaf(n, -0.693145752f, x);
	f = fmaf(n, -1.42860677e-6f, f);
	p = 1.38888889e-3f;
	p = fmaf(p, f, 8.33333333e-3f);
	p = fmaf(p, f, 4.16666667e-2f);
	p = fmaf(p, f, 1.66666667e-1f);
	p = fmaf(p, f, 0.5f);
	p = fmaf(p, f, 1);
	p = fmaf(p, f, 1);
	return of_bits(((unsigned)((int)n + 127)) << 23) * p;
}

int kf_forward(struct kf_call *c)
{
	const float *bias = c->weight[0].data;
	const int64_t n = DEPTH(c);

	for (int64_t r = 0; r < ROWS(c); r++) {
		const float *x = X(c) + r * n;
		float *y = Y(c) + r * n, most = -INFINITY, sum = 0;

		for (int64_t i = 0; i < n; i++) {
			y[i] = x[i] * 0.125f + bias[i];
			most = y[i] > most ? y[i] : most;
		}
		for (int64_t i = 0; i < n; i++)
			sum += y[i] = own(y[i] - most);
		for (int64_t i = 0; i < n; i++)
			y[i] *= 1 / sum;
	}
	return 0;
}
