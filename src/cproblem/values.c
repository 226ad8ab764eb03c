#include "cproblem/values.h"

#include <math.h>

#include "base/parallel.h"
#include "evaluate/compare.h"

#define PART (INT64_C(1) << 20)	/* elements for one thread */
#define DRAWS_MAX 1000		/* for one element, until it is in the domain */

double kf_normal_next(struct kf_normal *normal, struct kf_rng *rng)
{
	double u, v, s, factor;

	if (normal->has_spare) {
		normal->has_spare = false;
		return normal->spare;
	}
	do {
		u = 2 * kf_rng_double(rng) - 1;
		v = 2 * kf_rng_double(rng) - 1;
		s = u * u + v * v;
	} while (s >= 1 || s == 0);
	factor = sqrt(-2 * log(s) / s);
	normal->spare = v * factor;
	normal->has_spare = true;
	return u * factor;
}

struct kf_rng kf_values_rng(uint64_t seed, uint64_t number)
{
	struct kf_rng rng = { seed };

	rng.state = kf_rng_next(&rng) ^ (number * UINT64_C(0x9e3779b97f4a7c15));
	rng.state = kf_rng_next(&rng);
	return rng;
}

void kf_values_put(enum kf_dtype dtype, void *data, int64_t index,
		   double value)
{
	switch (dtype) {
	case KF_BOOL:
	case KF_U8:
		((uint8_t *)data)[index] = (uint8_t)value;
		break;
	case KF_I8:
		((int8_t *)data)[index] = (int8_t)value;
		break;
	case KF_I16:
		((int16_t *)data)[index] = (int16_t)value;
		break;
	case KF_I32:
		((int32_t *)data)[index] = (int32_t)value;
		break;
	case KF_I64:
		((int64_t *)data)[index] = (int64_t)value;
		break;
	case KF_F32:
		((float *)data)[index] = (float)value;
		break;
	case KF_F64:
		((double *)data)[index] = value;
		break;
	case KF_DTYPE_NONE:
	case KF_F16:
	case KF_BF16:	/* no C problem has them */
		break;
	}
}

/* --- in parts ------------------------------------------------------------ */

/* Many elements at once. Each part has a generator of its own; the first goes
 * on with the one that was given, so that small tensors have always the same
 * numbers. */
struct all {
	const struct kf_ctensor *t;
	struct kf_rng *rng;
	uint64_t seed;		/* of the other parts */
	const void *from;
	void *data;
	double step;
};

static void begin_parts(struct all *all)
{
	struct kf_rng rng = *all->rng;

	all->seed = kf_rng_next(&rng);
}

static struct kf_rng part_rng(const struct all *all, int64_t first)
{
	return first ? kf_values_rng(all->seed, (uint64_t)(first / PART)) :
		*all->rng;
}

static void part_over(const struct all *all, int64_t first, struct kf_rng rng)
{
	if (first == 0)
		*all->rng = rng;
}

/* --- declared ------------------------------------------------------------ */

struct draw {
	const struct kf_values *values;
	struct kf_rng *rng;
	struct kf_normal normal;
};

static double draw_normal(struct draw *d)
{
	return d->values->a + d->values->b * kf_normal_next(&d->normal,
							     d->rng);
}

static double draw_uniform(struct draw *d)
{
	return d->values->a + (d->values->b - d->values->a) *
		kf_rng_double(d->rng);
}

static double draw_integers(struct draw *d)
{
	uint64_t count = (uint64_t)(d->values->b - d->values->a) + 1;

	return d->values->a + (double)kf_rng_below(d->rng, count);
}

static double draw_bernoulli(struct draw *d)
{
	return kf_rng_double(d->rng) < d->values->a ? 1 : 0;
}

static double draw_constant(struct draw *d)
{
	return d->values->a;
}

static double (*const draw_one[KF_VALUES_KINDS])(struct draw *) = {
	[KF_VALUES_NORMAL] = draw_normal,
	[KF_VALUES_UNIFORM] = draw_uniform,
	[KF_VALUES_INTEGERS] = draw_integers,
	[KF_VALUES_BERNOULLI] = draw_bernoulli,
	[KF_VALUES_CONSTANT] = draw_constant,
};

/* As the element's type has it, for rounding may leave the domain. */
static double rounded(enum kf_dtype dtype, double value)
{
	return dtype == KF_F32 ? (double)(float)value : value;
}

static bool inside(const struct kf_values *values, double value)
{
	return isfinite(value) && value >= values->min &&
		value <= values->max;
}

/* The first element that cannot be had, or -1. */
static int64_t make_part(void *arg, int64_t first, int64_t end)
{
	const struct all *all = arg;
	const struct kf_ctensor *t = all->t;
	double (*one)(struct draw *) = draw_one[t->values.kind];
	struct kf_rng rng = part_rng(all, first);
	struct draw draw = { .values = &t->values, .rng = &rng };

	for (int64_t i = first; i < end; i++) {
		double value = rounded(t->info.dtype, one(&draw));

		for (int k = 0; !inside(&t->values, value); k++) {
			if (k == DRAWS_MAX)
				return i;
			value = rounded(t->info.dtype, one(&draw));
		}
		kf_values_put(t->info.dtype, all->data, i, value);
	}
	part_over(all, first, rng);
	return -1;
}

bool kf_values_make(const struct kf_ctensor *t, struct kf_rng *rng,
		    void *data)
{
	struct all all = { .t = t, .rng = rng, .data = data };

	begin_parts(&all);
	return kf_parallel_least(t->info.numel, PART, make_part, &all) < 0;
}

static int64_t look_part(void *arg, int64_t first, int64_t end)
{
	const struct all *all = arg;

	for (int64_t i = first; i < end; i++)
		if (!inside(&all->t->values, kf_element(all->t->info.dtype,
							all->from, i)))
			return i;
	return -1;
}

int64_t kf_values_outside(const struct kf_ctensor *t, const void *data)
{
	struct all all = { .t = t, .from = data };

	return kf_parallel_least(t->info.numel, PART, look_part, &all);
}

/* --- kinds of sets ------------------------------------------------------- */

static double get(const struct kf_ctensor *t, const void *data, int64_t i)
{
	return kf_element(t->info.dtype, data, i);
}

static void put(const struct kf_ctensor *t, void *data, int64_t i,
		double value)
{
	kf_values_put(t->info.dtype, data, i, value);
}

struct adding {
	const struct kf_tensor_info *info;
	const void *data;
	double *sum;		/* of each part */
};

static void add_part(void *arg, int64_t first, int64_t end)
{
	const struct adding *a = arg;
	double sum = 0;

	for (int64_t i = first; i < end; i++)
		sum += kf_element(a->info->dtype, a->data, i);
	a->sum[first / PART] = sum;
}

double kf_values_mean(const struct kf_tensor_info *info, const void *data)
{
	int64_t parts = info->numel / PART + 1;
	struct adding adding = {
		info, data, kf_alloc((size_t)parts * sizeof(double)),
	};
	double sum = 0;

	kf_parallel_parts(info->numel, PART, add_part, &adding);
	for (int64_t i = 0; i < parts; i++)
		sum += adding.sum[i];
	free(adding.sum);
	return sum / (double)info->numel;
}

static void zero_mean(const struct kf_ctensor *t, struct kf_rng *rng,
		      void *data)
{
	double mean = kf_values_mean(&t->info, data);

	(void)rng;
	for (int64_t i = 0; i < t->info.numel; i++)
		put(t, data, i, get(t, data, i) - mean);
}

static void wide(const struct kf_ctensor *t, struct kf_rng *rng, void *data)
{
	for (int64_t i = 0; i < t->info.numel; i++)
		put(t, data, i, get(t, data, i) *
		    exp2(8 * kf_rng_double(rng) - 4));
}

/* The last eighth of the last axis, at least one element, times 8. */
static void tail(const struct kf_ctensor *t, struct kf_rng *rng, void *data)
{
	int64_t cols = t->info.rank ? t->info.shape[t->info.rank - 1] : 1;
	int64_t last = cols / 8 ? cols / 8 : 1;

	(void)rng;
	for (int64_t i = 0; t->info.rank && i < t->info.numel; i++)
		if (i % cols >= cols - last)
			put(t, data, i, get(t, data, i) * 8);
}

static void small(const struct kf_ctensor *t, struct kf_rng *rng, void *data)
{
	(void)rng;
	for (int64_t i = 0; i < t->info.numel; i++)
		put(t, data, i, get(t, data, i) * 1e-3);
}

/* A power of two: no two numbers become the same, none is rounded. */
static void large(const struct kf_ctensor *t, struct kf_rng *rng, void *data)
{
	(void)rng;
	for (int64_t i = 0; i < t->info.numel; i++)
		put(t, data, i, get(t, data, i) * 1024);
}

static void tiny(const struct kf_ctensor *t, struct kf_rng *rng, void *data)
{
	(void)rng;
	for (int64_t i = 0; i < t->info.numel; i++)
		put(t, data, i, get(t, data, i) * 0x1p-102);
}

static const struct {
	const char *kind;
	void (*change)(const struct kf_ctensor *t, struct kf_rng *rng,
		       void *data);
} change[] = {
	{ "zero_mean", zero_mean }, { "wide", wide }, { "tail", tail },
	{ "small", small }, { "large", large }, { "tiny", tiny },
};

bool kf_values_changes(const char *kind)
{
	for (size_t i = 0; i < KF_COUNT(change); i++)
		if (strcmp(change[i].kind, kind) == 0)
			return true;
	return false;
}

void kf_values_change(const char *kind, const struct kf_ctensor *t,
		      struct kf_rng *rng, void *data)
{
	for (size_t i = 0; i < KF_COUNT(change); i++)
		if (kf_is_floating(t) && strcmp(change[i].kind, kind) == 0)
			change[i].change(t, rng, data);
}

/* --- random weights ------------------------------------------------------ */

struct manner { double mean, spread, low, high; };

static struct manner manner_of(const struct kf_ctensor *t, const void *like)
{
	struct manner m = {
		.mean = kf_values_mean(&t->info, like),
		.low = (double)INFINITY, .high = -(double)INFINITY,
	};
	double squares = 0;

	for (int64_t i = 0; i < t->info.numel; i++) {
		double value = get(t, like, i);

		m.low = fmin(m.low, value);
		m.high = fmax(m.high, value);
		squares += (value - m.mean) * (value - m.mean);
	}
	m.spread = t->info.numel > 1 ?
		sqrt(squares / (double)(t->info.numel - 1)) : fabs(m.low);
	return m;
}

static double random_one(const struct manner *m, struct kf_normal *normal,
			 struct kf_rng *rng)
{
	double value;

	if (m->low == m->high && m->low == 0)	/* zeros of a bias */
		return 0.5 * kf_normal_next(normal, rng);
	if (m->low == m->high)			/* ones of a gamma */
		return m->low * (0.5 + kf_rng_double(rng));
	value = m->mean + m->spread * kf_normal_next(normal, rng);
	if (m->low >= 0)
		return fabs(value);
	return m->high <= 0 ? -fabs(value) : value;
}

void kf_values_random(const struct kf_ctensor *t, const void *like,
		      struct kf_rng *rng, void *data)
{
	struct manner m = manner_of(t, like);
	struct kf_normal normal = { 0 };

	for (int64_t i = 0; i < t->info.numel; i++)
		put(t, data, i, random_one(&m, &normal, rng));
}

/* --- near by ------------------------------------------------------------- */

static double held(const struct kf_values *values, double value)
{
	return fmin(fmax(value, values->min), values->max);
}

void kf_values_vary(const struct kf_ctensor *t, struct kf_rng *rng,
		    void *data)
{
	for (int64_t i = 0; kf_is_floating(t) && i < t->info.numel; i++)
		put(t, data, i, held(&t->values, get(t, data, i) *
				     (0.75 + 0.5 * kf_rng_double(rng))));
}

static void perturb_part(void *arg, int64_t first, int64_t end)
{
	const struct all *all = arg;
	const struct kf_ctensor *t = all->t;
	struct kf_rng rng = part_rng(all, first);

	for (int64_t i = first; i < end; i++) {
		double sign = kf_rng_next(&rng) >> 63 ? all->step : -all->step;

		put(t, all->data, i, held(&t->values, get(t, all->from, i) *
					  (1 + sign)));
	}
	part_over(all, first, rng);
}

void kf_values_perturb(const struct kf_ctensor *t, double step,
		       struct kf_rng *rng, const void *from, void *data)
{
	struct all all = {
		.t = t, .rng = rng, .from = from, .data = data, .step = step,
	};

	if (!kf_is_floating(t) || t->info.structural) {
		kf_parallel_copy(data, from, t->info.bytes);
		return;
	}
	begin_parts(&all);
	kf_parallel_parts(t->info.numel, PART, perturb_part, &all);
}
