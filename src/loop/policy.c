#include "loop/policy.h"

#include <math.h>

static const struct { const char *name; bool stops; } kind_table[] = {
	[KF_POLICY_GENERATE] = { "generate", false },
	[KF_POLICY_REPAIR] = { "repair", false },
	[KF_POLICY_OPTIMIZE] = { "optimize", false },
	[KF_POLICY_STOP_ATTEMPTS] = { "attempts used", true },
	[KF_POLICY_STOP_TARGET] = { "target reached", true },
	[KF_POLICY_STOP_BOUND] = { "near the memory bound", true },
};

const char *kf_policy_kind_name(enum kf_policy_kind kind)
{
	return kind_table[kind].name;
}

bool kf_policy_stops(enum kf_policy_kind kind)
{
	return kind_table[kind].stops;
}

/* How many times faster a is than b; both are correct. */
static double gain(const struct kf_policy_attempt *a,
		   const struct kf_policy_attempt *b)
{
	if (a->conclusive && b->conclusive)
		return a->speedup / b->speedup;
	if (isfinite(a->time_ns) && isfinite(b->time_ns))
		return b->time_ns / a->time_ns;
	return isfinite(a->time_ns) ? HUGE_VAL : 0;
}

size_t kf_policy_best(const struct kf_policy_attempt *attempt, size_t count)
{
	size_t best = KF_POLICY_NO_ATTEMPT;

	for (size_t i = 0; i < count; i++) {
		if (attempt[i].state != KF_CORRECT)
			continue;
		if (best == KF_POLICY_NO_ATTEMPT ||
		    gain(&attempt[i], &attempt[best]) > 1)
			best = i;
	}
	return best;
}

static bool reaches(const struct kf_policy_attempt *a, double target)
{
	double sure = isfinite(a->speedup_low) ? a->speedup_low : a->speedup;

	return sure >= target;	/* false for NaN on either side */
}

/* Have the last tries brought next to nothing over what was best before? */
static bool is_plateau(const struct kf_policy_attempt *attempt, size_t count)
{
	size_t before, now;

	if (count <= KF_PLATEAU_COUNT)
		return false;
	before = kf_policy_best(attempt, count - KF_PLATEAU_COUNT);
	now = kf_policy_best(attempt, count);
	if (before == KF_POLICY_NO_ATTEMPT)
		return false;
	return before == now ||
	       gain(&attempt[now], &attempt[before]) < KF_PLATEAU_GAIN;
}

struct kf_policy_next kf_policy_decide(const struct kf_policy_rules *rules,
				       const struct kf_policy_attempt *attempt,
				       size_t count)
{
	struct kf_policy_next next = {
		.best = kf_policy_best(attempt, count),
		.previous = count ? count - 1 : KF_POLICY_NO_ATTEMPT,
	};
	bool correct = next.best != KF_POLICY_NO_ATTEMPT;

	if (correct && reaches(&attempt[next.best], rules->target_speedup))
		next.kind = KF_POLICY_STOP_TARGET;
	else if (count >= (size_t)rules->start_count + rules->attempt_max)
		next.kind = KF_POLICY_STOP_ATTEMPTS;
	else if (correct && rules->near_bound)
		next.kind = KF_POLICY_STOP_BOUND;
	else if (correct)
		next.kind = KF_POLICY_OPTIMIZE;
	else if (count)
		next.kind = KF_POLICY_REPAIR;
	else
		next.kind = KF_POLICY_GENERATE;
	next.plateau = next.kind == KF_POLICY_OPTIMIZE &&
		       is_plateau(attempt, count);
	return next;
}
