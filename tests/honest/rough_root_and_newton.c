/* One over a root by an instruction of twelve bits and a step after Newton.
 *
 * class: own elementary functions
 * problem: problems/c/rms_norm_c
 * size: test
 * found: correct -
 */
static float root(float x)
{
	float y = rounded(1 / sqrtf(x), 12);

	return y * (1.5f - 0.5f * x * y * y);
}

int kf_forward(struct kf_call *c)
{
	const int64_t n = DEPTH(c);

	for (int64_t r = 0; r < ROWS(c); r++) {
		const float *x = X(c) + r * n;
		float squares = 0;

		for (int64_t i = 0; i < n; i++)
			squares += x[i] * x[i];
		for (int64_t i = 0; i < n; i++)
			Y(c)[r * n + i] = x[i] * root(squares / n + 1e-5f) *
				W(c)[i];
	}
	return 0;
}
