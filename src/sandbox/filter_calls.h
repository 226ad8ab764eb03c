/* filter_calls.h - the lists of system calls behind filter.c. */
#ifndef KF_SANDBOX_FILTER_CALLS_H
#define KF_SANDBOX_FILTER_CALLS_H

/* The common filter; each list ends with NULL. */
extern const char *const kf_calls_hostile[];	/* SIGSYS */
extern const char *const kf_calls_tracing[];	/* SIGSYS, but not for tools */
extern const char *const kf_calls_tools[];	/* EPERM, but not for tools */
extern const char *const kf_calls_refused[];	/* EPERM */
extern const char *const kf_calls_absent[];	/* ENOSYS */
extern const char *const kf_calls_outside[];	/* EPERM, weak tier only */
extern const char *const kf_calls_signaling[];	/* EPERM, without Landlock */

/* The strict filter; whatever is in none of them is SIGSYS. */
extern const char *const kf_calls_computing[];	/* allowed */
extern const char *const kf_calls_absent_strict[];	/* ENOSYS */
extern const char *const kf_calls_tuning[];	/* EPERM */

#endif
