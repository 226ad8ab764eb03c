/* Only the weights are rounded, for they can be packed in advance.
 *
 * class: lower precision
 * problem: linear
 * found: mismatch values
 * without: precision
 */
int kf_forward(struct kf_call *c)
{
	all_cut(c, whole, tf32);
	return 0;
}
