/*
 * read.h - from a tool's output to a profile. Pure functions over bytes.
 *
 * Columns are found by the names in their header, never by number; whatever
 * stands before the header is noise. What a tool did not measure ("n/a", "nan",
 * an empty field, a column that is not there) stays missing and is told in
 * `missing`: it never becomes 0. The bytes come from a place where a candidate
 * could write, so nothing about them is believed.
 *
 * Each gets an empty profile, whose call_count says how many calls the tool
 * saw, and sets end to GOOD, PARTIAL, EMPTY, DENIED or FORMAT. Values are of
 * one call.
 */
#ifndef KF_PROFILE_READ_H
#define KF_PROFILE_READ_H

#include "profile/profile.h"

#define KF_PROFILE_READ_BYTES	(64u << 20)	/* of any tool's output */
#define KF_PROFILE_MISSING_MAX	64u

struct kf_profile_bytes {
	const char *text;	/* the tool's result */
	size_t len;
	const char *said;	/* what it printed beside it, NUL-terminated; may
				   be "" */
};

typedef void kf_profile_read_fn(const struct kf_profile_bytes *bytes,
				struct kf_profile *out);
/* perf stat -x, of any version. */
kf_profile_read_fn kf_read_perf;
/* A callgrind.out file: cost by function, without what they call. */
kf_profile_read_fn kf_read_callgrind;
/* ncu --csv, page raw (a column for each metric) or details (a row each). */
kf_profile_read_fn kf_read_ncu;
/* nsys stats --format csv: kernel sums (gpukernsum, cuda_gpu_kern_sum), traces
 * (gputrace, cuda_gpu_trace), one or several reports one after the other. */
kf_profile_read_fn kf_read_nsys;
/* What kforge-runner device leaves (runner/trace.c). */
kf_profile_read_fn kf_read_launches;
kf_profile_read_fn kf_read_cupti;	/* the same, of profiler cupti */
/* CSV with name,value[,unit[,kernel]], or JSON: {"name": value}, or a list of
 * {"name", "value", "unit", "kernel"}. */
kf_profile_read_fn kf_read_table;
/* What a compiler said of kernels (ptxas, as cuda/compile.c puts it): static
 * facts, without a run. */
kf_profile_read_fn kf_read_compiler;

/* Does this tell that counting is not allowed here? */
bool kf_read_denied(const char *text, size_t len);

/* --- profile.c: what readers fill profiles with --------------------------- */

/* The one of that name, made if it is not there; NULL if there are too many. */
struct kf_profile_kernel *kf_profile_add_kernel(struct kf_profile *profile,
						const char *name);
/* Once for each what. */
void kf_profile_add_missing(struct kf_profile *profile, const char *what,
			    const char *why);
void kf_profile_add_source(struct kf_profile *profile, const char *source);
void kf_profile_add_picture(struct kf_profile *profile, const char *path);
/* The largest share first. */
void kf_profile_sort(struct kf_profile *profile);
/* Shares from the kernels' times; sorted. */
void kf_profile_share_times(struct kf_profile *profile);
/* What another profiler found of the same program; what is there stays. */
void kf_profile_merge(struct kf_profile *into, const struct kf_profile *from);

#endif
