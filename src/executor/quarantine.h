/*
 * quarantine.h - devices that no longer compute as they should.
 *
 * After a run in which a device may have come to harm its canary runs: a small
 * program of ours with a known answer (driver.h), which shares the device as
 * all who compute there do. If two in a row fail, a file (device_files.h) puts
 * it into quarantine: from then on every kforge process that uses this cache
 * answers with trouble of ours, and never with a verdict, until somebody
 * releases it. The file is JSON with device, reason and at.
 */
#ifndef KF_EXECUTOR_QUARANTINE_H
#define KF_EXECUTOR_QUARANTINE_H

#include <kforge/driver.h>

#include "base/base.h"

#define KF_CANARY_NS	(30 * KF_NS_PER_S)	/* for one */

struct kf_quarantine {
	const struct kf_driver *driver;
	const char *device_id, *lock_path;
	const char *path;		/* of the file */
	const struct kf_log *log;
	const volatile int *cancel;	/* NULL, or becomes non-zero to stop */
};

/* KF_E_UNAVAIL, with the reason and the way out, if it is in quarantine. */
KF_MUST_CHECK enum kf_code kf_quarantine_check(const char *device_id,
		const char *path, struct kf_err *err);
/* Runs the canary, and once more if it fails; then the device is in quarantine.
 * KF_OK in either case, for drivers without one, and with a line in the log
 * where nothing can be found out: others do not let us near the device, or have
 * all of its memory. */
KF_MUST_CHECK enum kf_code kf_quarantine_look(const struct kf_quarantine *q,
					      struct kf_err *err);
/* *was: it was in quarantine. */
KF_MUST_CHECK enum kf_code kf_quarantine_release(const char *path, bool *was,
						 struct kf_err *err);

#endif
