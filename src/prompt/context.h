/* context.h - from a request to what templates see; private to src/prompt. */
#ifndef KF_PROMPT_CONTEXT_H
#define KF_PROMPT_CONTEXT_H

#include "prompt/prompt.h"

/* Ceilings of what is put into a prompt; longer texts are cut, and say so. */
#define KF_PROMPT_FILES_BYTES	 (64u << 10)	/* of one program */
#define KF_PROMPT_SUMMARY_BYTES	 240u
#define KF_PROMPT_HISTORY_LINES	 12u
#define KF_PROMPT_TENSORS	 64u		/* of each kind */

/* "generate", "repair" or "optimize": the name of the template, too. */
const char *kf_prompt_mode(const struct kf_prompt_request *req);

#endif
