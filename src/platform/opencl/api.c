#include "platform/opencl/api.h"

#include <dlfcn.h>
#include <stdlib.h>

#define LIBRARY "libOpenCL.so.1"
#define ID_START "opencl:"

/* ISO C has no cast from an object pointer to a function pointer. */
static bool find_function(void *library, const char *name, void *into,
			  size_t bytes)
{
	void *symbol = dlsym(library, name);

	memcpy(into, &symbol, bytes);
	return symbol;
}

enum kf_code kf_ocl_open(struct ocl_api *out, struct kf_err *err)
{
	const char *asked = getenv(KF_OCL_LIBRARY);
	void *library = dlopen(asked && asked[0] ? asked : LIBRARY,
			       RTLD_NOW | RTLD_LOCAL);
	const char *missing = NULL;

	if (!library && asked && asked[0])
		return kf_fail(err, KF_E_UNAVAIL, "cannot open %s, OpenCL's "
			       "loader by " KF_OCL_LIBRARY, asked);
	if (!library)
		return kf_fail(err, KF_E_UNAVAIL, "cannot open " LIBRARY ", "
			       "OpenCL's loader; on Debian install "
			       "ocl-icd-libopencl1 and the device's driver "
			       "(pocl-opencl-icd for the processor)");
#define FIND(result, name, parameters) \
	if (!find_function(library, #name, &out->name, sizeof(out->name))) \
		missing = #name;
	OCL_FUNCTIONS(FIND)
	if (!missing)
		return KF_OK;
	dlclose(library);
	return kf_fail(err, KF_E_UNAVAIL, LIBRARY " has no function %s: it is "
		       "older than OpenCL 1.2", missing);
}

void kf_ocl_library(const struct ocl_api *cl, char *out, size_t size)
{
	void *symbol;
	Dl_info info;
	char *path;

	memcpy(&symbol, &cl->clGetPlatformIDs, sizeof(symbol));
	out[0] = '\0';
	if (!dladdr(symbol, &info) || !info.dli_fname)
		return;
	path = realpath(info.dli_fname, NULL);
	snprintf(out, size, "%s", path ? path : "");
	free(path);
}

const char *kf_ocl_error(int32_t number, char out[64])
{
	static const struct { int32_t number; const char *name; } names[] = {
		{ -1, "DEVICE_NOT_FOUND" },
		{ -2, "DEVICE_NOT_AVAILABLE" },
		{ -3, "COMPILER_NOT_AVAILABLE" },
		{ -4, "MEM_OBJECT_ALLOCATION_FAILURE" },
		{ -5, "OUT_OF_RESOURCES" },
		{ -6, "OUT_OF_HOST_MEMORY" },
		{ -8, "MEM_COPY_OVERLAP" },
		{ -11, "BUILD_PROGRAM_FAILURE" },
		{ -13, "MISALIGNED_SUB_BUFFER_OFFSET" },
		{ -14, "EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST" },
		{ -30, "INVALID_VALUE" },
		{ -36, "INVALID_COMMAND_QUEUE" },
		{ -38, "INVALID_MEM_OBJECT" },
		{ -42, "INVALID_BINARY" },
		{ -43, "INVALID_BUILD_OPTIONS" },
		{ -45, "INVALID_PROGRAM_EXECUTABLE" },
		{ -46, "INVALID_KERNEL_NAME" },
		{ -48, "INVALID_KERNEL" },
		{ -49, "INVALID_ARG_INDEX" },
		{ -50, "INVALID_ARG_VALUE" },
		{ -51, "INVALID_ARG_SIZE" },
		{ -52, "INVALID_KERNEL_ARGS" },
		{ -54, "INVALID_WORK_GROUP_SIZE" },
		{ -55, "INVALID_WORK_ITEM_SIZE" },
		{ -61, "INVALID_BUFFER_SIZE" },
		{ -1001, "PLATFORM_NOT_FOUND_KHR" },
	};

	for (size_t i = 0; i < KF_COUNT(names); i++)
		if (names[i].number == number) {
			snprintf(out, 64, "CL_%s (%d)", names[i].name, number);
			return out;
		}
	snprintf(out, 64, "OpenCL error %d", number);
	return out;
}

enum kf_code kf_ocl_trouble(const char *what, int32_t number,
			    struct kf_err *err)
{
	char text[64];

	return kf_fail(err, KF_E_UNAVAIL, "OpenCL cannot %s: %s", what,
		       kf_ocl_error(number, text));
}

uint64_t kf_ocl_number(const struct ocl_api *cl, struct ocl_device *device,
		       uint32_t what, size_t bytes)
{
	uint64_t value = 0;		/* little-endian, as the devices here */

	if (cl->clGetDeviceInfo(device, what, bytes, &value, NULL))
		return 0;
	return value;
}

void kf_ocl_text(const struct ocl_api *cl, struct ocl_device *device,
		 uint32_t what, char *text, size_t size)
{
	struct kf_buf clean = { .max = size - 1 };
	size_t bytes = 0;
	char *all;

	text[0] = '\0';
	if (cl->clGetDeviceInfo(device, what, 0, NULL, &bytes) || !bytes)
		return;
	all = kf_alloc(bytes + 1);
	if (!cl->clGetDeviceInfo(device, what, bytes, all, NULL)) {
		char *from = all + strspn(all, " ");

		kf_utf8_clean(from, strlen(from), &clean);
		snprintf(text, size, "%s", kf_buf_str(&clean));
	}
	kf_buf_release(&clean);
	free(all);
}

static bool can_compile(const struct ocl_api *cl, struct ocl_device *device)
{
	static const uint32_t must[] = {
		CL_DEVICE_AVAILABLE, CL_DEVICE_COMPILER_AVAILABLE,
		CL_DEVICE_ENDIAN_LITTLE,
	};

	for (size_t i = 0; i < KF_COUNT(must); i++)
		if (!kf_ocl_number(cl, device, must[i], sizeof(uint32_t)))
			return false;
	return true;
}

static void list_platform(const struct ocl_api *cl,
			  struct ocl_platform *platform, struct ocl_list *out)
{
	struct ocl_device *device[KF_OCL_DEVICES_MAX];
	uint32_t count = 0;

	if (cl->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL,
			       KF_OCL_DEVICES_MAX, device, &count))
		return;
	for (uint32_t i = 0; i < count && i < KF_OCL_DEVICES_MAX &&
			     out->count < KF_OCL_DEVICES_MAX; i++) {
		if (!can_compile(cl, device[i]))
			continue;
		out->platform[out->count] = platform;
		out->device[out->count++] = device[i];
	}
}

void kf_ocl_list(const struct ocl_api *cl, struct ocl_list *out)
{
	struct ocl_platform *platform[KF_OCL_DEVICES_MAX];
	uint32_t count = 0;

	*out = (struct ocl_list) { .count = 0 };
	if (cl->clGetPlatformIDs(KF_OCL_DEVICES_MAX, platform, &count))
		return;
	for (uint32_t i = 0; i < count && i < KF_OCL_DEVICES_MAX; i++)
		list_platform(cl, platform[i], out);
}

enum kf_code kf_ocl_device(const struct ocl_api *cl, const char *id,
			   struct ocl_device **out, struct kf_err *err)
{
	struct ocl_list list;
	uint64_t index;

	kf_ocl_list(cl, &list);
	if (strncmp(id, ID_START, strlen(ID_START)) != 0 ||
	    !kf_parse_u64(id + strlen(ID_START), &index) ||
	    index >= list.count)
		return kf_fail(err, KF_E_UNAVAIL, "no device %s: OpenCL has "
			       "%zu here; see `kforge platforms`", id,
			       list.count);
	*out = list.device[index];
	return KF_OK;
}
