#include "cli/check.h"

#include <math.h>

#include "problem/shrink.h"

/* Away from published sizes small is as good as large, and quicker. */
#define FURTHER_BYTES 24	/* times smaller than what would just fit */
#define FURTHER_TIME 2
#define UNKNOWN_RATIO 4
#define TRIES_MAX 12
#define LEAST_NS KF_NS_PER_S	/* it makes no sense to try for less */

const char *kf_checked_words(enum kf_check_status status)
{
	static const char *const words[KF_CHECK_STATUSES] = {
		"healthy", "unhealthy", "refused", "too large", "not checked",
	};

	return words[status];
}

const char *kf_checked_token(enum kf_check_status status)
{
	static const char *const token[KF_CHECK_STATUSES] = {
		"healthy", "unhealthy", "refused", "too_large", "not_checked",
	};

	return token[status];
}

/* The problem under way. */
struct work {
	const struct kf_checker *checker;
	struct kf_problem_spec spec;
	struct kf_problem problem;
	struct kf_shrink shrink;
	uint64_t end_ns;
	struct kf_checked *out;
};

static uint64_t left_ns(const struct work *w)
{
	uint64_t now_ns = kf_now_ns();

	return now_ns < w->end_ns ? w->end_ns - now_ns : 0;
}

/* --- what came of it ------------------------------------------------------ */

static void take_health(struct work *w)
{
	struct kf_checked *out = w->out;

	out->status = out->health.healthy ? KF_CHECK_HEALTHY :
		      KF_CHECK_UNHEALTHY;
	if (!out->health.complete)
		out->status = KF_CHECK_NOT_CHECKED;
	snprintf(out->reason, sizeof(out->reason), "%s", out->health.reason);
	snprintf(out->text, sizeof(out->text), "%s", out->health.text);
}

/* "problem NAME: " says nothing in a table that has the name already. */
static const char *without_name(const struct work *w, const char *sentence)
{
	char *prefix = kf_format("problem %s: ",
				 w->problem.name ? w->problem.name : "");
	size_t len = strlen(prefix);
	bool has = strncmp(sentence, prefix, len) == 0;

	free(prefix);
	return has ? sentence + len : sentence;
}

static void take_failure(struct work *w, const struct kf_bundle *bundle,
			 const struct kf_err *err)
{
	static const struct {
		enum kf_code code;
		enum kf_check_status status;
		const char *reason;
	} rows[] = {
		{ KF_E_INPUT, KF_CHECK_REFUSED, "file" },
		{ KF_E_LIMIT, KF_CHECK_TOO_LARGE, "limit" },
		{ KF_E_TIMEOUT, KF_CHECK_NOT_CHECKED, "time" },
		{ KF_E_UNAVAIL, KF_CHECK_NOT_CHECKED, "unavailable" },
		{ KF_E_IO, KF_CHECK_NOT_CHECKED, "io" },
	};
	const char *kind = bundle ? bundle->refusal.kind : "";
	const char *sentence = without_name(w, err->text);
	struct kf_checked *out = w->out;

	if (bundle && kf_health_of_refusal(&bundle->refusal, sentence,
					   &out->health)) {
		take_health(w);
		if (bundle->place)
			kf_health_store(bundle->place, &out->health);
		return;
	}
	out->status = KF_CHECK_NOT_CHECKED;
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		if (rows[i].code != err->code)
			continue;
		out->status = rows[i].status;
		snprintf(out->reason, sizeof(out->reason), "%s",
			 kind[0] ? kind : rows[i].reason);
	}
	snprintf(out->text, sizeof(out->text), "%s", sentence);
}

/* --- what is known -------------------------------------------------------- */

/* What is kept, or what a bundle that is there already tells. */
static bool is_stored(struct work *w, bool light)
{
	struct kf_health_limits limits = {
		.timeout_ns = left_ns(w) + LEAST_NS,
		.cancel = w->spec.cancel,
	};
	struct kf_problem_spec spec = w->spec;
	struct kf_bundle bundle;
	struct kf_err ignored;
	bool known;

	spec.cached_only = true;
	spec.light = light;
	if (kf_bundle_open(&spec, &w->problem, &bundle, &ignored) == KF_OK)
		known = kf_health_open(&bundle, &limits, &w->out->health,
				       &ignored) == KF_OK;
	else
		known = bundle.place && kf_health_stored(bundle.place,
							 &w->out->health);
	kf_bundle_release(&bundle);
	if (!known)
		kf_health_release(&w->out->health);
	return known;
}

/* Without running anything: a whole bundle's health or a light one's. */
static bool is_known(struct work *w)
{
	bool known = is_stored(w, false) || is_stored(w, true);

	if (known)
		take_health(w);
	w->out->cached = known;
	return known;
}

/* --- finding out ---------------------------------------------------------- */

static enum kf_code check_bundle(struct work *w, struct kf_bundle *bundle,
				 struct kf_err *err)
{
	struct kf_health_limits limits = {
		.timeout_ns = left_ns(w) + LEAST_NS,
		.cancel = w->spec.cancel,
	};
	enum kf_code code = kf_health_open(bundle, &limits, &w->out->health,
					   err);

	if (!code)
		take_health(w);
	if (bundle->made_now && !w->checker->keep &&
	    kf_bundle_discard(bundle, NULL))
		kf_logf(w->spec.log, KF_LOG_WARN, "cannot remove the bundle "
			"of %s", w->problem.name);
	return code;
}

/* One try at the size that w->problem has. ratio: how many times too large it
 * was, NaN if that is unknown. */
static enum kf_code try_size(struct work *w, double *ratio,
			     struct kf_err *err)
{
	struct kf_problem_spec spec = w->spec;
	struct kf_bundle bundle;
	enum kf_code code;

	*ratio = (double)NAN;
	spec.light = true;
	spec.timeout_ns = left_ns(w);
	/* The published size gets half of the time, a smaller one most of the
	 * rest. */
	if (w->checker->fit)
		spec.timeout_ns = w->out->size[0] ?
				  spec.timeout_ns / 4 * 3 :
				  spec.timeout_ns / 2;
	if (spec.timeout_ns < LEAST_NS)
		spec.timeout_ns = LEAST_NS;
	code = kf_bundle_open(&spec, &w->problem, &bundle, err);
	if (!code)
		code = check_bundle(w, &bundle, err);
	else if (code != KF_E_CANCELED) {
		*ratio = bundle.refusal.ratio;
		take_failure(w, &bundle, err);
	}
	kf_bundle_release(&bundle);
	return code;
}

/* The problem with the sizes of w->shrink. */
static enum kf_code read_at_size(struct work *w, struct kf_err *err)
{
	size_t count, before = w->spec.set_count;
	char **set = kf_shrink_sets(&w->shrink, &count);
	const char **all = kf_alloc((before + count + 1) * sizeof(all[0]));
	struct kf_problem_spec spec = w->spec;
	enum kf_code code;

	for (size_t i = 0; i < before; i++)
		all[i] = w->spec.set[i];
	for (size_t i = 0; i < count; i++)
		all[before + i] = set[i];
	spec.set = all;
	spec.set_count = before + count;
	kf_problem_release(&w->problem);
	code = kf_problem_read(&spec, &w->problem, err);
	for (size_t i = 0; i < count; i++)
		free(set[i]);
	free(set);
	free(all);
	return code;
}

static bool worth_shrinking(const struct work *w, enum kf_code code)
{
	return w->checker->fit && w->problem.kind == KF_PROBLEM_PYTHON &&
	       (code == KF_E_LIMIT || code == KF_E_TIMEOUT) &&
	       left_ns(w) > LEAST_NS;
}

/* A smaller size; false if there is none. ratio: how many times too large this
 * one was. */
static bool shrink(struct work *w, enum kf_code code, double ratio)
{
	struct kf_buf words = { .max = sizeof(w->out->size) - 1 };
	struct kf_err ignored;

	if (!w->shrink.count)
		kf_shrink_read(w->problem.source, &w->shrink);
	if (!isfinite(ratio))
		ratio = UNKNOWN_RATIO;
	ratio *= code == KF_E_LIMIT ? FURTHER_BYTES : FURTHER_TIME;
	if (!kf_shrink_step(&w->shrink, ratio) ||
	    read_at_size(w, &ignored))
		return false;
	kf_shrink_say(&w->shrink, &words);
	snprintf(w->out->size, sizeof(w->out->size), "%s",
		 kf_buf_str(&words));
	kf_buf_release(&words);
	return true;
}

static enum kf_code find_out(struct work *w, struct kf_err *err)
{
	enum kf_code code = KF_OK;

	for (int i = 0; i < TRIES_MAX; i++) {
		double ratio;

		if (is_known(w))
			return KF_OK;
		code = try_size(w, &ratio, err);
		if (!worth_shrinking(w, code) || !shrink(w, code, ratio))
			break;
	}
	return code;
}

static enum kf_code read_problem(struct work *w, struct kf_err *err)
{
	enum kf_code code = kf_problem_read(&w->spec, &w->problem, err);

	w->out->name = kf_problem_name(w->spec.path);
	if (code)
		take_failure(w, NULL, err);
	return code;
}

bool kf_check_problem(const struct kf_checker *checker, const char *path,
		      struct kf_checked *out)
{
	uint64_t start_ns = kf_now_ns();
	struct work w = {
		.checker = checker, .out = out,
		.spec = checker->setup->problem_spec,
		.end_ns = start_ns + checker->timeout_ns,
	};
	struct kf_err err = { 0 };
	enum kf_code code;

	*out = (struct kf_checked) { .path = kf_strdup(path) };
	w.spec.path = out->path;
	if (checker->memory_bytes)
		w.spec.memory_bytes = checker->memory_bytes;
	code = read_problem(&w, &err);
	if (!code)
		code = find_out(&w, &err);
	kf_problem_release(&w.problem);
	out->took_ns = kf_now_ns() - start_ns;
	return code != KF_E_CANCELED;
}

void kf_checked_release(struct kf_checked *checked)
{
	kf_health_release(&checked->health);
	free(checked->path);
	free(checked->name);
}
