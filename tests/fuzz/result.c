/* result.c - what another machine says (result.json): a verdict that is read is
 * kept as it was told, and its profile and the bundle's description are taken
 * or refused, never half. */
#include "evaluate/evaluate.h"
#include "problem/bundle_load.h"
#include "profile/profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_verdict(const json_t *told)
{
	struct kf_verdict verdict = { 0 };
	struct kf_profile profile = { 0 };
	struct kf_err err = { 0 };
	struct kf_buf words = { .max = 1u << 20 };
	json_t *kept;

	if (kf_verdict_from_json(told, &verdict, &err) == KF_OK) {
		kept = kf_verdict_to_json(&verdict);
		if (!json_equal(kept, told))
			abort();
		kf_verdict_explain(&verdict, &words);
		json_decref(kept);
	} else if (!err.text[0]) {
		abort();
	}
	(void)!kf_profile_from_json(json_object_get(told, "profile"), &profile,
				    NULL);
	kf_profile_release(&profile);
	kf_verdict_release(&verdict);
	kf_buf_release(&words);
}

static void read_bundle(const json_t *about)
{
	struct kf_bundle bundle = { 0 };
	struct kf_err err = { 0 };

	if (kf_bundle_from_info(about, &bundle, &err) && !err.text[0])
		abort();
	kf_bundle_release(&bundle);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kf_err err = { 0 };
	json_t *json = NULL;

	if (kf_json_parse((const char *)data, size, "the result", &json, &err))
		return 0;
	read_verdict(json_object_get(json, "verdict"));
	read_bundle(json_object_get(json_object_get(json, "about"), "bundle"));
	json_decref(json);
	return 0;
}
