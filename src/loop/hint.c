/* What a model wrote for another platform. */
#include "loop/ask.h"

/* The platform that the attempt is plainly for, by its files or else by what a
 * reply without them has in a fence. NULL: no other. Caller frees. */
static char *elsewhere(const struct kf_lane *lane,
		       const struct kf_attempt *attempt)
{
	const char *here = lane->run->setup.platform->name;
	const struct kf_candidate *candidate = &attempt->candidate;
	const char *fenced = candidate->end == KF_EXTRACT_NO_CODE ?
		strstr(kf_buf_str(&attempt->reply), "```") : NULL;
	char *there = fenced ? kf_candidate_text_elsewhere(here, fenced) : NULL;

	for (size_t i = 0; i < candidate->file_count && !there; i++)
		there = kf_candidate_text_elsewhere(here,
						    candidate->file[i].text);
	return there;
}

void kf_lane_hint(const struct kf_lane *lane, const struct kf_attempt *attempt,
		  struct kf_verdict *verdict)
{
	char *there = kf_verdict_may_be_elsewhere(verdict) ?
		elsewhere(lane, attempt) : NULL;
	char *line;

	if (!there)
		return;
	line = kf_format("this looks like a program for %s: write one for the "
			 "platform %s", there,
			 lane->run->setup.platform->name);
	kf_verdict_hint(verdict, line);
	free(line);
	line = kf_format("this looks like a program for %s, and the run's "
			 "--platform is %s", there,
			 lane->run->setup.platform->name);
	kf_lane_notice(lane, attempt, line);
	free(line);
	free(there);
}
