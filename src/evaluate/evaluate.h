/*
 * evaluate.h - one candidate in, one verdict out.
 *
 *	source files -> build -> load -> values on every set -> times
 *
 * Stops at the first stage that the candidate does not survive; the fields of
 * later stages keep their empty values. A candidate that fails is KF_OK with a
 * verdict; any other code is our own trouble (harness_error) and says nothing
 * about the candidate: the caller may try again.
 */
#ifndef KF_EVALUATE_H
#define KF_EVALUATE_H

#include "evaluate/stats.h"
#include "evaluate/worker.h"

struct kf_health;
struct kf_shape_result;		/* evaluate/shapes.h */

enum kf_state {		/* kept in stores: never renumber */
	KF_STATE_NONE = 0,	/* no verdict: trouble of ours */
	KF_GENERATION_FAILURE = 1,
	KF_COMPILATION_FAILURE = 2,
	KF_RUNTIME_ERROR = 3,
	KF_MISMATCH = 4,
	KF_CORRECT = 5,
};
const char *kf_state_name(enum kf_state state);	/* "mismatch" */
enum kf_state kf_state_by_name(const char *name);

/* Which baseline the times are set against. */
enum kf_baseline_use {
	KF_BASELINE_LIVE,	/* a live process of the reference, blocks in
				   turn */
	KF_BASELINE_STORED,	/* the last one measured; no process */
	KF_BASELINE_NONE,
};

enum kf_rules { KF_RULES_KFORGE, KF_RULES_KERNELBENCH };
const char *kf_rules_name(enum kf_rules rules);	/* "kforge" */

/* May a program with host code of its own have a vendor's library compute? */
enum kf_libraries { KF_LIBRARIES_ALLOW, KF_LIBRARIES_REFUSE };

/* How far a judgement went, and how far it is to go at most. */
enum kf_reach {
	KF_REACH_NONE,		/* asked for: all the way */
	KF_REACH_BUILD,		/* it compiles */
	KF_REACH_VALUES,	/* right on every verdict set */
	KF_REACH_TIME,		/* and timed */
};
const char *kf_reach_name(enum kf_reach reach);	/* "values" */

#define KF_JUDGE_HEX 17		/* 16 digits and the NUL */

struct kf_evaluate_request {
	const struct kf_platform *platform;
	const char *device_id;
	const char *device_name;	/* for the record; NULL: its id */
	const char *device_arch;	/* for two-part drivers */
	bool device_in_process;		/* as kf_device_info says */
	struct kf_ceilings device_ceiling;	/* likewise */
	const struct kf_problem *problem;
	const struct kf_bundle *bundle;
	struct kf_baseline *baseline;	/* NULL unless LIVE */
	uint64_t baseline_stored_ns;	/* for STORED */
	const json_t *baseline_stored_about;	/* likewise; or NULL */
	enum kf_rules rules;		/* which one decides; both are recorded */
	enum kf_libraries libraries;
	const char *source_dir;		/* the candidate's files */
	const char *work_dir;		/* an empty folder of ours */
	uint64_t seed;			/* of the secret order; 0: random */
	unsigned call_count_fixed;	/* 0: the stopping rule; else so many calls,
					   at least sets + 13 (KF_E_INPUT) */
	enum kf_reach stop_after;
	/* Held while times are taken, so that one program at a time is timed on
	 * a device, whichever process asks; NULL: not shared with anybody. */
	const char *lock_path;
	struct kf_handshakes *handshakes;	/* kept over judgements; or NULL */
	unsigned threads;
	/* For programs in Python, as in kf_problem_spec. */
	const char *python, *cache_path;
	enum kf_sandbox_tier tier_min;
	/* For profiles of what was judged before: a tool around each process.
	 * NULL in a judgement. */
	const struct kf_worker_wrap *wrap;
	uint64_t call_timeout_ns;	/* lowers what comes from the reference's
					   time; 0: it does not */
	const struct kf_log *log;
	const volatile int *cancel;
};

struct kf_verdict {
	enum kf_state state;		/* NONE if it was to stop after BUILD, and
					   the program compiles */
	enum kf_reach reached, stop_after;
	char reason[48];		/* stable token: "refused", "signal",
					   "values", ... (docs/judging.md) */
	struct kf_buf text;		/* owned; what the next prompt is told:
					   plain text, bounded */
	json_t *evidence;		/* owned; counts, worst elements, pattern */
	bool kernelbench_good;		/* by the benchmark's own rule */
	bool in_process;		/* trust: in-process */
	/* Its process was killed, and by none of the judge's limits: perhaps by
	 * somebody else, such as a machine that is out of memory. */
	bool killed;
	/* Its process told of trouble with the device, and shares it with the
	 * program: perhaps there was some. */
	bool device_trouble;
	enum kf_sandbox_tier tier;

	/* Who judged, how, and where: with these it can be judged again. */
	char form[24];			/* the program's; "" if unknown */
	char judge_hash[KF_JUDGE_HEX];	/* see kf_judge_hash; "" if not judged */
	enum kf_rules rules;
	uint64_t seed;			/* of the order of calls */
	char device[96];
	char device_id[32];		/* "cuda:1"; "" if unknown */
	char *compiler;			/* owned; NULL if unknown */
	struct kf_buf compiler_log;	/* owned; whole, within its ceiling */

	double time_ns;			/* candidate, median; NaN unless timed and
					   correct */
	double baseline_ns;		/* the reference's, median; NaN if none */
	enum kf_problem_kind kind;	/* the problem's: what that reference is */
	bool baseline_live;
	/* Where PyTorch tried both ways: which one baseline_ns is of ("eager",
	 * "compile"; "" if only one was tried), and what each took alone. */
	char baseline_way[16];
	double eager_ns, compile_ns;	/* NaN: not tried */
	/* Owned; versions, memory, launches (docs/judging.md); NULL: none. */
	json_t *baseline_about;
	struct kf_ratio speedup;	/* NaN without a live baseline's blocks;
					   for STORED only .ratio is set */
	bool conclusive;		/* the interval became narrow enough */
	uint64_t prepare_ns, memory_bytes_peak;

	/* where the time went, ns: ours is everything that is neither
	 * compiler, candidate, nor baseline */
	uint64_t took_ns, compiler_ns, candidate_ns, baseline_took_ns, ours_ns;
	unsigned call_count;
	char artefact_hash[KF_HASH_HEX];

	/* Owned; what profilers counted in the same visit (kf_profile_json):
	 * it decides nothing. NULL: nothing was counted. */
	json_t *profile;

	/* Why the problem is unhealthy, token and sentence (health.h); "" if
	 * it is healthy, or that is not known. */
	char unhealthy[32], unhealthy_text[512];

	/* Owned; which libraries did work, in one call that was traced
	 * (libraries.h); NULL: nobody looked. */
	json_t *libraries;

	/* Owned; told by another machine, as this JSON; NULL: judged here. */
	json_t *told;

	/* Judged on several shapes: then times and speed-up are geometric
	 * means (shapes.h). Owned; NULL: on one, which has no name. */
	struct kf_shape_result *shape;
	size_t shape_count;
};

/* Whether a fixed plan of that many calls can be kept; 0 is no fixed plan. To
 * be asked before anything is paid for. */
KF_MUST_CHECK enum kf_code kf_evaluate_check_calls(
		const struct kf_problem *problem,
		const struct kf_bundle *bundle, unsigned call_count_fixed,
		struct kf_err *err);
KF_MUST_CHECK enum kf_code kf_evaluate(const struct kf_evaluate_request *req,
				       struct kf_verdict *out,
				       struct kf_err *err);
void kf_verdict_release(struct kf_verdict *verdict);
/* What is known of the problem goes along with every verdict on it. */
void kf_verdict_set_health(struct kf_verdict *verdict,
			   const struct kf_health *health);
/* A sanitizer has watched the program: what it found makes the verdict a
 * runtime_error (sanitizer); tool NULL: nothing. */
void kf_verdict_sanitized(struct kf_verdict *verdict, const char *tool,
			  const struct kf_found *finding);
/* May the program be one for another platform: is it none, does it not compile
 * or not run? */
bool kf_verdict_may_be_elsewhere(const struct kf_verdict *verdict);
/* One more line of its text, the last, beside its ceiling. */
void kf_verdict_hint(struct kf_verdict *verdict, const char *line);
/* Names the judge: the same hash on two machines is the same protocol, rules,
 * ceilings and compile command. */
void kf_judge_hash(const struct kf_platform *platform, enum kf_rules rules,
		   char out[KF_JUDGE_HEX]);
/* Everything above as JSON (new reference), but for the compiler's log, and
 * with the version of this kforge. NaN is null. */
json_t *kf_verdict_to_json(const struct kf_verdict *verdict);
/* And back, as another kforge told it: what a run goes by is filled in, and
 * kf_verdict_to_json gives the same JSON again. */
KF_MUST_CHECK enum kf_code kf_verdict_from_json(const json_t *json,
		struct kf_verdict *out, struct kf_err *err);
/* Adds a verdict in words for people: some lines of plain text. */
void kf_verdict_explain(const struct kf_verdict *verdict, struct kf_buf *out);

/* "torch 2.9.1, not compiled, driver 580.65, 5 launches, peak memory 2.1 GB",
 * as far as a verdict's baseline_about tells; returns out. */
const char *kf_baseline_words(const json_t *about, char out[160]);

#endif
