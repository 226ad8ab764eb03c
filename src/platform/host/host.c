#include "platform/host/host.h"

#include "platform/drivers.h"

static const struct kf_runtime runtimes[] = {
	{ "libomp.so", "omp_get_max_threads" },
	{ NULL, NULL },
};

const struct kf_driver kf_driver_host = {
	.abi = KF_DRIVER_ABI,
	.name = "host",
	.in_process = true,
	.find = kf_host_find,
	.build = kf_host_build,
	.open = kf_host_open,
	.load = kf_host_load,
	.prepare = kf_host_prepare,
	.forward = kf_host_forward,
	.close = kf_host_close,
	.tidy = kf_host_tidy,
	.fault = kf_host_fault,
	.owns = kf_host_owns,
	.runtime = runtimes,
	.sanitizer = kf_host_sanitizer,
	.clocks = &kf_host_clocks,
#if defined(KF_HOST_EVICTS)
	.evict = kf_host_evict,
#endif
};
