/*
 * What the devices are. All of OpenCL is met in a process of its own: a
 * vendor's library may start threads, set signal handlers, or crash, and this
 * process holds the run.
 */
#include "platform/apart.h"
#include "platform/opencl/opencl.h"

#include <limits.h>
#include <stdlib.h>

#define FIND_NS		(30 * KF_NS_PER_S)
#define CARD_BYTES	(16u << 10)
#define RESULT_BYTES	(1u << 20)

struct question { size_t max; const char *measure; };

/* How a device comes back; its card follows. */
struct answer { struct kf_device_info info; size_t card_bytes; };

static void line(struct kf_buf *card, const char *name, const char *value)
{
	if (value[0])
		kf_buf_printf(card, "%s: %s\n", name, value);
}

static void size_line(struct kf_buf *card, const char *name, uint64_t bytes)
{
	uint64_t kib = bytes >> 10;

	if (kib >= 10 << 20)
		kf_buf_printf(card, "%s: %.1f GiB\n", name,
			      (double)kib / (1 << 20));
	else if (kib >= 10 << 10)
		kf_buf_printf(card, "%s: %llu MiB\n", name,
			      (unsigned long long)(kib >> 10));
	else if (bytes)
		kf_buf_printf(card, "%s: %llu KiB\n", name,
			      (unsigned long long)kib);
}

static const char *type_name(uint64_t type)
{
	if (type & CL_DEVICE_TYPE_GPU)
		return "gpu";
	if (type & CL_DEVICE_TYPE_CPU)
		return "cpu";
	return "accelerator";
}

/* What its OpenCL C has beyond 1.2. */
static void describe_language(const struct kf_opencl_told *told,
			      struct kf_buf *card)
{
	const struct { const char *extension, *name; bool there; } rows[] = {
		{ "cl_khr_fp64", "double",
		  kf_opencl_has(told, "cl_khr_fp64", "__opencl_c_fp64") },
		{ "cl_khr_fp16", "half",
		  kf_opencl_has(told, "cl_khr_fp16", NULL) },
		{ "cl_khr_subgroups", "sub-groups",
		  kf_opencl_has_sub_groups(told) },
		{ "cl_khr_int64_base_atomics", "64-bit atomics",
		  kf_opencl_has(told, "cl_khr_int64_base_atomics", NULL) },
	};

	for (size_t i = 0; i < KF_COUNT(rows); i++)
		kf_buf_printf(card, "%s (%s): %s\n", rows[i].name,
			      rows[i].extension, rows[i].there ? "yes" : "no");
}

static void describe_groups(const struct ocl_api *cl,
			    struct ocl_device *device, struct kf_buf *card)
{
	size_t group[3] = { 0, 0, 0 };
	const struct { uint32_t what; size_t bytes; const char *name; }
	rows[] = {
		{ CL_DEVICE_MAX_CLOCK_FREQUENCY, 4, "clock, MHz" },
		{ CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof(size_t),
		  "most work-items of a group" },
		{ CL_DEVICE_WARP_SIZE_NV, 4,
		  "work-items that run in step (a warp)" },
		{ CL_DEVICE_WAVEFRONT_WIDTH_AMD, 4,
		  "work-items that run in step (a wavefront)" },
		{ CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT, 4,
		  "preferred vector width, float" },
		{ CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE, 4,
		  "cache line, bytes" },
	};

	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		uint64_t value = kf_ocl_number(cl, device, rows[i].what,
					       rows[i].bytes);

		if (value)
			kf_buf_printf(card, "%s: %llu\n", rows[i].name,
				      (unsigned long long)value);
	}
	if (!cl->clGetDeviceInfo(device, CL_DEVICE_MAX_WORK_ITEM_SIZES,
				 sizeof(group), group, NULL))
		kf_buf_printf(card, "most work-items of a group along x, y, "
			      "z: %zu, %zu, %zu\n", group[0], group[1],
			      group[2]);
	kf_buf_printf(card, "offsets of KF_BUF_AT must be multiples of: %llu "
		      "bytes\n", (unsigned long long)
		      kf_ocl_number(cl, device, CL_DEVICE_MEM_BASE_ADDR_ALIGN,
				    4) / 8);
}

static void describe(const struct ocl_api *cl, struct ocl_device *device,
		     struct kf_device_info *info, struct kf_buf *card)
{
	const bool local_is_own = kf_ocl_number(cl, device,
			CL_DEVICE_LOCAL_MEM_TYPE, 4) == 1;
	struct kf_opencl_told *told = kf_alloc(sizeof(*told));
	char text[160];

	kf_opencl_ask(cl, device, told);
	kf_buf_printf(card, "device: %s (%s)\n", info->name, info->arch);
	kf_ocl_text(cl, device, CL_DEVICE_VERSION, text, sizeof(text));
	line(card, "version", text);
	kf_buf_printf(card, "language: OpenCL C %s (-cl-std=CL%s)\n",
		      kf_opencl_language(told), kf_opencl_language(told));
	kf_ocl_text(cl, device, CL_DRIVER_VERSION, text, sizeof(text));
	line(card, "driver", text);
	kf_buf_printf(card, "compute units: %u\n", info->units);
	describe_groups(cl, device, card);
	size_line(card, local_is_own ? "local memory of a group"
		  : "local memory of a group (in ordinary memory and caches)",
		  kf_ocl_number(cl, device, CL_DEVICE_LOCAL_MEM_SIZE, 8));
	size_line(card, "constant memory",
		  kf_ocl_number(cl, device,
				CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE, 8));
	size_line(card, "global memory", info->memory_bytes);
	size_line(card, "cache of global memory",
		  kf_ocl_number(cl, device, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE,
				8));
	describe_language(told, card);
	free(told);
}

static void describe_measured(const struct ocl_api *cl,
			      struct ocl_device *device,
			      struct kf_ceilings *ceiling, struct kf_buf *card)
{
	struct kf_opencl_measured got;

	kf_opencl_measure(cl, device, &got);
	if (got.copy_bytes_per_s > 0)
		kf_buf_printf(card, "measured memory bandwidth, copying "
			      "(bytes read plus bytes written): %.1f GB/s\n",
			      got.copy_bytes_per_s / 1e9);
	if (got.flops > 0)
		kf_buf_printf(card, "measured float32 multiply-add peak: "
			      "%.0f GFLOP/s\n", got.flops / 1e9);
	ceiling->bytes_per_s = got.copy_bytes_per_s;
	ceiling->flops_per_s = got.flops;
}

/* NVIDIA's is the one that CUDA tells. */
static void name_hardware(const struct ocl_api *cl, struct ocl_device *device,
			  uint64_t type, char out[48])
{
	unsigned char uuid[16];

	if (type & CL_DEVICE_TYPE_CPU)
		snprintf(out, 48, "%s", KF_HARDWARE_PROCESSOR);
	else if (!cl->clGetDeviceInfo(device, CL_DEVICE_UUID, sizeof(uuid),
				      uuid, NULL))
		kf_device_hardware(uuid, out);
}

/* What OpenCL calls a platform. One that has a longer name has none here. */
static void name_driver(const struct ocl_api *cl, struct ocl_device *device,
			char out[64])
{
	struct kf_buf clean = { .max = 63 };
	struct ocl_platform *its = NULL;
	char name[64] = "";

	if (!cl->clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(its),
				 &its, NULL) && its &&
	    !cl->clGetPlatformInfo(its, CL_PLATFORM_NAME, sizeof(name), name,
				   NULL))
		kf_utf8_clean(name, strnlen(name, sizeof(name)), &clean);
	snprintf(out, 64, "%s", kf_buf_str(&clean));
	kf_buf_release(&clean);
}

static void find_one(const struct ocl_api *cl, struct ocl_device *device,
		     size_t index, const char *measure, struct kf_buf *out)
{
	const uint64_t type = kf_ocl_number(cl, device, CL_DEVICE_TYPE, 8);
	struct answer answer = { .card_bytes = 0 };
	struct kf_device_info *info = &answer.info;
	struct kf_buf card = { .max = CARD_BYTES };

	snprintf(info->id, sizeof(info->id), "opencl:%zu", index);
	kf_ocl_text(cl, device, CL_DEVICE_NAME, info->name,
		    sizeof(info->name));
	if (!info->name[0])
		snprintf(info->name, sizeof(info->name), "a device without "
			 "a name");
	name_driver(cl, device, info->driver_name);
	snprintf(info->arch, sizeof(info->arch), "opencl-%s", type_name(type));
	info->in_process = type & CL_DEVICE_TYPE_CPU;
	name_hardware(cl, device, type, info->hardware);
	info->memory_bytes = kf_ocl_number(cl, device,
					   CL_DEVICE_GLOBAL_MEM_SIZE, 8);
	info->units = (unsigned)kf_ocl_number(cl, device,
					      CL_DEVICE_MAX_COMPUTE_UNITS, 4);
	info->ceiling.cache_bytes = kf_ocl_number(cl, device,
			CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, 8);
	describe(cl, device, info, &card);
	if (measure && strcmp(measure, info->id) == 0)
		describe_measured(cl, device, &info->ceiling, &card);
	answer.card_bytes = card.len;
	kf_buf_add(out, &answer, sizeof(answer));
	kf_buf_add(out, kf_buf_str(&card), card.len);
	kf_buf_release(&card);
}

/* In the child: where the loader is, then devices. Nothing where there is no
 * OpenCL. */
static void find_all(void *arg, struct kf_buf *out)
{
	const struct question *asked = arg;
	char library[PATH_MAX];
	struct ocl_list list;
	struct ocl_api cl;

	if (kf_ocl_open(&cl, NULL))
		return;
	memset(library, 0, sizeof(library));
	kf_ocl_library(&cl, library, sizeof(library));
	kf_buf_add(out, library, sizeof(library));
	kf_ocl_list(&cl, &list);
	for (size_t i = 0; i < list.count && i < asked->max; i++)
		find_one(&cl, list.device[i], i, asked->measure, out);
}

static size_t take_answers(const struct kf_buf *result,
			   struct kf_device_info *info, size_t max)
{
	const char *at = kf_buf_str(result), *end = at + result->len;
	struct answer answer;
	size_t count = 0;

	if (result->len < PATH_MAX)
		return 0;
	if (at[0] == '/')
		setenv(KF_OCL_LIBRARY, at, 1);
	at += PATH_MAX;
	while (count < max && (size_t)(end - at) >= sizeof(answer)) {
		size_t card_max = info[count].card.max;

		memcpy(&answer, at, sizeof(answer));
		at += sizeof(answer);
		if (answer.card_bytes > (size_t)(end - at))
			break;
		info[count] = answer.info;
		info[count].card = (struct kf_buf) { .max = card_max };
		kf_buf_add(&info[count].card, at, answer.card_bytes);
		at += answer.card_bytes;
		count++;
	}
	return count;
}

static bool asks_for_library(void)
{
	const char *asked = getenv(KF_OCL_LIBRARY);

	return asked && asked[0];
}

enum kf_code kf_opencl_find(struct kf_device_info *info, size_t max,
			    const char *measure, size_t *count,
			    struct kf_err *err)
{
	struct question asked = { max, measure };
	struct kf_buf result = { .max = RESULT_BYTES };
	struct kf_apart_end end;
	struct kf_apart apart;
	enum kf_code code;

	code = kf_apart_start(find_all, &asked, RESULT_BYTES, &apart, err);
	if (!code)
		code = kf_apart_finish(&apart, FIND_NS, &result, &end, err);
	if (!code && (end.timed_out || end.signal))
		code = kf_fail(err, KF_E_UNAVAIL, "a driver of OpenCL %s when "
			       "it was asked for its devices; see what "
			       "/etc/OpenCL/vendors names", end.timed_out
			       ? "did not answer" : "crashed");
	if (!code && !result.len && asks_for_library())
		code = kf_fail(err, KF_E_UNAVAIL, "%s, OpenCL's loader by "
			       KF_OCL_LIBRARY ", cannot be opened or is older "
			       "than OpenCL 1.2", getenv(KF_OCL_LIBRARY));
	if (!code)
		*count = take_answers(&result, info, max);
	kf_buf_release(&result);
	return code;
}
