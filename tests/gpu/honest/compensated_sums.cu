/* Kahan's sums, which no compiler may simplify.
 *
 * class: reordered sums
 * problem: mean
 * host: row
 * found: correct -
 */
extern "C" __global__ void run(const float *x, float *y, long long n)
{
	__shared__ float part[256];
	float sum = 0, lost = 0;

	x += blockIdx.x * n;
	for (long long i = threadIdx.x; i < n; i += 256) {
		float term = __fsub_rn(x[i], lost), next = __fadd_rn(sum, term);

		lost = __fsub_rn(__fsub_rn(next, sum), term);
		sum = next;
	}
	part[threadIdx.x] = sum;
	__syncthreads();
	if (threadIdx.x)
		return;
	sum = lost = 0;
	for (int i = 0; i < 256; i++) {
		float term = __fsub_rn(part[i], lost);
		float next = __fadd_rn(sum, term);

		lost = __fsub_rn(__fsub_rn(next, sum), term);
		sum = next;
	}
	y[blockIdx.x] = sum / n;
}
