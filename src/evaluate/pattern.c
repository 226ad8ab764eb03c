/* pattern.c - where the wrong elements lie: the first half of a pattern. The
 * second, what they hold, is in pattern_value.c. */
#include "evaluate/pattern.h"

#include <math.h>

/* Where the members of a set of elements lie. */
struct spread {
	int64_t count, first, last;		/* flat */
	int64_t min[KF_MAX_RANK], max[KF_MAX_RANK];
	int64_t step[KF_MAX_RANK];	/* greatest common one from min */
};

static int64_t common_divisor(int64_t a, int64_t b)
{
	while (b) {
		int64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

static void spread_add(struct spread *s, int rank, const int64_t *place,
		       int64_t flat)
{
	for (int a = 0; a < rank; a++) {
		int64_t p = place[a];

		if (!s->count) {
			s->min[a] = s->max[a] = p;
			continue;
		}
		/* The step is kept relative to min; a new min changes all
		 * differences by the same amount. */
		if (s->step[a] != 1)
			s->step[a] = common_divisor(s->step[a], p > s->min[a] ?
					p - s->min[a] : s->min[a] - p);
		s->min[a] = p < s->min[a] ? p : s->min[a];
		s->max[a] = p > s->max[a] ? p : s->max[a];
	}
	if (!s->count++)
		s->first = flat;
	s->last = flat;
}

static void advance(int rank, const int64_t *shape, int64_t *place)
{
	for (int a = rank - 1; a >= 0; a--) {
		if (++place[a] < shape[a])
			return;
		place[a] = 0;
	}
}

static void spreads(const struct kf_compare_request *req,
		    const unsigned char *marks, enum kf_compare_end end,
		    struct spread *wrong, struct spread *right)
{
	int64_t place[KF_MAX_RANK] = { 0 }, numel = 1;

	for (int a = 0; a < req->rank; a++)
		numel *= req->shape[a];
	memset(wrong, 0, sizeof(*wrong));
	memset(right, 0, sizeof(*right));
	for (int64_t i = 0; i < numel; i++) {
		bool in = kf_pattern_selected(marks[i], end);

		spread_add(in ? wrong : right, req->rank, place, i);
		advance(req->rank, req->shape, place);
	}
}

/* What one index along an axis is called. */
static const char *index_name(int rank, int axis)
{
	if (axis == rank - 1)
		return rank == 1 ? "element" : "column";
	if (axis == rank - 2)
		return "row";
	if (axis == 0)
		return "batch item";
	return rank == 4 && axis == 1 ? "channel" : NULL;
}

static void name_index(struct kf_buf *out, int rank, int axis, int64_t index)
{
	const char *name = index_name(rank, axis);

	if (name)
		kf_buf_printf(out, "%s %lld", name, (long long)index);
	else
		kf_buf_printf(out, "index %lld of axis %d", (long long)index,
			      axis);
}

/* "the remainder beyond a multiple of 8, 16 and 32": a loop in steps of these
 * would leave just this part undone. */
static void name_remainder(struct kf_buf *out, int64_t start, int64_t n)
{
	const char *before = " (the remainder beyond a multiple of ";

	for (int64_t step = 4; step <= 256; step *= 2) {
		if (n % step == 0 || n / step * step != start)
			continue;
		kf_buf_printf(out, "%s%lld", before, (long long)step);
		before = ", ";
	}
	if (before[0] == ',')
		kf_buf_puts(out, ")");
}

static void name_range(struct kf_buf *out, int rank, int axis, int64_t n,
		       const struct spread *s)
{
	int64_t low = s->min[axis], high = s->max[axis], step = s->step[axis];

	if (low == high) {
		name_index(out, rank, axis, low);
		return;
	}
	if (step > 1) {
		kf_buf_printf(out, "every %lld%s index along axis %d, "
			      "from %lld on", (long long)step,
			      step == 2 ? "nd" : step == 3 ? "rd" : "th",
			      axis, (long long)low);
		return;
	}
	if (high == n - 1) {
		kf_buf_printf(out, "the last %lld ", (long long)(n - low));
		if (axis == rank - 1)
			kf_buf_puts(out, rank > 1 ? "elements of every row" :
				    "elements");
		else
			kf_buf_printf(out, "along axis %d", axis);
		name_remainder(out, low, n);
	} else if (low == 0) {
		kf_buf_printf(out, "the first %lld along axis %d",
			      (long long)(high + 1), axis);
	} else {
		kf_buf_printf(out, "indices %lld to %lld of axis %d",
			      (long long)low, (long long)high, axis);
	}
}

static int64_t along(const struct spread *s, int axis)
{
	int64_t step = s->step[axis] > 1 ? s->step[axis] : 1;

	return (s->max[axis] - s->min[axis]) / step + 1;
}

/* Elements in the box around a set. */
static double box_volume(const struct spread *s, int rank)
{
	double volume = 1;

	for (int a = 0; a < rank; a++)
		volume *= (double)along(s, a);
	return volume;
}

/* The share of the box around a set that is in the set. */
static double box_share(const struct spread *s, int rank)
{
	return (double)s->count / box_volume(s, rank);
}

/* Names the box by the axes that limit it, most two. False: none does. */
static bool name_box(struct kf_buf *out, const struct kf_compare_request *req,
		     const struct spread *s)
{
	int named = 0;

	for (int a = req->rank - 1; a >= 0; a--) {
		if (along(s, a) == req->shape[a])
			continue;
		if (named == 2)
			return true;
		kf_buf_puts(out, named ? ", in " : "");
		name_range(out, req->rank, a, req->shape[a], s);
		named++;
	}
	return named > 0;
}

static bool name_flat(struct kf_buf *out, const struct spread *s, int64_t numel)
{
	int64_t span = s->last - s->first + 1;

	if ((double)s->count < 0.95 * (double)span || span == numel)
		return false;
	if (s->last == numel - 1)
		kf_buf_printf(out, "the last %lld elements of the whole output",
			      (long long)span);
	else if (!s->first)
		kf_buf_printf(out, "the first %lld elements of the whole "
			      "output", (long long)span);
	else
		return false;
	return true;
}

void kf_pattern_place(const struct kf_compare_request *req,
		      const unsigned char *marks, enum kf_compare_end end,
		      struct kf_buf *out)
{
	static const char *const what[] = {
		[KF_COMPARE_UNWRITTEN] = "not written",
		[KF_COMPARE_NONFINITE] = "NaN or infinite",
		[KF_COMPARE_VALUES] = "wrong",
	};
	static const char *const otherwise[] = {
		[KF_COMPARE_UNWRITTEN] = "written",
		[KF_COMPARE_NONFINITE] = "finite",
		[KF_COMPARE_VALUES] = "right",
	};
	struct kf_buf name = { .max = KF_COMPARE_PATTERN / 2 };
	struct spread wrong, right;
	int64_t numel;

	spreads(req, marks, end, &wrong, &right);
	numel = wrong.count + right.count;
	if (!right.count)
		kf_buf_printf(out, "every element is %s", what[end]);
	else if (wrong.count == 1)
		kf_buf_printf(out, "a single element is %s", what[end]);
	else if (right.count < wrong.count &&
		 box_share(&right, req->rank) >= 0.95 &&
		 name_box(&name, req, &right))
		kf_buf_printf(out, "%s: only %s", otherwise[end], name.data);
	else if (box_share(&wrong, req->rank) >= 0.95 &&
		 name_box(&name, req, &wrong))
		kf_buf_printf(out, "%s: only %s", what[end], name.data);
	else if (name_flat(&name, &wrong, numel))
		kf_buf_printf(out, "%s: only %s", what[end], name.data);
	else if (box_share(&wrong, req->rank) >= 0.5 &&
		 box_volume(&wrong, req->rank) <= 0.5 * (double)numel &&
		 name_box(&name, req, &wrong))
		kf_buf_printf(out, "%s: only within %s", what[end], name.data);
	kf_buf_release(&name);
}

bool kf_pattern_selected(unsigned char mark, enum kf_compare_end end)
{
	if (end == KF_COMPARE_UNWRITTEN)
		return mark == KF_MARK_UNWRITTEN;
	if (end == KF_COMPARE_NONFINITE)
		return mark == KF_MARK_NONFINITE;
	return mark != KF_MARK_GOOD;
}

void kf_pattern_find(const struct kf_compare_request *req,
		     const unsigned char *marks, enum kf_compare_end end,
		     char out[KF_COMPARE_PATTERN])
{
	struct kf_buf place = { .max = KF_COMPARE_PATTERN - 1 };
	struct kf_buf value = { .max = KF_COMPARE_PATTERN - 1 };

	kf_pattern_place(req, marks, end, &place);
	kf_pattern_value(req, marks, end, &value);
	snprintf(out, KF_COMPARE_PATTERN, "%s%s%s", kf_buf_str(&place),
		 place.len && value.len ? "; " : "", kf_buf_str(&value));
	kf_buf_release(&place);
	kf_buf_release(&value);
}
