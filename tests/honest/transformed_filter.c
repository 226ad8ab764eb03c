/* kf_prepare makes the sums of Winograd's filters, with those sums in double.
 *
 * class: precomputation from weights
 * problem: problems/c/conv1d_c
 * size: test
 * found: correct -
 */
enum { GAP = 4 };

int kf_prepare(struct kf_call *c)
{
	int64_t count = kf_numel(&c->weight[0]) / 3;
	float *to = kf_keep(c, 0, (size_t)(2 * count) * sizeof(float));

	for (int64_t i = 0; to && i < count; i++) {
		const float *w = W(c) + 3 * i;

		to[2 * i] = (float)(((double)w[0] + w[1] + w[2]) / 2);
		to[2 * i + 1] = (float)(((double)w[0] - w[1] + w[2]) / 2);
	}
	return !to;
}

static float at(const float *x, int64_t t, int64_t steps)
{
	return t < 0 || t >= steps ? 0 : x[t];
}

static void channel(const float *x, const float *w, const float *sums,
		    float *y, int64_t steps)
{
	for (int64_t t = 0; t < steps; t++) {
		float d1 = at(x, t - GAP, steps), d2 = at(x, t, steps);
		float m2 = (d1 + d2) * sums[0], m3 = (d2 - d1) * sums[1];

		if (t / GAP % 2)
			continue;
		y[t] += (at(x, t - 2 * GAP, steps) - d2) * w[0] + m2 + m3;
		if (t + GAP < steps)
			y[t + GAP] += m2 - m3 -
				(d1 - at(x, t + GAP, steps)) * w[2];
	}
}

int kf_forward(struct kf_call *c)
{
	int64_t batch = c->in[0].shape[0], inputs = c->in[0].shape[1];
	int64_t steps = c->in[0].shape[2], outputs = c->out[0].shape[1];
	const float *sums = kf_keep(c, 0, 0);

	for (int64_t r = 0; r < batch * outputs; r++) {
		float *y = Y(c) + r * steps;

		for (int64_t t = 0; t < steps; t++)
			y[t] = B(c)[r % outputs];
		for (int64_t i = 0; i < inputs; i++) {
			int64_t w = r % outputs * inputs + i;

			channel(X(c) + (r / outputs * inputs + i) * steps,
				W(c) + w * 3, sums + 2 * w, y, steps);
		}
	}
	return 0;
}
