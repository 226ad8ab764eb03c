/*
 * explain.h - a verdict for a person who asks "why?": what each stage did,
 * which data failed, the worst elements and what bounded them, what each rule
 * says, how the time came about, where the wall time went, and what to do next.
 *
 * Pure, over the verdict's JSON (kf_verdict_to_json), so a verdict from a store
 * or a job folder is explained as well as one that was just made; what an older
 * kforge did not record is left out. At most some 100 lines of 80 columns.
 */
#ifndef KF_EVALUATE_EXPLAIN_H
#define KF_EVALUATE_EXPLAIN_H

#include "base/json.h"

void kf_explain(const json_t *verdict, struct kf_buf *out);

/* Part of it: the launches of a two-part program. explain_plan.c. */
void kf_explain_plans(const json_t *verdict, struct kf_buf *out);

#endif
