/* Call a loaded program, in this process, with memory of its own. */
#include "platform/host/host.h"
#include "platform/program.h"

#define DEVICE_ID "cpu:0"
#define STACK_BYTES (UINT32_C(256) << 10)

struct kf_device {
	struct kf_program program;
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

enum kf_code kf_host_load(struct kf_device *dev, const char *artefact_path,
			  char refused[256], struct kf_err *err)
{
	if (dev->program.object)
		return kf_fail(err, KF_E_INPUT,
			       "a program is loaded already; open the device "
			       "again for the next");
	/* A name without a slash would be searched for. */
	if (!strchr(artefact_path, '/'))
		return kf_fail(err, KF_E_INPUT,
			       "%s is not a path with a folder",
			       artefact_path);
	kf_program_load(artefact_path, &dev->program, refused);
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
	if (!dev->program.forward)
		return kf_fail(err, KF_E_INPUT, "no program is loaded");
	if (!dev->program.prepare)
		return KF_OK;
	equip(dev, call);
	kf_host_memory_prepare(&dev->memory);
	*rc = dev->program.prepare(call);
	kf_host_memory_seal(&dev->memory);
	return KF_OK;
}

enum kf_code kf_host_forward(struct kf_device *dev, struct kf_call *call,
			     int *rc, struct kf_err *err)
{
	if (!dev->program.forward)
		return kf_fail(err, KF_E_INPUT, "no program is loaded");
	equip(dev, call);
	*rc = dev->program.forward(call);
	return KF_OK;
}

/*
 * A program's variables lie where those of others were: a NaN stands there, so
 * that one which was never set does not happen to be zero.
 */
static __attribute__((noinline)) void soil_stack(void)
{
	unsigned char room[STACK_BYTES];

	memset(room, 0xff, sizeof(room));
	__asm__ volatile("" : : "r"(room) : "memory");
}

void kf_host_tidy(struct kf_device *dev)
{
	kf_host_memory_tidy(&dev->memory);
	soil_stack();
}

const char *kf_host_fault(const struct kf_device *dev)
{
	return dev->memory.fault[0] ? dev->memory.fault : NULL;
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
	kf_program_unload(&dev->program);
	kf_host_memory_release(&dev->memory);
	free(dev);
}
