enum { PART = 16, NOTHING = 0, OWN_SUM = 1, WHOLE_SUM = 2 };

/* What state says of the part was written before it: for all of the group. */
static __device__ int wait_for(volatile int *state)
{
	__shared__ int found;

	__syncthreads();
	if (threadIdx.x == 0) {
		while (*state == NOTHING)
			__nanosleep(50);
		found = *state;
		__threadfence();
	}
	__syncthreads();
	return found;
}

static __device__ void publish(volatile int *state, int what)
{
	__threadfence();
	__syncthreads();
	if (threadIdx.x == 0)
		*state = what;
}

/* Parts are handed out by a counter, so that those before a group's run or
 * have run. own and whole: of each part, a float for each channel. */
extern "C" __global__ void scan(const float *x, float *y, int *state,
		volatile float *sums, long long batch, long long steps,
		long long n)
{
	__shared__ int taken;
	long long parts = (steps + PART - 1) / PART, part, b, from;
	long long channel = threadIdx.x, lanes = batch * n;
	volatile float *own = sums, *whole = sums + parts * lanes;
	float sum = 0, before = 0;

	if (threadIdx.x == 0)
		taken = atomicAdd(state, 1);
	__syncthreads();
	part = taken / batch;
	b = taken % batch;
	from = part * PART;
	state += 1 + b * parts;
	own += b * parts * n + channel;
	whole += b * parts * n + channel;
	x += b * steps * n + channel;
	y += b * steps * n + channel;
	for (long long t = from; t < from + PART && t < steps; t++)
		sum += x[t * n];
	own[part * n] = sum;
	publish(&state[part], OWN_SUM);
	for (long long p = part - 1; p >= 0; p--) {
		bool last = wait_for(&state[p]) == WHOLE_SUM;

		before += last ? whole[p * n] : own[p * n];
		if (last)
			break;
	}
	whole[part * n] = before + sum;
	publish(&state[part], WHOLE_SUM);
	for (long long t = from; t < from + PART && t < steps; t++) {
		before += x[t * n];
		y[t * n] = before;
	}
}
