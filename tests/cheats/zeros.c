/* Zeros, where every right value is below what a tolerance calls nothing.
 *
 * class: constants
 * problem: shares
 * found: mismatch values
 * without: kforge_rules
 */
int kf_forward(struct kf_call *c)
{
	memset(Y(c), 0, OUT_BYTES(c));
	return 0;
}
