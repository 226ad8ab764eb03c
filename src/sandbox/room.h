/*
 * room.h - what a program has written into the folders that it was given.
 *
 * No limit of the kernel's holds the sum of many files, so the folders are
 * looked at every 100 ms, more seldom where a look takes long: the limit may be
 * exceeded by what is written meanwhile.
 */
#ifndef KF_SANDBOX_ROOM_H
#define KF_SANDBOX_ROOM_H

#include "base/base.h"

struct kf_sandbox;
struct kf_sandbox_spec;

struct kf_room {
	char *path;		/* owned */
	uint64_t before_bytes;	/* that were there when it began */
};

/* Notes the writable folders of the spec, and the weak tier's /tmp. */
void kf_room_init(struct kf_sandbox *box, const struct kf_sandbox_spec *spec);
void kf_room_release(struct kf_sandbox *box);
/* Has one grown by more than limits.file_bytes? Then the program is stopped, or
 * if it has ended that is its end. now: even if the time has not come. */
void kf_room_look(struct kf_sandbox *box, bool now);

#endif
