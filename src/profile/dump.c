#include "profile/dump.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define PICTURE_BYTES	(4u << 20)

/* A descriptor of a plain file, or -1. */
static int open_plain(const char *folder, const char *name, off_t *bytes)
{
	int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int fd = dir < 0 ? -1 : openat(dir, name, O_RDONLY | O_NOFOLLOW |
				       O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (dir >= 0)
		close(dir);
	if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode) ||
			st.st_nlink != 1)) {
		close(fd);
		return -1;
	}
	if (fd >= 0)
		*bytes = st.st_size;
	return fd;
}

bool kf_dump_read(const char *folder, const char *name, struct kf_buf *out)
{
	char *chunk = kf_alloc(65536);
	off_t bytes = 0;
	int fd = open_plain(folder, name, &bytes);
	ssize_t got = fd < 0 ? -1 : 1;

	while (got > 0) {
		got = read(fd, chunk, 65536);
		if (got > 0 && !kf_buf_add(out, chunk, (size_t)got))
			break;
	}
	if (fd >= 0)
		close(fd);
	free(chunk);
	return fd >= 0;
}

static bool is_picture(const char *folder, const char *name)
{
	static const unsigned char sign[] = { 0x89, 'P', 'N', 'G', '\r', '\n',
					      0x1a, '\n' };
	unsigned char first[sizeof(sign)];
	off_t bytes = 0;
	int fd = open_plain(folder, name, &bytes);
	bool good = fd >= 0 && bytes <= PICTURE_BYTES &&
		read(fd, first, sizeof(first)) == (ssize_t)sizeof(first) &&
		memcmp(first, sign, sizeof(sign)) == 0;

	if (fd >= 0)
		close(fd);
	return good;
}

void kf_dump_pictures(const char *folder, struct kf_profile *out)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		size_t len = strlen(entry->d_name);
		char *path;

		if (len < 4 || strcmp(entry->d_name + len - 4, ".png") != 0 ||
		    !is_picture(folder, entry->d_name))
			continue;
		path = kf_path_join(folder, entry->d_name);
		kf_profile_add_picture(out, path);
		free(path);
	}
	if (dir)
		closedir(dir);
}
