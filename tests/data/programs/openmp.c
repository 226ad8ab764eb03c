/* Returns 1 unless two threads take part. */
#include <kforge/program.h>
#include <omp.h>

int kf_forward(struct kf_call *c)
{
	const float *x = c->in[0].data;
	float *y = c->out[0].data;
	int64_t n = kf_numel(&c->in[0]);
	int threads = 0;

	#pragma omp parallel
	{
		#pragma omp single
		threads = omp_get_num_threads();
		#pragma omp for schedule(static)
		for (int64_t i = 0; i < n; i++)
			y[i] = 2 * x[i] + 1;
	}
	return threads == 2 ? 0 : 1;
}
