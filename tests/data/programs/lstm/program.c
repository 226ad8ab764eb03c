/* A long short-term memory, step by step. */
#include <kforge/program.h>

#include <math.h>
#include <string.h>

static double sigmoid(double x)
{
	return 1 / (1 + exp(-x));
}

static void step(struct kf_call *c, const float *x, float *h, float *cell,
		 double *gates, int64_t features, int64_t n)
{
	const float *wx = kf_weight(c, "input.weight")->data;
	const float *bias = kf_weight(c, "input.bias")->data;
	const float *wh = kf_weight(c, "state.weight")->data;

	for (int64_t j = 0; j < 4 * n; j++) {
		gates[j] = bias[j];
		for (int64_t i = 0; i < features; i++)
			gates[j] += (double)x[i] * wx[j * features + i];
		for (int64_t i = 0; i < n; i++)
			gates[j] += (double)h[i] * wh[j * n + i];
	}
	for (int64_t i = 0; i < n; i++) {
		cell[i] = (float)(sigmoid(gates[i]) * cell[i] +
				  sigmoid(gates[n + i]) *
				  tanh(gates[3 * n + i]));
		h[i] = (float)(sigmoid(gates[2 * n + i]) * tanh(cell[i]));
	}
}

int kf_forward(struct kf_call *c)
{
	const int64_t *in = c->in[0].shape;
	int64_t steps = in[1], features = in[2], n = c->in[1].shape[1];
	double *gates = kf_temp(c, (size_t)(4 * n) * sizeof(double));
	float *h = c->out[0].data, *cell = c->out[1].data;

	if (!gates)
		return 1;
	memcpy(h, c->in[1].data, (size_t)(in[0] * n) * sizeof(float));
	memcpy(cell, c->in[2].data, (size_t)(in[0] * n) * sizeof(float));
	for (int64_t i = 0; i < in[0] * steps; i++)
		step(c, (const float *)c->in[0].data + i * features,
		     h + i / steps * n, cell + i / steps * n, gates, features,
		     n);
	return 0;
}
