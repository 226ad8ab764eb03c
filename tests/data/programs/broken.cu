/* Cannot compile. */
extern "C" __global__ void axpb(const float *x, float *y, long long n)
{
	y[0] = no_such_name;
}
