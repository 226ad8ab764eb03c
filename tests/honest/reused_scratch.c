/* One piece of scratch serves first the shares, then the sums.
 *
 * class: reuse of scratch
 * problem: tests/honest/problems/masked
 * found: correct -
 */
int kf_forward(struct kf_call *c)
{
	const int64_t n = DEPTH(c);
	const uint8_t *valid = c->in[1].data;
	float *room = kf_temp(c, (size_t)n * sizeof(float));
	double *sum = (double *)room;

	if (!room)
		return 1;
	for (int64_t r = 0; r < ROWS(c); r++) {
		const float *x = X(c) + r * n;
		float *y = Y(c) + r * n, most = -INFINITY;

		for (int64_t i = 0; i < n; i++) {
			room[i] = valid[r * n + i] ? x[i] : -INFINITY;
			most = room[i] > most ? room[i] : most;
		}
		for (int64_t i = 0; i < n; i++)
			y[i] = expf(room[i] - most);
		*sum = 0;
		for (int64_t i = 0; i < n; i++)
			*sum += y[i];
		for (int64_t i = 0; i < n; i++)
			y[i] = (float)(y[i] / *sum);
	}
	return 0;
}
