/* ncu.h - Nsight Compute's metrics that kforge asks for, and what it calls
 * them. */
#ifndef KF_PROFILE_NCU_H
#define KF_PROFILE_NCU_H

#include "profile/read.h"

enum kf_ncu_sum {	/* of several launches of a kernel */
	KF_NCU_SUM,
	KF_NCU_MEAN,	/* each counted by its time */
	KF_NCU_MOST,	/* a fact of the kernel */
};

struct kf_ncu_metric {
	const char *tool, *name;
	enum kf_ncu_sum how;
	bool chosen;	/* asked for; the others are read where they come, from
			   other versions or by default */
};
/* The first is the time. */
extern const struct kf_ncu_metric kf_ncu_metrics[];
extern const size_t kf_ncu_metric_count;

#endif
