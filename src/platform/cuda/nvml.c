/* How fast a device runs and how full it is, by NVIDIA's management library
 * (NVML), opened at run time and declared here from its documentation. It has
 * no deadlines, and a driver that hangs holds whoever asks: a process of its
 * own does. */
#include "platform/cuda/cuda.h"

#include <dlfcn.h>

#include "platform/apart.h"

/* For machines that have it elsewhere. */
#define NVML_VARIABLE	"KFORGE_NVML"
#define NVML_NAME	"libnvidia-ml.so.1"
#define PREFIX		"cuda:"

/* Devices that nobody uses must be set up first, one after the other. */
#define OPEN_NS		(20 * KF_NS_PER_S)
#define READ_NS		(5 * KF_NS_PER_S)

enum { CLOCK_SM = 1, CLOCK_MEMORY = 2, SENSOR_GPU = 0 };

struct kf_clock_watch { struct kf_apart_line line; };

enum question { OPEN, CLOCKS, MEMORY };

struct answer {
	enum kf_code code;
	struct kf_err err;
	struct kf_clocks clocks;
	uint64_t memory_free;
};

/* --- in the process apart ------------------------------------------------- */

struct nvml {
	const char *device_id;
	void *library, *device;
	int (*init)(void);
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

static enum kf_code open_library(struct nvml *n, struct kf_err *err)
{
	const char *named = getenv(NVML_VARIABLE);
	const struct { const char *name; void *to; } rows[] = {
		{ "nvmlInit_v2", &n->init },
		{ "nvmlErrorString", &n->error },
		{ "nvmlDeviceGetHandleByIndex_v2", &n->device_at },
		{ "nvmlDeviceGetClockInfo", &n->clock },
		{ "nvmlDeviceGetCurrentClocksThrottleReasons", &n->throttle },
		{ "nvmlDeviceGetTemperature", &n->temperature },
	};

	if (!named || !named[0])
		named = NVML_NAME;
	n->library = dlopen(named, RTLD_NOW | RTLD_LOCAL);
	if (!n->library)
		return kf_fail(err, KF_E_UNAVAIL, "there is no %s, which comes "
			       "with NVIDIA's driver", named);
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		void *symbol = dlsym(n->library, rows[i].name);

		if (!symbol)
			return kf_fail(err, KF_E_UNAVAIL, "%s has no %s",
				       named, rows[i].name);
		memcpy(rows[i].to, &symbol, sizeof(symbol));
	}
	return KF_OK;
}

/* It counts devices in the order of the PCI bus, as kforge does. */
static enum kf_code open_device(struct nvml *n, struct kf_err *err)
{
	const size_t prefix = sizeof(PREFIX) - 1;
	const char *device_id = n->device_id;
	uint64_t number;
	int result;

	if (strncmp(device_id, PREFIX, prefix) != 0 ||
	    !kf_parse_u64(device_id + prefix, &number) || number > UINT32_MAX)
		return kf_fail(err, KF_E_UNAVAIL, "no device %s", device_id);
	result = n->init();
	if (!result)
		result = n->device_at((unsigned)number, &n->device);
	if (!result)
		return KF_OK;
	return kf_fail(err, KF_E_UNAVAIL, "NVML tells nothing of %s: %s",
		       device_id, n->error(result));
}

/* What a device does not tell stays 0. */
static enum kf_code read_clocks(struct nvml *n, struct kf_clocks *out,
				struct kf_err *err)
{
	unsigned long long reasons = 0;
	int result = n->clock(n->device, CLOCK_SM, &out->core_mhz);

	if (result)
		return kf_fail(err, KF_E_UNAVAIL, "NVML does not tell the "
			       "clock rate: %s", n->error(result));
	if (n->clock(n->device, CLOCK_MEMORY, &out->memory_mhz))
		out->memory_mhz = 0;
	if (n->temperature(n->device, SENSOR_GPU, &out->temperature_c))
		out->temperature_c = 0;
	if (n->throttle(n->device, &reasons))
		reasons = 0;
	for (size_t i = 0; i < KF_COUNT(reason); i++)
		if (reasons & reason[i].bit)
			out->throttle |= reason[i].throttle;
	return KF_OK;
}

struct memory { unsigned long long total, free, used; };

/* 0: it does not tell. */
static uint64_t read_memory(struct nvml *n)
{
	int (*ask)(void *device, struct memory *out) = NULL;
	struct memory memory = { 0 };
	void *symbol = dlsym(n->library, "nvmlDeviceGetMemoryInfo");

	memcpy(&ask, &symbol, sizeof(ask));
	if (ask && ask(n->device, &memory))
		memory.free = 0;
	return memory.free;
}

static void answer(void *arg, int question, void *out)
{
	struct nvml *n = arg;
	struct answer *a = out;

	if (question == OPEN) {
		a->code = open_library(n, &a->err);
		if (!a->code)
			a->code = open_device(n, &a->err);
	} else if (question == CLOCKS) {
		a->code = read_clocks(n, &a->clocks, &a->err);
	} else {
		a->memory_free = read_memory(n);
	}
}

/* --- in the supervisor ---------------------------------------------------- */

static enum kf_code ask(struct kf_clock_watch *w, enum question question,
			struct answer *a, struct kf_err *err)
{
	uint64_t timeout_ns = question == OPEN ? OPEN_NS : READ_NS;
	enum kf_code code = kf_apart_line_ask(&w->line, (int)question, a,
					      timeout_ns, err);

	if (!code && a->code)
		code = kf_fail(err, a->code, "%.500s", a->err.text);
	return code;
}

static void clocks_close(struct kf_clock_watch *w)
{
	if (w)
		kf_apart_line_close(&w->line);
	free(w);
}

static enum kf_code clocks_open(const char *device_id,
				struct kf_clock_watch **out,
				struct kf_err *err)
{
	struct kf_clock_watch *w = kf_alloc(sizeof(*w));
	struct nvml nvml = { .device_id = device_id };
	struct answer a;
	enum kf_code code = kf_apart_line_open("NVML", answer, &nvml,
					       sizeof(a), &w->line, err);

	if (!code)
		code = ask(w, OPEN, &a, err);
	if (code) {
		clocks_close(w);
		w = NULL;
	}
	*out = w;
	return code;
}

static enum kf_code clocks_read(struct kf_clock_watch *w,
				struct kf_clocks *out, struct kf_err *err)
{
	struct answer a;
	enum kf_code code = ask(w, CLOCKS, &a, err);

	if (!code)
		*out = a.clocks;
	return code;
}

uint64_t kf_cuda_memory_free(const char *device_id)
{
	struct kf_clock_watch *w;
	struct answer a;
	uint64_t bytes = 0;

	if (clocks_open(device_id, &w, NULL) == KF_OK &&
	    ask(w, MEMORY, &a, NULL) == KF_OK)
		bytes = a.memory_free;
	clocks_close(w);
	return bytes;
}

const struct kf_clock_source kf_cuda_clocks = {
	.open = clocks_open,
	.read = clocks_read,
	.close = clocks_close,
};
