/*
 * weaken.h - where tests/cheats may take one of the judge's defences away, to
 * show that the cheat it is there for would pass without it; or all of them, to
 * tell what they cost.
 *
 * Only a build with KF_TEST_DEFENCES can: `make cheats` links one, from
 * tests/cheats/weaken.c and values_only.c. In every other build nothing is left
 * of these. No verdict of that build bears the hash of this judge (about.c).
 */
#ifndef KF_EVALUATE_WEAKEN_H
#define KF_EVALUATE_WEAKEN_H

#include "evaluate/session.h"

struct kf_judgement;

enum kf_weakness {
	KF_WEAK_PAUSE,		/* the program runs on between commands */
	KF_WEAK_CLOCK,		/* its own process says how long a call took */
	KF_WEAK_READ_ONLY,	/* inputs may be written to */
	KF_WEAK_PRECISION,	/* nobody asks whose errors these are */
	KF_WEAK_SCRATCH,	/* what lies around scratch is not looked at */
	KF_WEAK_ORDER,		/* threads come as they like */
	KF_WEAK_PROTOCOL,	/* values only, as other judges do */
	KF_WEAKNESSES
};

#ifdef KF_TEST_DEFENCES

#define KF_MAY_BE_WEAK	true	/* outputs are written to, and must be whole */
bool kf_weak(enum kf_weakness weakness);
/* The data of a call that was to be on kase. */
const struct kf_case *kf_weak_case(const struct kf_session *session,
				   const struct kf_case *kase);
/* Before a call, when outputs and inputs are in place; after it, before they
 * are looked at. */
enum kf_code kf_weak_before(struct kf_session *session,
			    const struct kf_case *kase, struct kf_err *err);
void kf_weak_after(struct kf_session *session, const struct kf_case *kase);
/* In the place of kf_judgement_run, without KF_WEAK_PROTOCOL. */
KF_MUST_CHECK enum kf_code kf_weak_run(struct kf_judgement *judgement,
				       struct kf_err *err);

#else

#define KF_MAY_BE_WEAK	false
static inline bool kf_weak(enum kf_weakness weakness)
{
	(void)weakness;
	return false;
}

static inline const struct kf_case *kf_weak_case(
		const struct kf_session *session, const struct kf_case *kase)
{
	(void)session;
	return kase;
}

static inline enum kf_code kf_weak_before(struct kf_session *session,
					  const struct kf_case *kase,
					  struct kf_err *err)
{
	(void)session;
	(void)kase;
	(void)err;
	return KF_OK;
}

static inline void kf_weak_after(struct kf_session *session,
				 const struct kf_case *kase)
{
	(void)session;
	(void)kase;
}

static inline enum kf_code kf_weak_run(struct kf_judgement *judgement,
				       struct kf_err *err)
{
	(void)judgement;
	(void)err;
	return KF_OK;
}

#endif
#endif
