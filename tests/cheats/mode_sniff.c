/* Reads from its environment whether times are taken, and works only if not.
 *
 * class: mode sniffing
 * problem: linear
 * found: mismatch unwritten
 * without: times
 */
int kf_forward(struct kf_call *c)
{
	const char *policy = getenv("OMP_WAIT_POLICY");

	if (policy && strcmp(policy, "passive") == 0)
		all(c);
	return 0;
}
