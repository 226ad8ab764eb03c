/* A device is opened, given the tensors, and closed. */
#include "platform/opencl/device.h"

#define FLUSH_MAX	(UINT64_C(512) << 20)

static void ask_limits(struct kf_device *dev)
{
	const struct ocl_api *cl = &dev->cl;
	struct kf_opencl_limits *l = &dev->limits;
	size_t group[3] = { 0, 0, 0 };
	uint64_t type = kf_ocl_number(cl, dev->device, CL_DEVICE_TYPE, 8);

	kf_ocl_text(cl, dev->device, CL_DEVICE_NAME, dev->name,
		    sizeof(dev->name));
	kf_ocl_text(cl, dev->device, CL_DRIVER_VERSION, dev->driver,
		    sizeof(dev->driver));
	l->group_size = kf_ocl_number(cl, dev->device,
				      CL_DEVICE_MAX_WORK_GROUP_SIZE,
				      sizeof(size_t));
	if (!cl->clGetDeviceInfo(dev->device, CL_DEVICE_MAX_WORK_ITEM_SIZES,
				 sizeof(group), group, NULL))
		for (int i = 0; i < 3; i++)
			l->group[i] = group[i];
	l->local_bytes = kf_ocl_number(cl, dev->device,
				       CL_DEVICE_LOCAL_MEM_SIZE, 8);
	l->alignment = kf_ocl_number(cl, dev->device,
				     CL_DEVICE_MEM_BASE_ADDR_ALIGN, 4) / 8;
	if (!l->alignment)
		l->alignment = 1;
	dev->memory_bytes = kf_ocl_number(cl, dev->device,
					  CL_DEVICE_GLOBAL_MEM_SIZE, 8);
	dev->alloc_max = kf_ocl_number(cl, dev->device,
				       CL_DEVICE_MAX_MEM_ALLOC_SIZE, 8);
	if (!(type & CL_DEVICE_TYPE_CPU))
		dev->flush_bytes = 2 * kf_ocl_number(cl, dev->device,
				CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, 8);
	if (dev->flush_bytes > FLUSH_MAX)
		dev->flush_bytes = FLUSH_MAX;
}

static enum kf_code make_queue(struct kf_device *dev, struct kf_err *err)
{
	int32_t e = 0;

	dev->context = dev->cl.clCreateContext(NULL, 1, &dev->device, NULL,
					       NULL, &e);
	if (dev->context)
		dev->queue = dev->cl.clCreateCommandQueue(dev->context,
				dev->device, CL_QUEUE_PROFILING_ENABLE, &e);
	return dev->queue ? KF_OK : kf_ocl_trouble("use the device", e, err);
}

/* PoCL takes a thread for each processor unless it is told how many. */
static void limit_threads(void)
{
	const char *threads = getenv("OMP_NUM_THREADS");

	if (threads)
		setenv("POCL_MAX_PTHREAD_COUNT", threads, 0);
}

enum kf_code kf_opencl_open(const char *device_id, uint64_t memory_max,
			    struct kf_device **out, struct kf_err *err)
{
	struct kf_device *dev = kf_alloc(sizeof(*dev));
	enum kf_code code;

	dev->memory_max = memory_max;
	limit_threads();
	code = kf_ocl_open(&dev->cl, err);
	if (!code)
		code = kf_ocl_device(&dev->cl, device_id, &dev->device, err);
	if (!code)
		code = make_queue(dev, err);
	if (code) {
		kf_opencl_close(dev);
		return code;
	}
	ask_limits(dev);
	dev->bounce = kf_alloc(KF_OCL_BOUNCE);
	*out = dev;
	return KF_OK;
}

enum kf_code kf_opencl_arena(struct kf_device *dev,
			     enum kf_twopart_arena arena, uint64_t bytes,
			     struct kf_err *err)
{
	static const char *const names[] = {
		[KF_TWOPART_INPUTS] = "inputs and weights",
		[KF_TWOPART_OUTPUTS] = "outputs",
		[KF_TWOPART_SCRATCH] = "scratch",
		[KF_TWOPART_KEPT] = "what is kept",
	};
	char text[64];
	int32_t e = 0;

	if (!bytes)
		return KF_OK;
	if (bytes > dev->alloc_max)
		return kf_fail(err, KF_E_LIMIT, "%s of %llu bytes are more "
			       "than the %llu that %s gives in one piece; "
			       "choose a smaller --size", names[arena],
			       (unsigned long long)bytes,
			       (unsigned long long)dev->alloc_max, dev->name);
	dev->arena[arena] = dev->cl.clCreateBuffer(dev->context,
			CL_MEM_READ_WRITE, (size_t)bytes, NULL, &e);
	if (dev->arena[arena])
		return KF_OK;
	return kf_fail(err, KF_E_UNAVAIL, "%s has no %llu bytes for %s: %s",
		       dev->name, (unsigned long long)bytes, names[arena],
		       kf_ocl_error(e, text));
}

enum kf_code kf_opencl_attach(struct kf_device *dev,
			      const struct kf_shared_memory *m,
			      const struct kf_call *tensors,
			      struct kf_err *err)
{
	enum kf_code code;

	if (dev->attached)
		return kf_fail(err, KF_E_INPUT, "tensors are attached already");
	dev->attached = true;
	dev->shared = *m;
	code = kf_twopart_find_tensors(m, tensors, dev->limits.alignment,
				       &dev->tensors, err);
	if (!code)
		code = kf_opencl_arena(dev, KF_TWOPART_INPUTS,
				       m->inputs_bytes, err);
	if (!code)
		code = kf_opencl_arena(dev, KF_TWOPART_OUTPUTS,
				       m->outputs_bytes, err);
	return code;
}

void kf_opencl_close(struct kf_device *dev)
{
	if (!dev)
		return;
	if (dev->queue)
		dev->cl.clFinish(dev->queue);
	kf_opencl_unload(dev);
	for (int i = 0; i < KF_TWOPART_ARENAS; i++)
		if (dev->arena[i])
			dev->cl.clReleaseMemObject(dev->arena[i]);
	if (dev->flush)
		dev->cl.clReleaseMemObject(dev->flush);
	if (dev->queue)
		dev->cl.clReleaseCommandQueue(dev->queue);
	if (dev->context)
		dev->cl.clReleaseContext(dev->context);
	kf_twopart_tensors_release(&dev->tensors);
	free(dev->bounce);
	free(dev->kept);
	free(dev);
}
