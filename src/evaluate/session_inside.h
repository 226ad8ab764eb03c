/*
 * session_inside.h - shared by session*.c only: where a session's process comes
 * from and goes to, and the look at what a call has left behind.
 */
#ifndef KF_EVALUATE_SESSION_INSIDE_H
#define KF_EVALUATE_SESSION_INSIDE_H

#include "evaluate/session.h"

/* The next process, with the program loaded: one made ahead if there is one.
 * *end is how loading went. *out may be set when this fails, too. */
KF_MUST_CHECK enum kf_code kf_session_shared_next(
		struct kf_session_shared *shared, struct kf_worker **out,
		struct kf_call_end *end, struct kf_err *err);
/* A session's process ends, now or soon. Takes it. */
void kf_session_shared_leave(struct kf_session_shared *shared,
			     struct kf_worker *worker);

/* Looks at a call that ended well: outputs, their guards, inputs and weights.
 * check->fault is what was wrong. It may download what only sums came back of:
 * what is wrong by those is looked at whole. */
KF_MUST_CHECK enum kf_code kf_session_look(struct kf_session *session,
		const struct kf_case *kase, struct kf_check *check,
		struct kf_err *err);

#endif
