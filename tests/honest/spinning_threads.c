/* A team of threads that go on spinning after the call, as libgomp's do.
 *
 * class: OpenMP spinning
 * problem: linear
 * found: correct -
 */
int kf_forward(struct kf_call *c)
{
	const int64_t rows = ROWS(c);

#pragma omp parallel for schedule(dynamic)
	for (int64_t r = 0; r < rows; r++)
		linear(X(c) + r * DEPTH(c), W(c), B(c), Y(c) + r * COLS(c), 1,
		       COLS(c), DEPTH(c));
	return 0;
}
