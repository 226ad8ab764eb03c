#include "problem/shrink.h"

#include <ctype.h>
#include <math.h>

#include "problem/rewrite.h"

#define HALVINGS_MAX 20
#define BATCH_LEAST 4
#define SIDE_LEAST 16		/* of what is no batch */

static const char *const batch_name[] = {
	"batch_size", "batch", "batches", "B",
};

/* One of several that must agree would break the problem: no channels, heads,
 * kernels or strides. */
static const char *const side_name[] = {
	"M", "N", "K", "L", "m", "n", "k", "l", "rows", "cols",
	"sequence_length", "seq_length", "seq_len", "length", "depth",
	"height", "width", "dim", "dim1", "dim2", "H", "W", "D",
	"in_features", "out_features", "input_size", "hidden_size",
};

static bool is_one_of(const char *name, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(name, list[i]) == 0)
			return true;
	return false;
}

static bool is_batch(const char *name)
{
	return is_one_of(name, batch_name, KF_COUNT(batch_name));
}

static bool is_side(const char *name)
{
	return is_one_of(name, side_name, KF_COUNT(side_name));
}

/* "4096", "1024 * 2": a product of positive integers, nothing else. */
static bool read_product(const char *text, size_t len, int64_t *out)
{
	const char *end = text + len;

	*out = 1;
	while (text < end) {
		int64_t factor = 0;

		text += strspn(text, " \t");
		if (!isdigit((unsigned char)*text))
			return false;
		for (; text < end && isdigit((unsigned char)*text); text++)
			if (__builtin_mul_overflow(factor, 10, &factor) ||
			    __builtin_add_overflow(factor, *text - '0',
						   &factor))
				return false;
		if (__builtin_mul_overflow(*out, factor, out))
			return false;
		while (text < end && (*text == ' ' || *text == '\t'))
			text++;
		if (text == end)
			return *out > 0;
		if (*text++ != '*')
			return false;
	}
	return false;
}

void kf_shrink_read(const char *source, struct kf_shrink *out)
{
	struct kf_rewrite_at at = { source, 0 };
	struct kf_assignment a;

	*out = (struct kf_shrink) { 0 };
	while (out->count < KF_SHRINK_SIZES &&
	       kf_rewrite_next(&at, &a)) {
		struct kf_size *size = &out->size[out->count];

		if (a.name_len >= sizeof(size->name))
			continue;
		snprintf(size->name, sizeof(size->name), "%.*s",
			 (int)a.name_len, a.name);
		if (!is_batch(size->name) && !is_side(size->name))
			continue;
		if (!read_product(a.value, a.value_len, &size->published))
			continue;
		size->now = size->published;
		out->count++;
	}
}

static struct kf_size *first_batch(struct kf_shrink *shrink)
{
	for (size_t i = 0; i < shrink->count; i++)
		if (is_batch(shrink->size[i].name) &&
		    shrink->size[i].now >= 2 * BATCH_LEAST)
			return &shrink->size[i];
	return NULL;
}

static struct kf_size *largest_side(struct kf_shrink *shrink)
{
	struct kf_size *largest = NULL;

	for (size_t i = 0; i < shrink->count; i++) {
		struct kf_size *size = &shrink->size[i];

		if (!is_batch(size->name) && size->now >= 2 * SIDE_LEAST &&
		    (!largest || size->now > largest->now))
			largest = size;
	}
	return largest;
}

bool kf_shrink_step(struct kf_shrink *shrink, double ratio)
{
	double wanted = ratio > 2 ? ceil(log2(ratio)) : 1;
	int halvings = wanted < HALVINGS_MAX ? (int)wanted : HALVINGS_MAX;
	bool smaller = false;

	for (int i = 0; i < halvings; i++) {
		struct kf_size *size = first_batch(shrink);

		if (!size)
			size = largest_side(shrink);
		if (!size)
			break;
		size->now /= 2;
		smaller = true;
	}
	return smaller;
}

char **kf_shrink_sets(const struct kf_shrink *shrink, size_t *count)
{
	char **set = kf_alloc((shrink->count + 1) * sizeof(set[0]));

	*count = 0;
	for (size_t i = 0; i < shrink->count; i++) {
		const struct kf_size *size = &shrink->size[i];

		if (size->now != size->published)
			set[(*count)++] = kf_format("%s=%lld", size->name,
						    (long long)size->now);
	}
	return set;
}

void kf_shrink_say(const struct kf_shrink *shrink, struct kf_buf *out)
{
	bool first = true;

	for (size_t i = 0; i < shrink->count; i++) {
		const struct kf_size *size = &shrink->size[i];

		if (size->now == size->published)
			continue;
		kf_buf_printf(out, "%s%s=%lld, published %lld",
			      first ? "at " : "; ", size->name,
			      (long long)size->now,
			      (long long)size->published);
		first = false;
	}
}
