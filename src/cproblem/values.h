/*
 * values.h - the data of C problems: the declared distributions, and the kinds
 * of sets that are made of them (docs/bundles.md). Pure: everything follows
 * from seeds.
 */
#ifndef KF_CPROBLEM_VALUES_H
#define KF_CPROBLEM_VALUES_H

#include "cproblem/cproblem.h"

/* Standard normal, by the polar method. */
struct kf_normal { double spare; bool has_spare; };
double kf_normal_next(struct kf_normal *normal, struct kf_rng *rng);

/* The generator of one purpose: same seed and number, same numbers. */
struct kf_rng kf_values_rng(uint64_t seed, uint64_t number);

/* Fills data (info.bytes) with declared values. They are drawn again until
 * they lie in the domain; false if that hardly ever happens. */
bool kf_values_make(const struct kf_ctensor *t, struct kf_rng *rng,
		    void *data);

/* Changes declared data into those of a kind of set, floating-point ones only:
 * in double, rounded to their own type. Kinds without a change do nothing. */
void kf_values_change(const char *kind, const struct kf_ctensor *t,
		      struct kf_rng *rng, void *data);
/* Whether a kind has such a change: zero_mean, wide, tail, small, large,
 * tiny. */
bool kf_values_changes(const char *kind);

/* Random values in the manner of `like`, which t's data are: of matrices their
 * mean and deviation, of constants [0.5, 1.5) times them, of zeros a deviation
 * of 0.5; signs that all share are kept. */
void kf_values_random(const struct kf_ctensor *t, const void *like,
		      struct kf_rng *rng, void *data);
/* data times [0.75, 1.25), element by element, floating-point ones only. */
void kf_values_vary(const struct kf_ctensor *t, struct kf_rng *rng,
		    void *data);
/* data (1 + step xi), xi = +-1, held inside the domain; floating-point only. */
void kf_values_perturb(const struct kf_ctensor *t, double step,
		       struct kf_rng *rng, const void *from, void *data);

/* The first element outside of the domain or not finite, or -1. */
int64_t kf_values_outside(const struct kf_ctensor *t, const void *data);

double kf_values_mean(const struct kf_tensor_info *info, const void *data);
/* One element; kf_element reads it. Values are rounded to the type. */
void kf_values_put(enum kf_dtype dtype, void *data, int64_t index,
		   double value);

#endif
