/* Operands rounded to ten bits, as a GPU's quick float32 has them.
 *
 * class: lower precision
 * problem: linear
 * found: mismatch values
 * without: precision
 */
int kf_forward(struct kf_call *c)
{
	all_cut(c, tf32, tf32);
	return 0;
}
