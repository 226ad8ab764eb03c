/*
 * A stand-in for libnvidia-ml.so.1 with scripted clocks. STANDIN_CLOCKS is what
 * it tells, a look after the other, and the last for ever:
 * "SM,MEMORY,REASONS,CELSIUS SM,MEMORY,REASONS,CELSIUS ...", reasons in
 * hexadecimal as NVML has them. "none": there is no such device. Looks begin
 * with the SM's clock. STANDIN_FREE_GIB is how much of the memory is free (0 if
 * it is not set). The entry that STANDIN_NVML_HANGS names never returns.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENTRY(name, ...) \
	int name(__VA_ARGS__); \
	int name(__VA_ARGS__)
#define UNINITIALISED	1
#define NOT_FOUND	6

static struct {
	const char *next;	/* of the script */
	unsigned sm, memory, celsius;
	unsigned long long reasons;
	int begun;
} now;

static void hang_if_named(const char *entry)
{
	const char *named = getenv("STANDIN_NVML_HANGS");

	while (named && strcmp(named, entry) == 0)
		pause();
}

ENTRY(nvmlInit_v2, void)
{
	const char *script = getenv("STANDIN_CLOCKS");

	hang_if_named(__func__);
	now.next = script ? script : "1980,2619,0,40";
	now.begun = 1;
	return 0;
}

ENTRY(nvmlShutdown, void)
{
	now.begun = 0;
	return 0;
}

const char *nvmlErrorString(int result);
const char *nvmlErrorString(int result)
{
	return result == NOT_FOUND ? "Not Found" : "Uninitialized";
}

ENTRY(nvmlDeviceGetHandleByIndex_v2, unsigned index, void **device)
{
	if (!now.begun)
		return UNINITIALISED;
	if (index > 1 || strcmp(now.next, "none") == 0)
		return NOT_FOUND;
	*device = &now;
	return 0;
}

static void advance(void)
{
	int read = 0;

	if (sscanf(now.next, " %u,%u,%llx,%u%n", &now.sm, &now.memory,
		   &now.reasons, &now.celsius, &read) == 4)
		now.next += read;
}

ENTRY(nvmlDeviceGetClockInfo, void *device, int which, unsigned *mhz)
{
	hang_if_named(__func__);
	if (!now.begun || device != &now)
		return UNINITIALISED;
	if (which == 1)
		advance();
	*mhz = which == 1 ? now.sm : now.memory;
	return 0;
}

ENTRY(nvmlDeviceGetCurrentClocksThrottleReasons, void *device,
      unsigned long long *reasons)
{
	(void)device;
	*reasons = now.reasons;
	return 0;
}

struct memory { unsigned long long total, free, used; };

ENTRY(nvmlDeviceGetMemoryInfo, void *device, struct memory *out)
{
	const char *gib = getenv("STANDIN_FREE_GIB");

	hang_if_named(__func__);
	if (!now.begun || device != &now)
		return UNINITIALISED;
	*out = (struct memory) {
		.total = 80ull << 30,
		.free = gib ? strtoull(gib, NULL, 10) << 30 : 0,
	};
	return 0;
}

ENTRY(nvmlDeviceGetTemperature, void *device, int sensor, unsigned *celsius)
{
	(void)device;
	(void)sensor;
	*celsius = now.celsius;
	return 0;
}
