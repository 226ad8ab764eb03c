#include "cli/report_facts.h"

#include <math.h>

#include "evaluate/stats.h"

static const char *const agent_name[KF_STORE_AGENTS] = {
	[KF_STORE_GENERATOR] = "generator", [KF_STORE_ADVISOR] = "advisor",
};

static double real_of(const json_t *object, const char *key)
{
	return kf_json_real(object, key, (double)NAN);
}

enum kf_code kf_report_facts_read(struct kf_store *store, int64_t problem_id,
				  struct kf_report_facts *out,
				  struct kf_err *err)
{
	json_t *roofline = NULL;
	enum kf_code code = kf_store_roofline(store, problem_id, &roofline,
					      err);

	*out = (struct kf_report_facts) {
		.bytes = real_of(roofline, "bytes"),
		.bytes_per_s = real_of(roofline, "bytes_per_s"),
		.memory_ns = real_of(roofline, "memory_ns"),
		.time_ns = (double)NAN, .share = (double)NAN,
		.cached = kf_json_bool(roofline, "cached", false),
	};
	json_decref(roofline);
	return code ? code : kf_store_used(store, problem_id, out->used, err);
}

void kf_report_facts_time(struct kf_report_facts *facts, double time_ns)
{
	facts->time_ns = time_ns;
	facts->share = facts->memory_ns / time_ns;
}

/* --- the memory bound ----------------------------------------------------- */

struct shares { size_t count; double median; };

/* Of all problems, or of those alone that memory bounds in truth. */
static struct shares shares_of(const struct kf_report_facts *facts,
			       size_t count, bool cached_too)
{
	double *share = kf_alloc((count + 1) * sizeof(share[0]));
	struct shares s = { 0 };

	for (size_t i = 0; i < count; i++)
		if (!isnan(facts[i].share) && (cached_too || !facts[i].cached))
			share[s.count++] = facts[i].share;
	s.median = kf_stats_median(share, s.count);
	free(share);
	return s;
}

static void put_row(const struct kf_report_facts *f, const char *name,
		    struct kf_buf *out)
{
	char bound[32], time[32];

	kf_buf_printf(out, "| `%s` | %.4g MB | %.0f GB/s | %s | %s | "
		      "%.3g %%%s |\n", name, f->bytes / 1e6,
		      f->bytes_per_s / 1e9, kf_time_words(f->memory_ns, 3,
							  bound),
		      kf_time_words(f->time_ns, 3, time), 100 * f->share,
		      f->cached ? " *" : "");
}

void kf_report_put_bound(const struct kf_report_facts *facts, size_t count,
			 const json_t *problems, struct kf_buf *out)
{
	struct shares all = shares_of(facts, count, true);
	struct shares far = shares_of(facts, count, false);

	if (!all.count)
		return;
	kf_buf_puts(out, "\nAgainst the memory bound (docs/profiling.md):\n\n"
		    "| problem | bytes | bandwidth | memory bound | program | "
		    "share |\n|---|---|---|---|---|---|\n");
	for (size_t i = 0; i < count; i++)
		if (!isnan(facts[i].share))
			put_row(&facts[i], kf_json_str(json_array_get(problems,
						       i), "name", "?"), out);
	kf_buf_printf(out, "\nMedian share: %.3g %% (%zu problem%s)",
		      100 * all.median, all.count, all.count == 1 ? "" : "s");
	if (far.count && far.count < all.count)
		kf_buf_printf(out, "; without those marked *: %.3g %% (%zu)",
			      100 * far.median, far.count);
	kf_buf_puts(out, ".\n");
	if (far.count < all.count)
		kf_buf_puts(out, "*: all tensors fit in the cache, so that a "
			    "program may beat the bound.\n");
}

json_t *kf_report_bound_json(const struct kf_report_facts *f)
{
	if (isnan(f->memory_ns))
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:b}",
			 "bytes", kf_json_number(f->bytes),
			 "bytes_per_s", kf_json_number(f->bytes_per_s),
			 "memory_ns", kf_json_number(f->memory_ns),
			 "time_ns", kf_json_number(f->time_ns),
			 "share", kf_json_number(f->share),
			 "cached", f->cached);
}

static json_t *median_json(struct shares s)
{
	return json_pack("{s:I, s:o}", "problems", (json_int_t)s.count,
			 "median", kf_json_number(s.median));
}

json_t *kf_report_shares_json(const struct kf_report_facts *facts, size_t count)
{
	return json_pack("{s:o, s:o}", "all",
			 median_json(shares_of(facts, count, true)),
			 "not_cached",
			 median_json(shares_of(facts, count, false)));
}

/* --- tokens --------------------------------------------------------------- */

static struct kf_store_used sum_of(const struct kf_report_facts *facts,
				   size_t count, int agent)
{
	struct kf_store_used sum = { 0 };

	for (size_t i = 0; i < count; i++) {
		sum.tokens_in += facts[i].used[agent].tokens_in;
		sum.tokens_out += facts[i].used[agent].tokens_out;
		sum.replies += facts[i].used[agent].replies;
	}
	return sum;
}

void kf_report_put_tokens(const struct kf_report_facts *facts, size_t count,
			  struct kf_buf *out)
{
	bool begun = false;

	for (int i = 0; i < KF_STORE_AGENTS; i++) {
		struct kf_store_used sum = sum_of(facts, count, i);

		if (!sum.replies)
			continue;
		if (!begun)
			kf_buf_puts(out, "\n| agent | replies | tokens in | "
				    "tokens out |\n|---|---|---|---|\n");
		begun = true;
		kf_buf_printf(out, "| %s | %u | %llu | %llu |\n",
			      agent_name[i], sum.replies,
			      (unsigned long long)sum.tokens_in,
			      (unsigned long long)sum.tokens_out);
	}
}

json_t *kf_report_tokens_json(const struct kf_report_facts *facts, size_t count)
{
	json_t *json = json_object();

	for (int i = 0; i < KF_STORE_AGENTS; i++) {
		struct kf_store_used sum = sum_of(facts, count, i);

		json_object_set_new(json, agent_name[i],
			json_pack("{s:i, s:I, s:I}", "replies",
				  (int)sum.replies, "in",
				  (json_int_t)sum.tokens_in, "out",
				  (json_int_t)sum.tokens_out));
	}
	return json;
}
