/* y = 2 x + 1 on tensors that lie on a CUDA device, by way of this machine's
 * memory: host code of its own without nvcc. */
#include <dlfcn.h>
#include <stdlib.h>

#include <kforge/program.h>

typedef int from_device_fn(void *to, unsigned long long from, size_t bytes);
typedef int to_device_fn(unsigned long long to, const void *from, size_t bytes);

int kf_forward(struct kf_call *c)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
	void *from = cuda ? dlsym(cuda, "cuMemcpyDtoH_v2") : NULL;
	void *to = cuda ? dlsym(cuda, "cuMemcpyHtoD_v2") : NULL;
	int64_t n = kf_numel(&c->in[0]);
	size_t bytes = (size_t)n * sizeof(float);
	float *x = malloc(bytes);
	int rc = !x || !from || !to;

	if (!rc)
		rc = ((from_device_fn *)from)(x, (uintptr_t)c->in[0].data,
					      bytes);
	for (int64_t i = 0; !rc && i < n; i++)
		x[i] = 2 * x[i] + 1;
	if (!rc)
		rc = ((to_device_fn *)to)((uintptr_t)c->out[0].data, x, bytes);
	free(x);
	return rc;
}
