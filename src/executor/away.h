/*
 * away.h - judging on another machine by way of a folder that both see, or
 * that somebody carries: jobs are written there (docs/jobs.md), `kforge judge`
 * on the machine with the device writes the results, and we go on when they
 * appear. No network and no database; either side may be stopped and started
 * again at any time.
 *
 * What a prompt needs and only the other machine knows (its device, the
 * problem's shapes, whether it is healthy) is asked for by a job of its own.
 */
#ifndef KF_EXECUTOR_AWAY_H
#define KF_EXECUTOR_AWAY_H

#include "executor/job.h"

/* "folder:DIR" gives DIR, made if need be, absolute; caller frees. KF_E_INPUT
 * for another kind of executor. "local" gives NULL. */
KF_MUST_CHECK enum kf_code kf_away_folder(const char *executor, char **out,
					  struct kf_err *err);

/* As kf_target_open_take_shapes, for a setup with an away folder: asks there
 * and waits. Fills in the setup's device, if that is not known yet. */
KF_MUST_CHECK enum kf_code kf_away_open_take_shapes(struct kf_setup *setup,
		struct kf_problem *problem, size_t count,
		struct kf_target *out, struct kf_err *err);

/* As kf_job_do, in the away folder; spec->folder's last name begins the job's
 * name there. A result for the same program of the same problem that is there
 * already is taken. */
KF_MUST_CHECK enum kf_code kf_away_judge(const struct kf_job_spec *spec,
		struct kf_verdict *out, struct kf_err *err);

#endif
