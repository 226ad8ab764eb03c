/*
 * drivers.h - the tables of this build, by name; for drivers.c alone.
 * Everybody else goes through kf_drivers[] and the front in kforge/driver.h.
 */
#ifndef KF_PLATFORM_DRIVERS_H
#define KF_PLATFORM_DRIVERS_H

#include <kforge/driver.h>

extern const struct kf_driver kf_driver_host;
extern const struct kf_driver kf_driver_cuda;
extern const struct kf_driver kf_driver_cuda_free;
extern const struct kf_driver kf_driver_null;
extern const struct kf_driver kf_driver_opencl;
extern const struct kf_driver kf_driver_pytorch;
extern const struct kf_driver kf_driver_pytorch_cuda;

#endif
