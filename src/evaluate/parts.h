/*
 * parts.h - a two-part program between builder and device: its host part is
 * recorded and stays behind. Part of session_shared.c.
 */
#ifndef KF_EVALUATE_PARTS_H
#define KF_EVALUATE_PARTS_H

#include "evaluate/evaluate.h"
#include "platform/plan.h"

/* From the builder's pack (host, device) to the one that drivers load (device,
 * plans), written to loaded_path unless *end tells what is wrong with the
 * program. Plans are to be released in any case. */
KF_MUST_CHECK enum kf_code kf_parts_record(
		const struct kf_evaluate_request *req,
		const char *artefact_path, const char *loaded_path,
		struct kf_plans *plans, struct kf_call_end *end,
		struct kf_err *err);

#endif
