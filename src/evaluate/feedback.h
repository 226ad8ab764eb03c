/* feedback.h - a judgement told: in words for the next prompt, and as data for
 * the record. Private to feedback.c, evidence.c and evaluate.c. */
#ifndef KF_EVALUATE_FEEDBACK_H
#define KF_EVALUATE_FEEDBACK_H

#include "evaluate/judge.h"

/* The first errors of a compiler's log with their source lines, paths cut to
 * file names, valid UTF-8; one that says the same again is only counted. Adds
 * at most what fits. */
void kf_build_log_reduce(const char *log, size_t len, struct kf_buf *out);

/* The program's lines around the first errors that kf_build_log_reduce has
 * left, numbered, out of the files in source_dir. */
void kf_build_lines(const char *errors, const char *source_dir,
		    struct kf_buf *out);

/* Fill in state, reason and text. */
void kf_feedback_build(const struct kf_build *build, uint64_t limit_ns,
		       const char *source_dir, struct kf_verdict *out);
void kf_feedback_failure(struct kf_judgement *judgement);
void kf_feedback_correct(struct kf_judgement *judgement);

/* Fill in evidence; state and reason are there already. */
void kf_evidence(struct kf_judgement *judgement);

#endif
