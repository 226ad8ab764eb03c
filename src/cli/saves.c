#include "cli/saves.h"

#include <errno.h>
#include <libgen.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#define BURST_MS	30	/* of quiet end a burst */
#define BURST_NS	(2 * KF_NS_PER_S)	/* it is at an end after that */
#define LOOK_MS		50	/* between looks at the user's wish */
#define FILES_MAX	256

#define SAVE_EVENTS	(IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE)
#define GONE_EVENTS	(IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED)

struct kf_saves_file { int folder; char *name; };

/* --- what is watched ------------------------------------------------------ */

/* Takes name over. */
static enum kf_code watch(struct kf_saves *s, const char *folder, char *name,
			  struct kf_err *err)
{
	int wd = inotify_add_watch(s->fd, folder, SAVE_EVENTS |
				   IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR);

	if (wd < 0 || s->file_count == FILES_MAX) {
		free(name);
		return kf_fail(err, KF_E_INPUT, "cannot watch folder %s: %s",
			       folder, wd < 0 ? strerror(errno) :
			       "too many files");
	}
	s->file = kf_realloc(s->file, (s->file_count + 1) *
			     sizeof(s->file[0]));
	s->file[s->file_count++] = (struct kf_saves_file) { wd, name };
	return KF_OK;
}

static enum kf_code watch_file(struct kf_saves *s, const char *path,
			       struct kf_err *err)
{
	char *folder = kf_strdup(path), *base = kf_strdup(path);
	enum kf_code code = watch(s, dirname(folder),
				  kf_strdup(basename(base)), err);

	free(folder);
	free(base);
	return code;
}

/* The file by its name, and where a link leads. */
static enum kf_code watch_path(struct kf_saves *s, const char *path,
			       struct kf_err *err)
{
	enum kf_code code = watch_file(s, path, err);
	char *real = realpath(path, NULL);

	if (!code && real)
		code = watch_file(s, real, err);
	free(real);
	return code;
}

enum kf_code kf_saves_open(const char *const *path, size_t count,
			   const char *const *name, size_t name_count,
			   const volatile int *stop, struct kf_saves *out,
			   struct kf_err *err)
{
	enum kf_code code = KF_OK;

	*out = (struct kf_saves) { .stop = stop, .stop_fd = -1 };
	out->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (out->fd < 0)
		return kf_fail_errno(err, "cannot watch files");
	for (size_t i = 0; i < count && !code; i++) {
		if (!kf_path_is_dir(path[i])) {
			code = watch_path(out, path[i], err);
			continue;
		}
		for (size_t k = 0; k < name_count && !code; k++) {
			char *file = kf_path_join(path[i], name[k]);

			code = watch_path(out, file, err);
			free(file);
		}
	}
	return code;
}

void kf_saves_release(struct kf_saves *s)
{
	for (size_t i = 0; i < s->file_count; i++)
		free(s->file[i].name);
	free(s->file);
	if (s->fd >= 0)
		close(s->fd);
	*s = (struct kf_saves) { .fd = -1, .stop_fd = -1 };
}

/* --- what happens --------------------------------------------------------- */

static bool counts(const struct kf_saves *s, const struct inotify_event *e)
{
	if (e->mask & IN_Q_OVERFLOW)	/* anything may have happened */
		return true;
	for (size_t i = 0; i < s->file_count; i++)
		if (s->file[i].folder == e->wd && e->len &&
		    strcmp(s->file[i].name, e->name) == 0)
			return true;
	return false;
}

/* Takes all events there are: true if a file that counts was saved. */
static bool take_events(struct kf_saves *s)
{
	union {
		struct inotify_event align;
		char bytes[4096];
	} room;
	bool saved = false;

	for (;;) {
		ssize_t len = read(s->fd, room.bytes, sizeof(room.bytes));
		const char *at = room.bytes;

		if (len <= 0)
			return saved;
		while (at < room.bytes + len) {
			const struct inotify_event *e = (const void *)at;

			if (e->mask & GONE_EVENTS)
				s->gone = true;
			saved = saved || counts(s, e);
			at += sizeof(*e) + e->len;
		}
	}
}

static bool readable(int fd, int timeout_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, timeout_ms) > 0;
}

static void await_quiet(struct kf_saves *s)
{
	uint64_t end_ns = kf_now_ns() + BURST_NS;

	while (kf_now_ns() < end_ns && !*s->stop && readable(s->fd, BURST_MS))
		(void)take_events(s);
}

enum kf_code kf_saves_wait(struct kf_saves *s, struct kf_err *err)
{
	while (!s->saved) {
		if (*s->stop)
			return kf_fail(err, KF_E_CANCELED, "stopped");
		if (s->gone)
			return kf_fail(err, KF_E_INPUT, "the folder of the "
				       "program is gone, so there is nothing "
				       "to watch");
		if (readable(s->fd, LOOK_MS))
			s->saved = take_events(s);
	}
	await_quiet(s);
	s->saved = false;
	return KF_OK;
}

/* --- while others work ---------------------------------------------------- */

static void *look_out(void *arg)
{
	struct kf_saves *s = arg;
	struct pollfd p[] = {
		{ .fd = s->fd, .events = POLLIN },
		{ .fd = s->stop_fd, .events = POLLIN },
	};

	while (!p[1].revents) {
		if (poll(p, KF_COUNT(p), LOOK_MS) > 0 && p[0].revents &&
		    take_events(s))
			s->saved = true;
		if (s->saved || *s->stop)
			s->cancel = 1;
	}
	return NULL;
}

enum kf_code kf_saves_begin(struct kf_saves *s, struct kf_err *err)
{
	sigset_t all, before;
	int failed;

	s->cancel = 0;
	s->stop_fd = eventfd(0, EFD_CLOEXEC);
	if (s->stop_fd < 0)
		return kf_fail_errno(err, "cannot watch files");
	/* Signals are for the thread that works. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	failed = pthread_create(&s->thread, NULL, look_out, s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!failed)
		return KF_OK;
	close(s->stop_fd);
	s->stop_fd = -1;
	errno = failed;
	return kf_fail_errno(err, "cannot start a thread");
}

bool kf_saves_end(struct kf_saves *s)
{
	const uint64_t one = 1;

	(void)!write(s->stop_fd, &one, sizeof(one));
	pthread_join(s->thread, NULL);
	close(s->stop_fd);
	s->stop_fd = -1;
	return s->saved;
}
