/* The same with what is too small for a normal number, rounded as it comes.
 *
 * class: denormals kept
 * problem: tests/honest/problems/denormal
 * found: correct -
 */
int kf_forward(struct kf_call *c)
{
	for (int64_t i = 0; i < OUT_COUNT(c); i++)
		Y(c)[i] = (float)exp(X(c)[i]);
	return 0;
}
