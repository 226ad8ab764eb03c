/*
 * metric.h - one thing that was counted or timed, and the names that all
 * profilers share.
 *
 * Tools have names of their own ("sm__throughput.avg.pct_of_peak_...",
 * "LLC-load-misses"). What the rules go by (reduce.c) has one name here
 * whichever tool counted it, in one unit; what is not in the table keeps its
 * tool's name. A metric that is not there was not measured: never 0, never NaN.
 */
#ifndef KF_PROFILE_METRIC_H
#define KF_PROFILE_METRIC_H

#include "base/json.h"

struct kf_metric {
	char *kernel;	/* owned; "" = the whole program */
	char *name;	/* owned; "dram_throughput" */
	double value;	/* finite; of one call of the program */
	char *unit;	/* owned; "ns", "byte", "byte/s", "%" (0 to 100), "count",
			   "ratio" */
};

struct kf_metrics {
	struct kf_metric *metric;	/* owned */
	size_t count;
};
#define KF_METRICS_MAX 4096

/* What counts of one kind belong to; --hide takes one away. */
enum kf_metric_set {
	KF_SET_TIMES,
	KF_SET_PROCESSOR,	/* a CPU's counters */
	KF_SET_THROUGHPUT,	/* of a GPU's units, against their ceilings */
	KF_SET_MEMORY,
	KF_SET_OCCUPANCY,
	KF_SET_STALLS,
	KF_SET_STATIC,		/* known without a run */
	KF_SET_KERNELS,		/* shares of kernels, functions and lines */
	KF_SET_OTHER,		/* without a shared name */
	KF_METRIC_SETS
};

const char *kf_metric_set_name(enum kf_metric_set set);	/* "times" */
/* KF_METRIC_SETS if there is none of that name. */
enum kf_metric_set kf_metric_set_by_name(const char *name);

/* A row of the table of shared names. */
struct kf_metric_about {
	const char *name, *unit;
	const char *says;	/* for people and prompts, half a sentence */
	enum kf_metric_set set;
};
/* NULL if the name is not one of the shared ones. */
const struct kf_metric_about *kf_metric_about(const char *name);
/* The ith row; NULL after the last. */
const struct kf_metric_about *kf_metric_row(size_t i);

/* Copies the texts. false, and nothing is added, if the value is not finite or
 * there are KF_METRICS_MAX already. The same kernel and name again replaces. */
bool kf_metrics_add(struct kf_metrics *metrics, const char *kernel,
		    const char *name, double value, const char *unit);
/* kernel NULL or "": the whole program's. NULL: not measured. */
const struct kf_metric *kf_metrics_find(const struct kf_metrics *metrics,
					const char *kernel, const char *name);
/* The value, NaN if it was not measured. */
double kf_metrics_value(const struct kf_metrics *metrics, const char *kernel,
			const char *name);
/* Takes away those of the sets: bits, 1 << set. Metrics of a line of the
 * program's text belong to KF_SET_KERNELS, whatever they count. */
void kf_metrics_hide(struct kf_metrics *metrics, unsigned sets);
void kf_metrics_release(struct kf_metrics *metrics);

/* A value in a tool's unit ("usecond", "Kbyte", "GB/s", "msec") in the shared
 * one: *value is changed, and what is returned is the shared unit's name; text
 * is returned as it is, and *value stays, if the unit is not known. */
const char *kf_metric_unit(const char *text, double *value);

#endif
