/* context.h - from a request to what templates see; private to src/prompt. */
#ifndef KF_PROMPT_CONTEXT_H
#define KF_PROMPT_CONTEXT_H

#include "prompt/prompt.h"

/* Ceilings of what is put into a prompt; longer texts are cut, and say so. */
#define KF_PROMPT_FILES_BYTES	 (64u << 10)	/* of one program */
#define KF_PROMPT_FEEDBACK_BYTES (12u << 10)
#define KF_PROMPT_SUMMARY_BYTES	 240u
#define KF_PROMPT_HISTORY_LINES	 12u
#define KF_PROMPT_TENSORS	 64u		/* of each kind */

/* "generate", "repair" or "optimize": the name of the template, too. */
const char *kf_prompt_mode(const struct kf_prompt_request *req);

/* The object of docs/prompts.md. KF_E_UNAVAIL without the contract's header. */
KF_MUST_CHECK enum kf_code kf_prompt_context_make(
		const struct kf_prompt_request *req, json_t **out,
		struct kf_err *err);

/* {"text", "fence", "cut"}: a text, and a row of back ticks longer than any in
 * it. What is beyond max bytes is left out; cut is the number of bytes then. */
json_t *kf_prompt_text(const char *text, size_t len, size_t max);

#endif
