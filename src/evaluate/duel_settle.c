/* duel_settle.c - what the rounds of a duel say. Pure. */
#include "evaluate/duel.h"

#include <math.h>

#include "evaluate/claim.h"

const char *kf_duel_end_name(enum kf_duel_end end)
{
	static const char *const name[] = {
		[KF_DUEL_UNKNOWN] = "unknown",
		[KF_DUEL_NO_DIFFERENCE] = "no_difference",
		[KF_DUEL_FASTER] = "faster",
		[KF_DUEL_SLOWER] = "slower",
	};

	return name[end];
}

enum kf_duel_end kf_duel_decide(const struct kf_ratio *r)
{
	if (!(r->low <= r->high))	/* NaN too */
		return KF_DUEL_UNKNOWN;
	if (r->low > 1 + KF_DUEL_LEAST)
		return KF_DUEL_FASTER;
	if (r->high < 1 - KF_DUEL_LEAST)
		return KF_DUEL_SLOWER;
	return KF_DUEL_NO_DIFFERENCE;
}

void kf_duel_order(struct kf_rng *rng, size_t count, size_t *order)
{
	for (size_t i = 0; i < count; i++) {
		size_t k = (size_t)kf_rng_below(rng, i + 1);

		order[i] = order[k];
		order[k] = i;
	}
}

/* More than a quarter of all turns, two in a round, were disturbed. */
static bool busy(const struct kf_duel *duel)
{
	return 3 * duel->disturbed_count > 2 * duel->round_count;
}

static void settle_pair(const struct kf_duel_round *round, size_t count,
			const struct kf_duel *duel, struct kf_duel_pair *pair)
{
	double a[KF_DUEL_ROUNDS], b[KF_DUEL_ROUNDS];

	for (size_t i = 0; i < count; i++) {
		a[i] = round[i].time_ns[pair->a];
		b[i] = round[i].time_ns[pair->b];
	}
	kf_stats_ratio(b, a, count, &pair->ratio);
	pair->end = kf_duel_decide(&pair->ratio);
	pair->conclusive = count >= kf_stop_default.block_min &&
		pair->ratio.width <= kf_stop_default.width &&
		duel->time_ns[pair->a] >= KF_SHORT_NS &&
		duel->time_ns[pair->b] >= KF_SHORT_NS &&
		!busy(duel);
}

void kf_duel_settle(const struct kf_duel_round *round, size_t count,
		    struct kf_duel *duel)
{
	double time_ns[KF_DUEL_ROUNDS];

	duel->round_count = count;
	duel->pair_count = 0;
	for (size_t side = 0; side < duel->side_count; side++) {
		for (size_t i = 0; i < count; i++)
			time_ns[i] = round[i].time_ns[side];
		duel->time_ns[side] = kf_stats_median(time_ns, count);
	}
	for (size_t a = 0; a < duel->side_count; a++)
		for (size_t b = a + 1; b < duel->side_count; b++) {
			struct kf_duel_pair *pair =
				&duel->pair[duel->pair_count++];

			*pair = (struct kf_duel_pair) { .a = a, .b = b };
			settle_pair(round, count, duel, pair);
		}
}

/* How the programs compare decides; the baseline's noise is its own. */
bool kf_duel_done(const struct kf_duel *duel)
{
	if (duel->round_count >= KF_DUEL_ROUNDS)
		return true;
	for (size_t i = 0; i < duel->pair_count; i++)
		if (duel->pair[i].b < duel->program_count &&
		    !kf_stats_done(&kf_stop_default, &duel->pair[i].ratio))
			return false;
	return duel->pair_count > 0;
}

/* --- told ----------------------------------------------------------------- */

static json_t *interval(const struct kf_ratio *r)
{
	json_t *json = json_object();

	json_object_set_new(json, "ratio", kf_json_number(r->ratio));
	json_object_set_new(json, "low", kf_json_number(r->low));
	json_object_set_new(json, "high", kf_json_number(r->high));
	json_object_set_new(json, "width", kf_json_number(r->width));
	return json;
}

static json_t *integer(uint64_t value)
{
	return json_integer((json_int_t)value);
}

json_t *kf_duel_to_json(const struct kf_duel *d, const char *const *name)
{
	json_t *json = json_object(), *sides = json_array();
	json_t *pairs = json_array();

	for (size_t i = 0; i < d->side_count; i++) {
		json_t *side = json_object();

		json_object_set_new(side, "name", json_string(name[i]));
		json_object_set_new(side, "baseline",
				    json_boolean(i >= d->program_count));
		json_object_set_new(side, "time_ns",
				    kf_json_number(d->time_ns[i]));
		json_array_append_new(sides, side);
	}
	for (size_t i = 0; i < d->pair_count; i++) {
		const struct kf_duel_pair *p = &d->pair[i];
		json_t *pair = json_object();

		json_object_set_new(pair, "a", integer(p->a));
		json_object_set_new(pair, "b", integer(p->b));
		json_object_set_new(pair, "a_over_b", interval(&p->ratio));
		json_object_set_new(pair, "b_is",
				    json_string(kf_duel_end_name(p->end)));
		json_object_set_new(pair, "conclusive",
				    json_boolean(p->conclusive));
		json_array_append_new(pairs, pair);
	}
	json_object_set_new(json, "sides", sides);
	json_object_set_new(json, "pairs", pairs);
	json_object_set_new(json, "rounds", integer(d->round_count));
	json_object_set_new(json, "block_calls", integer(d->block_calls));
	json_object_set_new(json, "calls", integer(d->call_count));
	json_object_set_new(json, "disturbed", integer(d->disturbed_count));
	json_object_set_new(json, "sandbox",
			    json_string(kf_sandbox_tier_name(d->tier)));
	json_object_set_new(json, "took_ns", integer(d->took_ns));
	return json;
}

/* A side in a sentence: programs have letters, for their names may be long or
 * alike. */
static void label_of(const struct kf_duel *d, size_t side, char out[16])
{
	if (side < d->program_count)
		snprintf(out, 16, "%c", (char)('A' + side));
	else
		snprintf(out, 16, "baseline");
}

static void say_why_not(const struct kf_duel *d, const struct kf_duel_pair *p,
			struct kf_buf *out)
{
	kf_buf_puts(out, "    not conclusive: ");
	if (fmin(d->time_ns[p->a], d->time_ns[p->b]) < KF_SHORT_NS)
		kf_buf_puts(out, "the calls are too short to measure well\n");
	else if (busy(d))
		kf_buf_puts(out, "the machine was busy\n");
	else if (p->ratio.width > kf_stop_default.width)
		kf_buf_printf(out, "the interval is %.1f %% wide after %zu "
			      "rounds\n", 100 * p->ratio.width,
			      d->round_count);
	else
		kf_buf_printf(out, "only %zu rounds in the time there was\n",
			      d->round_count);
}

static void say_pair(const struct kf_duel *d, const struct kf_duel_pair *p,
		     struct kf_buf *out)
{
	const struct kf_ratio *r = &p->ratio;
	char a[16], b[16];

	label_of(d, p->a, a);
	label_of(d, p->b, b);
	if (p->end == KF_DUEL_UNKNOWN) {
		kf_buf_printf(out, "%s against %s: too few rounds to tell\n", b,
			      a);
		return;
	}
	if (p->end == KF_DUEL_NO_DIFFERENCE)
		kf_buf_printf(out, "%s against %s: no difference shown "
			      "(95 %% interval %.4g to %.4g)\n", b, a, r->low,
			      r->high);
	else if (p->end == KF_DUEL_FASTER)
		kf_buf_printf(out, "%s is faster than %s by %.4g (95 %% "
			      "interval %.4g to %.4g)\n", b, a, r->ratio,
			      r->low, r->high);
	else
		kf_buf_printf(out, "%s is slower than %s by %.4g (95 %% "
			      "interval %.4g to %.4g)\n", b, a, 1 / r->ratio,
			      1 / r->high, 1 / r->low);
	if (!p->conclusive)
		say_why_not(d, p, out);
}

void kf_duel_explain(const struct kf_duel *d, const char *const *name,
		     struct kf_buf *out)
{
	for (size_t i = 0; i < d->side_count; i++) {
		char label[16], time[32];

		label_of(d, i, label);
		kf_buf_printf(out, "%-8s %10s a call   %s\n", label,
			      kf_time_words(d->time_ns[i], 4, time), name[i]);
	}
	kf_buf_puts(out, "\n");
	for (size_t i = 0; i < d->pair_count; i++)
		say_pair(d, &d->pair[i], out);
	kf_buf_printf(out, "\n%zu rounds of fresh processes, each with two "
		      "blocks of %u calls a side\n", d->round_count,
		      d->block_calls);
	if (d->disturbed_count)
		kf_buf_printf(out, "%zu turn%s disturbed by other programs "
			      "and taken again\n", d->disturbed_count,
			      d->disturbed_count == 1 ? " was" : "s were");
}
