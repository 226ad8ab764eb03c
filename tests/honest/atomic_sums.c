/* Threads add their parts of each sum to it as they come, in any order.
 *
 * class: atomics
 * problem: linear
 * found: correct -
 */
int kf_forward(struct kf_call *c)
{
	const int64_t rows = ROWS(c), cols = COLS(c), depth = DEPTH(c);
	float *y = Y(c);

	for (int64_t i = 0; i < rows * cols; i++)
		y[i] = B(c)[i % cols];
#pragma omp parallel for collapse(2)
	for (int64_t k = 0; k < depth; k += 25)
		for (int64_t i = 0; i < rows * cols; i++) {
			float sum = 0;

			for (int64_t d = k; d < k + 25 && d < depth; d++)
				sum += X(c)[i / cols * depth + d] *
					W(c)[i % cols * depth + d];
#pragma omp atomic
			y[i] += sum;
		}
	relu(y, rows * cols);
	return 0;
}
