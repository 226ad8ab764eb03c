/* advice.c - whatever a model answers: what is taken is within its bounds and
 * cites what was measured, and what is not taken has a reason. */
#include <math.h>

#include "advice/advice.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char file_name[] = "program.c", file_text[] = "a\nb\nc\n";

static void check_text(const char *text)
{
	if (text && strlen(text) > KF_ADVICE_TEXT_BYTES)
		abort();
}

static void check_taken(const struct kf_advice *a)
{
	json_t *json = kf_advice_to_json(a);
	char *text = kf_json_text(json);

	if (!text || !a->change || !a->evidence_count ||
	    a->evidence_count > KF_ADVICE_EVIDENCE_MAX ||
	    a->bottleneck == KF_CLASS_UNKNOWN ||
	    a->bottleneck >= KF_CLASSES)
		abort();
	if (!isnan(a->expected_gain) && (a->expected_gain < 1 ||
					 a->expected_gain > KF_ADVICE_GAIN_MAX))
		abort();
	for (size_t i = 0; i < a->evidence_count; i++)
		if (!a->evidence[i].counter && !a->evidence[i].line)
			abort();
	check_text(a->change);
	check_text(a->keep);
	check_text(a->algorithm);
	json_decref(json);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kf_source_file file = {
		.name = file_name, .text = file_text,
		.len = sizeof(file_text) - 1,
	};
	const struct kf_prompt_attempt best = {
		.number = 1, .state = "correct", .file = &file,
		.file_count = 1,
	};
	const struct kf_prompt_request prompt = { .best = &best };
	const struct kf_roofline roofline = { .memory_share = 0.4 };
	char why[KF_ADVICE_WHY_BYTES] = "";
	struct kf_profile profile = { 0 };
	struct kf_advice advice = { 0 };

	kf_metrics_add(&profile.metrics, "axpb", "bank_conflicts", 9, "count");
	kf_metrics_add(&profile.metrics, "", "spill_bytes", 64, "byte");
	if (kf_advice_read(&(struct kf_advice_request) {
			.prompt = &prompt, .profile = &profile,
			.roofline = &roofline, .page = "the page",
		}, (const char *)data, size, &advice, why))
		check_taken(&advice);
	else if (!why[0] || strlen(why) >= KF_ADVICE_WHY_BYTES ||
		 kf_utf8_cut(why, strlen(why)) != strlen(why))
		abort();
	kf_advice_release(&advice);
	kf_profile_release(&profile);
	return 0;
}
