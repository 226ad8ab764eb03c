#include "profile/dump.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* Its size; 0: it is none. */
static off_t picture_bytes(const char *folder, const char *name)
{
	static const unsigned char sign[] = { 0x89, 'P', 'N', 'G', '\r', '\n',
					      0x1a, '\n' };
	unsigned char first[sizeof(sign)];
	off_t bytes = 0;
	int fd = open_plain(folder, name, &bytes);
	bool good = fd >= 0 &&
		read(fd, first, sizeof(first)) == (ssize_t)sizeof(first) &&
		memcmp(first, sign, sizeof(sign)) == 0;

	if (fd >= 0)
		close(fd);
	return good ? bytes : 0;
}

static void add_picture(const char *folder, const char *name, off_t bytes,
			struct kf_profile *out)
{
	char *path = kf_path_join(folder, name);
	char *what = kf_format("picture %s", name);

	if (bytes <= KF_PROFILE_PICTURE_BYTES)
		kf_profile_add_picture(out, path);
	else
		kf_profile_add_missing(out, what, "it is larger than 1 MiB; "
				       "have the tool draw a smaller one");
	free(what);
	free(path);
}

bool kf_profile_picture(const char *path, struct kf_buf *out)
{
	const char *slash = strrchr(path, '/');
	char *folder = slash ? kf_strndup(path, (size_t)(slash - path)) : NULL;
	off_t bytes = folder ? picture_bytes(folder, slash + 1) : 0;
	bool good = bytes > 0 && bytes <= KF_PROFILE_PICTURE_BYTES &&
		kf_dump_read(folder, slash + 1, out) &&
		out->len == (size_t)bytes;

	free(folder);
	return good;
}

void kf_dump_pictures(const char *folder, struct kf_profile *out)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		size_t len = strlen(entry->d_name);
		off_t bytes = len >= 4 &&
			strcmp(entry->d_name + len - 4, ".png") == 0 ?
			picture_bytes(folder, entry->d_name) : 0;

		if (bytes)
			add_picture(folder, entry->d_name, bytes, out);
	}
	if (dir)
		closedir(dir);
}
