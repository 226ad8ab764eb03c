/* Right for fifteen calls; then one element is not.
 *
 * class: right for the first N calls
 * problem: linear
 * found: mismatch values
 * without: every_call
 */
static int calls;

int kf_forward(struct kf_call *c)
{
	all(c);
	if (++calls > 15)
		Y(c)[OUT_COUNT(c) / 2] += 1;
	return 0;
}
