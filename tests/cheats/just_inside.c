/* Off by as much as a tolerance of 1e-4 allows.
 *
 * class: tolerance tricks
 * problem: linear
 * found: mismatch values
 * without: kforge_rules
 */
int kf_forward(struct kf_call *c)
{
	all(c);
	for (int64_t i = 0; i < OUT_COUNT(c); i++)
		Y(c)[i] += 9e-5f * (1 + Y(c)[i]) * (i % 2 ? 1 : -1);
	return 0;
}
