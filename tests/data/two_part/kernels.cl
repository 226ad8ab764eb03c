/* out = relu(x w^T + b), whole and in steps, and ways to go wrong. Programs of
 * this folder use it unless they have a NAME.cl of their own. */
__kernel void linear(__global const float *x, __global const float *w,
		     __global const float *b, __global float *y, int rows,
		     int cols, int depth)
{
	int at = get_global_id(0), i = at / cols, j = at % cols;
	float sum;

	if (at >= rows * cols)
		return;
	sum = b[j];
	for (int k = 0; k < depth; k++)
		sum += x[i * depth + k] * w[j * depth + k];
	y[at] = fmax(sum, 0.0f);
}

__kernel void transpose(__global const float *w, __global float *t, int cols,
			int depth)
{
	int at = get_global_id(0);

	if (at < cols * depth)
		t[at % depth * cols + at / depth] = w[at];
}

__kernel void product(__global const float *x, __global const float *t,
		      __global float *y, int rows, int cols, int depth)
{
	int at = get_global_id(0), i = at / cols, j = at % cols;
	float sum = 0;

	if (at >= rows * cols)
		return;
	for (int k = 0; k < depth; k++)
		sum += x[i * depth + k] * t[k * cols + j];
	y[at] = sum;
}

__kernel void finish(__global const float *p, __global const float *b,
		     __global float *y, int rows, int cols)
{
	int at = get_global_id(0);

	if (at < rows * cols)
		y[at] = fmax(p[at] + b[at % cols], 0.0f);
}

__kernel void put(__global float *y, long at, float value)
{
	y[at] = value;
}

__kernel void wait_for_ever(__global volatile float *y)
{
	while (y[0] != 12345.0f)
		;
}

__kernel void group_sum(__global float *y, __local float *part)
{
	part[get_local_id(0)] = 1;
	y[0] = part[0];
}
