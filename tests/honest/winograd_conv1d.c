/* Two outputs of a three-tap filter by four products: Winograd's F(2, 3).
 *
 * class: Winograd
 * problem: problems/c/conv1d_c
 * size: test
 * found: correct -
 */
enum { GAP = 4 };

static float at(const float *x, int64_t t, int64_t steps)
{
	return t < 0 || t >= steps ? 0 : x[t];
}

/* Adds outputs t and t + GAP. */
static void two(const float *x, const float *w, float *y, int64_t t,
		int64_t steps)
{
	float d0 = at(x, t - 2 * GAP, steps), d1 = at(x, t - GAP, steps);
	float d2 = at(x, t, steps), d3 = at(x, t + GAP, steps);
	float m1 = (d0 - d2) * w[0];
	float m2 = (d1 + d2) * (w[0] + w[1] + w[2]) / 2;
	float m3 = (d2 - d1) * (w[0] - w[1] + w[2]) / 2;
	float m4 = (d1 - d3) * w[2];

	y[t] += m1 + m2 + m3;
	if (t + GAP < steps)
		y[t + GAP] += m2 - m3 - m4;
}

int kf_forward(struct kf_call *c)
{
	int64_t batch = c->in[0].shape[0], inputs = c->in[0].shape[1];
	int64_t steps = c->in[0].shape[2], outputs = c->out[0].shape[1];

	for (int64_t r = 0; r < batch * outputs; r++) {
		float *y = Y(c) + r * steps;

		for (int64_t t = 0; t < steps; t++)
			y[t] = B(c)[r % outputs];
		for (int64_t i = 0; i < inputs; i++)
			for (int64_t t = 0; t < steps; t++)
				if (t / GAP % 2 == 0)
					two(X(c) + (r / outputs * inputs + i) *
					    steps, W(c) +
					    (r % outputs * inputs + i) * 3, y,
					    t, steps);
	}
	return 0;
}
