/*
 * Kernels of real code that the stand-in has no function for: it knows from the
 * code itself which parameters they take and what they may have, so that a
 * launch is checked as a device would, and does nothing when it runs.
 *
 * What is read (".nv.info.NAME"): records of a format, an attribute and 16
 * bits, which in one format are the bytes that follow.
 */
#include "standin.h"

#include <elf.h>

#define FORMAT_SIZED	4
#define INFO_PARAMETER	0x17
#define INFO_MAX_THREADS 0x05
#define INFO_CLUSTER	0x3d
#define SIZE_SHIFT	18

struct parameter { uint32_t index; uint16_t ordinal, offset; uint32_t word; };

static const Elf64_Shdr *section(const char *image, const char *prefix,
				 const char *kernel)
{
	const Elf64_Ehdr *file = (const void *)image;
	const Elf64_Shdr *at = (const void *)(image + file->e_shoff);
	const char *names = image + at[file->e_shstrndx].sh_offset;

	for (unsigned i = 0; i < file->e_shnum; i++) {
		const char *name = names + at[i].sh_name;

		if (strncmp(name, prefix, strlen(prefix)) == 0 &&
		    strcmp(name + strlen(prefix), kernel) == 0)
			return &at[i];
	}
	return NULL;
}

static int run_nothing(void *const *arg, const struct kf_cuda_launch *launch)
{
	(void)arg;
	(void)launch;
	return 0;
}

static void read_record(unsigned attribute, const char *data,
			struct kernel *out)
{
	struct parameter p;
	uint32_t threads;

	if (attribute == INFO_PARAMETER) {
		memcpy(&p, data, sizeof(p));
		if (p.ordinal < ARGS_MAX)
			out->bytes[p.ordinal] = p.word >> SIZE_SHIFT;
	} else if (attribute == INFO_MAX_THREADS) {
		memcpy(&threads, data, sizeof(threads));
		out->threads = (int)threads;
	} else if (attribute == INFO_CLUSTER) {
		out->cluster = 1;
	}
}

void standin_cubin_kernel(const char *image, const char *name,
			  struct kernel *out)
{
	const Elf64_Shdr *info = section(image, ".nv.info.", name);
	const Elf64_Shdr *shared = section(image, ".nv.shared.", name);
	const char *at, *end;

	*out = (struct kernel) { .name = name, .run = run_nothing };
	if (shared)
		out->fixed_shared = (int)shared->sh_size;
	if (!info)
		return;
	at = image + info->sh_offset;
	end = at + info->sh_size;
	while (end - at >= 4) {
		uint16_t size;

		memcpy(&size, at + 2, sizeof(size));
		if (at[0] == FORMAT_SIZED)
			read_record((unsigned char)at[1], at + 4, out);
		at += 4 + (at[0] == FORMAT_SIZED ? size : 0);
	}
}
