/*
 * pattern.h - what the wrong elements of an output have in common, in words.
 *
 * A statement is made only if it holds for at least 95 % of the elements that
 * it speaks of. Pure; used by compare.c only.
 */
#ifndef KF_EVALUATE_PATTERN_H
#define KF_EVALUATE_PATTERN_H

#include "evaluate/compare_block.h"

/* Is an element with this mark one of those that end is about? */
bool kf_pattern_selected(unsigned char mark, enum kf_compare_end end);
/* Where they lie: "wrong: only the last 7 elements of every row". */
void kf_pattern_place(const struct kf_compare_request *req,
		      const unsigned char *marks, enum kf_compare_end end,
		      struct kf_buf *out);
/* What they hold: "they are 2 times the expected values". */
void kf_pattern_value(const struct kf_compare_request *req,
		      const unsigned char *marks, enum kf_compare_end end,
		      struct kf_buf *out);

#endif
