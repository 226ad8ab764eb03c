/*
 * Can the device make this launch? The sentences are for who wrote the program:
 * they follow "call 3 of kf_forward, a launch of axpb: " and say the way out.
 */
#include "platform/cuda/cuda.h"

#define CLUSTER_PORTABLE	8
#define CLUSTER_MAX		16

static const char axis[] = "xyz";

static bool refuse(char why[256], const char *fmt, ...) KF_PRINTF(2, 3);

static bool refuse(char why[256], const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(why, 256, fmt, args);
	va_end(args);
	return false;
}

static int function_attribute(const struct kf_device *dev, int which,
			      void *function)
{
	int value = 0;

	return dev->api.function_attribute(&value, which, function) ? 0 : value;
}

static int64_t product(const int64_t dim[3])
{
	return dim[0] * dim[1] * dim[2];
}

/* --- arguments ------------------------------------------------------------ */

static size_t parameter_count(const struct kf_device *dev, void *function)
{
	size_t count = 0, offset, bytes;

	while (count <= KF_PLAN_ARGS_MAX &&
	       dev->api.function_parameter(function, count, &offset,
					   &bytes) == 0)
		count++;
	return count;
}

static const char *kind_name(const struct kf_plan_arg *arg)
{
	switch (arg->kind) {
	case KF_ARG_BUFFER: return "KF_BUF";
	case KF_ARG_INT: return "an integer (KF_I32, KF_I64, ...)";
	case KF_ARG_FLOAT: return "a number (KF_F32, KF_F64)";
	case KF_ARG_BYTES: return "KF_BYTES";
	case KF_ARG_TENSOR_MAP: return "KF_TMAP";
	default: return "KF_LOCAL";
	}
}

static bool check_argument(const struct kf_device *dev,
			   const struct kf_plan_arg *arg, size_t index,
			   size_t bytes, char why[256])
{
	size_t number = index + 1;	/* as everywhere in sentences */

	if (arg->kind == KF_ARG_LOCAL)
		return refuse(why, "argument %zu is KF_LOCAL, which CUDA does "
			      "not have: declare extern __shared__ memory and "
			      "give its size as shared_bytes", number);
	if (arg->kind == KF_ARG_TENSOR_MAP && !dev->limits.tensor_maps)
		return refuse(why, "argument %zu is KF_TMAP: this device has "
			      "no tensor maps", number);
	if (arg->bytes != bytes)
		return refuse(why, "argument %zu, %s, has %u bytes and the "
			      "kernel's parameter has %zu", number,
			      kind_name(arg), arg->bytes, bytes);
	return true;
}

static bool check_arguments(const struct kf_device *dev,
			    const struct kf_plan_op *op, void *function,
			    char why[256])
{
	size_t count = parameter_count(dev, function), maps = 0;

	if (count != op->arg_count)
		return refuse(why, "the kernel has %zu parameters and gets %zu "
			      "arguments", count, op->arg_count);
	for (size_t i = 0; i < count; i++) {
		size_t offset, bytes = 0;

		dev->api.function_parameter(function, i, &offset, &bytes);
		if (!check_argument(dev, &op->arg[i], i, bytes, why))
			return false;
		maps += op->arg[i].kind == KF_ARG_TENSOR_MAP;
	}
	if (maps > KF_CUDA_MAPS_MAX)
		return refuse(why, "it has %zu tensor maps, the most is %u",
			      maps, KF_CUDA_MAPS_MAX);
	return kf_cuda_parameters_check(dev->program.parameters, op, why);
}

/* --- sizes ---------------------------------------------------------------- */

static bool check_dims(const struct kf_device *dev, const struct kf_plan_op *op,
		       char why[256])
{
	for (int k = 0; k < 3; k++) {
		if (op->group[k] > dev->limits.block[k])
			return refuse(why, "the group has %lld threads in %c, "
				      "the most is %d",
				      (long long)op->group[k], axis[k],
				      dev->limits.block[k]);
		if (op->grid[k] > dev->limits.grid[k])
			return refuse(why, "the grid has %lld groups in %c, "
				      "the most is %d: give more work to each, "
				      "or use another dimension",
				      (long long)op->grid[k], axis[k],
				      dev->limits.grid[k]);
	}
	return true;
}

static bool check_threads(const struct kf_device *dev,
			  const struct kf_plan_op *op, void *function,
			  char why[256])
{
	int most = function_attribute(dev, KF_CUDA_FUNC_MAX_THREADS_PER_BLOCK,
				      function);
	int64_t threads = product(op->group);

	if (threads > dev->limits.threads)
		return refuse(why, "the group has %lld threads, the most is %d",
			      (long long)threads, dev->limits.threads);
	if (threads > most)
		return refuse(why, "the group has %lld threads; this kernel "
			      "can have %d, for it uses %d registers or has "
			      "__launch_bounds__: lower the group, or put "
			      "__launch_bounds__(%lld) on the kernel",
			      (long long)threads, most,
			      function_attribute(dev, KF_CUDA_FUNC_NUM_REGS,
						 function),
			      (long long)threads);
	return true;
}

/* Beyond 48 KiB a kernel must be told what it may have. */
static bool check_shared(struct kf_device *dev, const struct kf_plan_op *op,
			 void *function, char why[256])
{
	int fixed = function_attribute(dev, KF_CUDA_FUNC_SHARED_SIZE_BYTES,
				       function);
	int allowed = function_attribute(dev,
			KF_CUDA_FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES, function);

	if (op->shared_bytes > dev->limits.shared_bytes - fixed)
		return refuse(why, "it wants %lld bytes of shared memory and "
			      "the kernel declares %d more; a group can have "
			      "%d in all", (long long)op->shared_bytes, fixed,
			      dev->limits.shared_bytes);
	if (op->shared_bytes <= allowed)
		return true;
	if (dev->api.function_set(function,
				  KF_CUDA_FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES,
				  (int)op->shared_bytes))
		return refuse(why, "the device refuses %lld bytes of shared "
			      "memory", (long long)op->shared_bytes);
	return true;
}

/* --- options -------------------------------------------------------------- */

static bool check_cluster_size(struct kf_device *dev,
			       const struct kf_plan_op *op, void *function,
			       char why[256])
{
	int64_t size = product(op->cluster);

	if (!dev->limits.clusters)
		return refuse(why, "this device has no clusters");
	for (int k = 0; k < 3; k++)
		if (op->grid[k] % op->cluster[k])
			return refuse(why, "the grid, %lld groups in %c, is no "
				      "multiple of the cluster's %lld",
				      (long long)op->grid[k], axis[k],
				      (long long)op->cluster[k]);
	if (size > CLUSTER_MAX)
		return refuse(why, "the cluster has %lld groups, the most is "
			      "%d", (long long)size, CLUSTER_MAX);
	if (size > CLUSTER_PORTABLE &&
	    dev->api.function_set(function,
			KF_CUDA_FUNC_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1))
		return refuse(why, "the cluster has %lld groups, the most is "
			      "%d", (long long)size, CLUSTER_PORTABLE);
	return true;
}

static bool check_cluster(struct kf_device *dev, const struct kf_plan_op *op,
			  void *function, char why[256])
{
	struct kf_cuda_launch_attribute attribute[3];
	struct kf_cuda_launch launch = kf_cuda_launch_of(dev, op, attribute);
	int clusters = 0;

	if (!op->cluster[0]) {
		if (!function_attribute(dev,
				KF_CUDA_FUNC_CLUSTER_SIZE_MUST_BE_SET,
				function))
			return true;
		return refuse(why, "the kernel runs in clusters and none is "
			      "given: use kf_launch_with and .cluster");
	}
	if (!check_cluster_size(dev, op, function, why))
		return false;
	if (dev->api.occupancy_clusters(&clusters, function, &launch) ||
	    clusters < 1)
		return refuse(why, "no cluster of %lld groups fits on the "
			      "device: lower the cluster, the group or the "
			      "shared memory", (long long)product(op->cluster));
	return true;
}

static bool check_cooperative(struct kf_device *dev,
			      const struct kf_plan_op *op, void *function,
			      char why[256])
{
	int64_t groups = product(op->grid), fit;
	int each = 0;

	if (!op->cooperative)
		return true;
	if (!dev->limits.cooperative)
		return refuse(why, "this device has no cooperative launches");
	if (dev->api.occupancy_blocks(&each, function,
				      (int)product(op->group),
				      (size_t)op->shared_bytes))
		each = 0;
	fit = (int64_t)each * dev->limits.units;
	if (groups > fit)
		return refuse(why, "a cooperative launch has all its groups on "
			      "the device at once: %lld of these fit, and the "
			      "grid has %lld", (long long)fit,
			      (long long)groups);
	return true;
}

bool kf_cuda_launch_check(struct kf_device *dev, const struct kf_plan_op *op,
			  void *function, char why[256])
{
	return check_arguments(dev, op, function, why) &&
	       check_dims(dev, op, why) &&
	       check_threads(dev, op, function, why) &&
	       check_shared(dev, op, function, why) &&
	       check_cluster(dev, op, function, why) &&
	       check_cooperative(dev, op, function, why);
}
