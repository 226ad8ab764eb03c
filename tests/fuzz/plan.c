/* plan.c - whatever the bytes are, plans that are read are whole, and there is
 * one form of each: written again they are the same bytes. */
#include "platform/plan.h"

#include "base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kf_buf again = { .max = KF_PLAN_BYTES_MAX };
	struct kf_plans plans;
	json_t *json;
	char why[256];

	if (kf_plans_read(data, size, &plans, NULL)) {
		if (plans.forward.op || plans.prepare.op)
			abort();
		return 0;
	}
	kf_plans_write(&plans, &again);
	if (again.len != size || memcmp(again.data, data, size) != 0 ||
	    !kf_plans_equal(&plans, &plans, why))
		abort();
	json = kf_plan_to_json(&plans.forward, KF_PLAN_OPS_MAX);
	if (json_array_size(json) != plans.forward.op_count)
		abort();
	json_decref(json);
	kf_buf_release(&again);
	kf_plans_release(&plans);
	return 0;
}
