/* Operands cut to ten bits, which is quicker than rounding.
 *
 * class: lower precision
 * problem: linear
 * found: mismatch values
 * without: precision
 */
static float cut(float x)
{
	return of_bits(bits_of(x) >> 13 << 13);
}

int kf_forward(struct kf_call *c)
{
	all_cut(c, cut, cut);
	return 0;
}
