/*
 * profile.h - why a correct program takes the time it takes.
 *
 *	program -> profiler -> kf_profile -> kf_roofline -> one page
 *
 * The program runs in the same runner and sandbox as when it was judged, after
 * its verdict: a profile never changes one. A profiler that is not there, may
 * not count, or counts half of what it was asked is told in `missing`, with
 * KF_OK; only trouble with everything is a kf_code.
 *
 * Processes: the supervisor's. Threads: none. Raw dumps stay on disk.
 */
#ifndef KF_PROFILE_H
#define KF_PROFILE_H

#include "evaluate/evaluate.h"
#include "profile/metric.h"

/* --- what was counted ----------------------------------------------------- */

enum kf_profile_end {	/* kept in stores by name */
	KF_PROFILE_NONE,	/* not tried */
	KF_PROFILE_GOOD,
	KF_PROFILE_PARTIAL,	/* some of it; `missing` says what not */
	KF_PROFILE_EMPTY,	/* the tool ran and saw nothing of the program */
	KF_PROFILE_DENIED,	/* the machine does not allow to count */
	KF_PROFILE_FORMAT,	/* the tool's output is not understood */
	KF_PROFILE_ABSENT,	/* the tool is not there */
	KF_PROFILE_FAILED,	/* the program did not run to its end under it */
	KF_PROFILE_ENDS
};
const char *kf_profile_end_name(enum kf_profile_end end);	/* "partial" */
enum kf_profile_end kf_profile_end_by_name(const char *name);

struct kf_profile_kernel {
	char *name;		/* owned; kernel, or on a CPU a function */
	double time_ns;		/* all its launches of one call; NaN: unknown */
	double share;		/* of what share_of names; 0..1; NaN: unknown */
	unsigned launches;	/* of one call; 0: unknown, or it is a function */
};

struct kf_profile_missing {
	char *what;		/* owned; a metric, "per-kernel times", a tool */
	char *why;		/* owned; one sentence with the way out */
};

/* What one profiler found, or several together (kf_profile_take). */
struct kf_profile {
	enum kf_profile_end end;
	char *source;		/* owned; the tools: "perf 6.1, callgrind 3.19" */
	struct kf_metrics metrics;
	struct kf_profile_kernel *kernel;	/* owned; the largest share first */
	size_t kernel_count;
	char share_of[16];	/* what shares are of: "time", "instructions" */
	struct kf_profile_missing *missing;	/* owned */
	size_t missing_count;
	char *raw_path;		/* owned; folder with the tools' own output; NULL:
				   not kept */
	char **picture;		/* owned; paths of PNG files, for a model that
				   sees */
	size_t picture_count;
	unsigned call_count;	/* calls that were profiled */
};
#define KF_PROFILE_KERNELS_MAX	256
#define KF_PROFILE_PICTURES_MAX	4
#define KF_PROFILE_PICTURE_BYTES (1u << 20)	/* larger ones are told, not kept */
void kf_profile_release(struct kf_profile *profile);
/* The bytes of one of its pictures. False if there is no such plain file, or it
 * is no picture of that size any more. */
bool kf_profile_picture(const char *path, struct kf_buf *out);

/* --- where it stands ------------------------------------------------------ */

enum kf_profile_class {	/* what holds a program up; kept by name */
	KF_CLASS_UNKNOWN,
	KF_CLASS_BANDWIDTH,
	KF_CLASS_LATENCY,
	KF_CLASS_COMPUTE,
	KF_CLASS_OCCUPANCY,
	KF_CLASS_LAUNCH,	/* launches and the gaps between them */
	KF_CLASS_IMBALANCE,
	KF_CLASS_BANK_CONFLICTS,
	KF_CLASS_SPILLS,
	KF_CLASSES
};
const char *kf_profile_class_name(enum kf_profile_class which); /* "bandwidth" */
enum kf_profile_class kf_profile_class_by_name(const char *name);

struct kf_roofline_point {	/* of one kernel; NaN where unknown */
	char *kernel;		/* owned */
	double time_ns, bytes, flops;	/* bytes: moved to and from memory, as
					   counted */
	double share;		/* of what memory can do in that time */
};

struct kf_roofline {
	/* From the problem; NaN: unknown. */
	double bytes;		/* compulsory: inputs, weights, outputs once */
	double flops;		/* counted operations of the reference. They
				   advise only: programs may need fewer */
	/* Measured on the device; NaN: not measured. */
	double bytes_per_s, flops_per_s;
	double matrix_flops_per_s;	/* of matrix units; NaN: none */
	double cache_bytes;	/* of the last level; NaN: unknown */
	/* The program. */
	double time_ns;
	double memory_ns;	/* the least time for its bytes */
	double compute_ns;	/* and for its operations */
	double memory_share;	/* memory_ns / time_ns */
	double compute_share;
	double share;		/* of the higher of the two bounds; NaN: neither
				   is known */
	bool cached;		/* all its tensors fit in the cache, so it may
				   beat the memory bound */
	enum kf_profile_class bound;	/* BANDWIDTH or COMPUTE: the higher bound,
					   UNKNOWN without any */
	struct kf_roofline_point *point;	/* owned */
	size_t point_count;
};

/* device: found with measure, else there are no ceilings. time_ns: NaN if it
 * was not timed. profile: NULL, or for the position of its kernels. */
void kf_roofline_make(const struct kf_bundle *bundle,
		      const struct kf_device_info *device, double time_ns,
		      const struct kf_profile *profile,
		      struct kf_roofline *out);
void kf_roofline_release(struct kf_roofline *roofline);
/* A reason to stop: what is left is under 5 % of the memory bound. Operations
 * have no say. why gets the sentence. */
bool kf_roofline_reached(const struct kf_roofline *roofline, char why[256]);
/* A few lines for a terminal, with a bar; a picture. */
void kf_roofline_words(const struct kf_roofline *roofline, struct kf_buf *out);
void kf_roofline_svg(const struct kf_roofline *roofline, const char *title,
		     struct kf_buf *out);

/* --- taking one ----------------------------------------------------------- */

/* Profilers that were not allowed to count: not tried again. Zeroed: none. */
#define KF_PROFILERS_MAX 16
struct kf_profile_denied { bool by[KF_PROFILERS_MAX]; };

struct kf_profile_request {
	/* As the program was judged: kf_judge_request(). Its baseline is not
	 * used. */
	const struct kf_evaluate_request *base;
	const char *artefact_path;	/* kf_artefact_path() of the verdict's hash */
	const char *compiler_log;	/* for static facts; NULL: none */
	double time_ns;			/* the verdict's; NaN: not timed */
	/* NULL: the platform's, those that are there. Else a name, or
	 * "command:WORDS" (docs/profiling.md). */
	const char *profiler;
	const char *work_dir;		/* ours, empty; raw dumps stay below it */
	unsigned call_count;		/* 0: as many as the profiler likes */
	struct kf_profile_denied *denied;	/* kept over programs; or NULL */
};

/* *out is to be released in any case. */
KF_MUST_CHECK enum kf_code kf_profile_take(const struct kf_profile_request *req,
		struct kf_profile *out, struct kf_err *err);

/* Takes sets of counters away (bits, 1 << enum kf_metric_set), for whoever
 * wants to know what they are worth: what follows does not know that they were
 * counted. */
void kf_profile_hide(struct kf_profile *profile, unsigned sets);

/* The page that the analysis agent and people read: plain text, at most
 * KF_PROFILE_PAGE_BYTES, chosen by the rules of docs/profiling.md. Returns the
 * class that the rules find. out is appended to; roofline may be NULL. */
#define KF_PROFILE_PAGE_BYTES 4096u
enum kf_profile_class kf_profile_reduce(const struct kf_profile *profile,
		const struct kf_roofline *roofline, struct kf_buf *out);

/* For stores: new references, NaN is null; and back again. */
json_t *kf_profile_json(const struct kf_profile *profile);
KF_MUST_CHECK enum kf_code kf_profile_from_json(const json_t *json,
		struct kf_profile *out, struct kf_err *err);
json_t *kf_roofline_json(const struct kf_roofline *roofline);
KF_MUST_CHECK enum kf_code kf_roofline_from_json(const json_t *json,
		struct kf_roofline *out, struct kf_err *err);

#endif
