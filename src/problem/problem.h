/*
 * problem.h - what is to be computed, and the bundle: the problem made
 * concrete.
 *
 * A problem is of one of two kinds: a PyTorch file in the KernelBench form
 * (class Model, get_inputs(), get_init_inputs()), or a folder with problem.json
 * and reference.c, for which no Python is needed. Its reference, run in the
 * sandbox, turns it into a bundle: a folder of safetensors files and
 * bundle.json, kept in a cache by content.
 *
 *	public/   bundle.json: shapes, dtypes, names, counts, domains
 *	inputs/   data that a candidate may see, one call at a time
 *	oracle/   seeds, expected values, scales: never mounted in any sandbox
 *		  that holds a candidate
 *
 * A bundle has *sets* (judged against float64 with a scale for each element:
 * declared, changed, zero-mean, wide, tail, small, large, random weights) and a
 * *stock* of fresh declared inputs with their expected outputs, for timed
 * calls: within one process of a candidate no stock entry is ever used twice.
 */
#ifndef KF_PROBLEM_H
#define KF_PROBLEM_H

#include "base/json.h"
#include "sandbox/sandbox.h"

struct kf_handshakes;		/* evaluate/worker.h */
struct kf_platform;

enum kf_problem_kind {
	KF_PROBLEM_PYTHON,
	KF_PROBLEM_C,
	KF_PROBLEM_KINDS
};
/* "python", "c": kept in stores. An unknown name is Python's: older stores
 * have none. */
const char *kf_problem_kind_name(enum kf_problem_kind kind);
enum kf_problem_kind kf_problem_kind_by_name(const char *name);
/* What the reference's time is called: "eager", "reference"; in words,
 * "PyTorch eager", "reference". */
const char *kf_problem_baseline(enum kf_problem_kind kind);
const char *kf_problem_baseline_words(enum kf_problem_kind kind);

struct kf_problem_spec {
	const char *path;		/* the .py file; a C problem's folder or its
					   problem.json */
	const char *size;		/* NULL, or the name of a preset of sizes */
	const char *const *set;		/* "NAME=VALUE" rewrites of assignments or
					   sizes; they win over the preset */
	size_t set_count;
	enum kf_dtype dtype;		/* NONE: the problem's own; Python: any
					   floating-point type, C: F32, F64 */
	const struct kf_platform *platform;	/* where the baseline of a C problem
					   is compiled for; a Python problem's
					   reference runs on its device if
					   PyTorch can; NULL: the CPU */
	const char *device_id;		/* "cuda:1", and its name: of a device that
					   PyTorch uses; else not looked at */
	const char *device_name;
	const char *device_driver;	/* its driver's version; NULL: unknown */
	const char *python;		/* NULL: KFORGE_PYTHON, else found */
	const char *cache_path;		/* NULL: $XDG_CACHE_HOME/kforge, ~/.cache/kforge */
	unsigned threads;		/* for references and candidates; >= 1 */
	enum kf_sandbox_tier tier_min;
	uint64_t timeout_ns;		/* for making a bundle */
	uint64_t memory_bytes;		/* likewise */
	bool light;			/* a bundle to look at, not to time with:
					   one stock entry, few perturbed runs,
					   kept apart from whole ones */
	bool cached_only;		/* make none: KF_E_UNAVAIL if there is none */
	struct kf_handshakes *handshakes;	/* for the baseline of a C problem,
					   which programs share; or NULL */
	const struct kf_log *log;
	const volatile int *cancel;
};

struct kf_problem {
	enum kf_problem_kind kind;
	char *path, *name;		/* owned; name: the file's stem or the
					   folder's name, "softmax" */
	char *source;	/* owned; with all rewrites: what a prompt shows, and
			   all that the bundle is made of. C: problem.json as it
			   was chosen and reference.c, headed */
	char hash[KF_HASH_HEX];		/* of that text: names the problem */
	char *shape;		/* owned; one of several on which programs are
				   judged, by its name; NULL: the only one */
};

/* Does PyTorch run references of this spec's problems on a device that is not
 * the processor? */
bool kf_problem_on_device(const struct kf_problem_spec *spec);

/* By its path alone; Python's for what no other kind claims. */
enum kf_problem_kind kf_problem_kind_of(const char *path);
/* Reads files only, runs nothing: missing file, not UTF-8, over 1 MiB, a
 * malformed problem.json, or a --set whose NAME is not known is KF_E_INPUT. */
KF_MUST_CHECK enum kf_code kf_problem_read(const struct kf_problem_spec *spec,
		struct kf_problem *out, struct kf_err *err);
void kf_problem_release(struct kf_problem *problem);
/* The presets of sizes that spec->path has: {"test": {"ROWS": 16}}, values as
 * they stand there, numbers or text. *out is a new reference. */
KF_MUST_CHECK enum kf_code kf_problem_presets(
		const struct kf_problem_spec *spec, json_t **out,
		struct kf_err *err);
/* "dir/19 ReLU.py" gives "19_ReLU": fit for paths, stores, prompts. Caller
 * frees. */
char *kf_problem_name(const char *path);

/* The type that a Python problem is cast to; NONE: it is run in its own types,
 * or is of another kind. */
enum kf_dtype kf_problem_cast(const struct kf_problem *problem);

/* The files that the source is made of, as they would be written. */
struct kf_problem_file {
	const char *name;	/* "problem.py", "problem.json", "reference.c" */
	const char *language;	/* for a fence: "python", "json", "c" */
	const char *text;	/* lies in problem->source; len bytes of it */
	size_t len;
};
#define KF_PROBLEM_FILES_MAX 2
/* Returns how many. */
size_t kf_problem_files(const struct kf_problem *problem,
			struct kf_problem_file out[KF_PROBLEM_FILES_MAX]);

struct kf_tensor_info {
	char *name;		/* owned; weights: state_dict name; inputs: forward's
				   parameter name; outputs: "out0". C: as in
				   problem.json */
	enum kf_dtype dtype;
	int rank;
	int64_t shape[KF_MAX_RANK];
	int64_t numel;
	size_t bytes;
	bool structural;	/* weights: keeps its value in random-weight sets */
	bool matters;		/* inputs, weights: changing it alone changes
				   some output, or that was not tried */
	bool must_be_read;	/* inputs: three quarters of it at least, by
				   every program (docs/bundles.md); false: that
				   is not known */
};
/* Of all of them together. */
static inline uint64_t kf_tensors_bytes(const struct kf_tensor_info *info,
					size_t count)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < count; i++)
		bytes += info[i].bytes;
	return bytes;
}

/* Why a problem has no bundle. */
struct kf_refusal {
	char kind[24];		/* stable token: "random", "nondeterministic",
				   "non_finite", "memory", "limit", "time",
				   "exception" ... (docs/bundles.md); "": it was
				   not the problem */
	double ratio;		/* memory, limit, time: so many times too
				   large; NaN if unknown */
};

struct kf_scalar_info { char kind; int64_t i; double f; };

#define KF_CHUNK 4096		/* elements */
#define KF_CHUNK_SUMS 4

static inline int64_t kf_chunks_of(int64_t numel)
{
	return numel / KF_CHUNK + (numel % KF_CHUNK != 0);
}

/* How an input is made of the kept one: x * column * row - shift. */
struct kf_fresh {
	const float *column;	/* [KF_CHUNK], again and again; NULL: the kept
				   one as it is */
	const float *row;	/* one for each chunk */
	double shift;
};

/* What a condensed bundle keeps of an output. */
struct kf_digest {
	/* [chunk_count][KF_CHUNK_SUMS], of elements times signs, which are +-1:
	 * [KF_CHUNK_SUMS][KF_CHUNK]. */
	const double *sums;
	const int8_t *signs;
	const double *scale;	/* [chunk_count]; root of the sum of sigma^2 */
	int64_t chunk_count;
	const int64_t *at;	/* [window_count]; where each begins */
	int64_t window_count, window;	/* elements of each */
};

/* Lower precision that operands may have had. */
enum kf_precision {
	KF_TF32,	/* 10 bits of fraction, to nearest; float16's too */
	KF_TF32_CUT,	/* 10 bits, the rest cut off */
	KF_BF16_OPERANDS,	/* 7 bits, to nearest */
	KF_PRECISIONS
};
extern const char *const kf_precision_name[KF_PRECISIONS];	/* "tf32_cut" */

/* One set or one stock entry. Data pointers lie in mapped files, read-only.
 * All arrays but weight are there; an element is NULL where it is said so. In
 * a condensed bundle in[] are the kept inputs, and case.h makes the case's own;
 * expect, exact, react and noise are those of the windows, one behind the
 * other. */
struct kf_case {
	const char *kind;	/* "declared", "changed", "zero_mean", "wide",
				   "tail", "small", "large", "tiny",
				   "outliers", "infinite", "nan", "weights",
				   "stock" */
	uint64_t seed;
	const void **in;	/* [in_count]; NULL for a None input */
	const void **weight;	/* [weight_count]; NULL: the declared weights */
	const void **expect;	/* [out_count]; reference in the problem's dtype;
				   of "nan" a NaN where it does not matter */
	const double **exact;	/* [out_count]; float64; NULL for int/bool
				   outputs, in stock entries, and where the
				   reference has no float64 form */
	const float **react;	/* [out_count]; g; NULL for int/bool outputs and
				   in stock entries */
	const float **noise;	/* [out_count]; max_j |r(x_j) - y(x_j)|; NULL where
				   react or exact is */
	struct kf_fresh *fresh;		/* [in_count]; NULL: not condensed */
	struct kf_digest *digest;	/* [out_count]; likewise */
	/* Of the first set: [out_count], y of inputs and matrices so rounded,
	 * less y; an element is NULL where that is not known. Else NULL. */
	const float **rounded[KF_PRECISIONS];
};

struct kf_bundle {
	char *folder;			/* owned */
	struct kf_tensor_info *in, *weight, *out;
	size_t in_count, weight_count, out_count;
	struct kf_scalar_info *scalar;
	size_t scalar_count;
	const void **weight_data;	/* [weight_count], declared weights */
	struct kf_case *set;		/* verdict sets, "declared" first */
	size_t set_count;
	struct kf_case *stock;
	size_t stock_count;
	double flops;			/* counted operations; NaN if unknown */
	double bytes;			/* compulsory: inputs, weights, outputs once */
	bool has_exact;			/* false: judged against the reference's own
					   dtype and its perturbed runs */
	json_t *info;			/* owned; public/bundle.json */
	bool condensed;			/* cases have fresh and digest */
	bool made_now;			/* false: found in the cache */
	/* Owned; its folder in the cache, or where that would be: there also
	 * after kf_bundle_open has failed, NULL if it failed before it knew.
	 * Under this name and a suffix others may keep what they know. */
	char *place;
	struct kf_refusal refusal;	/* after kf_bundle_open has failed */
	uint64_t took_ns;		/* to make or open it, this time */
	void *maps;			/* private */
};
/* Of its inputs, weights and outputs, once each. */
static inline uint64_t kf_bundle_bytes(const struct kf_bundle *b)
{
	return kf_tensors_bytes(b->in, b->in_count) +
		kf_tensors_bytes(b->weight, b->weight_count) +
		kf_tensors_bytes(b->out, b->out_count);
}

/* Finds the bundle in the cache or makes it. Bad problems are KF_E_INPUT with
 * one sentence (no class Model; exception in forward, with its last line; the
 * reference differs from itself; non-finite reference; ...), no Python or no
 * torch, or no compiler, is KF_E_UNAVAIL, out of memory KF_E_LIMIT. Nothing
 * half-made stays. *out is to be released also after a failure. */
KF_MUST_CHECK enum kf_code kf_bundle_open(const struct kf_problem_spec *spec,
		const struct kf_problem *problem, struct kf_bundle *out,
		struct kf_err *err);
void kf_bundle_release(struct kf_bundle *bundle);
/* Reads all of it. One that was altered since it was made is KF_E_IO, and is
 * taken out of the cache, so that it is made anew the next time; to be asked
 * before a program is blamed for what it is compared with. */
KF_MUST_CHECK enum kf_code kf_bundle_check(const struct kf_bundle *bundle,
					   struct kf_err *err);
/* Releases it and takes it out of the cache. */
enum kf_code kf_bundle_discard(struct kf_bundle *bundle, struct kf_err *err);

/* --- the baseline: the reference, one live process ----------------------- */
struct kf_baseline;
struct kf_baseline_process;	/* baseline.h; for who makes one */

struct kf_baseline_info {
	char version[96];	/* of torch, or of the compiler */
	char way[16];		/* "eager", "compile", "reference": what is timed;
				   "" until it is ready */
	double eager_ns, compile_ns;	/* medians of both ways, when they were
				   tried; 0: not tried, or it failed, and
				   about says why */
	unsigned threads;
	uint64_t ready_ns;	/* from start to ready for the first call */
	/* Owned; what more a baseline on a device tells of itself, as
	 * "baseline_about" of verdicts has it (docs/judging.md); or NULL. */
	json_t *about;
};

/* Begins to start it (imports torch in the background: seconds) and returns
 * at once; the first kf_baseline_time waits. A Python problem's runs in eager
 * PyTorch; a C problem's is reference.c, compiled as the platform compiles
 * programs and run in a worker as they are. problem, bundle and what spec
 * points to must outlive it; each call may take spec->timeout_ns. */
KF_MUST_CHECK enum kf_code kf_baseline_start(const struct kf_problem_spec *spec,
		const struct kf_problem *problem,
		const struct kf_bundle *bundle,
		struct kf_baseline **out, struct kf_err *err);
/* Runs it once on each of the given cases (inputs copied in and state restored
 * untimed), time_ns[i] is the forward's own time, delay_ns[i] how long its
 * threads waited for a processor in it (0 if unknown). A count of 0 waits until
 * it is ready for the first call. What fails is tried once more, in a process
 * that is started again, but only once in a baseline's life: then it is dead,
 * and every later call fails with KF_E_UNAVAIL and the reason. A C problem's
 * must compute what is expected of the declared case. */
KF_MUST_CHECK enum kf_code kf_baseline_time(struct kf_baseline *baseline,
		const struct kf_case *const *cases, size_t count,
		uint64_t *time_ns, uint64_t *delay_ns, struct kf_err *err);
/* Has one that runs on a device load, compile and warm up there, which others
 * may compute beside but take no times; one that runs elsewhere does that by
 * itself. What fails shows in kf_baseline_time. */
void kf_baseline_warm(struct kf_baseline *baseline);
/* From now on the inputs of a call leave the processor's caches by it before
 * the call; NULL: they do not. */
void kf_baseline_evict(struct kf_baseline *baseline,
		       void (*evict)(const void *data, size_t bytes));
/* Valid until the next call; empty once it is dead. */
const struct kf_baseline_info *kf_baseline_about(const struct kf_baseline *b);
void kf_baseline_free(struct kf_baseline *baseline);

/* The last baseline measured for this problem on this device with this driver
 * and torch or compile command, number of threads and precision; kept apart
 * from the bundle. false: none. */
bool kf_baseline_stored(const struct kf_problem_spec *spec,
		const struct kf_problem *problem, uint64_t *time_ns_median,
		char measured_at[32], json_t **about);
/* about: NULL, or kept beside the time; kf_baseline_stored gives a new
 * reference to it, or NULL. One with a "compile_error" (docs/judging.md) is not
 * kept, without a failure: it would still be used when the cause is mended. */
enum kf_code kf_baseline_store(const struct kf_problem_spec *spec,
		const struct kf_problem *problem, uint64_t time_ns_median,
		const json_t *about, struct kf_err *err);

/* A Python with torch: spec->python, KFORGE_PYTHON, then python3 on PATH,
 * /usr/bin/python3. Caller frees *path. KF_E_UNAVAIL says what to install. */
KF_MUST_CHECK enum kf_code kf_python_find(const char *asked, char **path,
		char torch_version[32], struct kf_err *err);

/* Folder of caches: spec's, $XDG_CACHE_HOME/kforge, ~/.cache/kforge; made if
 * it is not there, and absolute. Caller frees *out; NULL on failure. */
KF_MUST_CHECK enum kf_code kf_cache_folder(const char *asked, char **out,
					   struct kf_err *err);

#endif
