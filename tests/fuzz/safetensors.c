/* safetensors.c - whatever the bytes are, tensors shown lie inside them. */
#include "problem/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	void *copy = NULL;
	struct kf_safetensors file;
	volatile unsigned char seen;

	/* Exactly as many bytes as there are, for the sanitizer to see. */
	if (posix_memalign(&copy, 64, size ? size : 1))
		abort();
	if (size)
		memcpy(copy, data, size);
	if (kf_safetensors_parse(copy, size, "fuzz", &file, NULL) == KF_OK) {
		for (size_t i = 0; i < file.count; i++) {
			const unsigned char *byte = file.tensor[i].data;
			size_t bytes = file.tensor[i].bytes;

			if (kf_safetensors_get(&file, file.tensor[i].name) !=
			    &file.tensor[i])
				abort();
			if (!bytes)
				continue;
			seen = byte[0];
			seen = byte[bytes - 1];
			(void)seen;
		}
		kf_safetensors_release(&file);
	}
	free(copy);
	return 0;
}
