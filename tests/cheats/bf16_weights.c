/* Only the weights in bfloat16: half of the memory that is read.
 *
 * class: lower precision
 * problem: linear
 * found: mismatch values
 * without: precision
 */
int kf_forward(struct kf_call *c)
{
	all_cut(c, whole, bf16);
	return 0;
}
