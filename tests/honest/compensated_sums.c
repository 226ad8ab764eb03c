/* Sums after Kahan, in float32.
 *
 * class: more accurate than the reference
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
			volatile float sum = 0, lost = 0;

			for (int64_t k = 0; k < inner; k++) {
				volatile float term = a[r * inner + k] *
					b[k * n + i] - lost;
				volatile float next = sum + term;

				lost = next - sum;
				lost = lost - term;
				sum = next;
			}
			Y(c)[r * n + i] = (float)sum;
		}
	return 0;
}
