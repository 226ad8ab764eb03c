#include "executor/setup.h"

#include <unistd.h>

#include "executor/device_files.h"
#include "executor/devices.h"
#include "executor/quarantine.h"

#define BUNDLE_TIMEOUT_NS (600 * KF_NS_PER_S)

/* What a reference may use: most of the machine, never all of it. */
static uint64_t reference_memory_bytes(void)
{
	uint64_t pages = (uint64_t)sysconf(_SC_PHYS_PAGES);
	uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);

	return pages * page_bytes / 10 * 8;
}

enum kf_code kf_setup_device(const struct kf_platform *platform,
			     const char *name,
			     struct kf_device_info *out, struct kf_err *err)
{
	struct kf_device_list list;
	enum kf_code code;

	*out = (struct kf_device_info) { .units = 0 };
	code = kf_device_wanted(name, &list, err);
	return code ? code : kf_devices_find_one(platform, &list, out, err);
}

/* A processor is the device itself, and its units are whole; what runs on
 * another device leaves the processors to be shared. */
static unsigned threads_of(const struct kf_setup_spec *spec,
			   const struct kf_setup *setup)
{
	const struct kf_driver *driver = setup->platform->driver;
	unsigned threads = spec->threads ? spec->threads :
		driver->in_process && !driver->torch_device ?
		setup->device.units :
		kf_processors() / (spec->at_once ? spec->at_once : 1);

	return threads ? threads : 1;
}

/* A name is looked up where the device is; what is kept has the number. */
static enum kf_code find_place(const struct kf_setup_spec *spec,
			       struct kf_setup *out, struct kf_err *err)
{
	const bool by_platform = spec->away || !strchr(spec->platform, ':');
	enum kf_code code = spec->away ? KF_OK :
		kf_setup_device(out->platform, spec->platform, &out->device,
				err);

	if (!code)
		out->place = by_platform ? kf_strdup(spec->platform) :
			kf_device_place(out->platform->name, &out->device);
	return code;
}

enum kf_code kf_setup_open(const struct kf_setup_spec *spec,
			   struct kf_setup *out, struct kf_err *err)
{
	enum kf_code code;

	*out = (struct kf_setup) { .baseline = spec->baseline,
		.away = spec->away,
		.threads_asked = spec->threads,
		.shapes = json_incref((json_t *)(uintptr_t)spec->shapes) };
	code = kf_platform_load_form(spec->platform, spec->form,
				     &out->platform, err);
	if (!code)
		code = find_place(spec, out, err);
	if (!code && !spec->away)
		code = kf_device_lock_path(&out->device, spec->cache_path,
					   spec->log, &out->lock_path, err);
	if (!code && !spec->away)
		code = kf_device_quarantine_path(spec->cache_path,
						 out->device.id,
						 &out->quarantine_path, err);
	if (!code && !spec->away)
		code = kf_quarantine_check(out->device.id,
					   out->quarantine_path, err);
	if (code)
		return code;
	out->handshakes = kf_alloc(sizeof(*out->handshakes));
	out->threads = threads_of(spec, out);
	out->problem_spec = (struct kf_problem_spec) {
		.set = spec->set,
		.set_count = spec->set_count,
		.size = spec->size,
		.dtype = spec->dtype,
		.platform = out->platform,
		.device_id = out->device.id,
		.device_name = out->device.name,
		.device_driver = out->device.driver,
		.python = spec->python,
		.cache_path = spec->cache_path,
		.threads = out->threads,
		.tier_min = spec->tier_min,
		.timeout_ns = BUNDLE_TIMEOUT_NS,
		.memory_bytes = reference_memory_bytes(),
		.handshakes = out->handshakes,
		.log = spec->log,
		.cancel = spec->cancel,
	};
	return spec->measure && !spec->away ? kf_setup_measure(out, err)
					    : KF_OK;
}

struct kf_device_wait kf_setup_wait(const struct kf_setup *setup)
{
	return kf_device_wait_usual(setup->lock_path, setup->device.id,
				    setup->problem_spec.log,
				    setup->problem_spec.cancel);
}

enum kf_code kf_setup_measure(struct kf_setup *setup, struct kf_err *err)
{
	const struct kf_device_wait wait = kf_setup_wait(setup);

	return kf_device_measure(setup->platform, &wait, &setup->device, err);
}

char *kf_setup_form(const struct kf_setup *setup)
{
	const struct kf_platform *p = setup->platform;

	return strcmp(p->form, p->form_name[0]) == 0 ? NULL : p->form;
}

void kf_setup_release(struct kf_setup *setup)
{
	free(setup->handshakes);
	free(setup->lock_path);
	free(setup->quarantine_path);
	free(setup->place);
	kf_device_info_release(&setup->device);
	kf_platform_free(setup->platform);
	json_decref(setup->shapes);
	*setup = (struct kf_setup) { 0 };
}
