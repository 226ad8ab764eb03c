#include "profile/profiler.h"

const struct kf_profiler *const kf_profilers[] = {
	&kf_profiler_perf,
	&kf_profiler_threads,
	&kf_profiler_callgrind,
	&kf_profiler_launches,
	&kf_profiler_ncu,
	&kf_profiler_nsys,
	&kf_profiler_cupti,
	NULL
};

_Static_assert(KF_COUNT(kf_profilers) <= KF_PROFILERS_MAX,
	       "one place for each in struct kf_profile_denied");

const struct kf_profiler *kf_profiler_by_name(const char *name)
{
	for (size_t i = 0; kf_profilers[i]; i++)
		if (strcmp(kf_profilers[i]->name, name) == 0)
			return kf_profilers[i];
	return NULL;
}
