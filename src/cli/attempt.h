/*
 * attempt.h - one attempt whole: its texts out of the store, and the
 * difference to the attempt that it was to better or to repair.
 */
#ifndef KF_CLI_ATTEMPT_H
#define KF_CLI_ATTEMPT_H

#include "cli/cli.h"

/* What --only can ask for. */
enum kf_part {
	KF_PART_ALL,
	KF_PART_PROMPT,
	KF_PART_REPLY,
	KF_PART_REASONING,
	KF_PART_SOURCE,
	KF_PART_LOG,
	KF_PART_VERDICT,
	KF_PART_DIFF,
	KF_PART_ADVICE,
	KF_PART_PROFILE,
};

struct kf_whole {
	const struct kf_attempt_row *row;	/* borrowed */
	const struct kf_attempt_row *parent;	/* the last one before it that has
						   a program; NULL: none */
	struct kf_buf prompt[2];	/* system, user */
	struct kf_buf reply, reasoning;
	json_t *source;			/* owned; [{"name","text"}] */
	json_t *verdict;		/* owned; NULL until judged */
	json_t *second;			/* owned; of its second judgement; NULL */
	json_t *advice;			/* owned; a row of kf_store_advices: what
					   it was advised; NULL: nothing */
	json_t *profile;		/* owned; of its program, as
					   kf_store_profile_of has it; NULL */
	struct kf_buf diff;		/* to the parent; empty without one */
	struct kf_buf trouble;		/* a sentence a line: what could not be
					   read */
};

/* row is one of all, count of them, of the run. Damage to one text is told in
 * out->trouble and does not hide the others. */
void kf_whole_read(struct kf_store *store, const struct kf_attempt_row *row,
		   const struct kf_attempt_row *all, size_t count,
		   struct kf_whole *out);
void kf_whole_release(struct kf_whole *whole);

/* For people. */
void kf_whole_print(const struct kf_whole *whole);
/* --explain: the verdict alone, as a person asks for it. */
void kf_whole_explain(const struct kf_whole *whole);
/* One part as it is, so that it can be piped; KF_E_INPUT if there is none. */
KF_MUST_CHECK enum kf_code kf_whole_print_part(const struct kf_whole *whole,
		enum kf_part part, struct kf_err *err);
/* New reference. */
json_t *kf_whole_to_json(const struct kf_whole *whole);

#endif
