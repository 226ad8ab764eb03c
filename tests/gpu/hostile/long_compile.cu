/* Keeps the compiler at work for years.
 *
 * problem: linear
 * host: each
 * limits: build_s=6
 * found: compilation_failure compile_timeout|compile_resource
 */
template <int depth, unsigned long long way> struct tree {
	static __device__ float sum(float x)
	{
		return tree<depth - 1, 2 * way>::sum(x) +
			tree<depth - 1, 2 * way + 1>::sum(x + 1);
	}
};

template <unsigned long long way> struct tree<0, way> {
	static __device__ float sum(float x)
	{
		return x * way;
	}
};

extern "C" __global__ void run(const float *x, const float *w, const float *b,
		float *y, long long n, long long depth, long long cols)
{
	y[0] = tree<60, 1>::sum(x[0]);
}
