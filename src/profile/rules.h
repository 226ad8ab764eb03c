/*
 * rules.h - from counters to what holds a program up, by written rules;
 * docs/profiling.md explains each. Pure. Part of reduce.c.
 */
#ifndef KF_PROFILE_RULES_H
#define KF_PROFILE_RULES_H

#include "profile/profile.h"

#define KF_EVIDENCE_MAX 6

struct kf_finding {
	enum kf_profile_class which;
	double weight;		/* of the time, what might be saved: 0..1, for the
				   order alone */
	char kernel[96];	/* "": the whole program */
	char text[400];		/* what is seen and what it means, one or two
				   sentences */
	const char *change;	/* what usually helps */
	/* Names of the metrics that say so, NULL after the last. */
	const char *evidence[KF_EVIDENCE_MAX + 1];
};

#define KF_FINDINGS_MAX 24
struct kf_findings {
	struct kf_finding finding[KF_FINDINGS_MAX];
	size_t count;			/* the heaviest first */
};

/* Did its threads wait for processors that others had? */
bool kf_profile_busy(const struct kf_profile *profile);
/* roofline may be NULL. */
void kf_rules_apply(const struct kf_profile *profile,
		    const struct kf_roofline *roofline,
		    struct kf_findings *out);

#endif
