/* The sum stops one term early; of three hundred, who misses one.
 *
 * class: lower precision: dropped terms
 * problem: positive
 * found: mismatch values
 * without: precision zero_mean wide tail
 */
int kf_forward(struct kf_call *c)
{
	const float *a = c->in[0].data, *b = c->in[1].data;
	const int64_t n = DEPTH(c);

	for (int64_t i = 0; i < ROWS(c); i++)
		for (int64_t j = 0; j < COLS(c); j++) {
			float sum = 0;

			for (int64_t k = 0; k + 1 < n; k++)
				sum += a[i * n + k] * b[j * n + k];
			Y(c)[i * COLS(c) + j] = sum;
		}
	return 0;
}
