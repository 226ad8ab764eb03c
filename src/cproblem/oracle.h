/*
 * oracle.h - expected values of a C problem, and the scales on which they are
 * judged (docs/bundles.md):
 *
 *	r	the reference in the problem's dtype
 *	y	the reference in double, on the very same numbers
 *	react	g = sqrt(mean_j (y(x_j) - y)^2) / step
 *	noise	e = max_j |r(x_j) - y(x_j)|
 */
#ifndef KF_CPROBLEM_ORACLE_H
#define KF_CPROBLEM_ORACLE_H

#include "cproblem/cref.h"
#include "cproblem/values.h"

#define KF_ORACLE_STEP 0x1p-12	/* several units in the last place of float */

struct kf_oracle {
	const struct kf_cproblem *problem;
	const char *name;		/* the problem's, for sentences */
	struct kf_cref *real, *wide;	/* wide: NULL where real is double */
	unsigned runs;			/* perturbed ones */
	uint64_t weights_id;		/* the last that was given out */
};

/* One case: data in, values out. All owned; see kf_case. */
struct kf_answer {
	void **expect;		/* [out.count], in the output's type */
	double **exact;		/* NULL for outputs of whole numbers */
	float **react, **noise;	/* likewise; NULL until spread */
	float **rounded[KF_PRECISIONS];	/* see kf_case; NULL until rounded */
};

/* A scale as it is kept: never infinite or NaN. */
float kf_oracle_scale(double value);
/* Data perturbed by one step, in room of the caller's. */
struct kf_cref_data kf_oracle_near(struct kf_oracle *oracle,
		const struct kf_cref_data *data, struct kf_rng *rng, void **in,
		void **weight);
/* Is all of an output one number, and does none react? react: NULL of whole
 * numbers. */
bool kf_oracle_flat(const struct kf_tensor_info *info, const void *out,
		    const float *react);

/* Room for the tensors of a list, and its end. */
void **kf_data_new(const struct kf_ctensors *list);
void kf_data_free(void **data, size_t count);

/* What there is room for: each has those before it too. */
enum kf_answer_parts { KF_ANSWER_EXPECT, KF_ANSWER_EXACT, KF_ANSWER_SPREAD };
void kf_answer_init(const struct kf_cproblem *problem,
		    enum kf_answer_parts parts, struct kf_answer *out);
void kf_answer_release(const struct kf_cproblem *problem,
		       struct kf_answer *answer);

/* expect, and exact if with_exact. *end tells of a reference that fails. */
KF_MUST_CHECK enum kf_code kf_oracle_run(struct kf_oracle *oracle,
		const struct kf_cref_data *data, bool with_exact,
		struct kf_answer *answer, struct kf_cref_end *end,
		struct kf_err *err);
/* react and noise around an answer, from perturbed runs; never NaN, at most the
 * largest float. *end tells of a perturbed run that fails. */
KF_MUST_CHECK enum kf_code kf_oracle_spread(struct kf_oracle *oracle,
		const struct kf_cref_data *data, struct kf_rng rng,
		struct kf_answer *answer, struct kf_cref_end *end,
		struct kf_err *err);

/* rounded, for outputs in float32. A reference that fails on such data leaves
 * it NULL. */
KF_MUST_CHECK enum kf_code kf_oracle_round(struct kf_oracle *oracle,
		const struct kf_cref_data *data, struct kf_answer *answer,
		struct kf_err *err);

/* The first value that is not finite, of expect or exact: its output and
 * index, in words ("output y at index (3, 17)"); "" if all are. */
void kf_answer_not_finite(const struct kf_cproblem *problem,
			  const struct kf_answer *answer, char words[256]);

/* Would one number for each output be right? Asked once it is spread. */
bool kf_answer_is_flat(const struct kf_cproblem *problem,
		       const struct kf_answer *answer);

/* Is the reference itself far off the other one? Likewise. */
bool kf_answer_is_lost(const struct kf_cproblem *problem,
		       const struct kf_answer *answer);

/* Would the judge see that these data give another answer? */
KF_MUST_CHECK enum kf_code kf_oracle_moves(struct kf_oracle *oracle,
		const struct kf_cref_data *data,
		const struct kf_answer *answer, bool *moves,
		struct kf_err *err);

#endif
