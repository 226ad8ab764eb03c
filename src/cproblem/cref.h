/*
 * cref.h - reference.c compiled in one precision, and called in a worker.
 *
 * It is code that nobody has reviewed: the builder's sandbox compiles it, the
 * host runner's sandbox runs it. Data are given and taken in the problem's own
 * types; where the reference runs in double they are widened on the way in.
 */
#ifndef KF_CPROBLEM_CREF_H
#define KF_CPROBLEM_CREF_H

#include "cproblem/cproblem.h"
#include "evaluate/worker.h"

/* Shapes, dtypes, names and scalars of the problem with this kf_real: all that
 * a worker looks at. Names are borrowed from the problem. */
void kf_cref_shapes(const struct kf_cproblem *problem,
			 enum kf_dtype real, struct kf_bundle *out);
void kf_cref_shapes_release(struct kf_bundle *shapes);

struct kf_cref_build {
	const struct kf_platform *platform;	/* whose compilers and limits */
	const char *const *command;	/* with {compiler} ...; NULL-terminated;
					   defines go before {source} */
	const struct kf_cproblem *problem;
	const char *name;		/* the problem's, for sentences */
	const char *code;		/* text of reference.c */
	enum kf_dtype real;		/* KF_F32 or KF_F64 */
	const char *folder;		/* there, ours; the artefact appears in it */
	enum kf_sandbox_tier tier_min;
	const volatile int *cancel;
};

/* The command for expected values: no fast-math, no fused multiply-add, the
 * same on every machine. */
extern const char *const kf_cref_command[];

/* A reference that its compiler refuses is KF_E_INPUT with the first error. */
KF_MUST_CHECK enum kf_code kf_cref_compile(
		const struct kf_cref_build *build,
		struct kf_artefact *out, struct kf_err *err);

/* What a call did, if it did not do its work. */
struct kf_cref_end {
	enum kf_code code;	/* KF_OK: all is well; KF_E_INPUT: it failed on
				   these data; KF_E_TIMEOUT, KF_E_LIMIT: no
				   other data would help */
	char text[640];		/* one sentence */
};

/* One precision of a problem, with its worker. */
struct kf_cref {
	const struct kf_problem_spec *spec;
	const struct kf_cproblem *problem;
	struct kf_platform *platform;	/* borrowed */
	char device_id[32];
	enum kf_dtype real;
	struct kf_artefact artefact;
	struct kf_bundle shapes;
	struct kf_worker *worker;	/* NULL: starts with the next call */
	uint64_t weights_id;		/* that it holds; 0: none */
	void (*evict)(const void *data, size_t bytes); /* as of a baseline */
	uint64_t time_ns, delay_ns;	/* of the last call; see kf_call_end */
	uint64_t deadline_ns;		/* on our clock: no call goes beyond */
	uint64_t life_ns;		/* longest a worker may live */
};

/* Numbers for one call, in the problem's types. */
struct kf_cref_data {
	void *const *in, *const *weight;
	uint64_t weights_id;		/* changes whenever they do; above 0 */
};

/* Ready to be compiled for, and then called. KF_E_UNAVAIL without a device. */
KF_MUST_CHECK enum kf_code kf_cref_init(struct kf_cref *reference,
		const struct kf_problem_spec *spec,
		const struct kf_cproblem *problem,
		struct kf_platform *platform, enum kf_dtype real,
		struct kf_err *err);

/* One call; outputs lie in kf_cref_out until the next. A reference that
 * fails is KF_OK with *end telling. */
KF_MUST_CHECK enum kf_code kf_cref_call(struct kf_cref *reference,
		const struct kf_cref_data *data,
		struct kf_cref_end *end, struct kf_err *err);
const void *kf_cref_out(const struct kf_cref *reference, size_t i);
/* Ends the process; the next call starts another. */
void kf_cref_stop(struct kf_cref *reference);
void kf_cref_release(struct kf_cref *reference);

#endif
