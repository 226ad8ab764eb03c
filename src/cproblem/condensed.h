/*
 * condensed.h - the making of a condensed bundle (docs/bundles.md): what
 * condensed.c, condensed_sums.c and condensed_write.c share. Private to them.
 *
 *	condensed.c		sets and stock: inputs, runs of the reference
 *	condensed_sums.c	what is kept of an output: windows, sums, scales
 *	condensed_write.c	files, and how large they get
 */
#ifndef KF_CPROBLEM_CONDENSED_H
#define KF_CPROBLEM_CONDENSED_H

#include "cproblem/maker.h"

#define KF_WINDOWS 16
#define KF_WINDOW (INT64_C(1) << 16)	/* elements */
#define KF_CONDENSED_SETS 7		/* kinds that are tried */

/* What there is of each output, of all cases. */
struct kf_sampled {
	int64_t *at;		/* owned; where windows begin */
	int64_t count, length;	/* of windows, and their elements */
	double *reaction;	/* owned; of the first set, each chunk's sum of
				   g^2; NULL: whole numbers */
	double kappa;		/* of the first set */
};

/* All owned but the maker. */
struct kf_condenser {
	struct kf_maker *m;
	struct kf_sampled *output;
	void **base;		/* inputs of the first set, which are kept */
	void **given, **near;	/* of this case, and perturbed */
	void **near_weight;
	void **expect;		/* all of the outputs */
	unsigned factor;	/* SHRINK or GROW */
	unsigned runs;
};

/* What is kept of one output of one case. All owned. */
struct kf_kept {
	double *sums, *energy, *reaction, *scale;
	void *expect;
	double *exact, *square;
	float *react, *noise;
};

/* One set, or one entry of the stock. */
struct kf_sample {
	const char *kind;
	uint64_t seed;
	bool first, stock;
	struct kf_fresh *fresh;		/* [in]; column and row are owned */
	void **other;			/* owned; [in]; not floating-point ones */
	void **weight;			/* owned; NULL: declared */
	int8_t *signs;			/* owned */
	struct kf_kept *kept;		/* [out] */
	struct kf_cref_data data;
	char why[KF_WHY];
};

/* Number of entries of the stock. */
size_t kf_condensed_stock(const struct kf_maker *m);

/* condensed_sums.c: the beginning, the end, and secret places between them. */
void kf_windows_choose(struct kf_sampled *o, int64_t numel,
		       struct kf_rng rng);
/* The windows of all elements, one behind the other. */
void kf_windows_cut(const struct kf_sampled *o, enum kf_dtype dtype,
		    const void *from, void *to);
/* Sums of output i with this case's signs, and of its squares; near: of
 * perturbed data, or NULL. */
void kf_condensed_sums(const struct kf_condenser *c, struct kf_sample *s,
		       size_t i, const void *near);
/* The scales of the sums; of the first set also what the stock is held to.
 * False where one is not finite. */
bool kf_condensed_scale(struct kf_condenser *c, struct kf_sample *s, size_t i);
/* Would one number for each output be right? */
bool kf_condensed_flat(const struct kf_condenser *c, const struct kf_sample *s);

/* condensed_write.c */
KF_MUST_CHECK enum kf_code kf_condensed_write_base(
		const struct kf_condenser *c, struct kf_err *err);
KF_MUST_CHECK enum kf_code kf_condensed_write_case(
		const struct kf_condenser *c, const struct kf_sample *s,
		size_t number, struct kf_err *err);
/* "condensed" of bundle.json. */
json_t *kf_condensed_describe(const struct kf_condenser *c);

#endif
