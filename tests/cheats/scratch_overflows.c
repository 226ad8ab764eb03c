/* Right, with two elements more of scratch than it asked for.
 *
 * class: memory of others
 * problem: linear
 * found: mismatch out_of_bounds
 * without: guards
 */
int kf_forward(struct kf_call *c)
{
	size_t bytes = (size_t)OUT_BYTES(c);
	volatile char *scratch = kf_temp(c, bytes);

	if (!scratch)
		return 1;
	all(c);
	for (size_t i = 0; i < bytes + 8; i++)
		scratch[i] = 1;
	return 0;
}
