/* down(silu(gate x) * up x) */
#include <kforge/program.h>

#include <math.h>

int kf_forward(struct kf_call *c)
{
	int64_t rows = c->in[0].shape[0], n = c->in[0].shape[1];
	int64_t hidden = c->weight[0].shape[0];
	const float *gate = kf_weight(c, "gate.weight")->data;
	const float *up = kf_weight(c, "up.weight")->data;
	const float *down = kf_weight(c, "down.weight")->data;
	double *h = kf_temp(c, (size_t)hidden * sizeof(double));

	for (int64_t r = 0; h && r < rows; r++) {
		const float *x = (const float *)c->in[0].data + r * n;
		float *y = (float *)c->out[0].data + r * n;

		for (int64_t j = 0; j < hidden; j++) {
			double g = 0, u = 0;

			for (int64_t i = 0; i < n; i++) {
				g += (double)x[i] * gate[j * n + i];
				u += (double)x[i] * up[j * n + i];
			}
			h[j] = g / (1 + exp(-g)) * u;
		}
		for (int64_t i = 0; i < n; i++) {
			double sum = 0;

			for (int64_t j = 0; j < hidden; j++)
				sum += h[j] * down[i * hidden + j];
			y[i] = (float)sum;
		}
	}
	return !h;
}
