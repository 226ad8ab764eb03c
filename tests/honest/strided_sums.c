/* Every seventh term, then those after them, and so on.
 *
 * class: reordered sums
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
			float sum = 0;

			for (int64_t first = 0; first < 7; first++)
				for (int64_t k = first; k < inner; k += 7)
					sum += a[r * inner + k] * b[k * n + i];
			Y(c)[r * n + i] = (float)sum;
		}
	return 0;
}
