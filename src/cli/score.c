#include "cli/score.h"

#include <math.h>

void kf_score_add(struct kf_score *score, bool correct, double speedup)
{
	score->problem_count++;
	if (!correct)
		return;
	score->correct_count++;
	if (!isfinite(speedup) || speedup <= 0)
		return;
	score->timed_count++;
	score->faster_count += speedup > 1;
	score->log_sum += log(speedup);
}

double kf_score_geomean(const struct kf_score *score)
{
	return score->timed_count ?
	       exp(score->log_sum / (double)score->timed_count) : (double)NAN;
}

double kf_score_fast_1(const struct kf_score *score)
{
	return score->problem_count ? (double)score->faster_count /
	       (double)score->problem_count : (double)NAN;
}

json_t *kf_score_to_json(const struct kf_score *score)
{
	json_t *object = json_pack("{s:I, s:I}",
		"problems", (json_int_t)score->problem_count,
		"correct", (json_int_t)score->correct_count);

	json_object_set_new(object, "geomean",
			    kf_json_number(kf_score_geomean(score)));
	json_object_set_new(object, "fast_1",
			    kf_json_number(kf_score_fast_1(score)));
	return object;
}

void kf_score_say(const struct kf_score *score, const char *title,
		  struct kf_buf *out)
{
	kf_buf_printf(out, "%s: %zu problem%s, %zu correct", title,
		      score->problem_count,
		      score->problem_count == 1 ? "" : "s",
		      score->correct_count);
	if (score->timed_count)
		kf_buf_printf(out, ", geometric mean %.2fx, fast_1 %.2f",
			      kf_score_geomean(score),
			      kf_score_fast_1(score));
	kf_buf_puts(out, "\n");
}
