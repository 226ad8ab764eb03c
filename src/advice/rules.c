/* Advice without a model: the heaviest finding of the rules. */
#include "advice/advice.h"

#include <math.h>

#include "profile/rules.h"

/* A finding's weight is what might be saved: an order, no promise, so what is
 * expected of it stays modest. */
#define WEIGHT_MOST 0.75

static bool in_vain(const struct kf_advice_request *req,
		    const struct kf_finding *f)
{
	for (size_t i = 0; i < req->tried_count; i++) {
		const struct kf_advice_tried *t = &req->tried[i];

		if (t->bottleneck == f->which && t->change &&
		    strstr(t->change, f->change) &&
		    !(t->gain >= KF_ADVICE_GAIN_LEAST))
			return true;
	}
	return false;
}

static void take_evidence(const struct kf_advice_request *req,
			  const struct kf_finding *f, struct kf_advice *out)
{
	for (size_t i = 0; f->evidence[i] &&
	     out->evidence_count < KF_ADVICE_EVIDENCE_MAX; i++) {
		const struct kf_metric *m = kf_metrics_find(
			&req->profile->metrics, f->kernel, f->evidence[i]);

		if (m)
			out->evidence[out->evidence_count++] =
				(struct kf_advice_evidence) {
				.counter = kf_strdup(m->name),
				.kernel = kf_strdup(m->kernel),
				.value = m->value,
			};
	}
}

static void take_finding(const struct kf_advice_request *req,
			 const struct kf_finding *f, struct kf_advice *out)
{
	out->source = KF_ADVICE_RULES;
	out->bottleneck = f->which;
	out->change = kf_format("%s%s%s. What usually helps: %s.", f->kernel,
				f->kernel[0] ? ": " : "", f->text, f->change);
	out->expected_gain = 1 / (1 - fmin(fmax(f->weight, 0), WEIGHT_MOST));
	take_evidence(req, f, out);
}

void kf_advice_by_rules(const struct kf_advice_request *req,
			struct kf_advice *out)
{
	struct kf_findings *findings = kf_alloc(sizeof(*findings));

	*out = (struct kf_advice) { .expected_gain = (double)NAN };
	kf_rules_apply(req->profile, req->roofline, findings);
	if (findings->count)
		out->bottleneck = findings->finding[0].which;
	for (size_t i = 0; i < findings->count && !req->prompt->plateau; i++) {
		if (in_vain(req, &findings->finding[i]))
			continue;
		take_finding(req, &findings->finding[i], out);
		break;
	}
	out->keep = kf_strdup("");
	out->algorithm = kf_strdup("");
	free(findings);
}
