__kernel void axpby(__global const float *x, __global const float *y,
		    __global float *z, float alpha, float beta, long count)
{
	long i = get_global_id(0);

	if (i < count)
		z[i] = alpha * x[i] + beta * y[i];
}
