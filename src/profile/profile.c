#include "profile/read.h"

#include <math.h>

static const char *const end_name[KF_PROFILE_ENDS] = {
	[KF_PROFILE_NONE] = "none",
	[KF_PROFILE_GOOD] = "good",
	[KF_PROFILE_PARTIAL] = "partial",
	[KF_PROFILE_EMPTY] = "empty",
	[KF_PROFILE_DENIED] = "denied",
	[KF_PROFILE_FORMAT] = "format",
	[KF_PROFILE_ABSENT] = "absent",
	[KF_PROFILE_FAILED] = "failed",
};

static const char *const class_name[KF_CLASSES] = {
	[KF_CLASS_UNKNOWN] = "unknown",
	[KF_CLASS_BANDWIDTH] = "bandwidth",
	[KF_CLASS_LATENCY] = "latency",
	[KF_CLASS_COMPUTE] = "compute",
	[KF_CLASS_OCCUPANCY] = "occupancy",
	[KF_CLASS_LAUNCH] = "launch overhead",
	[KF_CLASS_IMBALANCE] = "imbalance",
	[KF_CLASS_BANK_CONFLICTS] = "bank conflicts",
	[KF_CLASS_SPILLS] = "spills",
};

static size_t by_name(const char *const *names, size_t count, const char *name)
{
	for (size_t i = 0; name && i < count; i++)
		if (strcmp(names[i], name) == 0)
			return i;
	return 0;
}

const char *kf_profile_end_name(enum kf_profile_end end)
{
	return end_name[end];
}

enum kf_profile_end kf_profile_end_by_name(const char *name)
{
	return (enum kf_profile_end)by_name(end_name, KF_PROFILE_ENDS, name);
}

const char *kf_profile_class_name(enum kf_profile_class which)
{
	return class_name[which];
}

enum kf_profile_class kf_profile_class_by_name(const char *name)
{
	return (enum kf_profile_class)by_name(class_name, KF_CLASSES, name);
}

/* --- adding to one -------------------------------------------------------- */

struct kf_profile_kernel *kf_profile_add_kernel(struct kf_profile *profile,
						const char *name)
{
	struct kf_profile_kernel *kernel;

	for (size_t i = 0; i < profile->kernel_count; i++)
		if (strcmp(profile->kernel[i].name, name) == 0)
			return &profile->kernel[i];
	if (profile->kernel_count == KF_PROFILE_KERNELS_MAX)
		return NULL;
	profile->kernel = kf_realloc(profile->kernel,
				     (profile->kernel_count + 1) *
				     sizeof(profile->kernel[0]));
	kernel = &profile->kernel[profile->kernel_count++];
	*kernel = (struct kf_profile_kernel) {
		.name = kf_strdup(name),
		.time_ns = (double)NAN, .share = (double)NAN,
	};
	return kernel;
}

void kf_profile_add_missing(struct kf_profile *profile, const char *what,
			    const char *why)
{
	struct kf_profile_missing *missing;

	for (size_t i = 0; i < profile->missing_count; i++)
		if (strcmp(profile->missing[i].what, what) == 0)
			return;
	if (profile->missing_count == KF_PROFILE_MISSING_MAX)
		return;
	profile->missing = kf_realloc(profile->missing,
				      (profile->missing_count + 1) *
				      sizeof(profile->missing[0]));
	missing = &profile->missing[profile->missing_count++];
	*missing = (struct kf_profile_missing) {
		.what = kf_strdup(what), .why = kf_strdup(why),
	};
}

void kf_profile_add_source(struct kf_profile *profile, const char *source)
{
	char *joined = profile->source && profile->source[0] ?
		kf_format("%s, %s", profile->source, source) :
		kf_strdup(source);

	free(profile->source);
	profile->source = joined;
}

void kf_profile_add_picture(struct kf_profile *profile, const char *path)
{
	if (profile->picture_count == KF_PROFILE_PICTURES_MAX)
		return;
	profile->picture = kf_realloc(profile->picture,
				      (profile->picture_count + 1) *
				      sizeof(profile->picture[0]));
	profile->picture[profile->picture_count++] = kf_strdup(path);
}

static int by_share(const void *a, const void *b)
{
	const struct kf_profile_kernel *x = a, *y = b;
	double p = isnan(x->share) ? -1 : x->share;
	double q = isnan(y->share) ? -1 : y->share;

	return p != q ? (p < q) - (p > q) : strcmp(x->name, y->name);
}

void kf_profile_sort(struct kf_profile *profile)
{
	if (profile->kernel_count)
		qsort(profile->kernel, profile->kernel_count,
		      sizeof(profile->kernel[0]), by_share);
}

void kf_profile_share_times(struct kf_profile *profile)
{
	double sum = 0;

	for (size_t i = 0; i < profile->kernel_count; i++)
		if (!isnan(profile->kernel[i].time_ns))
			sum += profile->kernel[i].time_ns;
	for (size_t i = 0; sum > 0 && i < profile->kernel_count; i++)
		profile->kernel[i].share = profile->kernel[i].time_ns / sum;
	snprintf(profile->share_of, sizeof(profile->share_of), "time");
	kf_profile_sort(profile);
}

/* --- several into one ----------------------------------------------------- */

static void take_kernels(struct kf_profile *into, const struct kf_profile *from)
{
	if (into->kernel_count || !from->kernel_count)
		return;
	for (size_t i = 0; i < from->kernel_count; i++) {
		const struct kf_profile_kernel *k = &from->kernel[i];
		struct kf_profile_kernel *mine =
			kf_profile_add_kernel(into, k->name);

		mine->time_ns = k->time_ns;
		mine->share = k->share;
		mine->launches = k->launches;
	}
	memcpy(into->share_of, from->share_of, sizeof(into->share_of));
}

static bool has_found(enum kf_profile_end end)
{
	return end == KF_PROFILE_GOOD || end == KF_PROFILE_PARTIAL;
}

/* Together they are as good as the better one, and partial if one is. */
static enum kf_profile_end together(enum kf_profile_end a,
				    enum kf_profile_end b)
{
	if (has_found(a) && has_found(b))
		return a == b ? a : KF_PROFILE_PARTIAL;
	if (has_found(a) || has_found(b))
		return KF_PROFILE_PARTIAL;
	return a ? a : b;
}

void kf_profile_merge(struct kf_profile *into, const struct kf_profile *from)
{
	into->end = into->end == KF_PROFILE_NONE ? from->end :
		together(into->end, from->end);
	for (size_t i = 0; i < from->metrics.count; i++) {
		const struct kf_metric *m = &from->metrics.metric[i];

		if (!kf_metrics_find(&into->metrics, m->kernel, m->name))
			kf_metrics_add(&into->metrics, m->kernel, m->name,
				       m->value, m->unit);
	}
	take_kernels(into, from);
	for (size_t i = 0; i < from->missing_count; i++)
		kf_profile_add_missing(into, from->missing[i].what,
				       from->missing[i].why);
	for (size_t i = 0; i < from->picture_count; i++)
		kf_profile_add_picture(into, from->picture[i]);
	if (from->source && has_found(from->end))
		kf_profile_add_source(into, from->source);
	if (from->call_count > into->call_count)
		into->call_count = from->call_count;
}

static void release_kernels(struct kf_profile *profile)
{
	for (size_t i = 0; i < profile->kernel_count; i++)
		free(profile->kernel[i].name);
	free(profile->kernel);
	profile->kernel = NULL;
	profile->kernel_count = 0;
}

void kf_profile_hide(struct kf_profile *profile, unsigned sets)
{
	kf_metrics_hide(&profile->metrics, sets);
	if (sets >> KF_SET_KERNELS & 1)
		release_kernels(profile);
}

void kf_profile_release(struct kf_profile *profile)
{
	kf_metrics_release(&profile->metrics);
	release_kernels(profile);
	for (size_t i = 0; i < profile->missing_count; i++) {
		free(profile->missing[i].what);
		free(profile->missing[i].why);
	}
	free(profile->missing);
	for (size_t i = 0; i < profile->picture_count; i++)
		free(profile->picture[i]);
	free(profile->picture);
	free(profile->source);
	free(profile->raw_path);
	*profile = (struct kf_profile) { 0 };
}
