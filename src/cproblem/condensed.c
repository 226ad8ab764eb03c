/* Sets and stock of a problem whose data are too large to be kept: inputs are
 * made of those of the first set, of outputs windows and sums are kept
 * (docs/bundles.md, "Condensed bundles"). */
#include <math.h>

#include "base/parallel.h"
#include "cproblem/condensed.h"
#include "evaluate/compare.h"
#include "problem/case.h"

#define RUNS_MOST 4u		/* perturbed ones */
#define STOCK_BYTES ((size_t)12 << 30)	/* of inputs and outputs, though none
					   are kept */
#define STOCK_MAX 12u
#define STOCK_LEAST 6u		/* blocks of one call, all in one process */
#define STOCK_LIGHT 1u
#define LARGE 1024.0f
/* Factors of columns and rows are (base + j) / 4096, 0 <= j < 512. First a
 * little smaller: that stays in most domains; where not, a little larger. */
#define SHRINK 3584u
#define GROW 4096u
#define FACTORS 512u
#define ONE 4096.0f
#define NUMBER_MAX (INT64_C(1) << 40)	/* so many of these add up exactly */
#define ENTRY_TRIES 6u		/* until its inputs lie in their domain */

static const char *const set_kind[KF_CONDENSED_SETS] = {
	"declared", "changed", "declared", "zero_mean", "tail", "large",
	"weights",
};

/* Numbers of generators; those of sets.c are smaller. */
enum purpose { OF_OTHERS = 10000, OF_COLUMNS = 11000, OF_ROWS = 12000,
	       OF_PLACES = 13000, OF_NEAR = 14000 };

/* --- begin and end -------------------------------------------------------- */

static void condenser_init(struct kf_condenser *c, struct kf_maker *m)
{
	const struct kf_cproblem *p = &m->problem;

	*c = (struct kf_condenser) {
		.m = m, .factor = SHRINK,
		.output = kf_alloc((p->out.count + 1) * sizeof(c->output[0])),
		.base = kf_data_new(&p->in), .given = kf_data_new(&p->in),
		.near = kf_data_new(&p->in),
		.near_weight = kf_data_new(&p->weight),
		.expect = kf_data_new(&p->out),
		.runs = m->oracle.runs < RUNS_MOST ? m->oracle.runs : RUNS_MOST,
	};
	for (size_t i = 0; i < p->out.count; i++)
		kf_windows_choose(&c->output[i], p->out.at[i].info.numel,
				  kf_values_rng(kf_maker_seed(), i));
}

static void condenser_release(struct kf_condenser *c)
{
	const struct kf_cproblem *p = &c->m->problem;

	for (size_t i = 0; i < p->out.count; i++) {
		free(c->output[i].at);
		free(c->output[i].reaction);
	}
	free(c->output);
	kf_data_free(c->base, p->in.count);
	kf_data_free(c->given, p->in.count);
	kf_data_free(c->near, p->in.count);
	kf_data_free(c->near_weight, p->weight.count);
	kf_data_free(c->expect, p->out.count);
}

static void kept_init(const struct kf_sampled *o, const struct kf_ctensor *t,
		      bool stock, struct kf_kept *k)
{
	size_t chunks = (size_t)kf_chunks_of(t->info.numel);
	size_t count = (size_t)(o->count * o->length);

	k->sums = kf_alloc(chunks * KF_CHUNK_SUMS * sizeof(double));
	k->scale = kf_alloc(chunks * sizeof(double));
	k->expect = kf_alloc(count * kf_dtype_bytes(t->info.dtype));
	if (!kf_is_floating(t))
		return;
	k->energy = kf_alloc(chunks * sizeof(double));
	if (stock)
		return;
	k->reaction = kf_alloc(chunks * sizeof(double));
	k->exact = kf_alloc(count * sizeof(double));
	k->square = kf_alloc(count * sizeof(double));
	k->react = kf_alloc(count * sizeof(float));
	k->noise = kf_alloc(count * sizeof(float));
}

static void kept_release(struct kf_kept *k)
{
	free(k->sums);
	free(k->energy);
	free(k->reaction);
	free(k->scale);
	free(k->expect);
	free(k->exact);
	free(k->square);
	free(k->react);
	free(k->noise);
}

static void sample_init(const struct kf_condenser *c, const char *kind,
			struct kf_sample *s)
{
	const struct kf_cproblem *p = &c->m->problem;
	bool stock = strcmp(kind, "stock") == 0;

	*s = (struct kf_sample) {
		.kind = kind, .seed = kf_maker_seed(), .stock = stock,
		.first = !stock && !json_array_size(c->m->sets),
		.fresh = kf_alloc((p->in.count + 1) * sizeof(s->fresh[0])),
		.other = kf_alloc((p->in.count + 1) * sizeof(s->other[0])),
		.signs = kf_alloc(KF_CHUNK_SUMS * KF_CHUNK),
		.kept = kf_alloc((p->out.count + 1) * sizeof(s->kept[0])),
	};
	/* They follow from no seed: inputs may tell theirs. */
	kf_random_bytes(s->signs, KF_CHUNK_SUMS * KF_CHUNK);
	for (int i = 0; i < KF_CHUNK_SUMS * KF_CHUNK; i++)
		s->signs[i] = s->signs[i] & 1 ? 1 : -1;
	for (size_t i = 0; i < p->out.count; i++)
		kept_init(&c->output[i], &p->out.at[i], stock, &s->kept[i]);
}

static void sample_release(const struct kf_condenser *c, struct kf_sample *s)
{
	const struct kf_cproblem *p = &c->m->problem;

	for (size_t i = 0; i < p->in.count; i++) {
		free((void *)(uintptr_t)s->fresh[i].column);
		free((void *)(uintptr_t)s->fresh[i].row);
	}
	for (size_t i = 0; i < p->out.count; i++)
		kept_release(&s->kept[i]);
	kf_data_free(s->other, p->in.count);
	kf_data_free(s->weight, p->weight.count);
	free(s->fresh);
	free(s->signs);
	free(s->kept);
}

/* --- inputs --------------------------------------------------------------- */

static float *factors(unsigned base, int64_t count, float times,
		      struct kf_rng rng)
{
	float *list = kf_alloc((size_t)count * sizeof(list[0]));

	for (int64_t i = 0; i < count; i++)
		list[i] = (float)(base + kf_rng_below(&rng, FACTORS)) / ONE *
			times;
	return list;
}

/* The kept ones, but for one element of each chunk. */
static void change_one(unsigned base, int64_t numel, struct kf_rng rng,
		       float *column)
{
	uint64_t most = numel < KF_CHUNK ? (uint64_t)numel : KF_CHUNK;

	column[kf_rng_below(&rng, most)] = base == SHRINK ? 0.75f : 1.25f;
}

static void make_factors(const struct kf_condenser *c, struct kf_sample *s,
			 size_t i)
{
	int64_t numel = c->m->problem.in.at[i].info.numel;
	float times = strcmp(s->kind, "large") == 0 ? LARGE : 1;
	float *column, *row;

	if (strcmp(s->kind, "changed") == 0) {
		column = kf_alloc(KF_CHUNK * sizeof(column[0]));
		row = kf_alloc((size_t)kf_chunks_of(numel) * sizeof(row[0]));
		for (int k = 0; k < KF_CHUNK; k++)
			column[k] = 1;
		for (int64_t k = 0; k < kf_chunks_of(numel); k++)
			row[k] = 1;
		change_one(c->factor, numel,
			   kf_values_rng(s->seed, OF_PLACES + i), column);
	} else {
		column = factors(c->factor, KF_CHUNK, 1,
				 kf_values_rng(s->seed, OF_COLUMNS + i));
		row = factors(c->factor, kf_chunks_of(numel), times,
			      kf_values_rng(s->seed, OF_ROWS + i));
	}
	s->fresh[i] = (struct kf_fresh) { .column = column, .row = row };
}

/* Whole numbers, which are not made of one another: new ones, but for the first
 * set and the one that repeats it. */
static enum kf_code make_others(const struct kf_condenser *c,
				struct kf_sample *s, struct kf_err *err)
{
	const struct kf_ctensors *in = &c->m->problem.in;
	bool kept = s->first || strcmp(s->kind, "changed") == 0;

	for (size_t i = 0; i < in->count; i++) {
		struct kf_rng rng = kf_values_rng(s->seed, OF_OTHERS + i);

		if (kf_is_floating(&in->at[i]))
			continue;
		s->other[i] = kf_alloc(in->at[i].info.bytes);
		if (kept)
			memcpy(s->other[i], c->base[i], in->at[i].info.bytes);
		else if (!kf_values_make(&in->at[i], &rng, s->other[i]))
			return kf_fail(err, KF_E_INPUT, "problem %s: values of "
				       "input %s hardly ever lie in its domain",
				       c->m->name, in->at[i].info.name);
	}
	return KF_OK;
}

/* As everybody makes them who opens the bundle. */
static void fill(const struct kf_condenser *c, const struct kf_sample *s)
{
	const struct kf_bundle *shapes = &c->m->real.shapes;
	const void **in = kf_alloc((shapes->in_count + 1) * sizeof(in[0]));
	struct kf_case kase = { .kind = s->kind, .in = in, .fresh = s->fresh };

	for (size_t i = 0; i < shapes->in_count; i++)
		in[i] = s->other[i] ? s->other[i] : c->base[i];
	for (size_t i = 0; i < shapes->in_count; i++) {
		kf_case_input(shapes, &kase, i, c->given[i]);
		if (strcmp(s->kind, "zero_mean") || !s->fresh[i].column)
			continue;
		s->fresh[i].shift = kf_values_mean(&shapes->in[i],
						   c->given[i]);
		kf_case_input(shapes, &kase, i, c->given[i]);
	}
	free(in);
}

static enum kf_code make_data(struct kf_condenser *c, struct kf_sample *s,
			      struct kf_err *err)
{
	struct kf_maker *m = c->m;
	const struct kf_cproblem *p = &m->problem;
	enum kf_code code;

	kf_maker_possible(m, s->kind, s->why);
	if (s->why[0])
		return KF_OK;
	code = make_others(c, s, err);
	if (code)
		return code;
	for (size_t i = 0; i < p->in.count && !s->first; i++)
		if (kf_is_floating(&p->in.at[i]))
			make_factors(c, s, i);
	fill(c, s);
	if (strcmp(s->kind, "weights") == 0)
		s->weight = kf_maker_random_weights(m, s->seed);
	kf_maker_outside(&p->in, c->given, "input", s->why);
	if (s->weight)
		kf_maker_outside(&p->weight, s->weight, "weight", s->why);
	s->data = (struct kf_cref_data) {
		.in = c->given, .weight = s->weight ? s->weight : m->weight,
		.weights_id = s->weight ? ++m->oracle.weights_id :
			KF_WEIGHTS_DECLARED,
	};
	return KF_OK;
}

/* --- running -------------------------------------------------------------- */

static struct kf_cref *wide_of(const struct kf_condenser *c)
{
	return c->m->oracle.wide ? c->m->oracle.wide : c->m->oracle.real;
}

/* The windows of the run in double, which has just been made. */
static void cut_wide(const struct kf_condenser *c, size_t i, double *to)
{
	const struct kf_cref *wide = wide_of(c);
	const struct kf_sampled *o = &c->output[i];

	for (int64_t k = 0; k < o->count * o->length; k++)
		to[k] = kf_element(wide->shapes.out[i].dtype,
				   kf_cref_out(wide, i),
				   o->at[k / o->length] + k % o->length);
}

static enum kf_code call(struct kf_condenser *c, struct kf_sample *s,
			 struct kf_cref *reference,
			 const struct kf_cref_data *data, struct kf_err *err)
{
	struct kf_cref_end end;
	enum kf_code code = kf_cref_call(reference, data, &end, err);

	return code ? code : kf_maker_end(c->m, s->first, &end, s->why, err);
}

/* Sums of whole numbers must be exact, in whatever order. */
static void look_at_numbers(const struct kf_condenser *c, struct kf_sample *s)
{
	const struct kf_ctensors *out = &c->m->problem.out;

	for (size_t i = 0; i < out->count; i++) {
		const struct kf_tensor_info *info = &out->at[i].info;
		const int64_t *number = c->expect[i];

		for (int64_t k = 0; info->dtype == KF_I64 &&
		     k < info->numel; k++)
			if (number[k] >= NUMBER_MAX ||
			    number[k] <= -NUMBER_MAX) {
				snprintf(s->why, sizeof(s->why), "output %s "
					 "has whole numbers of 2^40 and more, "
					 "which sums do not hold", info->name);
				return;
			}
	}
}

/* All of the outputs, and their windows. */
static enum kf_code run_real(struct kf_condenser *c, struct kf_sample *s,
			     struct kf_err *err)
{
	const struct kf_ctensors *out = &c->m->problem.out;
	double **none = kf_alloc((out->count + 1) * sizeof(none[0]));
	struct kf_answer answer = { .expect = c->expect, .exact = none };
	enum kf_code code = call(c, s, c->m->oracle.real, &s->data, err);
	char words[256];

	if (code || s->why[0])
		goto out;
	for (size_t i = 0; i < out->count; i++) {
		kf_parallel_copy(c->expect[i],
				 kf_cref_out(c->m->oracle.real, i),
				 out->at[i].info.bytes);
		kf_windows_cut(&c->output[i], out->at[i].info.dtype,
			       c->expect[i], s->kept[i].expect);
	}
	look_at_numbers(c, s);
	kf_answer_not_finite(&c->m->problem, &answer, words);
	if (words[0] && s->first)
		code = kf_maker_refuse_not_finite(c->m, &answer, err);
	else if (words[0])
		snprintf(s->why, sizeof(s->why), "the reference is not finite "
			 "there: %s", words);
out:
	free(none);
	return code;
}

static enum kf_code run_exact(struct kf_condenser *c, struct kf_sample *s,
			      struct kf_err *err)
{
	enum kf_code code = c->m->oracle.wide ?
		call(c, s, wide_of(c), &s->data, err) : KF_OK;

	for (size_t i = 0; !code && !s->why[0] && i < c->m->problem.out.count;
	     i++) {
		const struct kf_sampled *o = &c->output[i];

		if (!s->kept[i].exact)
			continue;
		cut_wide(c, i, s->kept[i].exact);
		for (int64_t k = 0; k < o->count * o->length; k++)
			if (!isfinite(s->kept[i].exact[k]))
				snprintf(s->why, sizeof(s->why), "in double "
					 "the reference is not finite there");
	}
	if (code || !s->why[0] || !s->first)
		return code;
	kf_maker_refused(c->m, "non_finite", (double)NAN, KF_E_INPUT);
	return kf_fail(err, KF_E_INPUT, "problem %s: on its own inputs the "
		       "reference is not finite when kf_real is double",
		       c->m->name);
}

/* near: of the perturbed data in real; wide: likewise in double. */
static void add_windows(const struct kf_sampled *o, enum kf_dtype dtype,
			const void *near, const double *wide, struct kf_kept *k)
{
	for (int64_t i = 0; i < o->count * o->length; i++) {
		double away = wide[i] - k->exact[i];
		float error = kf_oracle_scale(fabs(kf_element(dtype, near, i) -
						   wide[i]));

		k->square[i] += away * away;
		k->noise[i] = error > k->noise[i] ? error : k->noise[i];
	}
}

static void take_near(const struct kf_condenser *c, struct kf_sample *s,
		      size_t i, void *const *near)
{
	const struct kf_sampled *o = &c->output[i];
	enum kf_dtype dtype = c->m->problem.out.at[i].info.dtype;
	double *wide;

	if (!s->kept[i].exact)
		return;
	wide = kf_alloc((size_t)(o->count * o->length) * sizeof(wide[0]));
	cut_wide(c, i, wide);
	add_windows(o, dtype, near[i], wide, &s->kept[i]);
	free(wide);
}

/* Runs number j on perturbed data. The first tells how each chunk reacts. */
static enum kf_code run_near(struct kf_condenser *c, struct kf_sample *s,
			     unsigned j, struct kf_rng *rng,
			     struct kf_err *err)
{
	const struct kf_cproblem *p = &c->m->problem;
	struct kf_cref *real = c->m->oracle.real;
	struct kf_cref_data data = kf_oracle_near(&c->m->oracle, &s->data, rng,
						  c->near, c->near_weight);
	void **windows = kf_alloc((p->out.count + 1) * sizeof(windows[0]));
	enum kf_code code = call(c, s, real, &data, err);

	for (size_t i = 0; !code && !s->why[0] && i < p->out.count; i++) {
		const struct kf_sampled *o = &c->output[i];

		windows[i] = kf_alloc((size_t)(o->count * o->length) *
			kf_dtype_bytes(p->out.at[i].info.dtype));
		kf_windows_cut(o, p->out.at[i].info.dtype,
			       kf_cref_out(real, i), windows[i]);
		if (j == 0)
			kf_condensed_sums(c, s, i, kf_cref_out(real, i));
	}
	if (!code && !s->why[0] && c->m->oracle.wide)
		code = call(c, s, wide_of(c), &data, err);
	for (size_t i = 0; !code && !s->why[0] && i < p->out.count; i++)
		take_near(c, s, i, windows);
	kf_data_free(windows, p->out.count);
	return code;
}

static enum kf_code run_spread(struct kf_condenser *c, struct kf_sample *s,
			       struct kf_err *err)
{
	struct kf_rng rng = kf_values_rng(s->seed, OF_NEAR);
	enum kf_code code = KF_OK;

	for (unsigned j = 0; j < c->runs && !code && !s->why[0]; j++)
		code = run_near(c, s, j, &rng, err);
	for (size_t i = 0; !code && i < c->m->problem.out.count; i++) {
		const struct kf_sampled *o = &c->output[i];

		for (int64_t k = 0; s->kept[i].react &&
		     k < o->count * o->length; k++)
			s->kept[i].react[k] = kf_oracle_scale(
				sqrt(s->kept[i].square[k] / c->runs) /
				KF_ORACLE_STEP);
	}
	return code;
}

/* --- sets and stock ------------------------------------------------------- */

/* All that is kept of a case; why: it cannot be used. */
static enum kf_code make_case(struct kf_condenser *c, struct kf_sample *s,
			      struct kf_err *err)
{
	const size_t outputs = c->m->problem.out.count;
	enum kf_code code = make_data(c, s, err);

	if (!code && !s->why[0])
		code = run_real(c, s, err);
	if (!code && !s->why[0] && !s->stock)
		code = run_exact(c, s, err);
	if (!code && !s->why[0] && !s->stock)
		code = run_spread(c, s, err);
	for (size_t i = 0; i < outputs && !code && !s->why[0] && s->stock; i++)
		kf_condensed_sums(c, s, i, NULL);
	for (size_t i = 0; i < outputs && !code && !s->why[0]; i++)
		if (!kf_condensed_scale(c, s, i))
			snprintf(s->why, sizeof(s->why), "squares of output "
				 "%s are too large for sums of them",
				 c->m->problem.out.at[i].info.name);
	if (!code && !s->why[0] && strcmp(s->kind, "large") == 0 &&
	    kf_condensed_flat(c, s))
		snprintf(s->why, sizeof(s->why), "every output is one number "
			 "there, whatever the inputs");
	return code;
}

static enum kf_code refuse(const struct kf_condenser *c, const char *why,
			   struct kf_err *err)
{
	kf_maker_refused(c->m, "unsupported", (double)NAN, KF_E_INPUT);
	return kf_fail(err, KF_E_INPUT, "problem %s: its data are too large to "
		       "be kept, and cannot be made of one another: %s; choose "
		       "smaller sizes with --set or --size", c->m->name, why);
}

/* why: it is left out. */
static enum kf_code try_set(struct kf_condenser *c, const char *kind,
			    char why[KF_WHY], struct kf_err *err)
{
	size_t number = json_array_size(c->m->sets);
	struct kf_sample s;
	enum kf_code code;

	sample_init(c, kind, &s);
	code = make_case(c, &s, err);
	snprintf(why, KF_WHY, "%s", s.why);
	if (!code && !s.why[0]) {
		kf_maker_note_set(c->m, kind, s.seed);
		code = kf_condensed_write_case(c, &s, number, err);
	}
	sample_release(c, &s);
	return code;
}

static unsigned other_factor(unsigned factor)
{
	return factor == SHRINK ? GROW : SHRINK;
}

/* Ordinary data that are not to be had by smaller factors may be by larger. */
static enum kf_code make_set(struct kf_condenser *c, const char *kind,
			     struct kf_err *err)
{
	bool first = !json_array_size(c->m->sets), declared;
	unsigned before = c->factor;
	char why[KF_WHY];
	enum kf_code code;

	if (strcmp(kind, "changed") == 0 && !kf_any_floating(&c->m->problem.in))
		kind = "declared";	/* whole numbers are made anew */
	declared = strcmp(kind, "declared") == 0;
	code = try_set(c, kind, why, err);
	if (!code && why[0] && !first &&
	    (declared || strcmp(kind, "changed") == 0)) {
		c->factor = other_factor(before);
		code = try_set(c, kind, why, err);
		if (why[0])
			c->factor = before;
	}
	if (code || !why[0])
		return code;
	if (declared)
		return refuse(c, why, err);
	kf_maker_note_dropped(c->m, kind, why);
	return KF_OK;
}

/* An entry in a narrow domain may take more than one try. */
static enum kf_code make_entry(struct kf_condenser *c, size_t number,
			       struct kf_err *err)
{
	unsigned before = c->factor;
	char why[KF_WHY] = "";
	enum kf_code code = KF_OK;
	bool made = false;

	for (unsigned i = 0; i < ENTRY_TRIES && !code && !made; i++) {
		struct kf_sample s;

		c->factor = i % 2 ? other_factor(before) : before;
		sample_init(c, "stock", &s);
		code = make_case(c, &s, err);
		made = !code && !s.why[0];
		if (made) {
			kf_maker_note_stock(c->m, s.seed);
			code = kf_condensed_write_case(c, &s, number, err);
		}
		snprintf(why, sizeof(why), "%s", s.why);
		sample_release(c, &s);
	}
	c->factor = before;
	return code || made ? code : refuse(c, why, err);
}

size_t kf_condensed_stock(const struct kf_maker *m)
{
	size_t each, count;

	if (m->spec->light)
		return STOCK_LIGHT;
	(void)kf_maker_stock_count(m, &each);
	count = STOCK_BYTES / each;
	return count > STOCK_MAX ? STOCK_MAX : count < STOCK_LEAST ?
		STOCK_LEAST : count;
}

enum kf_code kf_maker_condensed(struct kf_maker *m, struct kf_err *err)
{
	struct kf_condenser c;
	enum kf_code code;

	condenser_init(&c, m);
	code = kf_maker_inputs(m, kf_maker_seed(), c.base, err);
	if (!code)
		code = kf_condensed_write_base(&c, err);
	if (!code)
		kf_maker_domain(m, c.base);
	for (size_t i = 0; i < KF_COUNT(set_kind) && !code; i++)
		code = make_set(&c, set_kind[i], err);
	m->stock_count = kf_condensed_stock(m);
	for (size_t i = 0; i < m->stock_count && !code; i++)
		code = make_entry(&c, i, err);
	json_array_append_new(m->notes, json_string("whether inputs and "
		"weights matter was not tried: the data are too large"));
	m->oracle.runs = c.runs;
	m->condensed = kf_condensed_describe(&c);
	condenser_release(&c);
	return code;
}
