/* Cannot compile. */
__kernel void axpb(__global const float *x, __global float *y, long n)
{
	y[0] = no_such_name;
}
