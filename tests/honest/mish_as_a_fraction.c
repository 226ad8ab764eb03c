/* tanh(log(1 + e)) is ((1 + e)^2 - 1) / ((1 + e)^2 + 1), without a logarithm.
 *
 * class: other formulas
 * problem: problems/c/mish_c
 * size: test
 * found: correct -
 */
int kf_forward(struct kf_call *c)
{
	const int64_t n = DEPTH(c);

	for (int64_t i = 0; i < OUT_COUNT(c); i++) {
		float x = X(c)[i], s = W(c)[i % n] * x;
		float e = expf(s < 20 ? s : 20), m = e * (e + 2);

		Y(c)[i] = s < 20 ? x * (m / (m + 2)) : x;
	}
	return 0;
}
