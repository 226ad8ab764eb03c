#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#define POLL_NS (5 * KF_NS_PER_MS)

/* Without O_CREAT where it is there: of a file that is another user's, in a
 * folder for all, Linux refuses that. No links: in a folder of somebody else's
 * one could name a lock of ours. */
static int open_file(const char *path)
{
	const int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
	int fd;

	do {
		fd = open(path, flags);
		if (fd >= 0 || errno != ENOENT)
			break;
		fd = open(path, flags | O_CREAT | O_EXCL, 0666);
	} while (fd < 0 && errno == EEXIST);
	return fd;
}

static enum kf_code open_lock(const char *path, struct kf_lock *lock,
			      struct kf_err *err)
{
	*lock = (struct kf_lock) { 0 };
	lock->fd = open_file(path);
	if (lock->fd < 0)
		return kf_fail_errno(err, "cannot open the lock %s", path);
	lock->open = true;
	return KF_OK;
}

/* Who holds a file that was removed meanwhile holds nothing. */
static bool is_there(const char *path, const struct kf_lock *lock)
{
	struct stat named, ours;

	return stat(path, &named) == 0 && fstat(lock->fd, &ours) == 0 &&
		named.st_dev == ours.st_dev && named.st_ino == ours.st_ino;
}

/* For those who wait; the lock itself does not depend on it. */
static void sign(const struct kf_lock *lock)
{
	struct utsname about;

	if (uname(&about) == 0 && ftruncate(lock->fd, 0) == 0)
		dprintf(lock->fd, "process %d on %s\n", (int)getpid(),
			about.nodename);
}

static enum kf_code try_once(const char *path, bool share,
			     struct kf_lock *lock, struct kf_err *err)
{
	enum kf_code code = KF_OK;

	while (!code && flock(lock->fd, (share ? LOCK_SH : LOCK_EX) |
			      LOCK_NB) == 0) {
		lock->held = is_there(path, lock);
		if (lock->held) {
			sign(lock);
			return KF_OK;
		}
		kf_lock_release(lock);
		code = open_lock(path, lock, err);
	}
	if (code || errno == EWOULDBLOCK || errno == EINTR)
		return code;
	return kf_fail_errno(err, "cannot lock %s", path);
}

enum kf_code kf_lock_try(const char *path, struct kf_lock *out,
			 struct kf_err *err)
{
	enum kf_code code = open_lock(path, out, err);

	if (!code)
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
	struct kf_buf text = { .max = size - 1 }, clean = { .max = size - 1 };

	if (kf_file_read(path, &text, NULL) == KF_OK)
		kf_utf8_clean(kf_buf_str(&text),
			      strcspn(kf_buf_str(&text), "\n"), &clean);
	snprintf(out, size, "%s", clean.len ? kf_buf_str(&clean) :
		 "another process");
	kf_buf_release(&clean);
	kf_buf_release(&text);
}

void kf_lock_release(struct kf_lock *lock)
{
	if (lock->open)
		close(lock->fd);
	*lock = (struct kf_lock) { 0 };
}
