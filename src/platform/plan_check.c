/* Plans against the tensors that there are. */
#include "base/base.h"
#include "platform/plan.h"

#define ALIGNMENT 256u	/* of what kf_temp and kf_keep give */

bool kf_plan_hold(uint64_t *held, uint64_t max, uint64_t bytes)
{
	uint64_t room = max - *held;
	uint64_t rounded = (bytes / ALIGNMENT + (bytes % ALIGNMENT > 0)) *
		ALIGNMENT;

	if (bytes > room || rounded > room)
		return false;
	*held += rounded;
	return true;
}

static bool check_tensor(const struct kf_plan_buffer *b,
			 const struct kf_plan_tensors *t, char why[256])
{
	const struct { const uint64_t *bytes; size_t count; } lists[] = {
		[KF_PLAN_IN] = { t->in_bytes, t->in_count },
		[KF_PLAN_WEIGHT] = { t->weight_bytes, t->weight_count },
		[KF_PLAN_OUT] = { t->out_bytes, t->out_count },
	};
	char name[32];

	kf_plan_buffer_name(b->memory, b->index, name);
	if (b->index >= lists[b->memory].count) {
		snprintf(why, 256, "there is no %s", name);
		return false;
	}
	if (b->bytes != lists[b->memory].bytes[b->index]) {
		snprintf(why, 256, "%s has %llu bytes, not %llu", name,
			 (unsigned long long)lists[b->memory].bytes[b->index],
			 (unsigned long long)b->bytes);
		return false;
	}
	return true;
}

/* What kf_prepare keeps is there in kf_forward too, so it counts for both; what
 * kf_forward names of it was in kf_prepare (kf_plans_read). */
static bool check_plan(const struct kf_plan *plan, bool preparing,
		       const struct kf_plan_tensors *t, uint64_t *kept,
		       char why[256])
{
	uint64_t held = *kept;

	for (size_t i = 0; i < plan->buffer_count; i++) {
		const struct kf_plan_buffer *b = &plan->buffer[i];
		bool good = true;

		if (b->memory < KF_PLAN_TEMP) {
			if (!check_tensor(b, t, why))
				return false;
			continue;
		}
		if (b->memory == KF_PLAN_TEMP || preparing)
			good = kf_plan_hold(&held, t->memory_max, b->bytes);
		if (good && b->memory == KF_PLAN_KEEP && preparing)
			good = kf_plan_hold(kept, t->memory_max, b->bytes);
		if (!good) {
			snprintf(why, 256, "kf_temp and kf_keep hold more "
				 "than %llu bytes together",
				 (unsigned long long)t->memory_max);
			return false;
		}
	}
	return true;
}

bool kf_plans_check(const struct kf_plans *plans,
		    const struct kf_plan_tensors *tensors, char why[256])
{
	uint64_t kept = 0;

	why[0] = '\0';
	return check_plan(&plans->prepare, true, tensors, &kept, why) &&
		check_plan(&plans->forward, false, tensors, &kept, why);
}
