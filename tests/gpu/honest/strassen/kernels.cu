/* A quarter, by row and column, and another one added with a sign. */
struct operand { int row, col, other_row, other_col; float sign; };

__constant__ struct operand of_a[7] = {
	{ 0, 0, 1, 1, 1 }, { 1, 0, 1, 1, 1 }, { 0, 0, 0, 0, 0 },
	{ 1, 1, 0, 0, 0 }, { 0, 0, 0, 1, 1 }, { 1, 0, 0, 0, -1 },
	{ 0, 1, 1, 1, -1 },
};
__constant__ struct operand of_b[7] = {
	{ 0, 0, 1, 1, 1 }, { 0, 0, 0, 0, 0 }, { 0, 1, 1, 1, -1 },
	{ 1, 0, 0, 0, -1 }, { 1, 1, 0, 0, 0 }, { 0, 0, 0, 1, 1 },
	{ 1, 0, 1, 1, 1 },
};

static __device__ float element(const float *m, struct operand o, int row,
				int col, int half)
{
	int n = 2 * half;
	float x = m[(o.row * half + row) * n + o.col * half + col];

	if (o.sign != 0)
		x += o.sign * m[(o.other_row * half + row) * n +
				o.other_col * half + col];
	return x;
}

extern "C" __global__ void products(const float *a, const float *b, float *m,
				    int half)
{
	__shared__ float p[16][17], q[16][17];
	int x = threadIdx.x, y = threadIdx.y;
	int row = blockIdx.y * 16 + y, col = blockIdx.x * 16 + x;
	float sum = 0;

	for (int k = 0; k < half; k += 16) {
		p[y][x] = element(a, of_a[blockIdx.z], row, k + x, half);
		q[y][x] = element(b, of_b[blockIdx.z], k + y, col, half);
		__syncthreads();
		for (int i = 0; i < 16; i++)
			sum += p[y][i] * q[i][x];
		__syncthreads();
	}
	m[(blockIdx.z * half + row) * half + col] = sum;
}

extern "C" __global__ void combine(const float *m, float *y, int half)
{
	int row = blockIdx.y * 16 + threadIdx.y, n = 2 * half;
	int col = blockIdx.x * 16 + threadIdx.x;
	float p[7];

	for (int i = 0; i < 7; i++)
		p[i] = m[(i * half + row) * half + col];
	y[row * n + col] = p[0] + p[3] - p[4] + p[6];
	y[row * n + half + col] = p[2] + p[4];
	y[(half + row) * n + col] = p[1] + p[3];
	y[(half + row) * n + half + col] = p[0] - p[1] + p[2] + p[5];
}
