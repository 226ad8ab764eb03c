/* verify.h - kforge verify, once or at every save. Private to verify*.c. */
#ifndef KF_VERIFY_H
#define KF_VERIFY_H

#include "cli/cli.h"

/* Everything that one judgement holds. */
struct kf_verify {
	const struct kf_options *options;
	const struct kf_log *log;
	const char **file;		/* the arguments after the problem */
	size_t file_count;
	struct kf_setup setup;
	struct kf_target target;
	struct kf_candidate candidate;
	struct kf_verdict verdict;
	struct kf_temporary scratch;	/* removed at the end */
};

/* Judges v->candidate into v->verdict. cancel: NULL, or what stops it beside
 * Ctrl-C. */
KF_MUST_CHECK enum kf_code kf_verify_judge(struct kf_verify *v,
		const volatile int *cancel, struct kf_err *err);
/* The verdict on a candidate that is none. */
void kf_verify_generation_failure(struct kf_verify *v);
/* The verdict as JSON, with what it was judged on. New reference. */
json_t *kf_verify_to_json(const struct kf_verify *v);
/* --picture: where the wrong elements of the verdict lie. */
enum kf_code kf_verify_picture(const struct kf_verify *v, struct kf_err *err);
/* The verdict in words; all of them with --explain. */
void kf_verify_words(const struct kf_verify *v, struct kf_buf *out);

/* Judges now and again at every save of the files, until Ctrl-C. v->candidate
 * has been read and v->target is open. *status: the exit status. */
KF_MUST_CHECK enum kf_code kf_verify_watch(struct kf_verify *v, int *status,
					   struct kf_err *err);

#endif
