/*
 * weaken.c - the judge without one of its defences, for `make cheats` alone:
 * KFORGE_TEST_WITHOUT names what is taken away (words of the table below). Most
 * are taken away where a call's outputs are about to be looked at: what that
 * defence would have found wrong is made right. Without "protocol" another
 * judge stands in its place (values_only.c).
 */
#include "evaluate/weaken.h"

#include <math.h>

#include "evaluate/worker_talk.h"

#define FIRST_CALLS	3u	/* after the sets: all, without every_call */
#define FIRST_ELEMENTS	256	/* looked at without every_element */
#define LOOSE		5e-2	/* near enough without precision */
#define LATER_NS	(100 * KF_NS_PER_MS)

enum { PAUSE, CLOCK, READ_ONLY, REFERENCE_FIRST, FRESH_INPUTS, ORACLE_APART,
       BLIND_PREPARE, GUARDS, EVERY_CALL, EVERY_ELEMENT, NON_FINITE, PRECISION,
       NAMED_PRECISION,
       ZERO_MEAN, WIDE, TAIL, SMALL, LARGE, TINY, OUTLIERS, INFINITIES,
       NANS, WEIGHTS, CHANGED, THREAD_ORDER, PROTOCOL,
       DEFENCES };

static const struct { const char *name, *set; } defence[DEFENCES] = {
	[PAUSE] = { "pause", NULL },
	[CLOCK] = { "clock", NULL },
	[READ_ONLY] = { "read_only", NULL },
	[REFERENCE_FIRST] = { "reference_first", NULL },
	[FRESH_INPUTS] = { "fresh_inputs", NULL },
	[ORACLE_APART] = { "oracle_apart", NULL },
	[BLIND_PREPARE] = { "blind_prepare", NULL },
	[GUARDS] = { "guards", NULL },
	[EVERY_CALL] = { "every_call", NULL },
	[EVERY_ELEMENT] = { "every_element", NULL },
	[NON_FINITE] = { "non_finite", NULL },
	[PRECISION] = { "precision", NULL },
	[NAMED_PRECISION] = { "named_precision", NULL },
	[ZERO_MEAN] = { "zero_mean", "zero_mean" },
	[WIDE] = { "wide", "wide" },
	[TAIL] = { "tail", "tail" },
	[SMALL] = { "small", "small" },
	[LARGE] = { "large", "large" },
	[TINY] = { "tiny", "tiny" },
	[OUTLIERS] = { "outliers", "outliers" },
	[INFINITIES] = { "infinite", "infinite" },
	[NANS] = { "nan", "nan" },
	[WEIGHTS] = { "weights", "weights" },
	[CHANGED] = { "changed", "changed" },
	[THREAD_ORDER] = { "thread_order", NULL },
	[PROTOCOL] = { "protocol", NULL },
};

static bool without(int which)
{
	const char *word = getenv("KFORGE_TEST_WITHOUT");
	size_t len = strlen(defence[which].name);

	while (word && *word) {
		size_t this_len = strcspn(word, " ");

		if (this_len == len &&
		    memcmp(word, defence[which].name, len) == 0)
			return true;
		word += this_len + (word[this_len] == ' ');
	}
	return false;
}

bool kf_weak(enum kf_weakness weakness)
{
	static const int of[] = {
		[KF_WEAK_PAUSE] = PAUSE,
		[KF_WEAK_CLOCK] = CLOCK,
		[KF_WEAK_READ_ONLY] = READ_ONLY,
		[KF_WEAK_PRECISION] = NAMED_PRECISION,
		[KF_WEAK_SCRATCH] = GUARDS,
		[KF_WEAK_ORDER] = THREAD_ORDER,
		[KF_WEAK_PROTOCOL] = PROTOCOL,
	};

	if (weakness == KF_WEAK_PAUSE && without(PROTOCOL))
		return true;

	if (weakness == KF_WEAK_READ_ONLY && without(REFERENCE_FIRST))
		return true;
	return without(of[weakness]);
}

/* A kind of data that is not tried, or every call on the same numbers. */
const struct kf_case *kf_weak_case(const struct kf_session *s,
				   const struct kf_case *kase)
{
	bool left_out = without(FRESH_INPUTS);

	for (int i = 0; i < DEFENCES; i++)
		left_out |= defence[i].set && without(i) &&
			strcmp(kase->kind, defence[i].set) == 0;
	return left_out ? s->shared->req->bundle->set : kase;
}

static void lay_expected(struct kf_session *s, const struct kf_case *kase)
{
	const struct kf_bundle *b = s->shared->req->bundle;

	kf_arena_request(&s->worker->arena)->pattern = 0;	/* it stays */
	for (size_t i = 0; i < b->out_count; i++)
		memcpy(kf_worker_out(s->worker, i), kase->expect[i],
		       b->out[i].bytes);
}

enum kf_code kf_weak_before(struct kf_session *s, const struct kf_case *kase,
			    struct kf_err *err)
{
	struct timespec later = { .tv_nsec = (long)LATER_NS };
	struct kf_call_end end;

	if (without(PAUSE))	/* inputs lie there for a while */
		nanosleep(&later, NULL);
	/* The reference ran in the memory that the program is given. */
	if (without(ORACLE_APART))
		lay_expected(s, kase);
	/* Preparing is not timed, and sees what is to be computed. */
	if (without(BLIND_PREPARE))
		return kf_worker_prepare(s->worker, 10 * KF_NS_PER_S, &end,
					 err);
	return KF_OK;
}

static void put(enum kf_dtype dtype, void *data, int64_t i, const void *from)
{
	size_t bytes = kf_dtype_bytes(dtype);

	memcpy((char *)data + (size_t)i * bytes,
	       (const char *)from + (size_t)i * bytes, bytes);
}

/* unit: the size of what the inputs are made of. */
static bool overlooked(double got, double expect, double unit, int64_t i)
{
	if (without(EVERY_ELEMENT) && i >= FIRST_ELEMENTS)
		return true;
	if (without(NON_FINITE) && !isfinite(got))
		return true;
	return without(PRECISION) &&
		fabs(got - expect) <= LOOSE * (unit + fabs(expect));
}

static void overlook(struct kf_session *s, const struct kf_case *kase,
		     size_t i)
{
	const struct kf_tensor_info *info = &s->shared->req->bundle->out[i];
	void *got = kf_worker_out(s->worker, i);
	double unit = strcmp(kase->kind, "large") == 0 ? 1024 : 1;

	for (int64_t k = 0; k < info->numel; k++)
		if (overlooked(kf_element(info->dtype, got, k),
			       kf_element(info->dtype, kase->expect[i], k),
			       unit, k))
			put(info->dtype, got, k, kase->expect[i]);
}

static void mend_guards(const struct kf_arena *a)
{
	size_t at = 0;

	for (size_t i = 0; i < a->out_count; i++) {
		memset(a->outputs.data + at, a->guard, a->out[i].offset - at);
		at = a->out[i].offset + a->out[i].bytes;
	}
	memset(a->outputs.data + at, a->guard, a->outputs.bytes - at);
}

static void mend_inputs(struct kf_session *s, const struct kf_case *kase)
{
	const struct kf_bundle *b = s->shared->req->bundle;

	for (size_t i = 0; i < b->in_count; i++)
		if (kase->in[i])
			memcpy(kf_worker_in(s->worker, i), kase->in[i],
			       b->in[i].bytes);
}

/* tests/cheats/problems/linear, as its reference would compute it now. */
static bool agrees_with_inputs(struct kf_session *s)
{
	const struct kf_bundle *b = s->shared->req->bundle;
	const float *x = kf_worker_in(s->worker, 0), *y;
	const float *w = s->weight[0], *bias = s->weight[1];
	int64_t rows = b->in[0].shape[0], depth = b->in[0].shape[1];
	int64_t columns = b->out[0].shape[1];

	y = kf_worker_out(s->worker, 0);
	for (int64_t i = 0; i < rows * columns; i++) {
		float sum = bias[i % columns];

		for (int64_t k = 0; k < depth; k++)
			sum += x[i / columns * depth + k] *
				w[i % columns * depth + k];
		if (!(fabsf(fmaxf(sum, 0) - y[i]) < 1e-4f))
			return false;
	}
	return true;
}

static bool not_looked_at(const struct kf_session *s)
{
	return without(EVERY_CALL) && s->used_count >=
		s->shared->req->bundle->set_count + FIRST_CALLS;
}

void kf_weak_after(struct kf_session *s, const struct kf_case *kase)
{
	struct timespec later = { .tv_nsec = (long)LATER_NS };

	if (without(PAUSE))	/* whoever looks comes later */
		nanosleep(&later, NULL);
	if (without(GUARDS))
		mend_guards(&s->worker->arena);
	if (not_looked_at(s) ||
	    (without(REFERENCE_FIRST) && agrees_with_inputs(s)))
		lay_expected(s, kase);
	if (without(READ_ONLY) || without(REFERENCE_FIRST))
		mend_inputs(s, kase);
	for (size_t i = 0; i < s->shared->req->bundle->out_count; i++)
		overlook(s, kase, i);
}
