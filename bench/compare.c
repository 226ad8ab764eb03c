/*
 * compare.c - how fast outputs are compared, beside memcpy in the same run.
 *
 * For each kind of comparison: the bytes it reads (all arrays) a second, by the
 * median of rounds in which memcpy over as many bytes had its turn too; one
 * thread. Prints JSON.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "evaluate/compare.h"
#include "evaluate/stats.h"

#define SIDE 2048
#define COUNT (SIDE * SIDE)	/* 16 MB of float32: beyond most caches */
#define ROUNDS 15

struct data {
	float *got, *expect, *react, *noise;
	double *exact, *got_double;
	uint16_t *got_half;
	char *copy;
};

/* What a comparison is given, and what it reads of each element. */
struct kind {
	const char *name;
	enum kf_dtype dtype;
	bool stock;		/* expect only; else exact, react and noise */
	bool kernelbench;	/* the benchmark's own rule */
};

static const struct kind kinds[] = {
	{ "float32 sets", KF_F32, false, false },
	{ "float32 stock", KF_F32, true, false },
	{ "float32 kernelbench", KF_F32, true, true },
	{ "bfloat16 sets", KF_BF16, false, false },
	{ "bfloat16 stock", KF_BF16, true, false },
	{ "float64 sets", KF_F64, false, false },
	{ "float64 stock", KF_F64, true, false },
};

static void *room(size_t bytes)
{
	void *at = aligned_alloc(64, bytes);

	if (!at)
		abort();
	memset(at, 1, bytes);
	return at;
}

static struct data make_data(void)
{
	struct kf_rng rng = { 1 };
	struct data d = {
		.got = room(COUNT * sizeof(float)),
		.expect = room(COUNT * sizeof(float)),
		.react = room(COUNT * sizeof(float)),
		.noise = room(COUNT * sizeof(float)),
		.exact = room(COUNT * sizeof(double)),
		.got_double = room(COUNT * sizeof(double)),
		.got_half = room(COUNT * sizeof(uint16_t)),
		.copy = room(COUNT * sizeof(double)),
	};

	for (size_t i = 0; i < COUNT; i++) {
		uint32_t bits;

		d.exact[i] = d.got_double[i] = 2 * kf_rng_double(&rng) - 1;
		d.expect[i] = (float)d.exact[i];
		d.got[i] = d.expect[i] * (1 + 0x1p-22f);
		d.react[i] = 0.5f;
		d.noise[i] = 1e-8f;
		memcpy(&bits, &d.expect[i], sizeof(bits));
		d.got_half[i] = (uint16_t)(bits >> 16);
	}
	return d;
}

static struct kf_compare_request request_of(const struct kind *kind,
					    const struct data *d)
{
	const void *got[] = { [KF_F32] = d->got, [KF_F64] = d->got_double,
			      [KF_BF16] = d->got_half };
	const void *expect[] = { [KF_F32] = d->expect, [KF_F64] = d->exact,
				 [KF_BF16] = d->got_half };

	return (struct kf_compare_request) {
		.dtype = kind->dtype, .rank = 2, .shape = { SIDE, SIDE },
		.got = got[kind->dtype], .expect = expect[kind->dtype],
		.exact = kind->stock ? NULL : d->exact,
		.react = kind->stock ? NULL : d->react,
		.noise = kind->stock ? NULL : d->noise,
		.limit = kf_compare_limit(kind->dtype, "declared"),
		.poison = 0x7fc0dead,
	};
}

static double bytes_of(const struct kind *kind)
{
	size_t size = kf_dtype_bytes(kind->dtype);

	return (double)COUNT * (double)(kind->stock ? 2 * size :
					size + sizeof(double) +
					2 * sizeof(float));
}

/* Processor time, which other programs that run do not add to. */
static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * KF_NS_PER_S + (uint64_t)now.tv_nsec;
}

static double compare_once(const struct kind *kind, const struct data *d)
{
	struct kf_compare_request req = request_of(kind, d);
	uint64_t start_ns = cpu_ns();
	struct kf_compare out;

	if (kind->kernelbench)
		kf_compare_kernelbench(&req, &out);
	else
		kf_compare_run(&req, &out);
	if (out.end != KF_COMPARE_GOOD) {
		fprintf(stderr, "%s: not good\n", kind->name);
		exit(1);
	}
	return bytes_of(kind) / (double)(cpu_ns() - start_ns);
}

static double copy_once(const struct data *d)
{
	uint64_t start_ns = cpu_ns();

	memcpy(d->copy, d->exact, COUNT * sizeof(double));
	__asm__ volatile("" : : "r"(d->copy) : "memory");
	return (double)COUNT * sizeof(double) /
		(double)(cpu_ns() - start_ns);
}

int main(void)
{
	struct data d = make_data();
	json_t *json = json_object(), *list = json_array();
	char *text;

	for (size_t i = 0; i < KF_COUNT(kinds); i++) {
		double compare[ROUNDS], copy[ROUNDS], ratio[ROUNDS];
		json_t *row = json_object();

		for (size_t k = 0; k < ROUNDS; k++) {
			copy[k] = copy_once(&d);
			compare[k] = compare_once(&kinds[i], &d);
			ratio[k] = compare[k] / copy[k];
		}
		json_object_set_new(row, "kind", json_string(kinds[i].name));
		json_object_set_new(row, "compare_gb_s", json_real(
			kf_stats_median(compare, ROUNDS)));
		json_object_set_new(row, "memcpy_gb_s", json_real(
			kf_stats_median(copy, ROUNDS)));
		json_object_set_new(row, "ratio", json_real(
			kf_stats_median(ratio, ROUNDS)));
		json_array_append_new(list, row);
	}
	json_object_set_new(json, "elements", json_integer(COUNT));
	json_object_set_new(json, "kinds", list);
	text = json_dumps(json, JSON_INDENT(1) | JSON_REAL_PRECISION(4));
	puts(text);
	free(text);
	json_decref(json);
	return 0;
}
