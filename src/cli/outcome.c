#include "cli/outcome.h"

#include <math.h>

void kf_cli_figures(const struct kf_attempts *attempts, bool started,
		    struct kf_figure_problem *out)
{
	*out = (struct kf_figure_problem) {
		.attempt = kf_alloc((attempts->count + 1) *
				    sizeof(out->attempt[0])),
	};
	for (size_t i = 0; i < attempts->count; i++) {
		const struct kf_attempt *a = &attempts->attempt[i];
		struct kf_times times = kf_attempt_times(a);
		struct kf_figure_attempt *f;

		if (!a->number && !started)
			continue;
		f = &out->attempt[out->attempt_count++];
		f->mark = kf_figure_mark(kf_state_name(kf_attempt_state(a)));
		f->correct = kf_attempt_state(a) == KF_CORRECT;
		f->kernelbench = a->kernelbench_good;
		f->conclusive = times.conclusive;
		kf_figure_ratios(times.speedup, a->baseline, a->eager_ns,
				 a->compile_ns, f->ratio);
	}
}

json_t *kf_cli_attempts_to_json(const struct kf_attempts *attempts)
{
	json_t *list = json_array();

	for (size_t i = 0; i < attempts->count; i++) {
		const struct kf_attempt *a = &attempts->attempt[i];

		if (!a->number)
			continue;
		json_array_append_new(list, json_pack(
			"{s:i, s:s, s:s, s:b}", "attempt", (int)a->number,
			"state", kf_state_name(kf_attempt_state(a)), "reason",
			a->second.state ? a->second.reason : a->reason,
			"kernelbench_good", a->kernelbench_good));
	}
	return list;
}

static json_t *ratio_to_json(const struct kf_times *times)
{
	return isnan(times->speedup) ? json_null() : json_pack(
		"{s:f, s:o, s:o}", "ratio", times->speedup,
		"low", kf_json_number(times->low),
		"high", kf_json_number(times->high));
}

json_t *kf_cli_best_to_json(const struct kf_attempt *best)
{
	struct kf_times times;

	if (!best)
		return json_null();
	times = kf_attempt_times(best);
	return json_pack("{s:i, s:o, s:s, s:o, s:{s:o, s:o}, s:O, s:o, s:b, "
			 "s:b, s:o}",
		"attempt", (int)best->number,
		"time_ns", kf_json_number(times.time_ns),
		"baseline", best->baseline,
		"baseline_ns", kf_json_number(times.baseline_ns),
		"baseline_ways", "eager", kf_json_number(best->eager_ns),
		"compile", kf_json_number(best->compile_ns),
		"baseline_about", best->baseline_about ?
		best->baseline_about : json_null(),
		"speedup", ratio_to_json(&times),
		"conclusive", times.conclusive,
		"kernelbench_good", best->kernelbench_good,
		"memory_bytes_peak", best->memory_bytes_peak ?
		json_integer((json_int_t)best->memory_bytes_peak) :
		json_null());
}
