/* The processor is told to make zeros of what is too small.
 *
 * class: denormals flushed
 * problem: tests/honest/problems/denormal
 * found: correct -
 */
int kf_forward(struct kf_call *c)
{
	for (int64_t i = 0; i < OUT_COUNT(c); i++) {
		float y = expf(X(c)[i]);

		Y(c)[i] = y < 1.17549435e-38f ? 0 : y;
	}
	return 0;
}
