/*
 * orphans.h - sandboxes in the making whose supervisor was killed.
 *
 * bubblewrap dies with its supervisor. If that happens while it makes a
 * namespace, the namespace's first process waits for it for ever: nothing of
 * the program has begun, but a process is left. Who starts processes that start
 * sandboxes adopts what these leave, and ends it once they are dead.
 *
 * Threads: for a process with one.
 */
#ifndef KF_SANDBOX_ORPHANS_H
#define KF_SANDBOX_ORPHANS_H

#include <sys/types.h>

#include "base/base.h"

/* From now on orphans of the caller's descendants become its children. Those of
 * sandboxes that it has started itself are reaped when these are swept. */
void kf_orphans_adopt(void);
/* Ends every bubblewrap that is a child of the caller, and what they have
 * begun; reaps those and all other dead children but spared[0 .. count). Gives
 * up after some seconds on what does not die. For when no child but the spared
 * is still to be waited for. */
void kf_orphans_end(const pid_t *spared, size_t count);

#endif
