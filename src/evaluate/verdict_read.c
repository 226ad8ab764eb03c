/* verdict_read.c - a verdict as another kforge told it. */
#include "evaluate/evaluate.h"

#include <math.h>

static enum kf_reach reach_by_name(const char *name)
{
	for (int r = KF_REACH_BUILD; r <= KF_REACH_TIME; r++)
		if (strcmp(kf_reach_name((enum kf_reach)r), name) == 0)
			return (enum kf_reach)r;
	return KF_REACH_NONE;
}

static void copy(char *out, size_t size, const char *text)
{
	snprintf(out, size, "%s", text);
}

static void read_times(const json_t *json, struct kf_verdict *out)
{
	const json_t *ratio = json_object_get(json, "speedup");
	const json_t *ways = json_object_get(json, "baseline_ways");
	const double nan = (double)NAN;

	out->time_ns = kf_json_real(json, "time_ns", nan);
	out->baseline_ns = kf_json_real(json, "baseline_ns", nan);
	out->speedup = (struct kf_ratio) {
		.ratio = kf_json_real(ratio, "ratio", nan),
		.low = kf_json_real(ratio, "low", nan),
		.high = kf_json_real(ratio, "high", nan),
		.width = kf_json_real(ratio, "width", nan),
		.block_count = (size_t)kf_json_int(ratio, "blocks", 0),
	};
	out->eager_ns = kf_json_real(ways, "eager", nan);
	out->compile_ns = kf_json_real(ways, "compile", nan);
	if (json_is_object(ways))
		copy(out->baseline_way, sizeof(out->baseline_way),
		     kf_json_str(json, "baseline", ""));
	out->baseline_about = json_incref(json_object_get(json,
							  "baseline_about"));
	out->baseline_live = kf_json_bool(json, "baseline_live", false);
	out->conclusive = kf_json_bool(json, "conclusive", false);
}

enum kf_code kf_verdict_from_json(const json_t *json, struct kf_verdict *out,
				  struct kf_err *err)
{
	const char *text = kf_json_str(json, "text", "");
	enum kf_state state = kf_state_by_name(kf_json_str(json, "state", ""));
	enum kf_reach reached = reach_by_name(kf_json_str(json, "reached", ""));

	*out = (struct kf_verdict) {
		.state = state,
		.reached = reached,
		.stop_after = reach_by_name(kf_json_str(json, "stop_after",
							"")),
		.text.max = strlen(text) + 1,
		.kernelbench_good = kf_json_bool(json, "kernelbench_good",
						 false),
		.in_process = strcmp(kf_json_str(json, "trust", ""),
				     "isolated") != 0,
		.call_count = (unsigned)kf_json_int(json, "calls", 0),
	};
	if (!state && reached != KF_REACH_BUILD)
		return kf_fail(err, KF_E_INPUT, "a verdict without a state");
	copy(out->reason, sizeof(out->reason), kf_json_str(json, "reason",
							   ""));
	kf_buf_puts(&out->text, text);
	copy(out->device, sizeof(out->device), kf_json_str(json, "device",
							   ""));
	copy(out->device_id, sizeof(out->device_id),
	     kf_json_str(json, "device_id", ""));
	copy(out->unhealthy, sizeof(out->unhealthy),
	     kf_json_str(json, "unhealthy", ""));
	copy(out->unhealthy_text, sizeof(out->unhealthy_text),
	     kf_json_str(json, "unhealthy_text", ""));
	out->evidence = json_incref(json_object_get(json, "evidence"));
	read_times(json, out);
	out->told = json_incref((json_t *)(uintptr_t)json);
	return KF_OK;
}
