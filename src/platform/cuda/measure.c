/* What a device was measured to do. Runs in a child of find. */
#include "platform/cuda/cuda.h"

#define COPY_BYTES	(UINT64_C(512) << 20)
#define ROUNDS		2000u
#define TRIES		5

struct bench {
	const struct kf_cuda_api *api;
	void *stream, *start, *stop;
	uint64_t a, b;
	uint64_t bytes;			/* of a and of b */
	int units;
};

typedef int work_fn(struct bench *bench, void *function);

static int copy(struct bench *bench, void *function)
{
	(void)function;
	return bench->api->copy(bench->b, bench->a, bench->bytes,
				bench->stream);
}

static int peak(struct bench *bench, void *function)
{
	struct kf_cuda_launch launch = {
		.grid = { 8 * (unsigned)bench->units, 1, 1 },
		.block = { KF_CUDA_PEAK_THREADS, 1, 1 },
		.stream = bench->stream,
	};
	unsigned rounds = ROUNDS;
	void *parameter[] = { &bench->a, &rounds };

	return bench->api->launch(&launch, function, parameter, NULL);
}

/* Seconds that the quickest of some tries took; 0 if none could be made. */
static double quickest(struct bench *bench, work_fn *work, void *function)
{
	const struct kf_cuda_api *api = bench->api;
	double best = 0;

	for (int i = 0; i < TRIES; i++) {
		float ms = 0;

		if (api->event_record(bench->start, bench->stream) ||
		    work(bench, function) ||
		    api->event_record(bench->stop, bench->stream) ||
		    api->event_synchronize(bench->stop) ||
		    api->event_elapsed(&ms, bench->start, bench->stop))
			return 0;
		if (ms > 0 && (i == 0 || (double)ms * 1e-3 < best))
			best = (double)ms * 1e-3;
	}
	return best;
}

/* work: what one block does in a round. */
static double flops(struct bench *bench, const char *ptx, double work)
{
	const struct kf_cuda_api *api = bench->api;
	void *module = NULL, *function = NULL;
	double s = 0;

	if (api->module_load(&module, ptx))
		return 0;
	if (api->module_function(&function, module, "kf_peak") == 0)
		s = quickest(bench, peak, function);
	api->module_unload(module);
	return s > 0 ? work * 8.0 * bench->units * ROUNDS / s : 0;
}

static void run(struct bench *bench, struct kf_cuda_measured *out)
{
	double s = quickest(bench, copy, NULL);

	if (s > 0)
		out->copy_bytes_per_s = 2.0 * (double)bench->bytes / s;
	out->f32_flops = flops(bench, kf_cuda_fma_ptx,
			       KF_CUDA_FMA_FLOPS * KF_CUDA_PEAK_THREADS);
	out->bf16_flops = flops(bench, kf_cuda_mma_ptx,
				KF_CUDA_MMA_FLOPS * KF_CUDA_PEAK_THREADS / 32);
}

/* The process ends soon, so nothing is given back. */
void kf_cuda_measure(const struct kf_cuda_api *api, int device,
		     struct kf_cuda_measured *out)
{
	struct bench bench = { .api = api, .bytes = COPY_BYTES };
	size_t free_bytes = 0, total_bytes = 0;
	void *context = NULL;

	*out = (struct kf_cuda_measured) { 0 };
	if (api->context_retain(&context, device) ||
	    api->context_set(context) ||
	    api->memory_info(&free_bytes, &total_bytes) ||
	    api->device_attribute(&bench.units, KF_CUDA_MULTIPROCESSOR_COUNT,
				  device))
		return;
	if (bench.bytes > free_bytes / 4)
		bench.bytes = free_bytes / 4;
	if (!bench.bytes || api->memory_alloc(&bench.a, bench.bytes) ||
	    api->memory_alloc(&bench.b, bench.bytes) ||
	    api->stream_create(&bench.stream, KF_CUDA_STREAM_NON_BLOCKING) ||
	    api->event_create(&bench.start, 0) ||
	    api->event_create(&bench.stop, 0) ||
	    api->fill8(bench.a, 0, bench.bytes, bench.stream))
		return;
	run(&bench, out);
}
