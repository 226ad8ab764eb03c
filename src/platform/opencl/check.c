/* Is a launch one that its kernel and the device can do? Pure. */
#include "platform/opencl/opencl.h"

static const struct scalar { const char *name; uint32_t bytes; bool is_float; }
scalars[] = {
	{ "char", 1, false }, { "uchar", 1, false },
	{ "unsigned char", 1, false }, { "short", 2, false },
	{ "ushort", 2, false }, { "unsigned short", 2, false },
	{ "int", 4, false }, { "uint", 4, false },
	{ "unsigned int", 4, false }, { "long", 8, false },
	{ "ulong", 8, false }, { "unsigned long", 8, false },
	{ "float", 4, true }, { "double", 8, true },
};

/* NULL for vectors, structs and names that the program gave to types. */
static const struct scalar *scalar_of(const char *type)
{
	for (size_t i = 0; i < KF_COUNT(scalars); i++)
		if (strcmp(scalars[i].name, type) == 0)
			return &scalars[i];
	return NULL;
}

/* How host.c passes such a scalar. */
static const char *macro_of(const struct scalar *s)
{
	static const char *const ints[] = { "KF_I8", "KF_I16", "KF_I32",
					    "KF_I64" };
	size_t log2 = 0;

	if (s->is_float)
		return s->bytes == 4 ? "KF_F32" : "KF_F64";
	while (1u << log2 < s->bytes)
		log2++;
	return ints[log2];
}

static bool check_options(const struct kf_plan_op *op, char why[256])
{
	const char *lacking = NULL;

	if (op->cluster[0])
		lacking = "clusters";
	else if (op->cooperative)
		lacking = "cooperative launches; use one launch for each step";
	else if (op->dependent)
		lacking = "dependent launches";
	else if (op->shared_bytes)
		snprintf(why, 256, "OpenCL kernels get local memory through "
			 "a __local pointer: pass KF_LOCAL(%lld) for it, and "
			 "0 as shared_bytes", (long long)op->shared_bytes);
	else
		return true;
	if (lacking)
		snprintf(why, 256, "OpenCL has no %s", lacking);
	return false;
}

static bool wrong_argument(const struct kf_opencl_kernel *kernel, size_t i,
			   const char *wanted, const struct kf_plan_arg *arg,
			   char why[256])
{
	const struct kf_opencl_parameter *p = &kernel->parameter[i];

	snprintf(why, 256, "argument %zu is %.60s %.40s in the kernel: pass "
		 "%s, not %s", i + 1, p->type, p->name, wanted,
		 kf_plan_arg_macro(arg));
	return false;
}

static bool check_value(const struct kf_plan_arg *arg,
			const struct kf_opencl_kernel *kernel, size_t i,
			char why[256])
{
	const struct scalar *s = scalar_of(kernel->parameter[i].type);
	bool by_value = arg->kind == KF_ARG_INT || arg->kind == KF_ARG_FLOAT;

	if (s && (!by_value || arg->bytes != s->bytes ||
		  s->is_float != (arg->kind == KF_ARG_FLOAT)))
		return wrong_argument(kernel, i, macro_of(s), arg, why);
	if (!by_value && arg->kind != KF_ARG_BYTES)
		return wrong_argument(kernel, i, "a value (KF_BYTES for a "
				      "struct or a vector)", arg, why);
	return true;
}

static bool check_argument(const struct kf_plan_arg *arg,
			   const struct kf_opencl_kernel *kernel, size_t i,
			   const struct kf_opencl_limits *limits,
			   char why[256])
{
	const struct kf_opencl_parameter *p = &kernel->parameter[i];
	bool pointer = p->type[0] && p->type[strlen(p->type) - 1] == '*';

	if (arg->kind == KF_ARG_TENSOR_MAP) {
		snprintf(why, 256, "argument %zu is a tensor map, which OpenCL "
			 "does not have; pass KF_BUF and sizes", i + 1);
		return false;
	}
	if (p->where == CL_KERNEL_ARG_ADDRESS_PRIVATE)
		return check_value(arg, kernel, i, why);
	if (p->where == CL_KERNEL_ARG_ADDRESS_LOCAL)
		return arg->kind == KF_ARG_LOCAL ||
		       wrong_argument(kernel, i, "KF_LOCAL", arg, why);
	if (!pointer) {
		snprintf(why, 256, "argument %zu is %.60s %.40s in the kernel, "
			 "and images are not supported; use a __global "
			 "pointer", i + 1, p->type, p->name);
		return false;
	}
	if (arg->kind != KF_ARG_BUFFER)
		return wrong_argument(kernel, i, "KF_BUF", arg, why);
	if (arg->place.offset % limits->alignment == 0)
		return true;
	snprintf(why, 256, "argument %zu begins %llu bytes into its memory, "
		 "which must be a multiple of %llu here; pass KF_BUF and the "
		 "offset as a number", i + 1,
		 (unsigned long long)arg->place.offset,
		 (unsigned long long)limits->alignment);
	return false;
}

bool kf_opencl_check_launch(const struct kf_plan_op *op,
			    const struct kf_opencl_kernel *kernel,
			    const struct kf_opencl_limits *limits,
			    char why[256])
{
	if (!check_options(op, why))
		return false;
	if (op->arg_count != kernel->parameter_count) {
		snprintf(why, 256, "the kernel has %zu parameter%s, and %zu "
			 "argument%s passed", kernel->parameter_count,
			 kernel->parameter_count == 1 ? "" : "s",
			 op->arg_count, op->arg_count == 1 ? " is" : "s are");
		return false;
	}
	for (size_t i = 0; i < op->arg_count; i++)
		if (!check_argument(&op->arg[i], kernel, i, limits, why))
			return false;
	return true;
}

static bool check_group(const struct kf_plan_op *op,
			const struct kf_opencl_limits *limits,
			const struct kf_opencl_needs *needs, char why[256])
{
	const int64_t *g = op->group;
	const uint64_t *want = needs->group;
	const double items = (double)g[0] * (double)g[1] * (double)g[2];
	const char axis[] = "xyz";
	uint64_t most = limits->group_size;

	if (needs->group_size && needs->group_size < most)
		most = needs->group_size;
	for (int i = 0; i < 3; i++) {
		if (limits->group[i] && (uint64_t)g[i] > limits->group[i]) {
			snprintf(why, 256, "a group of %lld along %c is more "
				 "than the %llu that the device has",
				 (long long)g[i], axis[i],
				 (unsigned long long)limits->group[i]);
			return false;
		}
	}
	if (items > (double)most) {
		snprintf(why, 256, "a group of %.0f work-items is more than "
			 "the %llu that %s", items, (unsigned long long)most,
			 most < limits->group_size
			 ? "this kernel can have on this device"
			 : "the device can have");
		return false;
	}
	if (!want[0] || (want[0] == (uint64_t)g[0] &&
			 want[1] == (uint64_t)g[1] &&
			 want[2] == (uint64_t)g[2]))
		return true;
	snprintf(why, 256, "a group of (%lld, %lld, %lld), but the kernel says "
		 "reqd_work_group_size(%llu, %llu, %llu)", (long long)g[0],
		 (long long)g[1], (long long)g[2],
		 (unsigned long long)want[0], (unsigned long long)want[1],
		 (unsigned long long)want[2]);
	return false;
}

bool kf_opencl_check_sizes(const struct kf_plan_op *op,
			   const struct kf_opencl_limits *limits,
			   const struct kf_opencl_needs *needs, char why[256])
{
	uint64_t bytes = needs->local_bytes;

	if (!check_group(op, limits, needs, why))
		return false;
	for (size_t i = 0; i < op->arg_count; i++)
		if (op->arg[i].kind == KF_ARG_LOCAL)
			bytes += op->arg[i].bytes;
	if (bytes <= limits->local_bytes)
		return true;
	snprintf(why, 256, "%llu bytes of local memory are more than the %llu "
		 "that a group has on this device", (unsigned long long)bytes,
		 (unsigned long long)limits->local_bytes);
	return false;
}
