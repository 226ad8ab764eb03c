/* Memory that is not there: handles, kf_temp and kf_keep. */
#include "runner/recorder.h"

#define NUMBER_MASK	(KF_RECORD_NUMBERS - 1)
#define OFFSET_MASK	((UINT64_C(1) << KF_RECORD_NUMBER_SHIFT) - 1)
#define FAILED		(-1)	/* what a call returns after a mistake */

bool kf_recorder_failed(const struct kf_recorder *r)
{
	return r->plan->mistake[0];
}

int kf_recorder_mistake(struct kf_recorder *r, const char *fmt, ...)
{
	struct kf_buf text = { .max = sizeof(r->plan->mistake) - 1 };
	char *out = r->plan->mistake;
	va_list ap;

	if (out[0])
		return FAILED;
	va_start(ap, fmt);
	kf_buf_vprintf(&text, fmt, ap);
	va_end(ap);
	for (size_t i = 0; i < text.len; i++)
		out[i] = text.data[i] < 0x20 || text.data[i] > 0x7e ? '?' :
			text.data[i];
	out[text.len] = '\0';
	kf_buf_release(&text);
	return FAILED;
}

static const char *function(const struct kf_recorder *r)
{
	return r->preparing ? "kf_prepare" : "kf_forward";
}

/* --- handles ------------------------------------------------------------- */

static void *handle_of(struct kf_recorder *r, size_t number)
{
	r->memory[number].given = true;
	return (void *)(uintptr_t)(r->salt |
				   (uint64_t)number << KF_RECORD_NUMBER_SHIFT |
				   (uint64_t)KF_RECORD_BIAS);
}

static const struct kf_recorder_memory *find(const struct kf_recorder *r,
					     uint64_t value, size_t *number)
{
	const struct kf_recorder_memory *m;

	*number = (size_t)(value >> KF_RECORD_NUMBER_SHIFT & NUMBER_MASK);
	m = &r->memory[*number];
	if (value >> KF_RECORD_SALT_SHIFT << KF_RECORD_SALT_SHIFT != r->salt ||
	    !m->given)
		return NULL;
	return m;
}

const char *kf_recorder_handle(const void *recorder, uint64_t value)
{
	const struct kf_recorder_memory *m;
	size_t number;

	m = find(recorder, value, &number);
	return m ? m->name : NULL;
}

static uint32_t add_buffer(struct kf_recorder *r, size_t number)
{
	struct kf_recorder_memory *m = &r->memory[number];
	struct kf_plan *p = r->plan;

	if (m->buffer)
		return m->buffer - 1;
	if (p->buffer_count == r->buffer_room) {
		r->buffer_room = 2 * r->buffer_room + 16;
		p->buffer = kf_realloc(p->buffer, r->buffer_room *
				       sizeof(p->buffer[0]));
	}
	p->buffer[p->buffer_count++] = (struct kf_plan_buffer) {
		m->memory, m->index, m->bytes,
	};
	m->buffer = (uint32_t)p->buffer_count;
	return m->buffer - 1;
}

bool kf_recorder_place(struct kf_recorder *r, const void *handle,
		       struct kf_plan_place *place, char why[128])
{
	uint64_t value = (uintptr_t)handle;
	const struct kf_recorder_memory *m;
	int64_t offset;
	size_t number;

	m = find(r, value, &number);
	offset = (int64_t)(value & OFFSET_MASK) - KF_RECORD_BIAS;
	if (!handle)
		snprintf(why, 128, "NULL instead of a handle; there is no "
			 "such weight, an input is None, or kf_prepare was "
			 "to use an input or output");
	else if (!m)
		snprintf(why, 128, "not a handle; give KF_BUF a tensor, or "
			 "what kf_temp or kf_keep returned");
	else if (m->gone)
		snprintf(why, 128, "scratch that kf_temp gave in kf_prepare; "
			 "it is gone, use kf_keep");
	else if (offset < 0)
		snprintf(why, 128, "byte %lld of %s, which has %llu bytes",
			 (long long)offset, m->name,
			 (unsigned long long)m->bytes);
	if (!handle || !m || m->gone || offset < 0)
		return false;
	*place = (struct kf_plan_place) { add_buffer(r, number),
					  (uint64_t)offset };
	return true;
}

/* --- kf_temp and kf_keep ------------------------------------------------- */

static void *give(struct kf_recorder *r, size_t number,
		  enum kf_plan_memory memory, uint32_t index, uint64_t bytes)
{
	struct kf_recorder_memory *m = &r->memory[number];

	m->memory = memory;
	m->index = index;
	m->bytes = bytes;
	kf_plan_buffer_name(memory, index, m->name);
	(void)add_buffer(r, number);
	return handle_of(r, number);
}

static bool hold(struct kf_recorder *r, uint64_t bytes, const char *name)
{
	uint64_t max = r->tensors.request->memory_max;

	if (kf_plan_hold(&r->held_bytes, max, bytes))
		return true;
	kf_recorder_mistake(r, "%s asks for %llu bytes with %s; kf_temp "
			    "and kf_keep may hold %llu together, and hold "
			    "%llu: work in parts, or on what is there",
			    function(r), (unsigned long long)bytes, name,
			    (unsigned long long)max,
			    (unsigned long long)r->held_bytes);
	return false;
}

static void *give_temp(struct kf_call *c, size_t bytes)
{
	struct kf_recorder *r = c->owner;

	if (kf_recorder_failed(r))
		return NULL;
	if (r->memory_count == KF_RECORD_NUMBERS) {
		kf_recorder_mistake(r, "%s calls kf_temp too often: ask once "
				    "and divide it with KF_BUF_AT",
				    function(r));
		return NULL;
	}
	bytes += !bytes;
	if (!hold(r, bytes, "kf_temp"))
		return NULL;
	return give(r, r->memory_count++, KF_PLAN_TEMP, r->temp_count++,
		    bytes);
}

static void *make_slot(struct kf_recorder *r, int slot, size_t bytes)
{
	if (!hold(r, bytes, "kf_keep"))
		return NULL;
	(void)kf_plan_hold(&r->kept_bytes, r->tensors.request->memory_max,
			   bytes);
	return give(r, (size_t)slot, KF_PLAN_KEEP, (uint32_t)slot, bytes);
}

static void *give_keep(struct kf_call *c, int slot, size_t bytes)
{
	struct kf_recorder *r = c->owner;
	const struct kf_recorder_memory *m;

	if (kf_recorder_failed(r))
		return NULL;
	bytes += !bytes;
	if (slot < 0 || slot >= (int)KF_PLAN_SLOTS) {
		kf_recorder_mistake(r, "%s asks kf_keep for slot %d; slots "
				    "are 0 to %d", function(r), slot,
				    (int)KF_PLAN_SLOTS - 1);
		return NULL;
	}
	m = &r->memory[slot];
	if (!m->given && r->preparing)
		return make_slot(r, slot, bytes);
	if (!m->given) {
		kf_recorder_mistake(r, "kf_forward asks kf_keep for slot %d, "
				    "which kf_prepare has not made: make it "
				    "there, or use kf_temp", slot);
		return NULL;
	}
	if (bytes > m->bytes) {
		kf_recorder_mistake(r, "%s asks kf_keep for %zu bytes of slot "
				    "%d, which was made with %llu: the first "
				    "kf_keep in kf_prepare says how many",
				    function(r), bytes, slot,
				    (unsigned long long)m->bytes);
		return NULL;
	}
	(void)add_buffer(r, (size_t)slot);
	return handle_of(r, (size_t)slot);
}

/* --- a function is recorded ---------------------------------------------- */

static uint64_t tensor_bytes(const struct kf_tensor *t)
{
	return (uint64_t)kf_numel(t) *
		kf_dtype_bytes((enum kf_dtype)t->dtype);
}

static void add_tensor(struct kf_recorder *r, size_t i)
{
	const struct kf_host_request *q = r->tensors.request;
	struct kf_recorder_memory *m = &r->memory[KF_PLAN_SLOTS + i];

	m->memory = i < q->in_count ? KF_PLAN_IN :
		i - q->in_count < q->weight_count ? KF_PLAN_WEIGHT :
		KF_PLAN_OUT;
	m->index = (uint32_t)(m->memory == KF_PLAN_IN ? i :
			      m->memory == KF_PLAN_WEIGHT ? i - q->in_count :
			      i - q->in_count - q->weight_count);
	m->bytes = tensor_bytes(&r->tensors.tensor[i]);
	kf_plan_buffer_name(m->memory, m->index, m->name);
}

enum kf_code kf_recorder_init(struct kf_recorder *r, uint32_t salt,
			      struct kf_err *err)
{
	size_t count = r->tensors.count;

	if (count > KF_RECORD_NUMBERS - KF_PLAN_SLOTS)
		return kf_fail(err, KF_E_LIMIT, "%zu tensors; two-part "
			       "programs are given at most %u", count,
			       KF_RECORD_NUMBERS - KF_PLAN_SLOTS);
	r->table = kf_recorder_table;
	r->salt = (uint64_t)salt << KF_RECORD_SALT_SHIFT;
	r->written.max = KF_PLAN_BYTES_MAX;
	for (size_t i = 0; i < count; i++)
		add_tensor(r, i);
	r->memory_count = KF_PLAN_SLOTS + count;
	return KF_OK;
}

/* Handles of the tensors that this function may see. */
static void give_tensors(struct kf_recorder *r)
{
	for (size_t i = 0; i < r->tensors.count; i++) {
		struct kf_tensor *now = kf_runner_tensor_now(&r->tensors, i);
		size_t number = KF_PLAN_SLOTS + i;

		if (now->dtype == KF_DTYPE_NONE ||
		    (r->preparing &&
		     r->memory[number].memory != KF_PLAN_WEIGHT))
			continue;
		now->data = handle_of(r, number);
	}
}

bool kf_recorder_run(struct kf_recorder *r, int (*fn)(struct kf_call *c),
		     bool preparing)
{
	struct kf_call call = kf_runner_call(&r->tensors, !preparing);

	r->plan = preparing ? &r->plans.prepare : &r->plans.forward;
	r->preparing = preparing;
	r->temp_count = 0;
	r->op_room = r->buffer_room = 0;
	r->held_bytes = r->kept_bytes;
	for (size_t i = 0; i < r->memory_count; i++) {
		r->memory[i].buffer = 0;
		r->memory[i].gone = r->memory[i].memory == KF_PLAN_TEMP;
	}
	give_tensors(r);
	call.temp = give_temp;
	call.keep = give_keep;
	call.owner = r;
	call.launch = &r->table;
	r->plan->rc = fn(&call);
	return !r->plan->rc && !kf_recorder_failed(r);
}
