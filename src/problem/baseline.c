#include "problem/baseline.h"

enum kf_code kf_baseline_time(struct kf_baseline *baseline,
			      const struct kf_case *const *cases,
			      size_t count, uint64_t *time_ns,
			      uint64_t *delay_ns, struct kf_err *err)
{
	enum kf_code code;

	if (baseline->dead)
		return kf_fail(err, KF_E_UNAVAIL, "problem %s: the baseline's "
			       "process has ended", baseline->name);
	code = baseline->table->ready(baseline, err);
	for (size_t i = 0; i < count && !code; i++)
		code = baseline->table->time(baseline, cases[i], &time_ns[i],
					     &delay_ns[i], err);
	baseline->dead = code != KF_OK;
	return code;
}

const struct kf_baseline_info *kf_baseline_about(const struct kf_baseline *b)
{
	return &b->info;
}

void kf_baseline_free(struct kf_baseline *baseline)
{
	char *name = baseline ? baseline->name : NULL;

	if (baseline)
		baseline->table->free(baseline);
	free(name);
}
