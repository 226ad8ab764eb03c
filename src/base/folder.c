/* How much lies in a folder that something hostile may be writing to. */
#include "base/base.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH_MAX 16	/* folders in folders; each takes a descriptor */

struct walk {
	uint64_t bytes;
	size_t entries;
};

static bool is_itself(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Closes fd, which may be -1. */
static void walk(struct walk *w, int fd, unsigned depth)
{
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	struct stat st;

	if (!dir && fd >= 0)
		close(fd);
	while (dir && (entry = readdir(dir))) {
		if (is_itself(entry->d_name) ||
		    fstatat(dirfd(dir), entry->d_name, &st,
			    AT_SYMLINK_NOFOLLOW))
			continue;
		w->entries++;
		w->bytes += (uint64_t)st.st_blocks * 512;
		if (S_ISDIR(st.st_mode) && depth < DEPTH_MAX)
			walk(w, openat(dirfd(dir), entry->d_name, O_RDONLY |
				       O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
			     depth + 1);
	}
	if (dir)
		closedir(dir);
}

uint64_t kf_folder_bytes(const char *path, size_t *entries)
{
	struct walk w = { 0 };

	walk(&w, open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
	     0);
	if (entries)
		*entries = w.entries;
	return w.bytes;
}
