/* One pass over the scores; the sum is scaled again when a larger one comes.
 *
 * class: online softmax
 * problem: problems/c/softmax_c
 * size: test
 * found: correct -
 */
int kf_forward(struct kf_call *c)
{
	const float *bias = c->weight[0].data;
	const int64_t n = DEPTH(c);

	for (int64_t r = 0; r < ROWS(c); r++) {
		const float *x = X(c) + r * n;
		float most = -INFINITY, sum = 0;

		for (int64_t i = 0; i < n; i++) {
			float now = x[i] * 0.125f + bias[i];
			float next = now > most ? now : most;

			sum = sum * expf(most - next) + expf(now - next);
			most = next;
		}
		for (int64_t i = 0; i < n; i++)
			Y(c)[r * n + i] = expf(x[i] * 0.125f + bias[i] - most) /
				sum;
	}
	return 0;
}
