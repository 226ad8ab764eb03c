/* Multiplies by reciprocals, and adds the mean as a term of its own.
 *
 * class: other formulas
 * problem: problems/c/layer_norm_c
 * size: test
 * found: correct -
 */
int kf_forward(struct kf_call *c)
{
	const float *residual = c->in[1].data, *gain = c->weight[0].data;
	const float *shift = c->weight[1].data;
	const int64_t n = DEPTH(c);
	const float each = 1 / (float)n;

	for (int64_t r = 0; r < ROWS(c); r++) {
		float *y = Y(c) + r * n, mean = 0, squares = 0, scale;

		for (int64_t i = 0; i < n; i++) {
			y[i] = X(c)[r * n + i] + residual[r * n + i];
			mean += y[i] * each;
		}
		for (int64_t i = 0; i < n; i++)
			squares += (y[i] - mean) * (y[i] - mean) * each;
		scale = 1 / sqrtf(squares + 1e-5f);
		for (int64_t i = 0; i < n; i++)
			y[i] = fmaf(y[i], scale * gain[i],
				    fmaf(-mean * scale, gain[i], shift[i]));
	}
	return 0;
}
