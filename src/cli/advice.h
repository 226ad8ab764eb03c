/* advice.h - advice for people: what it said, what was expected, what came. */
#ifndef KF_CLI_ADVICE_H
#define KF_CLI_ADVICE_H

#include "cli/cli.h"

/* rows: as kf_store_advices gives them. A line for each source and bottleneck,
 * in Markdown; nothing if there was no advice. */
void kf_advice_table(const json_t *rows, struct kf_buf *out);
/* One of them, in words. */
void kf_advice_words(const json_t *row, struct kf_buf *out);

#endif
