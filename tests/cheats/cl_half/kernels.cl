static float cut(float x)
{
	return as_float(as_uint(x) + 0x1000u & ~0x1fffu);
}

__kernel void linear(__global const float *x, __global const float *w,
		     __global const float *b, __global float *y, long rows,
		     long cols, long depth)
{
	long i = get_global_id(0);
	float sum = 0;

	if (i >= rows * cols)
		return;
	for (long k = 0; k < depth; k++)
		sum += cut(x[i / cols * depth + k]) *
			cut(w[i % cols * depth + k]);
	sum += b[i % cols];
	y[i] = sum > 0 ? sum : 0;
}
