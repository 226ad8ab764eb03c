#include <kforge/reference.h>

int kf_forward(struct kf_call *c)
{
	int64_t *at = c->out[0].data;

	for (int64_t r = 0; r < ROWS; r++) {
		const kf_real *x = (const kf_real *)c->in[0].data + r * COLUMNS;

		at[r] = 0;
		for (int64_t i = 1; i < COLUMNS; i++)
			if (x[i] > x[at[r]])
				at[r] = i;
	}
	return 0;
}
