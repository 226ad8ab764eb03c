#include "cproblem/oracle.h"

#include <assert.h>
#include <float.h>
#include <math.h>

#include "base/parallel.h"
#include "evaluate/compare.h"

#define PART (INT64_C(1) << 20)	/* elements for one thread */

/* --- memory -------------------------------------------------------------- */

void **kf_data_new(const struct kf_ctensors *list)
{
	void **data = kf_alloc((list->count + 1) * sizeof(data[0]));

	for (size_t i = 0; i < list->count; i++)
		data[i] = kf_alloc(list->at[i].info.bytes);
	return data;
}

void kf_data_free(void **data, size_t count)
{
	for (size_t i = 0; data && i < count; i++)
		free(data[i]);
	free(data);
}

void kf_answer_init(const struct kf_cproblem *problem,
		    enum kf_answer_parts parts, struct kf_answer *out)
{
	size_t count = problem->out.count;

	*out = (struct kf_answer) { 0 };
	out->expect = kf_data_new(&problem->out);
	out->exact = kf_alloc(count * sizeof(out->exact[0]));
	out->react = kf_alloc(count * sizeof(out->react[0]));
	out->noise = kf_alloc(count * sizeof(out->noise[0]));
	for (size_t i = 0; i < count; i++) {
		size_t numel = (size_t)problem->out.at[i].info.numel;

		if (!kf_is_floating(&problem->out.at[i]))
			continue;
		if (parts >= KF_ANSWER_EXACT)
			out->exact[i] = kf_alloc(numel * sizeof(double));
		if (parts < KF_ANSWER_SPREAD)
			continue;
		out->react[i] = kf_alloc(numel * sizeof(float));
		out->noise[i] = kf_alloc(numel * sizeof(float));
	}
}

void kf_answer_release(const struct kf_cproblem *problem,
		       struct kf_answer *answer)
{
	size_t count = problem->out.count;

	kf_data_free(answer->expect, count);
	kf_data_free((void **)answer->exact, count);
	kf_data_free((void **)answer->react, count);
	kf_data_free((void **)answer->noise, count);
	for (int p = 0; p < KF_PRECISIONS; p++)
		kf_data_free((void **)answer->rounded[p], count);
	*answer = (struct kf_answer) { 0 };
}

/* --- running ------------------------------------------------------------- */

/* Output i of the run in double, as doubles. */
static void read_exact(const struct kf_oracle *o, size_t i, double *out)
{
	const struct kf_cref *ref = o->wide ? o->wide : o->real;
	const struct kf_tensor_info *info = &ref->shapes.out[i];

	for (int64_t k = 0; k < info->numel; k++)
		out[k] = kf_element(info->dtype, kf_cref_out(ref, i), k);
}

static enum kf_code run_wide(struct kf_oracle *o,
			     const struct kf_cref_data *data,
			     struct kf_cref_end *end, struct kf_err *err)
{
	return o->wide ? kf_cref_call(o->wide, data, end, err) : KF_OK;
}

enum kf_code kf_oracle_run(struct kf_oracle *o,
			   const struct kf_cref_data *data, bool with_exact,
			   struct kf_answer *answer, struct kf_cref_end *end,
			   struct kf_err *err)
{
	const struct kf_ctensors *out = &o->problem->out;
	enum kf_code code = kf_cref_call(o->real, data, end, err);

	for (size_t i = 0; !code && !end->code && i < out->count; i++)
		memcpy(answer->expect[i], kf_cref_out(o->real, i),
		       out->at[i].info.bytes);
	if (!code && !end->code && with_exact)
		code = run_wide(o, data, end, err);
	for (size_t i = 0; !code && !end->code && with_exact &&
	     i < out->count; i++)
		if (answer->exact[i])
			read_exact(o, i, answer->exact[i]);
	return code;
}

struct finite {
	const struct kf_tensor_info *info;
	const void *expect;
	const double *exact;	/* or NULL */
};

static int64_t look_part(void *arg, int64_t first, int64_t end)
{
	const struct finite *f = arg;

	for (int64_t k = first; k < end; k++)
		if (!isfinite(kf_element(f->info->dtype, f->expect, k)) ||
		    (f->exact && !isfinite(f->exact[k])))
			return k;
	return -1;
}

void kf_answer_not_finite(const struct kf_cproblem *problem,
			  const struct kf_answer *answer, char words[256])
{
	words[0] = '\0';
	for (size_t i = 0; i < problem->out.count && !words[0]; i++) {
		const struct kf_tensor_info *info = &problem->out.at[i].info;
		struct finite f = { .info = info, .expect = answer->expect[i],
				    .exact = answer->exact[i] };
		int64_t first = kf_is_floating(&problem->out.at[i]) ?
			kf_parallel_least(info->numel, PART, look_part, &f) :
			-1;
		char index[128];

		if (first < 0)
			continue;
		kf_compare_index(info->rank, info->shape, first, index);
		snprintf(words, 256, "output %s at index %s", info->name,
			 index);
	}
}

/* --- how it reacts ------------------------------------------------------- */

struct spread {
	double **square;	/* owned; sums of (y(x_j) - y)^2 */
	double *exact;		/* owned; room for the largest output */
	void **in, **weight;	/* owned; perturbed */
};

static void spread_init(const struct kf_cproblem *p, struct spread *s)
{
	size_t most = 0;

	s->square = kf_alloc((p->out.count + 1) * sizeof(s->square[0]));
	for (size_t i = 0; i < p->out.count; i++) {
		size_t bytes = (size_t)p->out.at[i].info.numel *
			sizeof(double);

		s->square[i] = kf_alloc(bytes);
		most = bytes > most ? bytes : most;
	}
	s->exact = kf_alloc(most);
	s->in = kf_data_new(&p->in);
	s->weight = kf_data_new(&p->weight);
}

static void spread_release(const struct kf_cproblem *p, struct spread *s)
{
	kf_data_free((void **)s->square, p->out.count);
	kf_data_free(s->in, p->in.count);
	kf_data_free(s->weight, p->weight.count);
	free(s->exact);
}

static void perturb(const struct kf_ctensors *list, struct kf_rng *rng,
		    void *const *from, void **to)
{
	for (size_t i = 0; i < list->count; i++)
		kf_values_perturb(&list->at[i], KF_ORACLE_STEP, rng, from[i],
				  to[i]);
}

struct kf_cref_data kf_oracle_near(struct kf_oracle *o,
				   const struct kf_cref_data *data,
				   struct kf_rng *rng, void **in, void **weight)
{
	const struct kf_cproblem *p = o->problem;

	perturb(&p->in, rng, data->in, in);
	perturb(&p->weight, rng, data->weight, weight);
	return (struct kf_cref_data) {
		.in = in, .weight = weight,
		.weights_id = p->weight.count ? ++o->weights_id :
			data->weights_id,
	};
}

float kf_oracle_scale(double value)
{
	return value <= (double)FLT_MAX ? (float)value : FLT_MAX;
}

static void add_run(const struct kf_oracle *o, const struct spread *s,
		    const struct kf_answer *answer, size_t i)
{
	const struct kf_tensor_info *info = &o->problem->out.at[i].info;
	const void *r = kf_cref_out(o->real, i);
	float *noise = answer->noise[i];

	assert(noise && answer->exact[i]);	/* it is a floating-point one */
	read_exact(o, i, s->exact);
	for (int64_t k = 0; k < info->numel; k++) {
		double away = s->exact[k] - answer->exact[i][k];
		double off = kf_element(info->dtype, r, k) - s->exact[k];
		float error = kf_oracle_scale(fabs(off));

		s->square[i][k] += away * away;
		noise[k] = error > noise[k] ? error : noise[k];
	}
}

static enum kf_code run_near(struct kf_oracle *o, struct spread *s,
			     const struct kf_cref_data *data,
			     struct kf_rng *rng,
			     const struct kf_answer *answer,
			     struct kf_cref_end *end, struct kf_err *err)
{
	const struct kf_cproblem *p = o->problem;
	struct kf_cref_data near = kf_oracle_near(o, data, rng, s->in,
						  s->weight);
	enum kf_code code;

	code = kf_cref_call(o->real, &near, end, err);
	if (!code && !end->code)
		code = run_wide(o, &near, end, err);
	for (size_t i = 0; !code && !end->code && i < p->out.count; i++)
		if (answer->react[i])
			add_run(o, s, answer, i);
	return code;
}

enum kf_code kf_oracle_spread(struct kf_oracle *o,
			      const struct kf_cref_data *data,
			      struct kf_rng rng, struct kf_answer *answer,
			      struct kf_cref_end *end, struct kf_err *err)
{
	const struct kf_cproblem *p = o->problem;
	struct spread spread;
	enum kf_code code = KF_OK;

	*end = (struct kf_cref_end) { .code = KF_OK };
	spread_init(p, &spread);
	for (size_t i = 0; i < p->out.count; i++)
		if (answer->noise[i])
			memset(answer->noise[i], 0, sizeof(float) *
			       (size_t)p->out.at[i].info.numel);
	for (unsigned j = 0; j < o->runs && !code && !end->code; j++)
		code = run_near(o, &spread, data, &rng, answer, end, err);
	for (size_t i = 0; i < p->out.count && !code; i++)
		for (int64_t k = 0; answer->react[i] &&
		     k < p->out.at[i].info.numel; k++)
			answer->react[i][k] = kf_oracle_scale(
				sqrt(spread.square[i][k] / o->runs) /
				KF_ORACLE_STEP);
	spread_release(p, &spread);
	return code;
}

bool kf_oracle_flat(const struct kf_tensor_info *info, const void *out,
		    const float *react)
{
	size_t size = kf_dtype_bytes(info->dtype);

	for (int64_t k = 0; k < info->numel; k++)
		if ((react && react[k] > 0) ||
		    memcmp(out, (const char *)out + (size_t)k * size, size))
			return false;
	return true;
}

bool kf_answer_is_flat(const struct kf_cproblem *problem,
		       const struct kf_answer *answer)
{
	for (size_t i = 0; i < problem->out.count; i++)
		if (!kf_oracle_flat(&problem->out.at[i].info, answer->expect[i],
			     answer->react[i]))
			return false;
	return true;
}

/* Whoever is further off than this share of its largest value has lost it. */
#define LOST 0x1p-12

bool kf_answer_is_lost(const struct kf_cproblem *problem,
		       const struct kf_answer *answer)
{
	for (size_t i = 0; i < problem->out.count; i++) {
		double most = 0, off = 0;

		for (int64_t k = 0; answer->noise[i] &&
		     k < problem->out.at[i].info.numel; k++) {
			most = fmax(most, fabs(answer->exact[i][k]));
			off = fmax(off, (double)answer->noise[i][k]);
		}
		if (off > LOST * most)
			return true;
	}
	return false;
}

/* --- lower precision ----------------------------------------------------- */

/* Bits of the fraction dropped, to nearest with ties to even, or cut off. */
static const struct { unsigned drop; bool nearest; } rounding[] = {
	[KF_TF32] = { 13, true },
	[KF_TF32_CUT] = { 13, false },
	[KF_BF16_OPERANDS] = { 16, true },
};

static void round_all(const struct kf_ctensors *list, bool matrices_only,
		      enum kf_precision p, void *const *from, void **to)
{
	const unsigned drop = rounding[p].drop, half = (1u << (drop - 1)) - 1;

	for (size_t i = 0; i < list->count; i++) {
		const struct kf_tensor_info *info = &list->at[i].info;
		uint32_t *bits = to[i];

		memcpy(to[i], from[i], info->bytes);
		if (info->dtype != KF_F32 || info->structural ||
		    (matrices_only && info->rank < 2))
			continue;
		for (int64_t k = 0; k < info->numel; k++) {
			if (rounding[p].nearest)
				bits[k] += half + (bits[k] >> drop & 1);
			bits[k] = bits[k] >> drop << drop;
		}
	}
}

/* The run in double less y; NULL for an output where that is not finite. */
static float *difference(const struct kf_oracle *o, size_t i,
			 const struct kf_answer *answer)
{
	const struct kf_tensor_info *info = &o->problem->out.at[i].info;
	float *away;

	if (info->dtype != KF_F32)
		return NULL;
	away = kf_alloc((size_t)info->numel * sizeof(away[0]));
	for (int64_t k = 0; k < info->numel; k++) {
		away[k] = (float)(kf_element(KF_F64, kf_cref_out(o->wide, i),
					     k) - answer->exact[i][k]);
		if (isfinite(away[k]))
			continue;
		free(away);
		return NULL;
	}
	return away;
}

enum kf_code kf_oracle_round(struct kf_oracle *o,
			     const struct kf_cref_data *data,
			     struct kf_answer *answer, struct kf_err *err)
{
	const struct kf_cproblem *q = o->problem;
	void **in = kf_data_new(&q->in), **weight = kf_data_new(&q->weight);
	enum kf_code code = KF_OK;

	for (int p = 0; p < KF_PRECISIONS && o->wide && !code; p++) {
		struct kf_cref_data rounded = { in, weight, ++o->weights_id };
		struct kf_cref_end end;

		round_all(&q->in, false, (enum kf_precision)p, data->in, in);
		round_all(&q->weight, true, (enum kf_precision)p, data->weight,
			  weight);
		code = run_wide(o, &rounded, &end, err);
		if (code || end.code)
			continue;
		answer->rounded[p] = kf_alloc(q->out.count * sizeof(float *));
		for (size_t i = 0; i < q->out.count; i++)
			answer->rounded[p][i] = difference(o, i, answer);
	}
	kf_data_free(in, q->in.count);
	kf_data_free(weight, q->weight.count);
	return code;
}

/* --- what matters -------------------------------------------------------- */

static bool output_moved(const struct kf_oracle *o, size_t i,
			 const struct kf_answer *answer)
{
	const struct kf_tensor_info *info = &o->problem->out.at[i].info;
	struct kf_compare_request req = {
		.dtype = info->dtype,
		.rank = info->rank,
		.got = kf_cref_out(o->real, i),
		.expect = answer->expect[i],
		.exact = answer->exact[i],
		.react = answer->react[i],
		.noise = answer->noise[i],
		.limit = kf_compare_limit(info->dtype, "declared"),
	};
	struct kf_compare result;

	memcpy(req.shape, info->shape, sizeof(req.shape));
	kf_compare_run(&req, &result);
	return result.end != KF_COMPARE_GOOD;
}

enum kf_code kf_oracle_moves(struct kf_oracle *o,
			     const struct kf_cref_data *data,
			     const struct kf_answer *answer, bool *moves,
			     struct kf_err *err)
{
	struct kf_cref_end end;
	enum kf_code code = kf_cref_call(o->real, data, &end, err);

	*moves = end.code != KF_OK;
	for (size_t i = 0; !code && !*moves && i < o->problem->out.count; i++)
		*moves = output_moved(o, i, answer);
	return code;
}
