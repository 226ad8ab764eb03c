/*
 * Temporary files and folders that are told from others by name, and the
 * living's from the dead's by a lock: the kernel lets go of the lock of a
 * process that ends, however it ends.
 */
#include "base/base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define MARK ".tmp-"
#define RANDOM_LEN 6
#define TRIES 100	/* against whoever sweeps at the same moment */

/* Takes the lock. False if the name is lost to somebody who swept it before
 * the lock was there. A file system without locks has no sweepers either. */
static bool claim(int fd, const char *path)
{
	struct stat held, named;

	if (flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
		return false;
	return fstat(fd, &held) == 0 && lstat(path, &named) == 0 &&
	       held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

/* -1 with EAGAIN: a new folder was swept before it could be opened. */
static int make(char *path, bool folder)
{
	int fd;

	if (!folder)
		return mkostemp(path, O_CLOEXEC);
	if (!mkdtemp(path))
		return -1;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		errno = EAGAIN;
	return fd;
}

static enum kf_code begin(const char *beside, bool folder,
			  struct kf_temporary *out, struct kf_err *err)
{
	*out = (struct kf_temporary) { .fd = -1 };
	for (int i = 0; i < TRIES; i++) {
		char *path = kf_format("%s" MARK "XXXXXX", beside);
		int fd = make(path, folder);

		if (fd >= 0 && claim(fd, path)) {
			*out = (struct kf_temporary) { path, fd };
			return KF_OK;
		}
		if (fd < 0 && errno == EAGAIN) {
			free(path);
			continue;
		}
		if (fd < 0) {
			free(path);
			return kf_fail_errno(err, "cannot write %s", beside);
		}
		close(fd);
		(void)!kf_remove_tree(path, NULL);
		free(path);
	}
	return kf_fail(err, KF_E_IO, "cannot write %s: its temporary file is "
		       "removed by others time and again", beside);
}

enum kf_code kf_temporary_file(const char *beside, struct kf_temporary *out,
			       struct kf_err *err)
{
	return begin(beside, false, out, err);
}

enum kf_code kf_temporary_folder(const char *beside, struct kf_temporary *out,
				 struct kf_err *err)
{
	return begin(beside, true, out, err);
}

enum kf_code kf_temporary_remove(struct kf_temporary *temporary,
				 struct kf_err *err)
{
	enum kf_code code = KF_OK;

	if (temporary->path)
		code = kf_remove_tree(temporary->path, err);
	kf_temporary_release(temporary);
	return code;
}

void kf_temporary_release(struct kf_temporary *temporary)
{
	if (temporary->path && temporary->fd >= 0)
		close(temporary->fd);
	free(temporary->path);
	*temporary = (struct kf_temporary) { .fd = -1 };
}

/* --- what the dead left --------------------------------------------------- */

static bool is_temporary(const char *name, const char *prefix)
{
	size_t len = strlen(name), end = strlen(MARK) + RANDOM_LEN;

	return len > end && strncmp(name, prefix, strlen(prefix)) == 0 &&
	       strncmp(name + len - end, MARK, strlen(MARK)) == 0;
}

/* Ours to remove: made by this user, and nobody holds it. */
static bool is_dead(int folder_fd, const char *name, int *fd)
{
	struct stat st;

	*fd = openat(folder_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
		     O_CLOEXEC);
	return *fd >= 0 && fstat(*fd, &st) == 0 && st.st_uid == geteuid() &&
	       (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)) &&
	       flock(*fd, LOCK_EX | LOCK_NB) == 0;
}

void kf_temporaries_sweep(const char *folder, const char *prefix)
{
	DIR *dir = opendir(folder);
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		char *path;
		int fd;

		if (!is_temporary(entry->d_name, prefix))
			continue;
		path = kf_path_join(folder, entry->d_name);
		if (is_dead(dirfd(dir), entry->d_name, &fd))
			(void)!kf_remove_tree(path, NULL);
		if (fd >= 0)
			close(fd);
		free(path);
	}
	if (dir)
		closedir(dir);
}
