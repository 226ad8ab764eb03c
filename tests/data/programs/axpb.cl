/* y = 2 x + 1 */
__kernel void axpb(__global const float *x, __global float *y, long n)
{
	long i = get_global_id(0);

	if (i < n)
		y[i] = 2 * x[i] + 1;
}
