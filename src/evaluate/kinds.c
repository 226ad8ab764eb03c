#include "evaluate/kinds.h"

#include <string.h>

#include "base/base.h"

/* Large terms cancel in the coarse ones: an honest fast algorithm (Strassen,
 * Winograd) loses two more bits there. */
static const struct kf_kind kinds[] = {
	{ .name = "declared", .data = "the problem's own inputs" },
	{ .name = "changed",
	  .brief = "those inputs, a few elements changed",
	  .data = "the problem's own inputs of the call before, a few elements "
	  "changed",
	  .hint = "The result of an earlier call seems to be used again: "
	  "compute every call from all of its inputs." },
	{ .name = "zero_mean", .data = "inputs shifted to a mean of zero",
	  .range = true,
	  .hint = "The sign of the inputs seems to be assumed." },
	{ .name = "wide",
	  .brief = "inputs over a wide range",
	  .data = "inputs of a wide range", .coarse = true, .range = true,
	  .hint = "The range of the inputs seems to be assumed (overflow, or a "
	  "maximum that is not subtracted)." },
	{ .name = "tail",
	  .brief = "the last eighth 8 times as large", .coarse = true,
	  .data = "inputs whose last eighth is 8 times as large",
	  .hint = "Part of the inputs seems to be left out, or computed in "
	  "lower precision." },
	{ .name = "small", .data = "inputs scaled by 1/1000",
	  .hint = "An epsilon seems to be missing or misplaced, or a threshold "
	  "is assumed." },
	{ .name = "large", .data = "inputs 1024 times as large", .coarse = true,
	  .ties = true,
	  .hint = "Something overflows, or the range of the inputs seems to be "
	  "assumed (a maximum that is not subtracted before exp)." },
	{ .name = "tiny", .data = "inputs scaled by 2^-102", .coarse = true,
	  .odd = true,
	  .hint = "The range of the inputs seems to be assumed (a reciprocal "
	  "of a product, or a square without an epsilon)." },
	{ .name = "outliers",
	  .brief = "a few inputs far below and above all others",
	  .coarse = true, .odd = true,
	  .data = "inputs with a few numbers far below and far above all "
	  "others",
	  .hint = "A number far below all others should count as nothing "
	  "beside the largest: look at how a row is handled that needs care, "
	  "from its first element to its last." },
	{ .name = "infinite",
	  .brief = "a few infinities", .nan_is_open = true, .odd = true,
	  .data = "inputs with a few infinities, where NaN is right as well",
	  .hint = "An infinity gives a wrong number: look at how a row is "
	  "handled that has one, from its first element to its last." },
	{ .name = "nan",
	  .brief = "a few NaN; what hangs on them is not looked at",
	  .nan_is_open = true, .odd = true,
	  .data = "inputs with a few NaN, where only numbers that do not hang "
	  "on them are looked at",
	  .hint = "A NaN gives wrong numbers where nothing hangs on it: look "
	  "at how a row is handled that has one." },
	{ .name = "weights", .data = "random weights",
	  .hint = "The value of a weight seems to be assumed: weights change "
	  "between calls, and all that is computed from them must follow." },
	{ .name = "stock", .data = "fresh inputs of the problem's own kind" },
};

struct kf_kind kf_kind_of(const char *name)
{
	for (size_t i = 0; i < KF_COUNT(kinds) && name; i++)
		if (strcmp(name, kinds[i].name) == 0)
			return kinds[i];
	return (struct kf_kind) { .name = name, .data = name };
}
