enum { GAP = 4 };

extern "C" __global__ void transform(const float *w, float4 *to, long long n)
{
	long long i = blockIdx.x * 32ll + threadIdx.x;

	if (i >= n)
		return;
	w += 3 * i;
	to[i] = make_float4(w[0], (w[0] + w[1] + w[2]) / 2,
			    (w[0] - w[1] + w[2]) / 2, w[2]);
}

static __device__ float at(const float *x, long long t, long long steps)
{
	return t < 0 || t >= steps ? 0 : x[t];
}

/* A thread for the outputs of a step and of that a gap later. */
extern "C" __global__ void convolve(const float *x, const float4 *filter,
		const float *bias, float *y, long long inputs, long long steps)
{
	long long pair = blockIdx.x * 32ll + threadIdx.x;
	long long t = pair / GAP * 2 * GAP + pair % GAP, o = blockIdx.y;
	float first = bias[o], second = first;

	x += blockIdx.z * inputs * steps;
	y += (blockIdx.z * gridDim.y + o) * steps;
	for (long long i = 0; i < inputs; i++, x += steps) {
		float4 g = filter[o * inputs + i];
		float d0 = at(x, t - 2 * GAP, steps);
		float d1 = at(x, t - GAP, steps);
		float d2 = at(x, t, steps), d3 = at(x, t + GAP, steps);
		float m1 = (d0 - d2) * g.x, m2 = (d1 + d2) * g.y;
		float m3 = (d2 - d1) * g.z, m4 = (d1 - d3) * g.w;

		first += m1 + m2 + m3;
		second += m2 - m3 - m4;
	}
	if (t < steps)
		y[t] = first;
	if (t + GAP < steps)
		y[t + GAP] = second;
}
