/* The largest of reading + offset over the hours, the axis between. */
#include <kforge/reference.h>

int kf_forward(struct kf_call *c)
{
	const struct kf_tensor *in = &c->in[0];
	int64_t days = in->shape[0], hours = in->shape[1], n = in->shape[2];
	const kf_real *x = in->data, *offset = c->weight[0].data;
	kf_real *y = c->out[0].data;

	for (int64_t day = 0; day < days; day++, y += n) {
		for (int64_t i = 0; i < n; i++)
			y[i] = x[i] + offset[0];
		for (int64_t hour = 0; hour < hours; hour++, x += n)
			for (int64_t i = 0; i < n; i++)
				if (x[i] + offset[hour] > y[i])
					y[i] = x[i] + offset[hour];
	}
	return 0;
}
