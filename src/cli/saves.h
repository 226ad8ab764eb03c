/*
 * saves.h - tells when one of a program's files is saved (Linux: inotify).
 *
 * Folders are watched, not files, for many editors write a new file and rename
 * it over the old one; and the folder that a link leads to, too. Events that
 * come in a burst are one save. None is lost: what happens between two calls
 * is kept by the kernel.
 *
 * Threads: from kf_saves_begin to kf_saves_end a thread of its own waits for
 * saves, so that work can be stopped by one; everything else is the caller's.
 */
#ifndef KF_SAVES_H
#define KF_SAVES_H

#include <pthread.h>

#include "base/base.h"

struct kf_saves_file;

struct kf_saves {
	int fd;				/* inotify */
	struct kf_saves_file *file;	/* owned */
	size_t file_count;
	const volatile int *stop;	/* the user's wish to end */
	bool saved;			/* seen, and not yet told */
	bool gone;			/* a folder was removed or renamed */
	volatile int cancel;		/* for who works meanwhile */
	pthread_t thread;
	int stop_fd;			/* wakes the thread; -1: there is none */
};

/* path: files, or folders, in which then name[0 .. name_count) are the files
 * that count. *stop (not NULL) ends every wait once it is not 0. KF_E_INPUT for
 * a folder that is not there. Release in any case. */
KF_MUST_CHECK enum kf_code kf_saves_open(const char *const *path, size_t count,
		const char *const *name, size_t name_count,
		const volatile int *stop, struct kf_saves *out,
		struct kf_err *err);
void kf_saves_release(struct kf_saves *saves);

/* Waits for a save, and until no more of its burst comes. KF_E_CANCELED once
 * *stop is set, KF_E_INPUT when a folder is gone. */
KF_MUST_CHECK enum kf_code kf_saves_wait(struct kf_saves *saves,
					 struct kf_err *err);

/* From begin to end saves->cancel becomes 1 at a save, and when *stop is set.
 * end tells whether there was a save, which the next kf_saves_wait then returns
 * for at once. */
KF_MUST_CHECK enum kf_code kf_saves_begin(struct kf_saves *saves,
					  struct kf_err *err);
bool kf_saves_end(struct kf_saves *saves);

#endif
