#include "base/base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

char *kf_path_join(const char *dir, const char *name)
{
	size_t len = strlen(dir);

	if (!len || dir[len - 1] == '/')
		return kf_format("%s%s", dir, name);
	return kf_format("%s/%s", dir, name);
}

bool kf_path_exists(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0;
}

bool kf_path_is_dir(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool kf_path_is_empty(const char *path)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;
	bool empty = dir != NULL;

	while (dir && empty && (entry = readdir(dir)))
		empty = strcmp(entry->d_name, ".") == 0 ||
			strcmp(entry->d_name, "..") == 0;
	if (dir)
		closedir(dir);
	return empty;
}

enum kf_code kf_mkdir_p(const char *path, struct kf_err *err)
{
	enum kf_code code = KF_OK;
	char *copy, *slash;

	if (!path[0])
		return kf_fail(err, KF_E_INPUT, "a folder's name is empty");
	copy = kf_strdup(path);
	slash = copy;
	do {
		slash = strchr(slash + 1, '/');
		if (slash)
			*slash = '\0';
		if (mkdir(copy, 0777) && errno != EEXIST) {
			code = kf_fail_errno(err, "cannot make folder %s",
					     copy);
			goto out;
		}
		if (slash)
			*slash = '/';
	} while (slash);
	if (!kf_path_is_dir(path))
		code = kf_fail(err, KF_E_IO, "%s is not a folder", path);
out:
	free(copy);
	return code;
}

static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path) && errno != ENOENT;
}

enum kf_code kf_remove_tree(const char *path, struct kf_err *err)
{
	struct stat root, here;

	if (!path[0] ||
	    (!lstat("/", &root) && !lstat(path, &here) &&
	     root.st_dev == here.st_dev && root.st_ino == here.st_ino))
		return kf_fail(err, KF_E_INPUT, "refusing to remove '%s'",
			       path);
	if (nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) &&
	    errno != ENOENT)
		return kf_fail_errno(err, "cannot remove %s", path);
	return KF_OK;
}

enum kf_code kf_file_read(const char *path, struct kf_buf *out,
			  struct kf_err *err)
{
	enum kf_code code = KF_OK;
	FILE *f = fopen(path, "rb");
	char chunk[8192];
	size_t got;

	if (!f)
		return kf_fail_errno(err, "cannot open %s", path);
	if (kf_path_is_dir(path)) {
		code = kf_fail(err, KF_E_IO, "%s is a folder, not a file",
			       path);
		goto out;
	}
	while ((got = fread(chunk, 1, sizeof(chunk), f)) > 0) {
		if (kf_buf_add(out, chunk, got))
			continue;
		code = kf_fail(err, KF_E_LIMIT,
			       "%s is larger than %zu bytes", path, out->max);
		goto out;
	}
	if (ferror(f))
		code = kf_fail_errno(err, "cannot read %s", path);
out:
	fclose(f);
	return code;
}

static enum kf_code write_all(int fd, const char *bytes, size_t len,
			      const char *path, struct kf_err *err)
{
	while (len) {
		ssize_t put = write(fd, bytes, len);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return kf_fail_errno(err, "cannot write %s", path);
		bytes += put;
		len -= (size_t)put;
	}
	return KF_OK;
}

static enum kf_code sync_folder_of(const char *path, struct kf_err *err)
{
	const char *slash = strrchr(path, '/');
	char *dir = slash ? kf_strndup(path, (size_t)(slash - path) + 1)
			  : kf_strdup(".");
	enum kf_code code = KF_OK;
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	/* EINVAL: a file system that has no notion of syncing a folder. */
	if (fd < 0 || (fsync(fd) && errno != EINVAL))
		code = kf_fail_errno(err, "cannot sync folder %s", dir);
	if (fd >= 0)
		close(fd);
	free(dir);
	return code;
}

static enum kf_code write_file(const char *path, const void *bytes,
			       size_t len, bool durable, struct kf_err *err)
{
	struct kf_temporary temporary;
	enum kf_code code = kf_temporary_file(path, &temporary, err);

	if (code)
		return code;
	code = write_all(temporary.fd, bytes, len, path, err);
	if (!code && (fchmod(temporary.fd, 0644) ||
		      (durable && fsync(temporary.fd))))
		code = kf_fail_errno(err, "cannot write %s", path);
	if (!code && rename(temporary.path, path))
		code = kf_fail_errno(err, "cannot rename to %s", path);
	if (code)
		unlink(temporary.path);
	kf_temporary_release(&temporary);
	return code || !durable ? code : sync_folder_of(path, err);
}

enum kf_code kf_file_write(const char *path, const void *bytes, size_t len,
			   struct kf_err *err)
{
	return write_file(path, bytes, len, true, err);
}

enum kf_code kf_file_write_in(const char *dir, const char *name,
			      const void *bytes, size_t len,
			      struct kf_err *err)
{
	char *path = kf_path_join(dir, name);
	enum kf_code code = kf_file_write(path, bytes, len, err);

	free(path);
	return code;
}

enum kf_code kf_file_write_scratch(const char *path, const void *bytes,
				   size_t len, struct kf_err *err)
{
	return write_file(path, bytes, len, false, err);
}
