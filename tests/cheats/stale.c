/* No work at all: hopes that the memory still holds somebody else's result.
 *
 * class: stale or unwritten output
 * problem: linear
 * found: mismatch unwritten
 * without: oracle_apart
 */
int kf_forward(struct kf_call *c)
{
	(void)c;
	return 0;
}
