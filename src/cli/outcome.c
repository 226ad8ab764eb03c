#include "cli/outcome.h"

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
