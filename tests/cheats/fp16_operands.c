/* Operands in half precision, as long as they are in its range.
 *
 * class: lower precision
 * problem: linear
 * found: mismatch values
 * without: precision
 */
static float half(float x)
{
	return fabsf(x) < 65504 ? (float)(_Float16)x : x;
}

int kf_forward(struct kf_call *c)
{
	all_cut(c, half, half);
	return 0;
}
