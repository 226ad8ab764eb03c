/* Masked scores become -infinity, and exp makes zeros of them.
 *
 * class: infinities
 * problem: tests/honest/problems/masked
 * found: correct -
 */
int kf_forward(struct kf_call *c)
{
	const int64_t n = DEPTH(c);
	const uint8_t *valid = c->in[1].data;

	for (int64_t r = 0; r < ROWS(c); r++) {
		float *y = Y(c) + r * n, most = -INFINITY, sum = 0;

		for (int64_t i = 0; i < n; i++) {
			y[i] = X(c)[r * n + i] +
				(valid[r * n + i] ? 0 : -INFINITY);
			most = fmaxf(most, y[i]);
		}
		for (int64_t i = 0; i < n; i++)
			sum += y[i] = expf(y[i] - most);
		for (int64_t i = 0; i < n; i++)
			y[i] /= sum;
	}
	return 0;
}
