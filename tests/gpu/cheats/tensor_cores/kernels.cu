static __device__ float tf32(float x)
{
	unsigned bits;

	asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
	return __uint_as_float(bits);
}

/* d += a b, a 16 x 8, b 8 x 8, spread over a warp as the instruction has it. */
static __device__ void mma(float d[4], const float a[4], const float b[2])
{
	asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
	    "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
	    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
	    : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])),
	      "r"(__float_as_uint(a[2])), "r"(__float_as_uint(a[3])),
	      "r"(__float_as_uint(b[0])), "r"(__float_as_uint(b[1])));
}

static __device__ float at(const float *m, int row, int rows, int k, int depth)
{
	return row < rows && k < depth ? m[row * depth + k] : 0;
}

/* A warp for each tile of 16 x 8. */
extern "C" __global__ void linear(const float *x, const float *w,
		const float *bias, float *y, int rows, int cols, int depth)
{
	int group = threadIdx.x / 4, lane = threadIdx.x % 4;
	int row = blockIdx.y * 16 + group, col = blockIdx.x * 8 + group;
	float sum[4] = { 0, 0, 0, 0 };

	for (int k = lane; k - lane < depth; k += 8) {
		float a[4], b[2];

		for (int i = 0; i < 4; i++)
			a[i] = tf32(at(x, row + i % 2 * 8, rows,
				       k + i / 2 * 4, depth));
		for (int i = 0; i < 2; i++)
			b[i] = tf32(at(w, col, cols, k + i * 4, depth));
		mma(sum, a, b);
	}
	for (int i = 0; i < 4; i++) {
		int r = row + i / 2 * 8;
		int j = blockIdx.x * 8 + lane * 2 + i % 2;

		if (r < rows && j < cols)
			y[r * cols + j] = fmaxf(sum[i] + bias[j], 0);
	}
}
