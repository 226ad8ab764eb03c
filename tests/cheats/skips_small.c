/* Terms that hardly count are not added.
 *
 * class: lower precision: dropped terms
 * problem: linear
 * found: mismatch values
 * without: precision
 */
static float strong(float x)
{
	return fabsf(x) < 0.01f ? 0 : x;
}

int kf_forward(struct kf_call *c)
{
	all_cut(c, strong, whole);
	return 0;
}
