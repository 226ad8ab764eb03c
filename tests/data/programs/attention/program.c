/* softmax(q k' / sqrt(depth)) v, one query at a time. */
#include <kforge/program.h>

#include <math.h>

static void answer(const float *q, const float *k, const float *v, float *o,
		   float *p, int64_t keys, int64_t depth)
{
	float largest = -INFINITY, scale = (float)(1 / sqrt((double)depth));
	double sum = 0;

	for (int64_t j = 0; j < keys; j++) {
		double dot = 0;

		for (int64_t d = 0; d < depth; d++)
			dot += (double)q[d] * k[j * depth + d];
		p[j] = (float)dot * scale;
		largest = fmaxf(largest, p[j]);
	}
	for (int64_t j = 0; j < keys; j++) {
		p[j] = expf(p[j] - largest);
		sum += p[j];
	}
	for (int64_t d = 0; d < depth; d++) {
		double mean = 0;

		for (int64_t j = 0; j < keys; j++)
			mean += (double)p[j] * v[j * depth + d];
		o[d] = (float)(mean / sum);
	}
}

int kf_forward(struct kf_call *c)
{
	const int64_t *qs = c->in[0].shape, *ks = c->in[1].shape;
	int64_t queries = qs[2], depth = qs[3], keys = ks[2];
	float *p = kf_temp(c, (size_t)keys * sizeof(float));

	if (!p)
		return 1;
	for (int64_t i = 0; i < qs[0] * qs[1] * queries; i++) {
		int64_t at = i / queries * keys * depth;

		answer((const float *)c->in[0].data + i * depth,
		       (const float *)c->in[1].data + at,
		       (const float *)c->in[2].data + at,
		       (float *)c->out[0].data + i * depth, p, keys, depth);
	}
	return 0;
}
