#include "evaluate/health.h"

#include <math.h>

#include "evaluate/digest.h"
#include "evaluate/trivial.h"

#define NAMES_SHOWN 5		/* in lists of what does not matter */
#define NOTES_MAX 64

/* How far an answer comes: on what it would be judged correct. */
enum reach { NOWHERE, DECLARED, OWN_WEIGHTS, EVERYWHERE };

struct check {
	const struct kf_bundle *bundle;
	const volatile int *cancel;
	uint64_t end_ns;
	size_t own_count;	/* sets with the problem's own weights */
	size_t declared_count;
	enum reach *best;	/* owned; [out_count], of any answer */
	size_t reason;		/* index into kf_trivials, once it is unhealthy */
	struct kf_buf on_declared;	/* names of what passes there alone */
	struct kf_health *out;
};

static bool is_declared(const struct kf_case *set)
{
	return strcmp(set->kind, "declared") == 0 ||
		strcmp(set->kind, "changed") == 0;
}

static bool has_own_weights(const struct kf_case *set)
{
	return !set->weight && strcmp(set->kind, "weights") != 0;
}

/* Sentences hold names that a problem's own code chose. */
static void note(struct kf_health *health, const char *text)
{
	struct kf_buf clean = { .max = 400 };

	if (json_array_size(health->notes) < NOTES_MAX) {
		kf_utf8_clean(text, strlen(text), &clean);
		json_array_append_new(health->notes,
				      json_string(kf_buf_str(&clean)));
	}
	kf_buf_release(&clean);
}

static void note_take(struct kf_health *health, char *text)
{
	note(health, text);
	free(text);
}

static void condemn(struct kf_health *health, const char *reason,
		    const char *text)
{
	struct kf_buf clean = { .max = sizeof(health->text) - 1 };

	kf_utf8_clean(text, strlen(text), &clean);
	health->healthy = false;
	snprintf(health->reason, sizeof(health->reason), "%s", reason);
	snprintf(health->text, sizeof(health->text), "%s",
		 kf_buf_str(&clean));
	kf_buf_release(&clean);
}

/* False once the time is up: then nothing more is tried. */
static bool may_go_on(struct check *check)
{
	if (kf_now_ns() < check->end_ns &&
	    !(check->cancel && *check->cancel))
		return true;
	check->out->complete = false;
	return false;
}

/* --- trivial answers ------------------------------------------------------ */

/* On how much the answer would be judged correct for one output. The sets are
 * in their order, declared ones first. */
static enum reach reach_of(struct check *check, struct kf_trivial_case c)
{
	const struct kf_bundle *b = check->bundle;
	bool declared = true, own = true, all = true;

	for (size_t i = 0; i < b->set_count && (declared || own); i++) {
		c.set = &b->set[i];
		if (!may_go_on(check))
			return NOWHERE;
		if (kf_trivial_passes(&c, false))
			continue;
		all = false;
		own &= !has_own_weights(c.set);
		declared &= !is_declared(c.set);
	}
	if (own && all)
		return EVERYWHERE;
	return own ? OWN_WEIGHTS : declared ? DECLARED : NOWHERE;
}

static bool passes_kernelbench(struct check *check, struct kf_trivial_case c)
{
	const struct kf_bundle *b = check->bundle;

	for (size_t i = 0; i < b->set_count; i++) {
		c.set = &b->set[i];
		if (is_declared(c.set) && (!may_go_on(check) ||
					   !kf_trivial_passes(&c, true)))
			return false;
	}
	return true;
}

/* "a copy of input x" */
static char *words_of(const struct check *check, size_t trivial, size_t input)
{
	if (trivial == KF_TRIVIAL_COPY)
		return kf_format("a copy of input %s",
				 check->bundle->in[input].name);
	return kf_strdup(kf_trivials[trivial].words);
}

static void condemn_answer(struct check *check, size_t trivial, size_t input,
			   enum reach reach)
{
	char *words = words_of(check, trivial, input), *text;

	if (reach == EVERYWHERE)
		text = kf_format("%s would be judged correct on all %zu sets",
				 words, check->bundle->set_count);
	else
		text = kf_format("%s would be judged correct on the %zu sets "
				 "that have the problem's own weights", words,
				 check->own_count);
	condemn(check->out, kf_trivials[trivial].name, text);
	check->reason = trivial;
	free(text);
	free(words);
}

static void add_name(struct kf_buf *names, const char *name)
{
	kf_buf_printf(names, "%s%s", names->len ? ", " : "", name);
}

static void take_answer(struct check *check, size_t trivial,
			enum reach reach, bool kernelbench)
{
	const char *name = kf_trivials[trivial].name;

	if (reach == DECLARED)
		add_name(&check->on_declared, name);
	if (kernelbench)
		json_array_append_new(check->out->kernelbench,
				      json_string(name));
}

static void note_answers(struct check *check)
{
	struct kf_buf names = { .max = 300 };
	const json_t *name;
	size_t i;

	if (check->on_declared.len)
		note_take(check->out, kf_format("on declared inputs alone "
			"would be judged correct: %s; other kinds of data "
			"refuse that", kf_buf_str(&check->on_declared)));
	json_array_foreach(check->out->kernelbench, i, name)
		add_name(&names, json_string_value(name));
	if (names.len)
		note_take(check->out, kf_format("KernelBench's tolerance "
			"would let pass: %s", kf_buf_str(&names)));
	kf_buf_release(&names);
}

/* What every set passes by itself tells nothing with one set only. */
static size_t sets_needed(const struct check *check)
{
	return check->declared_count < check->own_count ?
	       check->declared_count : check->own_count;
}

static void try_answer(struct check *check, size_t trivial, size_t input)
{
	const struct kf_bundle *b = check->bundle;
	enum reach reach = EVERYWHERE;
	bool kernelbench = true;

	for (size_t o = 0; o < b->out_count; o++) {
		struct kf_trivial_case c = {
			.bundle = b, .set = &b->set[0], .out = o,
			.trivial = trivial, .input = input,
		};
		enum reach here = NOWHERE;

		if (!kf_trivial_applies(&c)) {
			reach = NOWHERE;
			kernelbench = false;
			continue;
		}
		here = reach_of(check, c);
		if (here > check->best[o])
			check->best[o] = here;
		if (here < reach)
			reach = here;
		kernelbench = kernelbench && passes_kernelbench(check, c);
	}
	if (reach >= OWN_WEIGHTS && check->out->healthy)
		condemn_answer(check, trivial, input, reach);
	take_answer(check, trivial, reach, kernelbench);
}

static void try_answers(struct check *check)
{
	const struct kf_bundle *b = check->bundle;

	for (size_t t = 0; kf_trivials[t].name && t != KF_TRIVIAL_COPY; t++)
		if (sets_needed(check) > 1 || !kf_trivials[t].across_sets)
			try_answer(check, t, 0);
	for (size_t i = 0; i < b->in_count && may_go_on(check); i++)
		if (b->in[i].dtype)
			try_answer(check, KF_TRIVIAL_COPY, i);
	note_answers(check);
}

/* Outputs that are trivial each in its own way, or some of them. */
static void judge_outputs(struct check *check)
{
	const struct kf_bundle *b = check->bundle;
	size_t trivial = 0;

	for (size_t o = 0; o < b->out_count; o++)
		trivial += check->best[o] >= OWN_WEIGHTS;
	if (!check->out->healthy || !trivial)
		return;
	if (trivial == b->out_count) {
		condemn(check->out, "mixed", "each of its outputs has an "
			"answer without work that would be judged correct, "
			"though not the same one");
		return;
	}
	for (size_t o = 0; o < b->out_count; o++)
		if (check->best[o] >= OWN_WEIGHTS)
			note_take(check->out, kf_format("output %zu has an "
				"answer without work that would be judged "
				"correct", o));
}

/* --- what matters --------------------------------------------------------- */

/* "weights a, b and 3 more do not matter" */
static void note_idle(struct kf_health *health, const char *one,
		      const struct kf_tensor_info *info, size_t count)
{
	struct kf_buf names = { .max = 300 };
	size_t idle = 0;

	for (size_t i = 0; i < count; i++) {
		if (!info[i].dtype || info[i].matters)
			continue;
		if (idle < NAMES_SHOWN)
			kf_buf_printf(&names, "%s%s", idle ? ", " : "",
				      info[i].name);
		idle++;
	}
	if (idle > NAMES_SHOWN)
		kf_buf_printf(&names, " and %zu more", idle - NAMES_SHOWN);
	if (idle)
		note_take(health, kf_format("%s%s %s %s not matter", one,
			idle > 1 ? "s" : "", kf_buf_str(&names),
			idle > 1 ? "do" : "does"));
	kf_buf_release(&names);
}

static void judge_inputs(struct check *check)
{
	const struct kf_bundle *b = check->bundle;
	size_t tensors = 0, matter = 0;

	for (size_t i = 0; i < b->in_count; i++) {
		tensors += b->in[i].dtype != KF_DTYPE_NONE;
		matter += b->in[i].dtype && b->in[i].matters;
	}
	/* A constant says more than that. */
	if (tensors && !matter &&
	    (check->out->healthy || kf_trivials[check->reason].weak))
		condemn(check->out, "no_input_matters", tensors == 1 ?
			"its input does not matter: another one gives the "
			"same output" :
			"none of its inputs matters: each may be another and "
			"the output stays the same");
	if (matter)
		note_idle(check->out, "input", b->in, b->in_count);
	note_idle(check->out, "weight", b->weight, b->weight_count);
}

/* --- figures -------------------------------------------------------------- */

/* Over one output: its largest value, and how far two sets are apart. */
static void measure_output(struct check *check, size_t o,
			   const struct kf_case *one,
			   const struct kf_case *two)
{
	const struct kf_tensor_info *info = &check->bundle->out[o];
	struct kf_health *out = check->out;
	const struct kf_digest *d = one->digest ? &one->digest[o] : NULL;

	for (int64_t i = 0; i < kf_expect_count(info, d); i++) {
		double y = kf_element(info->dtype, one->expect[o], i);

		out->magnitude = fmax(out->magnitude, fabs(y));
		if (two)
			out->between_seeds = fmax(out->between_seeds,
				fabs(y - kf_element(info->dtype,
						    two->expect[o], i)));
	}
}

static void measure(struct check *check)
{
	const struct kf_bundle *b = check->bundle;
	const struct kf_case *two = NULL;

	for (size_t i = 1; i < b->set_count && !two; i++)
		if (is_declared(&b->set[i]))
			two = &b->set[i];
	check->out->between_seeds = two ? 0 : (double)NAN;
	for (size_t o = 0; o < b->out_count && may_go_on(check); o++)
		measure_output(check, o, &b->set[0], two);
}

static void take_bundle_notes(struct check *check)
{
	const json_t *list = json_object_get(check->bundle->info, "notes");
	const json_t *text;
	size_t i;

	json_array_foreach(list, i, text) {
		if (json_is_string(text))
			note(check->out, json_string_value(text));
	}
}

enum kf_code kf_health_check(const struct kf_bundle *bundle,
			     const struct kf_health_limits *limits,
			     struct kf_health *out, struct kf_err *err)
{
	uint64_t start_ns = kf_now_ns();
	uint64_t most_ns = limits->timeout_ns ? limits->timeout_ns :
			   KF_HEALTH_TIMEOUT_NS;
	struct check check = {
		.bundle = bundle, .cancel = limits->cancel,
		.end_ns = start_ns + most_ns, .out = out,
		.on_declared = { .max = 300 },
	};

	*out = (struct kf_health) {
		.healthy = true, .complete = true,
		.notes = json_array(), .kernelbench = json_array(),
	};
	for (size_t i = 0; i < bundle->set_count; i++) {
		check.own_count += has_own_weights(&bundle->set[i]);
		check.declared_count += is_declared(&bundle->set[i]);
	}
	check.best = kf_alloc((bundle->out_count + 1) *
			      sizeof(check.best[0]));
	try_answers(&check);
	judge_outputs(&check);
	judge_inputs(&check);
	measure(&check);
	take_bundle_notes(&check);
	free(check.best);
	kf_buf_release(&check.on_declared);
	out->took_ns = kf_now_ns() - start_ns;
	if (limits->cancel && *limits->cancel)
		return kf_fail(err, KF_E_CANCELED, "stopped");
	if (!out->complete)
		note(out, "the check of its health was cut short by its "
		     "deadline");
	return KF_OK;
}

void kf_health_release(struct kf_health *health)
{
	json_decref(health->notes);
	json_decref(health->kernelbench);
	*health = (struct kf_health) { 0 };
}
