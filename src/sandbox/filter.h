/*
 * filter.h - which system calls a program may make.
 *
 * Three filters. The common one is a list of what is denied; bwrap (or, in the
 * weak tier, the child itself) installs it for every profile. The strict one is
 * a list of what is allowed; the host runner installs it on top before it
 * loads a candidate. A third one denies new processes and nothing else; the
 * runner in Python installs it once a program is loaded. docs/sandbox.md says
 * why each group is there.
 */
#ifndef KF_SANDBOX_FILTER_H
#define KF_SANDBOX_FILTER_H

#include "sandbox/sandbox.h"

/* What else holds the program; where less does, the filter denies more. */
enum kf_filter_company {
	KF_FILTER_NAMESPACES,		/* sockets and signals go nowhere */
	KF_FILTER_TOOL,			/* nor does a tool's tracing */
	KF_FILTER_SIGNALS_SCOPED,	/* Landlock keeps signals inside */
	KF_FILTER_ALONE,
};

/* Compiled BPF in a memfd, or -1 and *err. */
int kf_filter_common_fd(enum kf_filter_company company, struct kf_err *err);
int kf_filter_strict_fd(struct kf_err *err);
int kf_filter_alone_fd(struct kf_err *err);

#endif
