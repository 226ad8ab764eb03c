/* Which OpenCL C a device is asked to compile. What it tells is read here; the
 * choice is pure. */
#include "platform/opencl/opencl.h"

static size_t named(const struct ocl_api *cl, struct ocl_device *device,
		    uint32_t what, struct ocl_named *out, size_t max)
{
	size_t bytes = 0;

	/* Unknown before OpenCL 3.0. */
	if (cl->clGetDeviceInfo(device, what, 0, NULL, &bytes) ||
	    bytes > max * sizeof(out[0]) ||
	    cl->clGetDeviceInfo(device, what, bytes, out, NULL))
		return 0;
	return bytes / sizeof(out[0]);
}

void kf_opencl_ask(const struct ocl_api *cl, struct ocl_device *device,
		   struct kf_opencl_told *out)
{
	kf_ocl_text(cl, device, CL_DEVICE_VERSION, out->device,
		    sizeof(out->device));
	kf_ocl_text(cl, device, CL_DEVICE_OPENCL_C_VERSION, out->language,
		    sizeof(out->language));
	kf_ocl_text(cl, device, CL_DEVICE_EXTENSIONS, out->extensions,
		    sizeof(out->extensions));
	out->version_count = named(cl, device, CL_DEVICE_OPENCL_C_ALL_VERSIONS,
				   out->version, KF_COUNT(out->version));
	out->feature_count = named(cl, device, CL_DEVICE_OPENCL_C_FEATURES,
				   out->feature, KF_COUNT(out->feature));
}

/* 3 of "OpenCL C 3.0 words"; 0 if it says nothing of the kind. */
static unsigned major_of(const char *text, const char *start)
{
	const char *at = text + strlen(start);

	if (strncmp(text, start, strlen(start)) != 0 || at[0] < '1' ||
	    at[0] > '9' || at[1] != '.')
		return 0;
	return (unsigned)(at[0] - '0');
}

/* The text tells the newest version that has all of the older ones, which 3.0
 * has not; the list tells them all. It is of OpenCL 3.0: older ones that have
 * it list what their compilers know and cannot do (Oclgrind 21.10). */
static bool compiles(const struct kf_opencl_told *told, unsigned major)
{
	bool listed = major_of(told->device, "OpenCL ") >= 3;

	for (size_t i = 0; listed && i < told->version_count; i++)
		if (told->version[i].version >> 22 == major)
			return true;
	return major_of(told->language, "OpenCL C ") == major;
}

const char *kf_opencl_language(const struct kf_opencl_told *told)
{
	return compiles(told, 3) ? "3.0" : compiles(told, 2) ? "2.0" : "1.2";
}

bool kf_opencl_has(const struct kf_opencl_told *told, const char *extension,
		   const char *feature)
{
	for (size_t i = 0; feature && i < told->feature_count; i++)
		if (strncmp(told->feature[i].name, feature,
			    sizeof(told->feature[i].name)) == 0)
			return true;
	return strstr(told->extensions, extension) != NULL;
}

bool kf_opencl_has_sub_groups(const struct kf_opencl_told *told)
{
	return strcmp(kf_opencl_language(told), "1.2") != 0 &&
	       kf_opencl_has(told, "cl_khr_subgroups", "__opencl_c_subgroups");
}
