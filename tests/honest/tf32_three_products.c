/* Each operand as two numbers of ten bits, three products of those.
 *
 * class: split operands
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
			float sum = 0, low = 0;

			for (int64_t k = 0; k < inner; k++) {
				float x = a[r * inner + k], y = b[k * n + i];
				float p = tf32(x), q = tf32(y);

				sum += p * q;
				low += p * tf32(y - q) + tf32(x - p) * q;
			}
			sum += low;
			Y(c)[r * n + i] = (float)sum;
		}
	return 0;
}
