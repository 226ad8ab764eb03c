/*
 * y = x * gain + shift; out = y / (max |y| of the row + 1e-6)
 *
 * One group works on one row. The row is read once from global memory, four
 * numbers at a time: y goes into out while the maximum is found, and is read
 * back from the cache for the division. Neighbouring work-items read
 * neighbouring vectors.
 */
__kernel void scale_row(__global const float *restrict x,
			__global const float *restrict gain,
			__global const float *restrict shift,
			__global float *restrict out, int n,
			__local float *partial)
{
	const int me = get_local_id(0), count = get_local_size(0);
	const int tail = n / 4 * 4 + me;	/* the last 0 to 3 of the row */
	float4 most4 = 0;
	float most, scale;

	x += (long)n * get_group_id(0);
	out += (long)n * get_group_id(0);
	for (int i = 4 * me; i + 4 <= n; i += 4 * count) {
		const float4 y = fma(vload4(0, x + i), vload4(0, gain + i),
				     vload4(0, shift + i));

		vstore4(y, 0, out + i);
		most4 = fmax(most4, fabs(y));
	}
	most = fmax(fmax(most4.x, most4.y), fmax(most4.z, most4.w));
	if (tail < n) {
		out[tail] = fma(x[tail], gain[tail], shift[tail]);
		most = fmax(most, fabs(out[tail]));
	}

	/* The group's maximum; count is a power of two. */
	partial[me] = most;
	for (int lower = count / 2; lower; lower /= 2) {
		barrier(CLK_LOCAL_MEM_FENCE);
		if (me < lower)
			partial[me] = fmax(partial[me], partial[me + lower]);
	}
	barrier(CLK_LOCAL_MEM_FENCE);

	scale = 1.0f / (partial[0] + 1e-6f);
	for (int i = 4 * me; i + 4 <= n; i += 4 * count)
		vstore4(vload4(0, out + i) * scale, 0, out + i);
	if (tail < n)
		out[tail] *= scale;
}
