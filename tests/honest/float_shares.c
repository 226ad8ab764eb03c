/* Thirty thousand terms in one float.
 *
 * class: sequential sums
 * problem: shares
 * found: correct -
 */
int kf_forward(struct kf_call *c)
{
	for (int64_t r = 0; r < ROWS(c); r++) {
		const float *x = X(c) + r * DEPTH(c);
		float *y = Y(c) + r * DEPTH(c), most = x[0], sum = 0;

		for (int64_t i = 0; i < DEPTH(c); i++)
			most = fmaxf(most, x[i]);
		for (int64_t i = 0; i < DEPTH(c); i++)
			sum += y[i] = expf(x[i] - most);
		for (int64_t i = 0; i < DEPTH(c); i++)
			y[i] /= sum;
	}
	return 0;
}
