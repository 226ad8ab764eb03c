/* Sums and sums of squares, each less the first row, in one pass.
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
		double sum = 0, squares = 0, first = X(c)[i];

		for (int64_t r = 0; r < rows; r++) {
			double x = X(c)[r * n + i] - first;

			sum += x;
			squares += x * x;
		}
		Y(c)[i] = (float)(first + sum / (double)rows);
		((float *)c->out[1].data)[i] = (float)((squares - sum * sum /
			(double)rows) / (double)(rows - 1));
	}
	return 0;
}
