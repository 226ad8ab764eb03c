/* How fast a device runs and how full it is, by NVIDIA's management library
 * (NVML), opened at run time and declared here from its documentation. */
#include "platform/cuda/cuda.h"

#include <dlfcn.h>

/* For machines that have it elsewhere. */
#define NVML_VARIABLE	"KFORGE_NVML"
#define NVML_NAME	"libnvidia-ml.so.1"
#define PREFIX		"cuda:"

enum { CLOCK_SM = 1, CLOCK_MEMORY = 2, SENSOR_GPU = 0 };

struct kf_clock_watch {
	void *library, *device;
	bool begun;
	int (*init)(void);
	int (*shutdown)(void);
	const char *(*error)(int result);
	int (*device_at)(unsigned index, void **device);
	int (*clock)(void *device, int which, unsigned *mhz);
	int (*throttle)(void *device, unsigned long long *reasons);
	int (*temperature)(void *device, int sensor, unsigned *c);
};

/* Its bits; idling and what somebody has set are no slowing down. */
static const struct { unsigned long long bit; unsigned throttle; } reason[] = {
	{ 0x04, KF_THROTTLE_POWER },
	{ 0x08, KF_THROTTLE_HARDWARE },
	{ 0x20, KF_THROTTLE_HEAT },
	{ 0x40, KF_THROTTLE_HEAT },
	{ 0x80, KF_THROTTLE_POWER },
};

static enum kf_code open_library(struct kf_clock_watch *w, struct kf_err *err)
{
	const char *named = getenv(NVML_VARIABLE);
	const struct { const char *name; void *to; } rows[] = {
		{ "nvmlInit_v2", &w->init },
		{ "nvmlShutdown", &w->shutdown },
		{ "nvmlErrorString", &w->error },
		{ "nvmlDeviceGetHandleByIndex_v2", &w->device_at },
		{ "nvmlDeviceGetClockInfo", &w->clock },
		{ "nvmlDeviceGetCurrentClocksThrottleReasons", &w->throttle },
		{ "nvmlDeviceGetTemperature", &w->temperature },
	};

	if (!named || !named[0])
		named = NVML_NAME;
	w->library = dlopen(named, RTLD_NOW | RTLD_LOCAL);
	if (!w->library)
		return kf_fail(err, KF_E_UNAVAIL, "there is no %s, which comes "
			       "with NVIDIA's driver", named);
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		void *symbol = dlsym(w->library, rows[i].name);

		if (!symbol)
			return kf_fail(err, KF_E_UNAVAIL, "%s has no %s",
				       named, rows[i].name);
		memcpy(rows[i].to, &symbol, sizeof(symbol));
	}
	return KF_OK;
}

/* It counts devices in the order of the PCI bus, as kforge does. */
static enum kf_code open_device(struct kf_clock_watch *w, const char *device_id,
				struct kf_err *err)
{
	const size_t prefix = sizeof(PREFIX) - 1;
	uint64_t number;
	int result;

	if (strncmp(device_id, PREFIX, prefix) != 0 ||
	    !kf_parse_u64(device_id + prefix, &number) || number > UINT32_MAX)
		return kf_fail(err, KF_E_UNAVAIL, "no device %s", device_id);
	result = w->init();
	w->begun = !result;
	if (!result)
		result = w->device_at((unsigned)number, &w->device);
	if (!result)
		return KF_OK;
	return kf_fail(err, KF_E_UNAVAIL, "NVML tells nothing of %s: %s",
		       device_id, w->error(result));
}

static void clocks_close(struct kf_clock_watch *w)
{
	if (!w)
		return;
	if (w->begun)
		w->shutdown();
	if (w->library)
		dlclose(w->library);
	free(w);
}

static enum kf_code clocks_open(const char *device_id,
				struct kf_clock_watch **out,
				struct kf_err *err)
{
	struct kf_clock_watch *w = kf_alloc(sizeof(*w));
	enum kf_code code = open_library(w, err);

	if (!code)
		code = open_device(w, device_id, err);
	if (code) {
		clocks_close(w);
		w = NULL;
	}
	*out = w;
	return code;
}

/* What a device does not tell stays 0. */
static enum kf_code clocks_read(struct kf_clock_watch *w,
				struct kf_clocks *out, struct kf_err *err)
{
	unsigned long long reasons = 0;
	int result = w->clock(w->device, CLOCK_SM, &out->core_mhz);

	if (result)
		return kf_fail(err, KF_E_UNAVAIL, "NVML does not tell the "
			       "clock rate: %s", w->error(result));
	if (w->clock(w->device, CLOCK_MEMORY, &out->memory_mhz))
		out->memory_mhz = 0;
	if (w->temperature(w->device, SENSOR_GPU, &out->temperature_c))
		out->temperature_c = 0;
	if (w->throttle(w->device, &reasons))
		reasons = 0;
	for (size_t i = 0; i < KF_COUNT(reason); i++)
		if (reasons & reason[i].bit)
			out->throttle |= reason[i].throttle;
	return KF_OK;
}

struct memory { unsigned long long total, free, used; };

uint64_t kf_cuda_memory_free(const char *device_id)
{
	int (*ask)(void *device, struct memory *out) = NULL;
	struct memory memory = { 0 };
	struct kf_clock_watch *w;
	void *symbol;

	if (clocks_open(device_id, &w, NULL))
		return 0;
	symbol = dlsym(w->library, "nvmlDeviceGetMemoryInfo");
	memcpy(&ask, &symbol, sizeof(ask));
	if (ask && ask(w->device, &memory))
		memory.free = 0;
	clocks_close(w);
	return memory.free;
}

const struct kf_clock_source kf_cuda_clocks = {
	.open = clocks_open,
	.read = clocks_read,
	.close = clocks_close,
};
