/* A loss in double from beginning to end.
 *
 * class: more accurate than the reference
 * problem: problems/c/smooth_l1_c
 * size: test
 * found: correct -
 */
int kf_forward(struct kf_call *c)
{
	const float *truth = c->in[1].data;

	for (int64_t b = 0; b < ROWS(c); b++) {
		double sum = 0;

		for (int64_t i = b * DEPTH(c); i < (b + 1) * DEPTH(c); i++) {
			double d = fabs((double)X(c)[i] - truth[i]);

			sum += d < 0.75 ? d * d / 1.5 : d - 0.375;
		}
		Y(c)[b] = (float)(sum / (double)DEPTH(c));
	}
	return 0;
}
