/*
 * report_facts.h - what kforge report tells beside verdicts: how far from the
 * memory bound the best programs are (docs/profiling.md, "The roofline"), and
 * what the replies of each agent took.
 */
#ifndef KF_CLI_REPORT_FACTS_H
#define KF_CLI_REPORT_FACTS_H

#include "base/json.h"
#include "store/advice.h"

struct kf_report_facts {		/* of one problem; NaN: unknown */
	double bytes;			/* inputs, weights, outputs, once each */
	double bytes_per_s;		/* of memory, measured */
	double memory_ns;		/* the least time for them */
	double time_ns;			/* of the best program */
	double share;			/* memory_ns / time_ns */
	bool cached;			/* all of them fit in the cache, so that
					   programs may beat the bound */
	struct kf_store_used used[KF_STORE_AGENTS];
};

/* All but the program's part. */
KF_MUST_CHECK enum kf_code kf_report_facts_read(struct kf_store *store,
		int64_t problem_id, struct kf_report_facts *out,
		struct kf_err *err);
void kf_report_facts_time(struct kf_report_facts *facts, double time_ns);

/* Tables in Markdown; nothing where nothing is known. problems:
 * as kf_store_problems has them, one for each of the facts. */
void kf_report_put_bound(const struct kf_report_facts *facts, size_t count,
			 const json_t *problems, struct kf_buf *out);
void kf_report_put_tokens(const struct kf_report_facts *facts, size_t count,
			  struct kf_buf *out);

/* New references: of one problem; of all together. */
json_t *kf_report_bound_json(const struct kf_report_facts *facts);
json_t *kf_report_tokens_json(const struct kf_report_facts *facts,
			      size_t count);
json_t *kf_report_shares_json(const struct kf_report_facts *facts,
			      size_t count);

#endif
