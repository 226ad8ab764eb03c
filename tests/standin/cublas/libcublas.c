/* A library that stands for NVIDIA's cuBLAS: one function, which says that it
 * launched a kernel. */
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

int cublasSgemm_v2(void);

int cublasSgemm_v2(void)
{
	void *cupti = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
	void *symbol = cupti ? dlsym(cupti, "standin_cupti_record") : NULL;
	void (*launched)(int kind, const char *name, uint64_t bytes) = NULL;

	memcpy(&launched, &symbol, sizeof(symbol));
	if (launched)
		launched(10, "ampere_sgemm_128x64_nn", 0);
	return 0;
}
