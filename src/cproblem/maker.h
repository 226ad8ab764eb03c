/*
 * maker.h - the making of one bundle: what bundle.c, sets.c, condensed.c and
 * write.c share. Private to them.
 */
#ifndef KF_CPROBLEM_MAKER_H
#define KF_CPROBLEM_MAKER_H

#include "cproblem/oracle.h"
#include "problem/safetensors_write.h"

#define KF_WHY 700		/* bytes of a reason to leave a set out */

struct kf_maker {
	const struct kf_problem_spec *spec;
	const char *name;		/* the problem's */
	const char *out_folder;
	struct kf_cproblem problem;	/* owned */
	struct kf_platform *platform;	/* owned */
	struct kf_cref real, wide;	/* owned; wide only for float32 */
	struct kf_oracle oracle;
	void **weight;			/* owned; the declared ones */
	json_t *sets, *stock;		/* owned; of seeds.json */
	json_t *kinds;			/* owned; names of the sets */
	json_t *dropped, *notes;	/* owned */
	json_t *domain;			/* owned; of inputs, on the first set */
	json_t *condensed;		/* owned; as bundle.json has it; or NULL */
	bool is_condensed;		/* its data are too large to be kept */
	bool *in_matters, *weight_matters;	/* owned */
	uint64_t first_seed;		/* of the first set */
	struct kf_answer first;		/* owned; to it, once it was made */
	size_t stock_count;
	struct kf_refusal refusal;	/* once it is refused */
};

#define KF_WEIGHTS_DECLARED 1u	/* their weights_id */

/* A seed that fits into JSON. None follows from another: inputs of one case may
 * tell its own. */
uint64_t kf_maker_seed(void);
/* Keeps why the problem is refused, and gives code back. ratio: so many times
 * too large, NaN if unknown. */
enum kf_code kf_maker_refused(struct kf_maker *m, const char *kind,
			      double ratio, enum kf_code code);
/* Declared inputs of a seed. KF_E_INPUT: they hardly ever lie in the domain. */
KF_MUST_CHECK enum kf_code kf_maker_inputs(struct kf_maker *m, uint64_t seed,
		void **in, struct kf_err *err);
/* "problem NAME: ..." with the end's own code. */
enum kf_code kf_maker_refuse(struct kf_maker *m,
		const struct kf_cref_end *end, struct kf_err *err);
/* KF_E_INPUT where an answer to declared data is not finite. */
KF_MUST_CHECK enum kf_code kf_maker_refuse_not_finite(struct kf_maker *m,
		const struct kf_answer *answer, struct kf_err *err);

/* What a call of the reference came to: on the problem's own data an error is
 * the problem's, on others why says that they cannot be used. */
KF_MUST_CHECK enum kf_code kf_maker_end(struct kf_maker *m, bool own,
		const struct kf_cref_end *end, char why[KF_WHY],
		struct kf_err *err);
/* why, unless it is there already, if data leave their domain. */
void kf_maker_outside(const struct kf_ctensors *list, void *const *data,
		      const char *what, char why[KF_WHY]);
/* Can there be such a set at all? why if not. */
void kf_maker_possible(const struct kf_maker *m, const char *kind,
		       char why[KF_WHY]);
/* Those of the set "weights"; owned by the caller. */
void **kf_maker_random_weights(const struct kf_maker *m, uint64_t seed);
/* Keeps what everybody may know of the inputs' values. */
void kf_maker_domain(struct kf_maker *m, void *const *in);
/* For bundle.json and seeds.json. */
void kf_maker_note_set(struct kf_maker *m, const char *kind, uint64_t seed);
void kf_maker_note_dropped(struct kf_maker *m, const char *kind,
			   const char *why);
void kf_maker_note_stock(struct kf_maker *m, uint64_t seed);

/* sets.c: all verdict sets, and what matters on the first; the stock. */
KF_MUST_CHECK enum kf_code kf_maker_sets(struct kf_maker *m,
					 struct kf_err *err);
KF_MUST_CHECK enum kf_code kf_maker_stock(struct kf_maker *m,
					  struct kf_err *err);
/* Number of stock entries, and the bytes of each. */
size_t kf_maker_stock_count(const struct kf_maker *m, size_t *each_bytes);
extern const size_t kf_maker_set_count;	/* kinds that are tried */

/* condensed.c: the same two for a problem whose data are too large. What it
 * takes of the disk and, while it is made, of memory. */
KF_MUST_CHECK enum kf_code kf_maker_condensed(struct kf_maker *m,
					      struct kf_err *err);
double kf_maker_condensed_bytes(const struct kf_maker *m);
double kf_maker_condensed_memory(const struct kf_maker *m);

/* write.c: a growing list of tensors to be written; owns their names. */
struct kf_named { struct kf_safe_tensor *at; size_t count; };
void kf_named_take(struct kf_named *list, char *name, enum kf_dtype dtype,
		   const struct kf_tensor_info *info, const void *data);
/* Writes folder/name.safetensors, and empties the list. */
KF_MUST_CHECK enum kf_code kf_maker_write(const struct kf_maker *m,
		const char *folder, const char *name, struct kf_named *list,
		struct kf_err *err);
/* Files of the bundle. weight: NULL, or of this set. */
KF_MUST_CHECK enum kf_code kf_maker_write_weights(const struct kf_maker *m,
		struct kf_err *err);
KF_MUST_CHECK enum kf_code kf_maker_write_case(const struct kf_maker *m,
		const char *prefix, size_t number, void *const *in,
		void *const *weight, const struct kf_answer *answer,
		struct kf_err *err);
KF_MUST_CHECK enum kf_code kf_maker_write_info(const struct kf_maker *m,
		uint64_t took_ns, struct kf_err *err);

#endif
