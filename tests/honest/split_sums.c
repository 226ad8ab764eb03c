/* Eight sums side by side, added up at the end.
 *
 * class: split accumulation
 * problem: problems/c/matmul_odd_c
 * size: test
 * found: correct -
 */
int kf_forward(struct kf_call *c)
{
	const float *a = c->in[0].data, *b = c->in[1].data;
	const int64_t rows = ROWS(c), inner = DEPTH(c), n = COLS(c);

	for (int64_t r = 0; r < rows; r++)
		for (int64_t i = 0; i < n; i++) {
			float part[8] = { 0 }, sum = 0;

			for (int64_t k = 0; k < inner; k++)
				part[k % 8] += a[r * inner + k] * b[k * n + i];
			for (int k = 0; k < 8; k++)
				sum += part[k];
			Y(c)[r * n + i] = (float)sum;
		}
	return 0;
}
