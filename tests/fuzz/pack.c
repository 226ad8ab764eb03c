/* pack.c - whatever a file holds, the parts of a pack lie inside it. */
#include <sys/mman.h>
#include <unistd.h>

#include "platform/pack.h"

#define MAX_BYTES (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", 0);
	struct kf_pack pack;
	char path[64];
	size_t sum = 0;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	if (kf_pack_read(path, MAX_BYTES, &pack, NULL) == KF_OK) {
		for (size_t i = 0; i < pack.count; i++) {
			const char *part = pack.part[i].data;

			if (part < pack.bytes.data ||
			    part + pack.part[i].len >
				    pack.bytes.data + pack.bytes.len ||
			    kf_pack_find(&pack, pack.part[i].name) !=
				    &pack.part[i])
				abort();
			sum += pack.part[i].len;
		}
		if (sum > size)
			abort();
		kf_pack_release(&pack);
	}
	close(fd);
	return 0;
}
