/*
 * work.h - judging as the work of a pool's processes: a folder, or a line of
 * JSON, comes in; what became of it goes out as a line of JSON.
 */
#ifndef KF_EXECUTOR_WORK_H
#define KF_EXECUTOR_WORK_H

#include "executor/pool.h"
#include "executor/targets.h"

struct kf_work {
	struct kf_targets_spec spec;
	const json_t *defaults;		/* borrowed; for what jobs leave out, as
					   kf_job_to_json has it; NULL: none */
	const char *scratch_folder;	/* where folders for lines are made */
	struct kf_targets *targets;	/* each process's own, from its begin on */
};

/* For kf_pool_spec.begin, .work and .end; arg is a struct kf_work. */

/* The number decides which of several devices is this process's. */
void kf_work_begin(void *arg, unsigned number);

/* {"folder": PATH, "again": false, "wait": false} gives
 *	{"folder": PATH, "end": "done" | "had_result" | "taken" | "trouble" |
 *	 "stopped", "result": {...}, "error": {"kind", "text"}}
 * "stopped": the user said so; it has no result. */
void kf_work_folder(void *arg, const char *item, size_t len,
		    struct kf_buf *answer);
/* Item: the line's number, a space, the line. docs/jobs.md has both lines. */
void kf_work_line(void *arg, const char *item, size_t len,
		  struct kf_buf *answer);
void kf_work_end(void *arg);

/* The answer to a line that was not judged; id (borrowed) may be NULL. New
 * reference. */
json_t *kf_work_error(const json_t *id, uint64_t line,
		      const struct kf_err *trouble);

#endif
