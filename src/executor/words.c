#include "executor/words.h"

#include "executor/job.h"

const struct kf_word kf_words_ask[] = {
	{ "verdict", KF_ASK_VERDICT },
	{ "problem", KF_ASK_PROBLEM },
	{ NULL, 0 },
};

const struct kf_word kf_words_dtype[] = {
	{ "float32", KF_F32 },
	{ "float64", KF_F64 },
	{ "float16", KF_F16 },
	{ "bfloat16", KF_BF16 },
	{ NULL, 0 },
};

const struct kf_word kf_words_rules[] = {
	{ "kforge", KF_RULES_KFORGE },
	{ "kernelbench", KF_RULES_KERNELBENCH },
	{ NULL, 0 },
};

const struct kf_word kf_words_libraries[] = {
	{ "allow", KF_LIBRARIES_ALLOW },
	{ "refuse", KF_LIBRARIES_REFUSE },
	{ NULL, 0 },
};

const struct kf_word kf_words_baseline[] = {
	{ "live", KF_BASELINE_LIVE },
	{ "stored", KF_BASELINE_STORED },
	{ "none", KF_BASELINE_NONE },
	{ NULL, 0 },
};

const struct kf_word kf_words_stop_after[] = {
	{ "build", KF_REACH_BUILD },
	{ "values", KF_REACH_VALUES },
	{ "time", KF_REACH_TIME },
	{ NULL, 0 },
};

const struct kf_word kf_words_sandbox[] = {
	{ "strict", KF_TIER_MEDIUM },
	{ "weak", KF_TIER_WEAK },
	{ NULL, 0 },
};
