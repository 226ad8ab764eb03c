/* Running sums by blocks of sixteen, their totals added afterwards.
 *
 * class: reordered sums
 * problem: problems/c/cumsum_c
 * size: test
 * found: correct -
 */
enum { BLOCK = 16 };

int kf_forward(struct kf_call *c)
{
	const int64_t batch = c->in[0].shape[0], steps = c->in[0].shape[1];
	const int64_t n = c->in[0].shape[2];

	for (int64_t lane = 0; lane < batch * n; lane++) {
		int64_t start = lane / n * steps * n + lane % n;
		float before = 0;

		for (int64_t t = 0; t < steps; t += BLOCK) {
			int64_t end = t + BLOCK < steps ? t + BLOCK : steps;
			float sum = 0;

			for (int64_t i = t; i < end; i++) {
				sum += X(c)[start + i * n];
				Y(c)[start + i * n] = before + sum;
			}
			before += sum;
		}
	}
	return 0;
}
