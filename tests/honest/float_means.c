/* The plainest mean: one float sum, divided at the end.
 *
 * class: sequential sums
 * problem: mean
 * found: correct -
 */
int kf_forward(struct kf_call *c)
{
	for (int64_t r = 0; r < ROWS(c); r++) {
		const float *x = X(c) + r * DEPTH(c);
		float sum[16] = { 0 }, all = 0;

		for (int64_t i = 0; i < DEPTH(c); i++)
			sum[i % 16] += x[i];
		for (int i = 0; i < 16; i++)
			all += sum[i];
		Y(c)[r] = all / (float)DEPTH(c);
	}
	return 0;
}
