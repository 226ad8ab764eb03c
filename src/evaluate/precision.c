#include "evaluate/precision.h"

#include <math.h>

#define PART_ELEMENTS	1024
#define PART_LEAST	64	/* fewer say nothing by themselves */
#define WHOLE_LEAST	16
#define COEFFICIENT	0.25
#define STANDARD_ERROR	0.05

/* Of d = c - y and e over n elements. */
struct sums { double n, ee, ed, dd; };

static struct sums sums_of(const float *error, const double *exact,
			   const float *got, int64_t count)
{
	struct sums s = { .n = (double)count };

	for (int64_t i = 0; i < count; i++) {
		double e = (double)error[i], d = (double)got[i] - exact[i];

		if (!isfinite(d))
			continue;
		s.ee += e * e;
		s.ed += e * d;
		s.dd += d * d;
	}
	return s;
}

static struct kf_precision_found regress(const struct sums *s, double least)
{
	const double nan = (double)NAN;
	struct kf_precision_found found = { false, nan, nan };
	double left;

	if (!(s->ee > 0) || s->n < least)
		return found;
	found.coefficient = s->ed / s->ee;
	left = fmax(s->dd - found.coefficient * s->ed, 0);
	found.error = sqrt(left / ((s->n - 1) * s->ee));
	found.used = found.coefficient > COEFFICIENT &&
		found.error < STANDARD_ERROR;
	return found;
}

/* Parts count alike, however large their errors are. */
static void add(struct sums *whole, const struct sums *part)
{
	double scale = part->ee > 0 ? part->n / part->ee : 0;

	if (!(scale > 0) || !isfinite(scale))
		return;
	whole->n += part->n;
	whole->ee += part->n;
	whole->ed += scale * part->ed;
	whole->dd += scale * part->dd;
}

struct kf_precision_found kf_precision_find(const float *error,
		const double *exact, const float *got, int64_t count)
{
	struct kf_precision_found worst = { false, -(double)INFINITY, 0 };
	struct kf_precision_found found;
	struct sums whole = { 0 };

	for (int64_t i = 0; i < count; i += PART_ELEMENTS) {
		int64_t left = count - i;
		struct sums part = sums_of(error + i, exact + i, got + i,
			left < PART_ELEMENTS ? left : PART_ELEMENTS);

		add(&whole, &part);
		found = regress(&part, PART_LEAST);
		if (found.used && found.coefficient > worst.coefficient)
			worst = found;
	}
	found = regress(&whole, WHOLE_LEAST);
	return found.used || !worst.used ? found : worst;
}
