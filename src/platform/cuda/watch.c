/*
 * What runs on devices in this process, whoever launched it: records that
 * NVIDIA's CUPTI makes of kernels, copies and fills (record.h). Opened only
 * when it is asked for.
 */
#include "platform/cuda/cuda.h"
#include "platform/cuda/record.h"

#include <dlfcn.h>
#include <pthread.h>

#define BUFFER_BYTES		((size_t)1 << 20)
#define BUFFER_ALIGNMENT	8u
#define FLUSH_ALL		1u

static const int kinds[] = { KF_CUPTI_COPY, KF_CUPTI_FILL, KF_CUPTI_KERNEL };

typedef void ask_fn(uint8_t **buffer, size_t *bytes, size_t *most);
typedef void done_fn(void *context, uint32_t stream, uint8_t *buffer,
		     size_t bytes, size_t used);

struct kf_cuda_watch {
	void *library;
	int (*register_callbacks)(ask_fn *ask, done_fn *done);
	int (*enable)(int kind);
	int (*disable)(int kind);
	int (*flush)(uint32_t flags);
	int (*next)(uint8_t *buffer, size_t bytes,
		    struct kf_cupti_record **record);
	int (*dropped)(void *context, uint32_t stream, size_t *count);
	int (*result_name)(int result, const char **name);

	const char *copy, *fill;	/* what these are called */
	pthread_mutex_t mutex;		/* of what follows */
	struct kf_trace_op *op;		/* owned; times as CUPTI has them */
	size_t count, lost;
};

/* CUPTI hands nothing on to those that it calls. */
static struct kf_cuda_watch *watching;

/* --- what it calls -------------------------------------------------------- */

static void ask(uint8_t **buffer, size_t *bytes, size_t *most)
{
	*buffer = aligned_alloc(BUFFER_ALIGNMENT, BUFFER_BYTES);
	*bytes = *buffer ? BUFFER_BYTES : 0;
	*most = 0;
}

static void of_kernel(const struct kf_cupti_kernel *k, struct kf_trace_op *op)
{
	kf_trace_op_init(op, k->name ? k->name : "?");
	op->groups = op->group_size = 1;
	for (int i = 0; i < 3; i++) {
		op->groups *= k->grid[i];
		op->group_size *= k->block[i];
	}
	op->registers = k->registers;
	op->shared_bytes = (double)k->static_shared + k->dynamic_shared;
	op->local_bytes = k->local_bytes;
}

static void of_bytes(const struct kf_cuda_watch *w,
		     const struct kf_cupti_record *r, struct kf_trace_op *op)
{
	kf_trace_op_init(op, r->kind == KF_CUPTI_COPY ? w->copy : w->fill);
	op->bytes = (double)r->bytes;
}

static void add(struct kf_cuda_watch *w, const struct kf_cupti_record *r)
{
	struct kf_trace_op *op;

	if (w->count == KF_TRACE_OPS_MAX)
		return;
	op = &w->op[w->count++];
	if (r->kind == KF_CUPTI_KERNEL)
		of_kernel((const struct kf_cupti_kernel *)(const void *)r, op);
	else
		of_bytes(w, r, op);
	op->start_ns = r->start_ns;
	op->end_ns = r->end_ns;
}

static void done(void *context, uint32_t stream, uint8_t *buffer, size_t bytes,
		 size_t used)
{
	struct kf_cuda_watch *w = watching;
	struct kf_cupti_record *record = NULL;
	size_t lost = 0;

	(void)bytes;
	if (w) {
		pthread_mutex_lock(&w->mutex);
		while (used && w->next(buffer, used, &record) == 0)
			if (record->kind == KF_CUPTI_COPY ||
			    record->kind == KF_CUPTI_FILL ||
			    record->kind == KF_CUPTI_KERNEL)
				add(w, record);
		if (w->dropped(context, stream, &lost) == 0)
			w->lost += lost;
		pthread_mutex_unlock(&w->mutex);
	}
	free(buffer);
}

/* --- from outside --------------------------------------------------------- */

#define E(member, symbol) { symbol, offsetof(struct kf_cuda_watch, member) }

static const struct kf_cuda_entry entries[] = {
	E(register_callbacks, "cuptiActivityRegisterCallbacks"),
	E(enable, "cuptiActivityEnable"),
	E(disable, "cuptiActivityDisable"),
	E(flush, "cuptiActivityFlushAll"),
	E(next, "cuptiActivityGetNextRecord"),
	E(dropped, "cuptiActivityGetNumDroppedRecords"),
	E(result_name, "cuptiGetResultString"),
};
#undef E

static bool open_library(struct kf_cuda_watch *w, char why[128])
{
	const char *named = getenv(KF_CUDA_CUPTI_VARIABLE);
	char *path = named && named[0] ? kf_strdup(named) :
		kf_cuda_toolkit_library("libcupti.so*[0-9]");
	const char *missing;

	snprintf(why, 128, "NVIDIA's CUPTI is not there: it comes with the "
		 "CUDA toolkit");
	if (path)
		w->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (path && !w->library)
		snprintf(why, 128, "NVIDIA's CUPTI cannot be opened: %.90s",
			 dlerror());
	free(path);
	missing = w->library ? kf_cuda_fill_in(w->library, w, entries,
					       KF_COUNT(entries)) : NULL;
	if (missing)
		snprintf(why, 128, "NVIDIA's CUPTI has no %.60s", missing);
	return w->library && !missing;
}

static bool enable_all(struct kf_cuda_watch *w, char why[128])
{
	int result = w->register_callbacks(ask, done);
	const char *name = NULL;

	for (size_t i = 0; i < KF_COUNT(kinds) && !result; i++)
		result = w->enable(kinds[i]);
	if (result && (w->result_name(result, &name) || !name))
		name = "no name";
	if (result)
		snprintf(why, 128, "NVIDIA's CUPTI refuses: %.80s (%d)", name,
			 result);
	return !result;
}

struct kf_cuda_watch *kf_cuda_watch_begin(const char *copy, const char *fill,
					  char why[128])
{
	struct kf_cuda_watch *w = kf_alloc(sizeof(*w));

	w->copy = copy;
	w->fill = fill;
	pthread_mutex_init(&w->mutex, NULL);
	w->op = kf_alloc(KF_TRACE_OPS_MAX * sizeof(w->op[0]));
	watching = w;
	if (open_library(w, why) && enable_all(w, why)) {
		why[0] = '\0';
		return w;
	}
	kf_cuda_watch_end(w);
	return NULL;
}

static int by_start(const void *a, const void *b)
{
	const struct kf_trace_op *x = a, *y = b;

	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

void kf_cuda_watch_forget(struct kf_cuda_watch *w)
{
	(void)w->flush(FLUSH_ALL);
	pthread_mutex_lock(&w->mutex);
	w->count = w->lost = 0;
	pthread_mutex_unlock(&w->mutex);
}

void kf_cuda_watch_take(struct kf_cuda_watch *w, struct kf_trace *trace)
{
	uint64_t first_ns;

	(void)w->flush(FLUSH_ALL);
	pthread_mutex_lock(&w->mutex);
	qsort(w->op, w->count, sizeof(w->op[0]), by_start);
	first_ns = w->count ? w->op[0].start_ns : 0;
	trace->lost = w->lost;
	trace->count = w->count == KF_TRACE_OPS_MAX ? 0 : w->count;
	if (trace->count != w->count)
		snprintf(trace->unseen, sizeof(trace->unseen), "a call has "
			 "%u operations or more", KF_TRACE_OPS_MAX);
	trace->op = kf_realloc(trace->op, (trace->count + 1) *
			       sizeof(trace->op[0]));
	for (size_t i = 0; i < trace->count; i++) {
		trace->op[i] = w->op[i];
		trace->op[i].start_ns -= first_ns;
		trace->op[i].end_ns -= first_ns;
	}
	w->count = w->lost = 0;
	pthread_mutex_unlock(&w->mutex);
}

/* The library stays: CUPTI may have threads of its own. */
void kf_cuda_watch_end(struct kf_cuda_watch *w)
{
	if (!w)
		return;
	for (size_t i = 0; w->disable && i < KF_COUNT(kinds); i++)
		(void)w->disable(kinds[i]);
	watching = NULL;
	pthread_mutex_destroy(&w->mutex);
	free(w->op);
	free(w);
}
