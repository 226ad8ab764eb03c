#include <kforge/program.h>

int kf_forward(struct kf_call *c)
{
	const float *x = c->in[0].data;
	const float *scale = kf_weight(c, "scale")->data;
	const float *shift = kf_weight(c, "shift")->data;
	float *y = c->out[0].data;
	int64_t rows = c->in[0].shape[0], columns = c->in[0].shape[1];

	for (int64_t i = 0; i < rows; i++) {
		for (int64_t j = 0; j < columns; j++) {
			float v = x[i * columns + j] * scale[j] + shift[j];

			y[i * columns + j] = v > 0 ? v : 0;
		}
	}
	return 0;
}
