/*
 * A library that stands for NVIDIA's CUPTI, as far as src/platform/cuda/watch.c
 * uses it: "kernels" are those that the stand-in for cuBLAS says it launched
 * (standin_cupti_kernel) while records were enabled.
 */
#include <stdint.h>
#include <string.h>

#define KERNEL		10
#define KERNELS_MAX	64
#define RECORD_BYTES	216
#define NAME_AT		104

typedef void ask_fn(uint8_t **buffer, size_t *bytes, size_t *most);
typedef void done_fn(void *context, uint32_t stream, uint8_t *buffer,
		     size_t bytes, size_t used);

static struct {
	ask_fn *ask;
	done_fn *done;
	int enabled;
	const char *name[KERNELS_MAX];
	uint64_t count;
} state;

void standin_cupti_kernel(const char *name);
int cuptiActivityRegisterCallbacks(ask_fn *ask, done_fn *done);
int cuptiActivityEnable(int kind);
int cuptiActivityDisable(int kind);
int cuptiActivityFlushAll(uint32_t flags);
int cuptiActivityGetNextRecord(uint8_t *buffer, size_t bytes,
			       uint8_t **record);

void standin_cupti_kernel(const char *name)
{
	if (state.enabled && state.count < KERNELS_MAX)
		state.name[state.count++] = name;
}

int cuptiActivityRegisterCallbacks(ask_fn *ask, done_fn *done)
{
	state.ask = ask;
	state.done = done;
	return 0;
}

int cuptiActivityEnable(int kind)
{
	state.enabled |= kind == KERNEL;
	return 0;
}

int cuptiActivityDisable(int kind)
{
	state.enabled &= kind != KERNEL;
	return 0;
}

static void put_record(uint8_t *at, uint64_t number)
{
	const int32_t kind = KERNEL, grid[3] = { 4, 2, 1 };
	const int32_t block[3] = { 128, 1, 1 }, shared[2] = { 1024, 512 };
	const uint16_t registers = 40;
	const uint64_t time_ns[2] = { 1000 + 3000 * number,
				      2000 + 3000 * number };

	memset(at, 0, RECORD_BYTES);
	memcpy(at, &kind, sizeof(kind));
	memcpy(at + 6, &registers, sizeof(registers));
	memcpy(at + 16, time_ns, sizeof(time_ns));
	memcpy(at + 52, grid, sizeof(grid));
	memcpy(at + 64, block, sizeof(block));
	memcpy(at + 76, shared, sizeof(shared));
	memcpy(at + NAME_AT, &state.name[number], sizeof(state.name[0]));
}

int cuptiActivityFlushAll(uint32_t flags)
{
	uint8_t *buffer = NULL;
	size_t bytes = 0, most = 0;

	(void)flags;
	if (!state.count)
		return 0;
	state.ask(&buffer, &bytes, &most);
	if (bytes < state.count * RECORD_BYTES)
		return 1;
	for (uint64_t i = 0; i < state.count; i++)
		put_record(buffer + i * RECORD_BYTES, i);
	state.done(NULL, 0, buffer, bytes, state.count * RECORD_BYTES);
	state.count = 0;
	return 0;
}

int cuptiActivityGetNextRecord(uint8_t *buffer, size_t bytes, uint8_t **record)
{
	uint8_t *next = *record ? *record + RECORD_BYTES : buffer;

	if (next + RECORD_BYTES > buffer + bytes)
		return 1;
	*record = next;
	return 0;
}
