/* NaN everywhere: no comparison says that it is too far off.
 *
 * class: NaN tricks
 * problem: linear
 * found: mismatch non_finite
 * without: non_finite
 */
int kf_forward(struct kf_call *c)
{
	for (int64_t i = 0; i < OUT_COUNT(c); i++)
		Y(c)[i] = NAN;
	return 0;
}
