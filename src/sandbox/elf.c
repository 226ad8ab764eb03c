#include "sandbox/elf.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include "base/base.h"

#define PATH_BYTES 4096

static bool read_at(int fd, void *out, size_t len, uint64_t offset)
{
	return pread(fd, out, len, (off_t)offset) == (ssize_t)len;
}

static char *read_loader(int fd)
{
	ElfW(Ehdr) head;
	ElfW(Phdr) part;
	char *path;

	if (!read_at(fd, &head, sizeof(head), 0) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
	    head.e_ident[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64
							   : ELFCLASS32) ||
	    head.e_phentsize != sizeof(part))
		return NULL;
	for (unsigned i = 0; i < head.e_phnum; i++) {
		if (!read_at(fd, &part, sizeof(part),
			     head.e_phoff + i * sizeof(part)))
			return NULL;
		if (part.p_type != PT_INTERP)
			continue;
		if (part.p_filesz < 2 || part.p_filesz > PATH_BYTES)
			return NULL;
		path = kf_alloc(part.p_filesz + 1);
		if (read_at(fd, path, part.p_filesz, part.p_offset) &&
		    path[0] == '/')
			return path;
		free(path);
		return NULL;
	}
	return NULL;
}

char *kf_elf_loader(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *loader;

	if (fd < 0)
		return NULL;
	loader = read_loader(fd);
	close(fd);
	return loader;
}
