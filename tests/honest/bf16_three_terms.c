/* Each operand as the sum of three bfloat16 numbers, six products of those.
 *
 * class: three-term bf16
 * problem: problems/c/matmul_odd_c
 * size: test
 * found: correct -
 */
static void parts(float x, float out[3])
{
	for (int i = 0; i < 3; i++) {
		out[i] = bf16(x);
		x -= out[i];
	}
}

int kf_forward(struct kf_call *c)
{
	const float *a = c->in[0].data, *b = c->in[1].data;
	const int64_t rows = ROWS(c), inner = DEPTH(c), n = COLS(c);

	for (int64_t r = 0; r < rows; r++)
		for (int64_t i = 0; i < n; i++) {
			float sum = 0, low = 0;

			for (int64_t k = 0; k < inner; k++) {
				float p[3], q[3];

				parts(a[r * inner + k], p);
				parts(b[k * n + i], q);
				sum += p[0] * q[0];
				low += p[0] * q[1] + p[1] * q[0] +
					(p[1] * q[1] + p[0] * q[2] +
					 p[2] * q[0]);
			}
			sum += low;
			Y(c)[r * n + i] = (float)sum;
		}
	return 0;
}
