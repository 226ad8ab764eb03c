/* Mean and variance in one pass, after Welford.
 *
 * class: reordered sums
 * problem: problems/c/variance_c
 * size: test
 * found: correct -
 */
int kf_forward(struct kf_call *c)
{
	const int64_t rows = ROWS(c), n = DEPTH(c);

	for (int64_t i = 0; i < n; i++) {
		float mean = 0, squares = 0;

		for (int64_t r = 0; r < rows; r++) {
			float x = X(c)[r * n + i], away = x - mean;

			mean += away / (float)(r + 1);
			squares += away * (x - mean);
		}
		Y(c)[i] = mean;
		((float *)c->out[1].data)[i] = squares / (float)(rows - 1);
	}
	return 0;
}
