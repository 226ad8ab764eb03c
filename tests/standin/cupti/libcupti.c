/*
 * A library that stands for NVIDIA's CUPTI, as far as src/platform/cuda/watch.c
 * uses it: it makes records of what the stand-ins for the driver and for cuBLAS
 * say they ran while records were enabled, 1000 ns each with 2000 ns between
 * them. The name of the folder that it lies in says what else it does: "denied"
 * refuses, "lossy" loses a record for each that it makes, "blind" makes none.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define COPY		1
#define FILL		2
#define KERNEL		10
#define RECORDS_MAX	256
#define RECORD_BYTES	216
#define NAME_AT		104
#define BYTES_AT	8
#define DENIED		35
#define NOT_FOUND	1

typedef void ask_fn(uint8_t **buffer, size_t *bytes, size_t *most);
typedef void done_fn(void *context, uint32_t stream, uint8_t *buffer,
		     size_t bytes, size_t used);

static struct {
	ask_fn *ask;
	done_fn *done;
	bool enabled[KERNEL + 1];
	struct { int32_t kind; const char *name; uint64_t bytes; }
		record[RECORDS_MAX];
	uint64_t count;
	size_t dropped;
} state;

void standin_cupti_record(int kind, const char *name, uint64_t bytes);
int cuptiActivityRegisterCallbacks(ask_fn *ask, done_fn *done);
int cuptiActivityEnable(int kind);
int cuptiActivityDisable(int kind);
int cuptiActivityFlushAll(uint32_t flags);
int cuptiActivityGetNextRecord(uint8_t *buffer, size_t bytes,
			       uint8_t **record);
int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream,
				      size_t *count);
int cuptiGetResultString(int result, const char **name);

/* Does the path of this library have the word? */
static bool is(const char *word)
{
	Dl_info info;

	return dladdr(&state, &info) && info.dli_fname &&
		strstr(info.dli_fname, word);
}

void standin_cupti_record(int kind, const char *name, uint64_t bytes)
{
	if (!state.enabled[kind] || is("/blind/"))
		return;
	state.dropped += is("/lossy/") || state.count == RECORDS_MAX;
	if (state.count == RECORDS_MAX)
		return;
	state.record[state.count].kind = kind;
	state.record[state.count].name = name;
	state.record[state.count++].bytes = bytes;
}

int cuptiActivityRegisterCallbacks(ask_fn *ask, done_fn *done)
{
	state.ask = ask;
	state.done = done;
	return 0;
}

int cuptiActivityEnable(int kind)
{
	if (is("/denied/"))
		return DENIED;
	state.enabled[kind] = true;
	return 0;
}

int cuptiActivityDisable(int kind)
{
	state.enabled[kind] = false;
	return 0;
}

static void put_kernel(uint8_t *at, const char *name)
{
	const int32_t grid[3] = { 4, 2, 1 };
	const int32_t block[3] = { 128, 1, 1 }, shared[2] = { 1024, 512 };
	const uint16_t registers = 40;

	memcpy(at + 6, &registers, sizeof(registers));
	memcpy(at + 52, grid, sizeof(grid));
	memcpy(at + 64, block, sizeof(block));
	memcpy(at + 76, shared, sizeof(shared));
	memcpy(at + NAME_AT, &name, sizeof(name));
}

static void put_record(uint8_t *at, uint64_t i)
{
	const uint64_t time_ns[2] = { 1000 + 3000 * i, 2000 + 3000 * i };

	memset(at, 0, RECORD_BYTES);
	if (state.record[i].kind == KERNEL)
		put_kernel(at, state.record[i].name);
	else
		memcpy(at + BYTES_AT, &state.record[i].bytes,
		       sizeof(state.record[i].bytes));
	memcpy(at, &state.record[i].kind, sizeof(state.record[i].kind));
	memcpy(at + 16, time_ns, sizeof(time_ns));
}

int cuptiActivityFlushAll(uint32_t flags)
{
	uint8_t *buffer = NULL;
	size_t bytes = 0, most = 0;

	(void)flags;
	if (!state.count && !state.dropped)
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

int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream,
				      size_t *count)
{
	(void)context;
	(void)stream;
	*count = state.dropped;
	state.dropped = 0;
	return 0;
}

int cuptiGetResultString(int result, const char **name)
{
	if (result != DENIED)
		return NOT_FOUND;
	*name = "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES";
	return 0;
}
