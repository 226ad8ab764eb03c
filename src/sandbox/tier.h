/* tier.h - how good a sandbox this machine gives. */
#ifndef KF_SANDBOX_TIER_H
#define KF_SANDBOX_TIER_H

#include "sandbox/cgroup.h"

/* Picks the best tier that works here and is at least spec->tier_min, and for
 * KF_TIER_STRONG makes its control group. KF_E_UNAVAIL tells the way out. */
enum kf_code kf_tier_choose(const struct kf_sandbox_spec *spec,
			    enum kf_sandbox_tier *tier,
			    struct kf_cgroup **cgroup, struct kf_err *err);

#endif
