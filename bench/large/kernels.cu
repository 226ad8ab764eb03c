extern "C" __global__ void relu(const float4 *x, float4 *out, long long n)
{
	long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	float4 v = __ldcs(x + i);

	v.x = v.x > 0 ? v.x : 0;
	v.y = v.y > 0 ? v.y : 0;
	v.z = v.z > 0 ? v.z : 0;
	v.w = v.w > 0 ? v.w : 0;
	__stcs(out + i, v);
}
