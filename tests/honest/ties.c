/* Looks for the largest from the last hour to the first: among equal ones it
 * finds another than the reference does.
 *
 * class: ties
 * problem: problems/c/max_axis_c
 * size: test
 * found: correct -
 */
int kf_forward(struct kf_call *c)
{
	const int64_t days = c->in[0].shape[0], hours = c->in[0].shape[1];
	const int64_t n = c->in[0].shape[2];

	for (int64_t d = 0; d < days; d++)
		for (int64_t i = 0; i < n; i++) {
			float most = -INFINITY;

			for (int64_t h = hours; h-- > 0;)
				most = fmaxf(most, X(c)[(d * hours + h) * n +
							i] + W(c)[h]);
			Y(c)[d * n + i] = most;
		}
	return 0;
}
