#include "platform/opencl/opencl.h"

#include <dirent.h>

#include "platform/drivers.h"

/* Names the folder (or file) that says which drivers there are. */
#define VENDORS_VARIABLE "OCL_ICD_VENDORS"
#define VENDORS_FOLDER "/etc/OpenCL/vendors"
/* Names drivers themselves, in containers above all. */
#define FILES_VARIABLE "OCL_ICD_FILENAMES"

/* What OpenCL's loader, a driver, its compiler and its linker read. PoCL looks
 * for processors and memory in /sys, and runs ld. */
static const char *const folders[] = {
	"/usr/lib", "/usr/lib64", "/lib", "/lib64", "/usr/bin", "/bin",
	"/usr/share/pocl", "/etc/OpenCL", "/etc/alternatives",
	"/etc/ld.so.cache", "/sys/devices/system",
	"/usr/local/nvidia",	/* where containers have NVIDIA's */
};

static const char *const nodes[] = {
	"/dev/dri", "/dev/kfd", "/dev/nvidiactl", "/dev/nvidia-uvm",
	"/dev/nvidia0", "/dev/nvidia1", "/dev/nvidia2", "/dev/nvidia3",
	"/dev/nvidia4", "/dev/nvidia5", "/dev/nvidia6", "/dev/nvidia7",
};

static const char *vendors(void)
{
	const char *asked = getenv(VENDORS_VARIABLE);

	return asked && asked[0] ? asked : VENDORS_FOLDER;
}

/* PoCL needs no device nodes. */
static bool is_pocl(const char *vendor)
{
	const char *slash = strrchr(vendor, '/');

	return strstr(slash ? slash + 1 : vendor, "pocl") != NULL;
}

/* Is there a driver that is not PoCL? */
static bool needs_nodes(void)
{
	const char *files = getenv(FILES_VARIABLE);
	DIR *dir = opendir(vendors());
	struct dirent *entry;
	bool found = files && files[0];

	/* A file is one driver, and so is the name of a library. */
	if (!dir && strcmp(vendors(), VENDORS_FOLDER) != 0)
		return found || !is_pocl(vendors());
	while (dir && !found && (entry = readdir(dir)))
		found = strstr(entry->d_name, ".icd") &&
			!is_pocl(entry->d_name);
	if (dir)
		closedir(dir);
	return found;
}

/* The same in both places: OpenCL compiles for a device only where it sees it,
 * and devices are numbered by what is seen. The builder has no /proc, but PoCL
 * names its device after the processor, and NVIDIA's driver finds none then. */
static void paths(enum kf_driver_place place, kf_driver_path_fn *add,
		  void *arg)
{
	const char *library = getenv(KF_OCL_LIBRARY);

	if (place == KF_DRIVER_BUILDER)
		add(arg, needs_nodes() ? "/proc" : "/proc/cpuinfo", false);
	for (size_t i = 0; i < KF_COUNT(folders); i++)
		if (kf_path_exists(folders[i]))
			add(arg, folders[i], false);
	if (kf_path_exists(vendors()))
		add(arg, vendors(), false);
	if (library && kf_path_exists(library))
		add(arg, library, false);
	for (size_t i = 0; needs_nodes() && i < KF_COUNT(nodes); i++)
		if (kf_path_exists(nodes[i]))
			add(arg, nodes[i], true);
}

/* PoCL looks for its files from the folder that its library was found in; in
 * /lib, which is a folder of its own in a sandbox, it would not find them. */
static const char *const env[] = {
	"LD_LIBRARY_PATH=/usr/lib/x86_64-linux-gnu:/usr/lib/aarch64-linux-gnu"
		":/usr/lib64:/usr/lib:/usr/local/nvidia/lib64",
	"PATH=/usr/bin:/bin", "HOME=/tmp", "POCL_CACHE_DIR=/tmp/pocl",
	VENDORS_VARIABLE, FILES_VARIABLE, KF_OCL_LIBRARY,
	/* What NVIDIA's and PoCL number their devices by. */
	"CUDA_VISIBLE_DEVICES", "POCL_DEVICES",
	NULL
};

const struct kf_driver kf_driver_opencl = {
	.abi = KF_DRIVER_ABI,
	.name = "opencl",
	.find = kf_opencl_find,
	.build = kf_opencl_build,
	.open = kf_opencl_open,
	.load = kf_opencl_load,
	.prepare = kf_opencl_prepare,
	.forward = kf_opencl_forward,
	.close = kf_opencl_close,
	.two_part = true,
	.attach = kf_opencl_attach,
	.upload = kf_opencl_upload,
	.download = kf_opencl_download,
	.device_ns = kf_opencl_device_ns,
	.host_ns = kf_opencl_host_ns,
	.fault = kf_opencl_fault,
	.short_of_memory = kf_opencl_short_of_memory,
	.paths = paths,
	.env = env,
	.canary = kf_opencl_canary,
	.trace = kf_opencl_trace,
	.sanitizer = kf_opencl_sanitizer,
};
