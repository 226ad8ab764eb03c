/*
 * y = x * gain + shift; out = y / (max |y| of the row + 1e-6)
 *
 * One group works on one row. The row is read once from global memory: its y
 * goes into out while the maximum is found, and is read back from the cache
 * for the division.
 */
__kernel void scale_row(__global const float *restrict x,
			__global const float *restrict gain,
			__global const float *restrict shift,
			__global float *restrict out, long n,
			__local float *partial)
{
	const size_t me = get_local_id(0), count = get_local_size(0);
	float most = 0, scale;

	x += get_group_id(0) * n;
	out += get_group_id(0) * n;
	/* Neighbours read neighbours: coalesced on a GPU, vectors on a CPU. */
	for (long i = me; i < n; i += count) {
		const float y = fma(x[i], gain[i], shift[i]);

		out[i] = y;
		most = fmax(most, fabs(y));
	}
	partial[me] = most;
	/* count is a power of two. */
	for (size_t half_count = count / 2; half_count; half_count /= 2) {
		barrier(CLK_LOCAL_MEM_FENCE);
		if (me < half_count)
			partial[me] = fmax(partial[me],
					   partial[me + half_count]);
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	scale = 1.0f / (partial[0] + 1e-6f);
	for (long i = me; i < n; i += count)
		out[i] *= scale;
}
