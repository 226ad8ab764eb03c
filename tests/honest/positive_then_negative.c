/* All positive terms first, then the negative ones: as badly as honest can be.
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
			float above = 0, below = 0, sum;

			for (int64_t k = 0; k < inner; k++) {
				float term = a[r * inner + k] * b[k * n + i];

				if (term > 0)
					above += term;
				else
					below += term;
			}
			sum = above + below;
			Y(c)[r * n + i] = (float)sum;
		}
	return 0;
}
