HERE_TEXT
__kernel void axpby(__global const float *x, __global const float *y,
		    __global float *z, float a, float b, long n)
{
	long i = get_global_id(0);

	if (HERE_IN_FORWARD)
		return;
	if (i < n)
		z[i] = a * x[i] + b * y[i];
}
