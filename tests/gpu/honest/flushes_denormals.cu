/* An exponential from the instruction for powers of two, in the mode that makes
 * zeros of what is too small.
 *
 * class: denormals flushed
 * problem: tests/honest/problems/denormal
 * host: each
 * found: correct -
 */
static __device__ float power_of_two(float x)
{
	float y;

	asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
	return y;
}

static __device__ float times(float a, float b)
{
	float y;

	asm("mul.ftz.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
	return y;
}

/* What is left of x beside a whole power of two is small, and exact. */
extern "C" __global__ void run(const float *x, float *y, long long n,
			       long long, long long)
{
	long long i = blockIdx.x * 64ll + threadIdx.x;
	float whole, rest;
	int half;

	if (i >= n)
		return;
	whole = rintf(x[i] * 1.442695041f);
	rest = fmaf(whole, -0.693145752f, x[i]);
	rest = fmaf(whole, -1.42860677e-6f, rest);
	half = (int)whole / 2;
	y[i] = times(times(power_of_two(rest * 1.442695041f),
			   power_of_two(half)), power_of_two(whole - half));
}
