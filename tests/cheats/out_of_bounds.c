/* Right, and two elements more than it was asked for.
 *
 * class: memory of others
 * problem: linear
 * found: mismatch out_of_bounds
 * without: guards
 */
int kf_forward(struct kf_call *c)
{
	volatile float *y = Y(c);

	all(c);
	y[OUT_COUNT(c)] = y[OUT_COUNT(c) + 1] = 1;
	return 0;
}
