/* An exp of its own, good to three digits.
 *
 * class: lower precision
 * problem: problems/c/softmax_c
 * size: test
 * host: row
 * found: mismatch values
 * without: precision
 */
static __device__ float rough(float x)
{
	float t = x * 1.44269504f, whole = floorf(t), f = t - whole;

	if (whole < -126)
		return 0;
	return __int_as_float(((int)whole + 127) << 23) *
		(1 + f * (0.6958f + f * (0.2251f + f * 0.0791f)));
}

extern "C" __global__ void run(const float *x, const float *bias, float *y,
			       long long n)
{
	float most = -INFINITY, sum = 0;

	if (threadIdx.x)
		return;
	x += blockIdx.x * n;
	y += blockIdx.x * n;
	for (long long i = 0; i < n; i++)
		most = fmaxf(most, x[i] / 8 + bias[i]);
	for (long long i = 0; i < n; i++)
		sum += y[i] = rough(x[i] / 8 + bias[i] - most);
	for (long long i = 0; i < n; i++)
		y[i] /= sum;
}
