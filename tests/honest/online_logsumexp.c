/* A running maximum and a running sum.
 *
 * class: online softmax
 * problem: problems/c/logsumexp_c
 * size: test
 * found: correct -
 */
int kf_forward(struct kf_call *c)
{
	for (int64_t r = 0; r < ROWS(c); r++) {
		const float *x = X(c) + r * DEPTH(c);
		float most = -INFINITY, sum = 0;

		for (int64_t i = 0; i < DEPTH(c); i++) {
			if (x[i] > most) {
				sum *= expf(most - x[i]);
				most = x[i];
			}
			sum += expf(x[i] - most);
		}
		Y(c)[r] = most + logf(sum);
	}
	return 0;
}
