/* Load a shared object and call it, in this process. */
#include "platform/host/host.h"

#include <dlfcn.h>

#define DEVICE_ID "cpu:0"

typedef int program_fn(struct kf_call *c);

struct kf_device {
	void *object;			/* from dlopen */
	program_fn *prepare, *forward;
	struct kf_host_memory memory;
};

enum kf_code kf_host_open(const char *device_id, uint64_t memory_max,
			  struct kf_device **out, struct kf_err *err)
{
	struct kf_device *dev;

	if (strcmp(device_id, DEVICE_ID) != 0)
		return kf_fail(err, KF_E_UNAVAIL,
			       "no device %s: the host has only %s", device_id,
			       DEVICE_ID);
	dev = kf_alloc(sizeof(*dev));
	dev->memory.max_bytes = memory_max;
	kf_host_memory_tidy(&dev->memory);
	*out = dev;
	return KF_OK;
}

/* ISO C has no cast from an object pointer to a function pointer. */
static program_fn *function(void *object, const char *name)
{
	void *symbol = dlsym(object, name);
	program_fn *fn;

	memcpy(&fn, &symbol, sizeof(fn));
	return fn;
}

/* The loader's words without the path of the artefact in front: it means
 * nothing to who wrote the program. */
static const char *without_path(const char *why, const char *path)
{
	size_t len = strlen(path);

	if (!why)
		return "unknown reason";
	if (strncmp(why, path, len) == 0 && why[len] == ':')
		why += len + 1 + strspn(why + len + 1, " ");
	return why;
}

enum kf_code kf_host_load(struct kf_device *dev, const char *artefact_path,
			  char refused[256], struct kf_err *err)
{
	const char *why;

	if (dev->object)
		return kf_fail(err, KF_E_INPUT,
			       "a program is loaded already; open the device "
			       "again for the next");
	/* A name without a slash would be searched for. */
	if (!strchr(artefact_path, '/'))
		return kf_fail(err, KF_E_INPUT,
			       "%s is not a path with a folder",
			       artefact_path);
	dev->object = dlopen(artefact_path, RTLD_NOW | RTLD_LOCAL);
	if (!dev->object) {
		why = dlerror();
		snprintf(refused, 256, "the program cannot be loaded: %s",
			 without_path(why, artefact_path));
		return KF_OK;
	}
	dev->prepare = function(dev->object, "kf_prepare");
	dev->forward = function(dev->object, "kf_forward");
	if (!dev->forward)
		snprintf(refused, 256, "the program defines no function "
			 "kf_forward with C linkage");
	return KF_OK;
}

static void *give_temp(struct kf_call *call, size_t bytes)
{
	struct kf_device *dev = call->owner;

	return kf_host_memory_temp(&dev->memory, bytes);
}

static void *give_keep(struct kf_call *call, int slot, size_t bytes)
{
	struct kf_device *dev = call->owner;

	return kf_host_memory_keep(&dev->memory, slot, bytes);
}

static void equip(struct kf_device *dev, struct kf_call *call)
{
	call->queue = NULL;
	call->temp = give_temp;
	call->keep = give_keep;
	call->owner = dev;
}

enum kf_code kf_host_prepare(struct kf_device *dev, struct kf_call *call,
			     int *rc, struct kf_err *err)
{
	if (!dev->forward)
		return kf_fail(err, KF_E_INPUT, "no program is loaded");
	if (!dev->prepare)
		return KF_OK;
	equip(dev, call);
	kf_host_memory_prepare(&dev->memory);
	*rc = dev->prepare(call);
	kf_host_memory_seal(&dev->memory);
	return KF_OK;
}

enum kf_code kf_host_forward(struct kf_device *dev, struct kf_call *call,
			     int *rc, struct kf_err *err)
{
	if (!dev->forward)
		return kf_fail(err, KF_E_INPUT, "no program is loaded");
	equip(dev, call);
	*rc = dev->forward(call);
	return KF_OK;
}

void kf_host_tidy(struct kf_device *dev)
{
	kf_host_memory_tidy(&dev->memory);
}

const char *kf_host_owns(const struct kf_device *dev, const void *address)
{
	if (!kf_host_memory_kept_at(&dev->memory, address))
		return NULL;
	return "memory kept by kf_prepare, which kf_forward may only read";
}

void kf_host_close(struct kf_device *dev)
{
	if (!dev)
		return;
	if (dev->object)
		dlclose(dev->object);
	kf_host_memory_release(&dev->memory);
	free(dev);
}
