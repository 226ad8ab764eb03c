#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#define POLL_NS (5 * KF_NS_PER_MS)
#define TRIES 3			/* to find the file that has the name */
#define HOLDER_BYTES 256

#define FLAGS (O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)

/* Does it lie where anybody may make files? Then anybody may lock it. */
static bool is_for_all(const char *path)
{
	char *folder = kf_strdup(path), *slash = strrchr(folder, '/');
	struct stat about;
	bool is;

	if (slash)
		*slash = '\0';
	is = slash && folder[0] && stat(folder, &about) == 0 &&
		(about.st_mode & S_IWOTH);
	free(folder);
	return is;
}

/* It has its name once all may open it, and not before. */
static int make_for_all(const char *path)
{
	char *unnamed = kf_format("%s.XXXXXX", path);
	int fd = mkostemp(unnamed, O_CLOEXEC), failed = 0;

	if (fd >= 0 && (fchmod(fd, 0666) || link(unnamed, path)))
		failed = errno;
	if (fd >= 0)
		unlink(unnamed);
	free(unnamed);
	if (failed) {
		close(fd);
		fd = -1;
		errno = failed;
	}
	return fd;
}

/* Some file systems have no second names. */
static int make_file(const char *path)
{
	int fd;

	if (is_for_all(path)) {
		fd = make_for_all(path);
		if (fd >= 0 || errno == EEXIST)
			return fd;
	}
	return open(path, FLAGS | O_CREAT | O_EXCL, 0666);
}

/* Without O_CREAT where it is there: of a file that is another user's, in a
 * folder for all, Linux refuses that. No links: in a folder of somebody else's
 * one could name a lock of ours. */
static int open_file(const char *path)
{
	int fd;

	do {
		fd = open(path, FLAGS);
		if (fd >= 0 || errno != ENOENT)
			break;
		fd = make_file(path);
	} while (fd < 0 && errno == EEXIST);
	return fd;
}

static enum kf_code open_lock(const char *path, struct kf_lock *lock,
			      struct kf_err *err)
{
	struct stat about;

	*lock = (struct kf_lock) { 0 };
	lock->fd = open_file(path);
	if (lock->fd < 0)
		return kf_fail_errno(err, "cannot open the lock %s", path);
	lock->open = true;
	if (fstat(lock->fd, &about) == 0 && S_ISREG(about.st_mode))
		return KF_OK;
	kf_lock_release(lock);
	return kf_fail(err, KF_E_IO, "the lock %s is no file", path);
}

/* Who holds a file that was removed meanwhile holds nothing. */
static bool is_there(const char *path, const struct kf_lock *lock)
{
	struct stat named, ours;

	return stat(path, &named) == 0 && fstat(lock->fd, &ours) == 0 &&
		named.st_dev == ours.st_dev && named.st_ino == ours.st_ino;
}

/* For those who wait; the lock itself does not depend on it. A file of several
 * names may be one that somebody wants to see cut. */
static void sign(const struct kf_lock *lock)
{
	struct utsname about;
	struct stat its;

	if (fstat(lock->fd, &its) == 0 && its.st_nlink == 1 &&
	    uname(&about) == 0 && ftruncate(lock->fd, 0) == 0)
		dprintf(lock->fd, "process %d on %s\n", (int)getpid(),
			about.nodename);
}

/* A file that was removed is opened anew, to be tried the next time. */
static enum kf_code try_once(const char *path, bool share,
			     struct kf_lock *lock, struct kf_err *err)
{
	if (flock(lock->fd, (share ? LOCK_SH : LOCK_EX) | LOCK_NB))
		return errno == EWOULDBLOCK || errno == EINTR ? KF_OK :
			kf_fail_errno(err, "cannot lock %s", path);
	if (is_there(path, lock)) {
		lock->held = true;
		sign(lock);
		return KF_OK;
	}
	kf_lock_release(lock);
	return open_lock(path, lock, err);
}

enum kf_code kf_lock_try(const char *path, struct kf_lock *out,
			 struct kf_err *err)
{
	enum kf_code code = open_lock(path, out, err);

	for (int i = 0; i < TRIES && !code && !out->held; i++)
		code = try_once(path, false, out, err);
	if (code || !out->held)
		kf_lock_release(out);
	return code;
}

static enum kf_code wait_for(const char *path, bool share,
			     uint64_t timeout_ns, const volatile int *cancel,
			     struct kf_lock *out, struct kf_err *err)
{
	uint64_t start_ns = kf_now_ns();
	enum kf_code code = open_lock(path, out, err);

	while (!code && !out->held) {
		code = try_once(path, share, out, err);
		if (code || out->held)
			break;
		if (cancel && *cancel)
			code = kf_fail(err, KF_E_CANCELED, "stopped");
		else if (kf_now_ns() - start_ns > timeout_ns)
			code = kf_fail(err, KF_E_TIMEOUT, "another process "
				       "holds %s for too long", path);
		else
			kf_sleep_ns(POLL_NS);
	}
	if (code)
		kf_lock_release(out);
	return code;
}

enum kf_code kf_lock_wait(const char *path, uint64_t timeout_ns,
			  const volatile int *cancel, struct kf_lock *out,
			  struct kf_err *err)
{
	return wait_for(path, false, timeout_ns, cancel, out, err);
}

enum kf_code kf_lock_share(const char *path, uint64_t timeout_ns,
			   const volatile int *cancel, struct kf_lock *out,
			   struct kf_err *err)
{
	return wait_for(path, true, timeout_ns, cancel, out, err);
}

void kf_lock_holder(const char *path, char *out, size_t size)
{
	struct kf_buf clean = { .max = size - 1 };
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	char text[HOLDER_BYTES];
	ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	text[len > 0 ? len : 0] = '\0';
	kf_utf8_clean(text, strcspn(text, "\n"), &clean);
	snprintf(out, size, "%s", clean.len ? kf_buf_str(&clean) :
		 "another process");
	kf_buf_release(&clean);
}

void kf_lock_release(struct kf_lock *lock)
{
	if (lock->open)
		close(lock->fd);
	*lock = (struct kf_lock) { 0 };
}
