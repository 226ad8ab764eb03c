__kernel void linear(__global float *x, __global const float *w,
		     __global const float *b, __global float *y, long rows,
		     long cols, long depth)
{
	long i = get_global_id(0);
	float sum = 0;

	if (i >= rows * cols)
		return;
	for (long k = 0; k < depth; k++)
		sum += x[i / cols * depth + k] * w[i % cols * depth + k];
	sum += b[i % cols];
	y[i] = sum > 0 ? sum : 0;
	barrier(CLK_GLOBAL_MEM_FENCE);
	if (i == 0)
		x[rows * depth - 1] += 1;
}
