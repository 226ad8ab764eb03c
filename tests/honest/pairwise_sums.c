/* Halves of halves.
 *
 * class: reordered sums
 * problem: problems/c/matmul_odd_c
 * size: test
 * found: correct -
 */
static float pairwise(const float *a, const float *b, int64_t n, int64_t count)
{
	int64_t half = count / 2;

	if (count == 1)
		return a[0] * b[0];
	return pairwise(a, b, n, half) +
		pairwise(a + half, b + half * n, n, count - half);
}

int kf_forward(struct kf_call *c)
{
	const float *a = c->in[0].data, *b = c->in[1].data;
	const int64_t rows = ROWS(c), inner = DEPTH(c), n = COLS(c);

	for (int64_t r = 0; r < rows; r++)
		for (int64_t i = 0; i < n; i++) {
			float sum = pairwise(a + r * inner, b + i, n, inner);
			Y(c)[r * n + i] = (float)sum;
		}
	return 0;
}
