/* Where NVIDIA's libraries lie, and opening them. */
#include "platform/cuda/cuda.h"

#include <dlfcn.h>
#include <glob.h>
#include <unistd.h>

/* For machines that have them elsewhere; handed on to sandboxes. */
#define DRIVER_VARIABLE	"KFORGE_CUDA_DRIVER"
#define NVRTC_VARIABLE	"KFORGE_NVRTC"

#define DRIVER_NAME	"libcuda.so.1"
#define OLDEST_DRIVER	12040	/* CUDA 12.4: cuFuncGetParamInfo */

/* Patterns; the first that there is. */
static const char *const driver_place[] = {
	"/usr/lib/x86_64-linux-gnu/" DRIVER_NAME,
	"/usr/lib/aarch64-linux-gnu/" DRIVER_NAME,
	"/usr/lib64/" DRIVER_NAME,
	"/usr/local/nvidia/lib64/" DRIVER_NAME,
	"/usr/lib/wsl/lib/" DRIVER_NAME,
	"/run/opengl-driver/lib/" DRIVER_NAME,
	"/usr/lib/" DRIVER_NAME,
	/* Last: it serves some kernel modules only, and sees no device with
	 * others. */
	"/usr/local/cuda/compat/" DRIVER_NAME,
};

/* Of several that match one pattern the last is taken: the newest. */
static const char *const nvrtc_place[] = {
	"/usr/local/cuda/lib64/libnvrtc.so.[0-9]*[0-9]",
	"/usr/local/cuda-*/lib64/libnvrtc.so.[0-9]*[0-9]",
	"/opt/cuda*/lib64/libnvrtc.so.[0-9]*[0-9]",
	"/usr/lib/x86_64-linux-gnu/libnvrtc.so.[0-9]*[0-9]",
	"/usr/lib/aarch64-linux-gnu/libnvrtc.so.[0-9]*[0-9]",
	"/usr/lib64/libnvrtc.so.[0-9]*[0-9]",
	"/usr/local/lib/python3*/*-packages/nvidia/c*/lib/libnvrtc.so.[0-9]*[0-9]",
	"/usr/lib/python3*/*-packages/nvidia/c*/lib/libnvrtc.so.[0-9]*[0-9]",
	"/opt/*/lib/python3*/*-packages/nvidia/c*/lib/libnvrtc.so.[0-9]*[0-9]",
};

/* --- places --------------------------------------------------------------- */

/* The last file that matches, or NULL; caller frees. */
static char *match(const char *pattern)
{
	glob_t found = { 0 };
	char *path = NULL;

	if (glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc)
		path = kf_strdup(found.gl_pathv[found.gl_pathc - 1]);
	globfree(&found);
	return path;
}

static char *match_below(const char *variable, const char *below)
{
	const char *folder = getenv(variable);
	char *pattern, *path;

	if (!folder || !folder[0])
		return NULL;
	pattern = kf_format("%s/%s", folder, below);
	path = match(pattern);
	free(pattern);
	return path;
}

/* Where the loader looks first. */
static char *match_loader(const char *name)
{
	const char *list = getenv("LD_LIBRARY_PATH");
	char *path = NULL;

	while (list && *list && !path) {
		size_t len = strcspn(list, ":");
		char *pattern = kf_format("%.*s/%s", (int)len, list, name);

		if (len)
			path = match(pattern);
		free(pattern);
		list += len + (list[len] == ':');
	}
	return path;
}

static char *driver_path(void)
{
	const char *named = getenv(DRIVER_VARIABLE);
	char *path;

	if (named && named[0])
		return kf_strdup(named);
	path = match_loader(DRIVER_NAME);
	for (size_t i = 0; i < KF_COUNT(driver_place) && !path; i++)
		path = match(driver_place[i]);
	return path;
}

static char *nvrtc_path(void)
{
	static const struct { const char *variable, *below; } rows[] = {
		{ "CUDA_HOME", "lib64/libnvrtc.so.[0-9]*[0-9]" },
		{ "CUDA_PATH", "lib64/libnvrtc.so.[0-9]*[0-9]" },
		{ "VIRTUAL_ENV", "lib/python3*/site-packages/nvidia/c*/lib/"
				 "libnvrtc.so.[0-9]*[0-9]" },
		{ "CONDA_PREFIX", "lib/libnvrtc.so.[0-9]*[0-9]" },
	};
	const char *named = getenv(NVRTC_VARIABLE);
	char *path = NULL;

	if (named && named[0])
		return kf_strdup(named);
	for (size_t i = 0; i < KF_COUNT(rows) && !path; i++)
		path = match_below(rows[i].variable, rows[i].below);
	for (size_t i = 0; i < KF_COUNT(nvrtc_place) && !path; i++)
		path = match(nvrtc_place[i]);
	if (!path)
		path = match_below("HOME", ".local/lib/python3*/site-packages/"
				   "nvidia/c*/lib/libnvrtc.so.[0-9]*[0-9]");
	return path;
}

/* The pattern with name in the place of %s; caller frees. */
static char *with_name(const char *pattern, const char *name)
{
	return kf_format("%.*s%s", (int)strcspn(pattern, "%"), pattern, name);
}

char *kf_cuda_compiler_path(const char *name)
{
	static const char *const variable[] = { "CUDA_HOME", "CUDA_PATH" };
	char *below = kf_format("bin/%s", name), *path = NULL, *usual, *real;

	for (size_t i = 0; i < KF_COUNT(variable) && !path; i++)
		path = match_below(variable[i], below);
	usual = kf_format("/usr/local/cuda/%s", below);
	if (!path)
		path = match(usual);
	/* It looks for its parts from where it lies itself. */
	real = path ? realpath(path, NULL) : NULL;
	free(path);
	free(usual);
	free(below);
	return real;
}

static char *library_below(const char *variable, const char *pattern,
			   const char *name)
{
	char *whole = with_name(pattern, name);
	char *path = match_below(variable, whole);

	free(whole);
	return path;
}

char *kf_cuda_toolkit_library(const char *name)
{
	static const char *const below[] = {
		"lib64/%s", "extras/CUPTI/lib64/%s", "targets/*/lib/%s",
	};
	static const char *const variable[] = { "CUDA_HOME", "CUDA_PATH" };
	static const char *const place[] = {
		"/usr/local/cuda/lib64/%s",
		"/usr/local/cuda/extras/CUPTI/lib64/%s",
		"/usr/local/cuda/targets/*/lib/%s",
		"/usr/lib/x86_64-linux-gnu/%s", "/usr/lib/aarch64-linux-gnu/%s",
		"/usr/local/lib/python3*/*-packages/nvidia/c*/lib/%s",
		"/usr/lib/python3*/*-packages/nvidia/c*/lib/%s",
		"/opt/*/lib/python3*/*-packages/nvidia/c*/lib/%s",
	};
	char *path = NULL;

	for (size_t i = 0; i < KF_COUNT(variable); i++)
		for (size_t k = 0; k < KF_COUNT(below) && !path; k++)
			path = library_below(variable[i], below[k], name);
	if (!path)
		path = library_below("VIRTUAL_ENV", "lib/python3*/"
				     "site-packages/nvidia/c*/lib/%s", name);
	if (!path)
		path = library_below("CONDA_PREFIX", "lib/%s", name);
	for (size_t i = 0; i < KF_COUNT(place) && !path; i++) {
		char *whole = with_name(place[i], name);

		path = match(whole);
		free(whole);
	}
	return path;
}

/* The folder of a file, count levels up; caller frees. */
static char *folder_of(const char *path, int count)
{
	char *folder = kf_strdup(path);

	for (int i = 0; i < count; i++) {
		char *slash = strrchr(folder, '/');

		if (!slash || slash == folder)
			break;
		*slash = '\0';
	}
	return folder;
}

/* PREFIX of PREFIX/lib64, or of a system's PREFIX/lib/TRIPLE; caller frees. */
static char *prefix_of(const char *nvrtc_path_)
{
	char *prefix = folder_of(nvrtc_path_, 2);
	size_t len = strlen(prefix);

	if (len > 4 && strcmp(prefix + len - 4, "/lib") == 0)
		prefix[len - 4] = '\0';
	return prefix;
}

/* As above, or PREFIX/targets/NAME/lib; one of another toolkit would refuse
 * what it does not know. A path with links in it is the same in a sandbox. */
char *kf_cuda_assembler_path(const char *nvrtc_path_)
{
	char *prefix = strstr(nvrtc_path_, "/targets/") ?
		       folder_of(nvrtc_path_, 4) : prefix_of(nvrtc_path_);
	char *path = kf_path_join(prefix, "bin/ptxas");

	free(prefix);
	if (access(path, X_OK) == 0)
		return path;
	free(path);
	return NULL;
}

/* CUTLASS is headers alone, CuTe's among them: where the user says, by its root
 * or its folder of headers, else the first of the places. Caller frees. */
char *kf_cuda_cutlass_folder(void)
{
	static const char package[] = "lib/python3*/site-packages/"
				      "cutlass_library/source/include/cutlass";
	static const struct { const char *variable, *below; } rows[] = {
		{ "CUTLASS_PATH", "include/cut*" },
		{ "CUTLASS_PATH", "cut*" },
		{ "VIRTUAL_ENV", package }, { "CONDA_PREFIX", package },
	};
	static const char *const place[] = {
		"/usr/local/cutlass/include/cutlass",
		"/usr/local/lib/python3*/*-packages/cutlass_library/source/"
			"include/cutlass",
		"/opt/*/lib/python3*/*-packages/cutlass_library/source/"
			"include/cutlass",
	};
	char *found = NULL, *folder;

	for (size_t i = 0; i < KF_COUNT(rows) && !found; i++)
		found = match_below(rows[i].variable, rows[i].below);
	for (size_t i = 0; i < KF_COUNT(place) && !found; i++)
		found = match(place[i]);
	folder = found ? folder_of(found, 1) : NULL;
	free(found);
	return folder;
}

/* A toolkit: PREFIX/lib64 and PREFIX/include. A Python package of its own for
 * each part: nvidia/cuda_nvrtc/lib, nvidia/cuda_runtime/include. */
void kf_cuda_header_folders(const char *nvrtc_path_, kf_cuda_folder_fn *add,
			    void *arg)
{
	static const char *const below[] = {
		"/include", "/include/cccl", "/targets/*/include",
		"/../cuda_runtime/include", "/../cuda_cccl/include",
		"/../cuda_cccl/include/cccl",
	};
	char *prefix = prefix_of(nvrtc_path_);
	char *cutlass = kf_cuda_cutlass_folder();

	for (size_t i = 0; i < KF_COUNT(below); i++) {
		char *pattern = kf_format("%s%s", prefix, below[i]);
		char *found = match(pattern);

		if (found)
			add(arg, found);
		free(found);
		free(pattern);
	}
	if (cutlass)
		add(arg, cutlass);
	free(cutlass);
	free(prefix);
}

/* --- what a sandbox must show --------------------------------------------- */

static void add_all(const char *pattern, bool writable, kf_driver_path_fn *add,
		    void *arg)
{
	glob_t found = { 0 };

	if (glob(pattern, GLOB_BRACE, NULL, &found) == 0)
		for (size_t i = 0; i < found.gl_pathc; i++)
			add(arg, found.gl_pathv[i], writable);
	globfree(&found);
}

struct shown { kf_driver_path_fn *add; void *arg; };

static void show_folder(void *arg, const char *folder)
{
	const struct shown *shown = arg;

	shown->add(shown->arg, folder, false);
}

static void builder_paths(kf_driver_path_fn *add, void *arg)
{
	struct shown shown = { add, arg };
	char *nvrtc = nvrtc_path();
	char *real = nvrtc ? realpath(nvrtc, NULL) : NULL;
	char *folder, *assembler;

	if (real) {
		/* A toolkit's name may be a link to a folder with a number. */
		folder = folder_of(nvrtc, 1);
		add(arg, folder, false);
		free(folder);
		folder = folder_of(real, 1);
		add(arg, folder, false);
		free(folder);
		kf_cuda_header_folders(nvrtc, show_folder, &shown);
		assembler = kf_cuda_assembler_path(nvrtc);
		if (assembler)
			add(arg, assembler, false);
		free(assembler);
	}
	free(real);
	free(nvrtc);
}

/* The driver's library opens others beside it, by name, and names parts of the
 * C library that newer ones have in one piece. */
static void driver_libraries(const char *driver, kf_driver_path_fn *add,
			     void *arg)
{
	static const char *const beside[] = {
		"libcuda.so*", "libcudadebugger.so*",
		"libnvidia-ptxjitcompiler.so*", "libnvidia-nvvm*.so*",
		"libnvidia-gpucomp.so*",
	};
	static const char *const of_libc[] = {
		"/lib*/x86_64-linux-gnu/", "/lib*/aarch64-linux-gnu/",
		"/lib64/",
	};
	char *folder = folder_of(driver, 1);

	for (size_t i = 0; i < KF_COUNT(beside); i++) {
		char *pattern = kf_path_join(folder, beside[i]);

		add_all(pattern, false, add, arg);
		free(pattern);
	}
	for (size_t i = 0; i < KF_COUNT(of_libc); i++) {
		char *pattern = kf_format("%slib{dl,pthread,rt}.so.[0-9]",
					  of_libc[i]);

		add_all(pattern, false, add, arg);
		free(pattern);
	}
	add(arg, driver, false);
	free(folder);
}

static void runner_paths(kf_driver_path_fn *add, void *arg)
{
	static const char *const of_system[] = {
		"/etc/ld.so.cache", "/sys/module/nvidia/version",
		"/sys/devices/system/cpu", "/sys/devices/system/node",
	};
	static const char *const node[] = {
		"/dev/nvidiactl", "/dev/nvidia[0-9]*", "/dev/nvidia-uvm",
		"/dev/nvidia-uvm-tools", "/dev/nvidia-caps", "/dev/dxg",
	};
	char *driver = driver_path();

	if (driver)
		driver_libraries(driver, add, arg);
	for (size_t i = 0; i < KF_COUNT(of_system); i++)
		add_all(of_system[i], false, add, arg);
	for (size_t i = 0; i < KF_COUNT(node); i++)
		add_all(node[i], true, add, arg);
	free(driver);
}

void kf_cuda_paths(enum kf_driver_place place, kf_driver_path_fn *add,
		   void *arg)
{
	if (place == KF_DRIVER_BUILDER)
		builder_paths(add, arg);
	else
		runner_paths(add, arg);
}

static void add_take(kf_driver_env_fn *add, void *arg, char *variable)
{
	add(arg, variable);
	free(variable);
}

/* The variables hide all other devices, and number them as we do. Triton looks
 * for the driver's library by a program that no sandbox shows, unless it is
 * told. */
void kf_cuda_torch_env(const char *device_id, kf_driver_env_fn *add, void *arg)
{
	const char *number = device_id ? strrchr(device_id, ':') : NULL;
	char *driver = driver_path();

	add_take(add, arg, kf_format("CUDA_VISIBLE_DEVICES=%s",
				     number ? number + 1 : "0"));
	add(arg, "CUDA_DEVICE_ORDER=PCI_BUS_ID");
	if (driver && strchr(driver, '/')) {
		char *folder = folder_of(driver, 1);

		add_take(add, arg, kf_format("TRITON_LIBCUDA_PATH=%s",
					     folder));
		free(folder);
	}
	free(driver);
}

/* --- opening -------------------------------------------------------------- */

/* ISO C has no cast from an object pointer to a function pointer. */
const char *kf_cuda_fill_in(void *library, void *table,
			    const struct kf_cuda_entry *entry, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		void *symbol = dlsym(library, entry[i].symbol);

		if (!symbol)
			return entry[i].symbol;
		memcpy((char *)table + entry[i].at, &symbol, sizeof(symbol));
	}
	return NULL;
}

#define E(member, symbol) { symbol, offsetof(struct kf_cuda_api, member) }

static const struct kf_cuda_entry driver_entry[] = {
	E(init, "cuInit"),
	E(driver_version, "cuDriverGetVersion"),
	E(error_name, "cuGetErrorName"),
	E(device_count, "cuDeviceGetCount"),
	E(device_get, "cuDeviceGet"),
	E(device_name, "cuDeviceGetName"),
	E(device_uuid, "cuDeviceGetUuid"),
	E(device_memory, "cuDeviceTotalMem_v2"),
	E(device_attribute, "cuDeviceGetAttribute"),
	E(context_retain, "cuDevicePrimaryCtxRetain"),
	E(context_release, "cuDevicePrimaryCtxRelease_v2"),
	E(context_set, "cuCtxSetCurrent"),
	E(context_synchronize, "cuCtxSynchronize"),
	E(reset_persisting_l2, "cuCtxResetPersistingL2Cache"),
	E(memory_info, "cuMemGetInfo_v2"),
	E(memory_alloc, "cuMemAlloc_v2"),
	E(memory_free, "cuMemFree_v2"),
	E(host_alloc, "cuMemHostAlloc"),
	E(host_free, "cuMemFreeHost"),
	E(host_address, "cuMemHostGetDevicePointer_v2"),
	E(host_register, "cuMemHostRegister_v2"),
	E(host_unregister, "cuMemHostUnregister"),
	E(copy_to_device, "cuMemcpyHtoDAsync_v2"),
	E(copy_to_host, "cuMemcpyDtoHAsync_v2"),
	E(copy, "cuMemcpyDtoDAsync_v2"),
	E(fill8, "cuMemsetD8Async"),
	E(fill16, "cuMemsetD16Async"),
	E(fill32, "cuMemsetD32Async"),
	E(fill32_rows, "cuMemsetD2D32Async"),
	E(stream_create, "cuStreamCreate"),
	E(stream_destroy, "cuStreamDestroy_v2"),
	E(stream_synchronize, "cuStreamSynchronize"),
	E(stream_wait_value, "cuStreamWaitValue32_v2"),
	E(capture_begin, "cuStreamBeginCapture_v2"),
	E(capture_end, "cuStreamEndCapture"),
	E(graph_instantiate, "cuGraphInstantiateWithFlags"),
	E(graph_upload, "cuGraphUpload"),
	E(graph_launch, "cuGraphLaunch"),
	E(graph_exec_destroy, "cuGraphExecDestroy"),
	E(graph_destroy, "cuGraphDestroy"),
	E(event_create, "cuEventCreate"),
	E(event_record, "cuEventRecord"),
	E(event_synchronize, "cuEventSynchronize"),
	E(event_elapsed, "cuEventElapsedTime"),
	E(event_destroy, "cuEventDestroy_v2"),
	E(module_load, "cuModuleLoadData"),
	E(module_unload, "cuModuleUnload"),
	E(module_function, "cuModuleGetFunction"),
	E(module_function_count, "cuModuleGetFunctionCount"),
	E(module_functions, "cuModuleEnumerateFunctions"),
	E(function_name, "cuFuncGetName"),
	E(function_attribute, "cuFuncGetAttribute"),
	E(function_set, "cuFuncSetAttribute"),
	E(function_parameter, "cuFuncGetParamInfo"),
	E(launch, "cuLaunchKernelEx"),
	E(occupancy_blocks, "cuOccupancyMaxActiveBlocksPerMultiprocessor"),
	E(occupancy_clusters, "cuOccupancyMaxActiveClusters"),
	E(tensor_map, "cuTensorMapEncodeTiled"),
};
/* Never needed. */
static const struct kf_cuda_entry driver_optional[] = {
	E(profiler_start, "cuProfilerStart"),
	E(profiler_stop, "cuProfilerStop"),
};
static const struct kf_cuda_entry driver_link[] = {
	E(link_create, "cuLinkCreate_v2"),
	E(link_add, "cuLinkAddData_v2"),
	E(link_complete, "cuLinkComplete"),
	E(link_destroy, "cuLinkDestroy"),
};
#undef E

/* The numbers of devices must mean the same in every process. */
static void settle_order(int device)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", device);
	setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);
	if (device == KF_CUDA_EVERY_DEVICE)
		unsetenv("CUDA_VISIBLE_DEVICES");
	else
		setenv("CUDA_VISIBLE_DEVICES", number, 1);
	setenv("CUDA_MODULE_LOADING", "EAGER", 1);
	/* What is assembled here is small, and sandboxes have no home. */
	setenv("CUDA_CACHE_DISABLE", "1", 1);
}

static enum kf_code open_driver(struct kf_cuda_api *api, const char *path,
				struct kf_err *err)
{
	const char *missing;
	int result;

	api->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	api->absent = !api->library;
	if (!api->library)
		return kf_fail(err, KF_E_UNAVAIL, "no CUDA driver: %s",
			       dlerror());
	missing = kf_cuda_fill_in(api->library, api, driver_entry,
			  KF_COUNT(driver_entry));
	if (missing)
		return kf_fail(err, KF_E_UNAVAIL, "%s has no %s: install a "
			       "driver for CUDA %d.%d or newer", path, missing,
			       OLDEST_DRIVER / 1000, OLDEST_DRIVER % 1000 / 10);
	(void)kf_cuda_fill_in(api->library, api, driver_optional,
		      KF_COUNT(driver_optional));
	(void)kf_cuda_fill_in(api->library, api, driver_link,
		      KF_COUNT(driver_link));
	result = api->init(0);
	api->absent = result == KF_CUDA_NO_DEVICE;
	if (api->absent)
		return kf_fail(err, KF_E_UNAVAIL,
			       "the CUDA driver sees no device");
	return kf_cuda_check(api, result, "initialise the CUDA driver", err);
}

enum kf_code kf_cuda_api_open(struct kf_cuda_api *api, int device,
			      struct kf_err *err)
{
	char *path = driver_path();
	enum kf_code code;

	*api = (struct kf_cuda_api) { 0 };
	settle_order(device);
	/* By name: the loader's own list may have another place. */
	code = open_driver(api, path ? path : DRIVER_NAME, err);
	free(path);
	return code;
}

const char *kf_cuda_result_name(const struct kf_cuda_api *api, int result,
				char out[96])
{
	static const char prefix[] = "CUDA_ERROR_";
	const char *name = NULL;

	if (api->error_name(result, &name) || !name)
		name = "error";
	if (strncmp(name, prefix, sizeof(prefix) - 1) == 0)
		name += sizeof(prefix) - 1;
	snprintf(out, 96, "%s (%d)", name, result);
	return out;
}

enum kf_code kf_cuda_check(const struct kf_cuda_api *api, int result,
			   const char *what, struct kf_err *err)
{
	char name[96];

	if (!result)
		return KF_OK;
	if (api->refused)
		*api->refused = result;
	return kf_fail(err, result == KF_CUDA_OUT_OF_MEMORY ? KF_E_LIMIT
							    : KF_E_UNAVAIL,
		       "cannot %s: %s", what,
		       kf_cuda_result_name(api, result, name));
}

#define E(member, symbol) { symbol, offsetof(struct kf_nvrtc, member) }

static const struct kf_cuda_entry nvrtc_entry[] = {
	E(version, "nvrtcVersion"),
	E(arch_count, "nvrtcGetNumSupportedArchs"),
	E(archs, "nvrtcGetSupportedArchs"),
	E(create, "nvrtcCreateProgram"),
	E(destroy, "nvrtcDestroyProgram"),
	E(compile, "nvrtcCompileProgram"),
	E(log_bytes, "nvrtcGetProgramLogSize"),
	E(log, "nvrtcGetProgramLog"),
	E(cubin_bytes, "nvrtcGetCUBINSize"),
	E(cubin, "nvrtcGetCUBIN"),
	E(ptx_bytes, "nvrtcGetPTXSize"),
	E(ptx, "nvrtcGetPTX"),
	E(error, "nvrtcGetErrorString"),
};
#undef E

/* NVRTC opens a second library by its name alone, which the loader finds where
 * the toolkit is known to it by the very path that a sandbox shows. One that is
 * open already is found everywhere. */
static void open_builtins(struct kf_nvrtc *nvrtc)
{
	char *real = realpath(nvrtc->path, NULL);
	char *folder = real ? folder_of(real, 1) : NULL;
	char *pattern = folder ? kf_path_join(folder,
				"libnvrtc-builtins.so.[0-9]*") : NULL;
	char *path = pattern ? match(pattern) : NULL;

	if (path)
		nvrtc->builtins = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	free(path);
	free(pattern);
	free(folder);
	free(real);
}

enum kf_code kf_nvrtc_open(struct kf_nvrtc *nvrtc, struct kf_err *err)
{
	const char *missing;

	*nvrtc = (struct kf_nvrtc) { .path = nvrtc_path() };
	if (!nvrtc->path)
		return kf_fail(err, KF_E_UNAVAIL, "no NVRTC (libnvrtc.so) "
			       "found: install the CUDA toolkit, or set "
			       "CUDA_HOME to where it is");
	/* What comes out of its cache comes without the compiler's words. */
	setenv("CUDA_CACHE_DISABLE", "1", 1);
	open_builtins(nvrtc);
	nvrtc->library = dlopen(nvrtc->path, RTLD_NOW | RTLD_LOCAL);
	if (!nvrtc->library)
		return kf_fail(err, KF_E_UNAVAIL, "cannot open NVRTC: %s",
			       dlerror());
	missing = kf_cuda_fill_in(nvrtc->library, nvrtc, nvrtc_entry,
			  KF_COUNT(nvrtc_entry));
	if (missing)
		return kf_fail(err, KF_E_UNAVAIL, "%s has no %s: install a "
			       "CUDA toolkit of version 12 or newer",
			       nvrtc->path, missing);
	return KF_OK;
}

void kf_nvrtc_release(struct kf_nvrtc *nvrtc)
{
	if (nvrtc->library)
		dlclose(nvrtc->library);
	if (nvrtc->builtins)
		dlclose(nvrtc->builtins);
	free(nvrtc->path);
	*nvrtc = (struct kf_nvrtc) { 0 };
}
