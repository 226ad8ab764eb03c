struct what { float alpha, beta; long long from, to; };

extern "C" __global__ void add(const float *x, float *z, struct what what)
{
	long long step = gridDim.x * 64;

	for (long long i = what.from + blockIdx.x * 64 + threadIdx.x;
	     i < what.to; i += step)
		z[i] = what.alpha * x[i] + what.beta * z[i];
}
