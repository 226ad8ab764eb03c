#include "platform/drivers.h"

#include "base/base.h"

/* The one list. A driver is added here and nowhere else. */
const struct kf_driver *const kf_drivers[] = {
	&kf_driver_host,
	&kf_driver_cuda,
	&kf_driver_cuda_free,
	&kf_driver_opencl,
	&kf_driver_pytorch,
	&kf_driver_pytorch_cuda,
	&kf_driver_null,
	NULL,
};
