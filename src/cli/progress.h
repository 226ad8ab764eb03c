/*
 * progress.h - what a person sees while the loop works: on a terminal one line
 * that changes, then one that stays, for each attempt; elsewhere plain lines.
 */
#ifndef KF_PROGRESS_H
#define KF_PROGRESS_H

#include "loop/loop.h"

struct kf_progress {
	bool quiet, terminal;
	bool line_open;		/* a changing line stands on the terminal */
	uint64_t started_ns, shown_ns;
};

void kf_progress_init(struct kf_progress *progress, bool quiet);
/* For struct kf_watch; arg is the kf_progress. */
void kf_progress_event(void *arg, const struct kf_event *event);
/* Ends a changing line before something else is printed. */
void kf_progress_end(struct kf_progress *progress);

#endif
