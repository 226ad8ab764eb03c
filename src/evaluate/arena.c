#include "evaluate/arena.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/parallel.h"
#include "evaluate/weaken.h"
#include "problem/case.h"

/*
 * What outputs hold before a call, in turn; both halves of a pattern are the
 * same (kf_shared_memory). The first is a NaN as float32,
 * float64, float16 and bfloat16; the second a large finite number in each of
 * them. Neither is 0 or 1 as a bool. Two of them, so that a program cannot
 * leave one in place that happens to be right.
 */
static const uint32_t patterns[] = { 0xfff1fff1u, 0x7a3c7a3cu };
/*
 * The guards around them, in turn too: a finite number, to which adding is
 * seen, and a NaN, so that reading there is no help. A result that is made
 * from a NaN is the very same NaN: one call too far in all of a program's
 * loops reads beside the inputs and writes into a guard, and is seen only if
 * the two differ.
 */
static const unsigned char guards[] = { 0x41, 0xff };
/*
 * What lies beside inputs and weights, in turn: a NaN, which shows in sums but
 * not in fmaxf, and large finite numbers of both signs, which show in the
 * largest and the smallest. As an index each of them is far away.
 */
static const uint32_t beside[] = { 0xfff3fff3u, 0x7a3e7a3eu, 0xfa3efa3eu };

#define ARENA_MAX	(UINT64_C(1) << 40)
#define PAGE		4096u

static size_t rounded(size_t bytes, size_t to)
{
	return (bytes + to - 1) / to * to;
}

/* --- shared memory ------------------------------------------------------ */

static enum kf_code shared_init(struct kf_shared *s, const char *name,
				size_t bytes, bool read_only,
				struct kf_err *err)
{
	char path[64];

	s->bytes = rounded(bytes ? bytes : 1, PAGE);
	/* Sealed: shrunk under us, it would kill the supervisor. */
	s->fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (s->fd < 0 || ftruncate(s->fd, (off_t)s->bytes) ||
	    fcntl(s->fd, F_ADD_SEALS,
		  F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return kf_fail_errno(err, "cannot make %zu bytes of shared "
				     "memory", s->bytes);
	s->data = mmap(NULL, s->bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
		       s->fd, 0);
	if (s->data == MAP_FAILED) {
		s->data = NULL;
		return kf_fail_errno(err, "cannot map %zu bytes of shared "
				     "memory", s->bytes);
	}
	/* A process apart that stays would keep it when it is released here. */
	madvise(s->data, s->bytes, MADV_DONTFORK);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", s->fd);
	read_only = read_only && !kf_weak(KF_WEAK_READ_ONLY);
	s->pass_fd = open(path, (read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC);
	if (s->pass_fd < 0)
		return kf_fail_errno(err, "cannot reopen shared memory");
	return KF_OK;
}

static void shared_release(struct kf_shared *s)
{
	if (s->data) {
		kf_parallel_forget_pages(s->data, s->bytes);
		munmap(s->data, s->bytes);
	}
	if (s->pass_fd >= 0)
		close(s->pass_fd);
	if (s->fd >= 0)
		close(s->fd);
	*s = (struct kf_shared) { .fd = -1, .pass_fd = -1 };
}

/* Where the last gap and the last guard end; what is asked of a device and its
 * sums lie behind. */
static size_t inputs_end(const struct kf_arena *a)
{
	return rounded(kf_arena_request(a)->in_bytes, PAGE);
}

static size_t outputs_end(const struct kf_arena *a)
{
	return rounded(kf_arena_request(a)->out_bytes, PAGE);
}

#define PARTS	4u

/* What is done to them is done to all at once: the kernel keeps the pages of
 * each behind one lock. */
static struct kf_shared *part_of(struct kf_arena *a, size_t which)
{
	struct kf_shared *const part[PARTS] = {
		&a->request, &a->reply, &a->inputs, &a->outputs,
	};

	return part[which];
}

/* Up to the last input that a device makes; returns where it ends. The page
 * that an input ends in is made with what lies beside it. */
static size_t make_between(struct kf_arena *a)
{
	size_t from = 0;

	for (size_t i = 0; i < a->in_count; i++) {
		size_t begin = rounded(a->in[i].offset, PAGE);

		if (!a->made[i])
			continue;
		if (begin > from)
			kf_parallel_make_pages(a->inputs.data + from,
					       begin - from, true);
		from = (a->in[i].offset + a->in[i].bytes) / PAGE * PAGE;
	}
	return from;
}

static void make_part(void *arg, size_t which)
{
	struct kf_arena *a = arg;
	struct kf_shared *s = part_of(a, which);
	size_t from = 0;

	if (s == &a->inputs && a->made)
		from = make_between(a);
	else if (s == &a->outputs && a->summed)
		from = outputs_end(a);
	kf_parallel_make_pages(s->data + from, s->bytes - from, true);
}

static void release_part(void *arg, size_t which)
{
	shared_release(part_of(arg, which));
}

/* --- layout ------------------------------------------------------------- */

/* Places tensors one after the other, each aligned, with at least `gap` bytes
 * after it; returns false if that is more than can be. */
static bool lay_out(const struct kf_tensor_info *info, size_t count,
		    size_t gap, struct kf_span *span, size_t *at)
{
	for (size_t i = 0; i < count; i++) {
		if (info[i].bytes > ARENA_MAX || *at > ARENA_MAX)
			return false;
		span[i] = (struct kf_span) {
			.offset = *at,
			.bytes = info[i].bytes,
			.element = kf_dtype_bytes(info[i].dtype),
		};
		*at = rounded(*at + info[i].bytes + gap, KF_RUNNER_ALIGNMENT);
	}
	return true;
}

static struct kf_host_tensor *fill_table(struct kf_host_tensor *t,
					 const struct kf_tensor_info *info,
					 const struct kf_span *span,
					 size_t count)
{
	for (size_t i = 0; i < count; i++, t++) {
		*t = (struct kf_host_tensor) {
			.offset = span[i].offset,
			.dtype = (int32_t)info[i].dtype,
			.rank = info[i].rank,
			.structural = info[i].structural,
		};
		memcpy(t->shape, info[i].shape, sizeof(t->shape));
	}
	return t;
}

static size_t names_bytes(const struct kf_bundle *b)
{
	size_t bytes = 0;

	for (size_t i = 0; i < b->weight_count; i++)
		bytes += strlen(b->weight[i].name) + 1;
	return bytes;
}

static void fill_request(struct kf_arena *a, const struct kf_bundle *b)
{
	struct kf_host_request *r = kf_arena_request(a);
	struct kf_host_tensor *t = (struct kf_host_tensor *)(r + 1);
	struct kf_host_tensor *weight;
	struct kf_scalar *scalar;
	uint64_t at = 0;
	char *names;

	t = fill_table(t, b->in, a->in, b->in_count);
	weight = t;
	t = fill_table(t, b->weight, a->weight, b->weight_count);
	t = fill_table(t, b->out, a->out, b->out_count);
	scalar = (struct kf_scalar *)t;
	for (size_t i = 0; i < b->scalar_count; i++)
		scalar[i] = (struct kf_scalar) {
			.size = sizeof(struct kf_scalar),
			.kind = b->scalar[i].kind,
			.i = b->scalar[i].i,
			.f = b->scalar[i].f,
		};
	names = (char *)(scalar + b->scalar_count);
	for (size_t i = 0; i < b->weight_count; i++) {
		size_t len = strlen(b->weight[i].name) + 1;

		memcpy(names + at, b->weight[i].name, len);
		weight[i].name = at;
		at += len;
	}
}

/* --- sums ----------------------------------------------------------------- */

_Static_assert(KF_SUMS == KF_CHUNK_SUMS && KF_SUMS_CHUNK == KF_CHUNK,
	       "devices add up as bundles do");

bool kf_arena_sums(const struct kf_bundle *b)
{
	bool all = b->condensed && b->in_count > 0 && b->out_count > 0;

	for (size_t i = 0; i < b->out_count; i++)
		all &= b->out[i].dtype == KF_F32 && b->out[i].numel > 0;
	return all;
}

static int64_t windows_most(const struct kf_bundle *b, size_t output)
{
	int64_t most = 0;

	for (size_t i = 0; i < b->set_count + b->stock_count; i++) {
		const struct kf_case *kase = i < b->set_count ? &b->set[i] :
			&b->stock[i - b->set_count];

		if (kase->digest[output].window_count > most)
			most = kase->digest[output].window_count;
	}
	return most;
}

/* Behind the tensors: what is asked of each output, its signs and the places of
 * its windows; behind the outputs, its sums. */
static uint64_t lay_out_sums(const struct kf_bundle *b,
			     struct kf_host_sums *ask, size_t *in_bytes,
			     size_t *out_bytes)
{
	uint64_t at = rounded(*in_bytes, PAGE);
	size_t in_end = (size_t)at + b->out_count * sizeof(*ask);
	size_t out_end = rounded(*out_bytes, PAGE);

	for (size_t i = 0; i < b->out_count; i++) {
		ask[i].window_at = in_end;
		in_end += (size_t)windows_most(b, i) * sizeof(int64_t);
		ask[i].sign_at = in_end;
		in_end += KF_SUMS * KF_SUMS_CHUNK;
		ask[i].sum_at = out_end;
		out_end += (size_t)kf_chunks_of(b->out[i].numel) * KF_SUMS *
			sizeof(double);
	}
	*in_bytes = in_end;
	*out_bytes = out_end;
	return at;
}

static struct kf_host_sums *ask_of(const struct kf_arena *a)
{
	return (struct kf_host_sums *)(void *)
		(a->inputs.data + kf_arena_request(a)->sums_at);
}

/* They are ours, and not the program's: so they are made here. */
static void make_window(struct kf_arena *a, size_t from, size_t bytes)
{
	size_t first = from / PAGE * PAGE;

	kf_parallel_make_pages(a->outputs.data + first,
			       rounded(from + bytes, PAGE) - first, true);
}

void kf_arena_ask(struct kf_arena *a, const struct kf_digest *digest)
{
	struct kf_host_sums *ask = ask_of(a);

	for (size_t i = 0; i < a->out_count; i++) {
		const struct kf_digest *d = &digest[i];
		size_t count = (size_t)d->window_count;

		ask[i].window_count = d->window_count;
		ask[i].window = d->window;
		memcpy(a->inputs.data + ask[i].window_at, d->at,
		       count * sizeof(d->at[0]));
		memcpy(a->inputs.data + ask[i].sign_at, d->signs,
		       KF_SUMS * KF_SUMS_CHUNK);
		for (size_t k = 0; k < count; k++)
			make_window(a, a->out[i].offset + (size_t)d->at[k] *
				    a->out[i].element, (size_t)d->window *
				    a->out[i].element);
	}
}

/* The signs lie behind the windows of all; the last is the last output's. */
void kf_arena_unask(struct kf_arena *a)
{
	const struct kf_host_sums *ask = ask_of(a);
	size_t from = ask[0].window_at;
	size_t to = ask[a->out_count - 1].sign_at + KF_SUMS * KF_SUMS_CHUNK;

	memset(a->inputs.data + from, 0, to - from);
}

const double *kf_arena_sums_of(const struct kf_arena *a, size_t i)
{
	return (const double *)(const void *)(a->outputs.data +
					      ask_of(a)[i].sum_at);
}

void kf_arena_make_outputs(struct kf_arena *a)
{
	kf_parallel_make_pages(a->outputs.data, a->outputs.bytes, true);
}

/* --- inputs that are made elsewhere --------------------------------------- */

#define WINDOW_BYTES	((size_t)64 << 20)

static bool has_base(const struct kf_bundle *b, size_t i)
{
	const void *base = b->set_count ? b->set[0].in[i] : NULL;
	bool same = b->condensed && base && b->in[i].dtype == KF_F32 &&
		b->in[i].numel > 0;

	for (size_t k = 0; k < b->set_count; k++)
		same &= b->set[k].in[i] == base;
	for (size_t k = 0; k < b->stock_count; k++)
		same &= b->stock[k].in[i] == base;
	return same;
}

uint64_t kf_arena_base_bytes(const struct kf_bundle *b)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < b->in_count; i++)
		if (has_base(b, i))
			bytes += b->in[i].bytes;
	return bytes;
}

static void choose_made(struct kf_arena *a, const struct kf_bundle *b,
			bool wanted)
{
	if (!wanted || !kf_arena_base_bytes(b))
		return;
	a->made = kf_alloc(b->in_count * sizeof(a->made[0]));
	for (size_t i = 0; i < b->in_count; i++)
		a->made[i] = has_base(b, i);
}

/* Behind the tensors and what sums ask: what is asked of each input, its column
 * and its rows; then the window. */
static void lay_out_made(struct kf_arena *a, const struct kf_bundle *b,
			 struct kf_host_made *ask, size_t *in_bytes)
{
	struct kf_host_request *r = kf_arena_request(a);
	size_t at = rounded(*in_bytes, PAGE), window = 0;

	r->made_at = at;
	at += b->in_count * sizeof(ask[0]);
	for (size_t i = 0; i < b->in_count; i++) {
		if (!a->made[i])
			continue;
		ask[i].there = 1;
		ask[i].column_at = at = rounded(at, sizeof(double));
		at += KF_CHUNK * sizeof(float);
		ask[i].row_at = at;
		at += (size_t)kf_chunks_of(b->in[i].numel) * sizeof(float);
		if (b->in[i].bytes > window)
			window = b->in[i].bytes;
	}
	r->window_at = rounded(at, PAGE);
	r->window_bytes = rounded(window < WINDOW_BYTES ? window :
				  WINDOW_BYTES, PAGE);
	*in_bytes = r->window_at + r->window_bytes;
}

static struct kf_host_made *made_of(const struct kf_arena *a)
{
	return (struct kf_host_made *)(void *)
		(a->inputs.data + kf_arena_request(a)->made_at);
}

size_t kf_arena_give(struct kf_arena *a, const struct kf_bundle *b, size_t i,
		     size_t offset)
{
	struct kf_host_request *r = kf_arena_request(a);
	size_t bytes = b->in[i].bytes - offset;

	if (bytes > r->window_bytes)
		bytes = r->window_bytes;
	kf_parallel_copy(a->inputs.data + r->window_at,
			 (const char *)b->set[0].in[i] + offset, bytes);
	r->base_input = (uint32_t)i;
	r->base_offset = offset;
	r->base_bytes = bytes;
	return bytes;
}

void kf_arena_given(struct kf_arena *a)
{
	const struct kf_host_request *r = kf_arena_request(a);

	memset(a->inputs.data + r->window_at, 0, r->window_bytes);
}

void kf_arena_ask_made(struct kf_arena *a, const struct kf_bundle *b,
		       const struct kf_case *kase)
{
	struct kf_host_made *ask = made_of(a);

	for (size_t i = 0; i < a->in_count; i++) {
		const struct kf_fresh *fresh = &kase->fresh[i];
		int64_t row, from;

		if (!a->made[i])
			continue;
		ask[i].as_is = !fresh->column;
		ask[i].shift = fresh->shift;
		ask[i].tail = ask[i].tail_from = 0;
		if (ask[i].as_is)
			continue;
		if (kf_case_tail(b, kase, i, &row, &from)) {
			ask[i].tail = (uint64_t)row;
			ask[i].tail_from = (uint64_t)from;
		}
		memcpy(a->inputs.data + ask[i].column_at, fresh->column,
		       KF_CHUNK * sizeof(float));
		memcpy(a->inputs.data + ask[i].row_at, fresh->row,
		       (size_t)kf_chunks_of(b->in[i].numel) * sizeof(float));
	}
}

void kf_arena_unask_made(struct kf_arena *a)
{
	const struct kf_host_request *r = kf_arena_request(a);
	size_t from = r->made_at + a->in_count * sizeof(struct kf_host_made);

	memset(a->inputs.data + from, 0, r->window_at - from);
}

/* Places first, for the memory that holds them; then they are written there. */
static enum kf_code make_shared(struct kf_arena *a, const struct kf_bundle *b,
				struct kf_err *err)
{
	struct kf_host_request *r = kf_arena_request(a);
	struct kf_host_sums *ask = kf_alloc((b->out_count + 1) * sizeof(*ask));
	struct kf_host_made *made = kf_alloc((b->in_count + 1) * sizeof(*made));
	size_t in_bytes = r->in_bytes, out_bytes = r->out_bytes;
	enum kf_code code;

	if (a->summed)
		r->sums_at = lay_out_sums(b, ask, &in_bytes, &out_bytes);
	if (a->made)
		lay_out_made(a, b, made, &in_bytes);
	code = shared_init(&a->inputs, "kforge-inputs", in_bytes, true, err);
	if (!code)
		code = shared_init(&a->outputs, "kforge-outputs", out_bytes,
				   false, err);
	if (!code && a->summed)
		memcpy(ask_of(a), ask, b->out_count * sizeof(*ask));
	if (!code && a->made)
		memcpy(made_of(a), made, b->in_count * sizeof(*made));
	free(made);
	free(ask);
	return code;
}

static void remember_names(struct kf_arena *a, const struct kf_bundle *b)
{
	size_t count = b->in_count + b->weight_count;

	a->in_name = kf_alloc(count * sizeof(a->in_name[0]));
	for (size_t i = 0; i < b->in_count; i++)
		a->in_name[i] = kf_format("input %zu (%s)", i, b->in[i].name);
	for (size_t i = b->in_count; i < count; i++)
		a->in_name[i] = kf_format("weight %s",
					  b->weight[i - b->in_count].name);
}

void kf_arena_empty(struct kf_arena *arena)
{
	const struct kf_shared none = { .fd = -1, .pass_fd = -1 };

	*arena = (struct kf_arena) { .request = none, .reply = none,
				     .inputs = none, .outputs = none };
}

static void fill_head(struct kf_arena *a, const struct kf_bundle *b,
		      const struct kf_arena_spec *spec)
{
	struct kf_host_request *r = kf_arena_request(a);

	r->magic = KF_HOST_MAGIC;
	r->spins = spec->spins;
	r->memory_max = spec->memory_max;
	r->in_count = (uint32_t)b->in_count;
	r->weight_count = (uint32_t)b->weight_count;
	r->out_count = (uint32_t)b->out_count;
	r->scalar_count = (uint32_t)b->scalar_count;
	r->names_bytes = names_bytes(b);
	snprintf(r->driver, sizeof(r->driver), "%s", spec->driver);
	snprintf(r->device, sizeof(r->device), "%s", spec->device);
}

enum kf_code kf_arena_init_request(struct kf_arena *a,
				   const struct kf_bundle *b,
				   const struct kf_arena_spec *spec,
				   struct kf_err *err)
{
	size_t in_bytes = 0, out_bytes = KF_RUNNER_GUARD, request_bytes;
	size_t tensors = b->in_count + b->weight_count + b->out_count;
	enum kf_code code;

	kf_arena_empty(a);
	a->in_count = b->in_count;
	a->weight_count = b->weight_count;
	a->out_count = b->out_count;
	a->in = kf_alloc(b->in_count * sizeof(a->in[0]));
	a->weight = kf_alloc(b->weight_count * sizeof(a->weight[0]));
	a->out = kf_alloc(b->out_count * sizeof(a->out[0]));
	remember_names(a, b);
	if (!lay_out(b->in, b->in_count, KF_RUNNER_ALIGNMENT, a->in,
		     &in_bytes) ||
	    !lay_out(b->weight, b->weight_count, KF_RUNNER_ALIGNMENT,
		     a->weight, &in_bytes) ||
	    !lay_out(b->out, b->out_count, KF_RUNNER_GUARD, a->out,
		     &out_bytes))
		return kf_fail(err, KF_E_LIMIT, "the tensors are larger than "
			       "2^40 bytes");
	request_bytes = sizeof(struct kf_host_request) +
			tensors * sizeof(struct kf_host_tensor) +
			b->scalar_count * sizeof(struct kf_scalar) +
			names_bytes(b);
	code = shared_init(&a->request, "kforge-request", request_bytes, true,
			   err);
	if (code)
		return code;
	fill_head(a, b, spec);
	kf_arena_request(a)->total_bytes = request_bytes;
	kf_arena_request(a)->in_bytes = in_bytes;
	kf_arena_request(a)->out_bytes = out_bytes;
	fill_request(a, b);
	return KF_OK;
}

enum kf_code kf_arena_init(struct kf_arena *a, const struct kf_bundle *b,
			   const struct kf_arena_spec *spec,
			   struct kf_err *err)
{
	enum kf_code code = kf_arena_init_request(a, b, spec, err);

	a->summed = spec->summed && kf_arena_sums(b);
	choose_made(a, b, spec->made);
	if (!code)
		code = shared_init(&a->reply, "kforge-reply",
				   sizeof(struct kf_host_reply), false, err);
	if (!code)
		code = make_shared(a, b, err);
	if (code)
		return code;
	/* Here, so that the pages are counted as ours and not as the
	 * candidate's; on all processors, for each page is cleared. */
	kf_parallel(PARTS, make_part, a);
	a->sample_at = kf_alloc(b->out_count * KF_ARENA_SAMPLES *
				sizeof(a->sample_at[0]));
	a->sample = kf_alloc(b->out_count * KF_ARENA_SAMPLES * 8);
	kf_random_bytes(&a->rng, sizeof(a->rng));
	/* Reading a little too far gives no convenient zero. */
	a->besides = (unsigned)(kf_rng_next(&a->rng) % KF_COUNT(beside));
	kf_arena_change_beside(a);
	return KF_OK;
}

void kf_arena_release(struct kf_arena *a)
{
	for (size_t i = 0; a->in_name && i < a->in_count + a->weight_count; i++)
		free(a->in_name[i]);
	free(a->in_name);
	free(a->sample);
	free(a->sample_at);
	free(a->made);
	free(a->out);
	free(a->weight);
	free(a->in);
	kf_parallel(PARTS, release_part, a);
	kf_arena_empty(a);
}

struct kf_host_request *kf_arena_request(const struct kf_arena *arena)
{
	return (struct kf_host_request *)(void *)arena->request.data;
}

struct kf_host_reply *kf_arena_reply(const struct kf_arena *arena)
{
	return (struct kf_host_reply *)(void *)arena->reply.data;
}

/* --- poison and guards -------------------------------------------------- */

/* The guards around output i: [*before, data) and [end, *after). */
static void guard_of(const struct kf_arena *a, size_t i, size_t *before,
		     size_t *after)
{
	*before = i ? a->out[i - 1].offset + a->out[i - 1].bytes : 0;
	*after = i + 1 < a->out_count ? a->out[i + 1].offset : outputs_end(a);
}

static void fill_gap(const struct kf_arena *a, const struct kf_span *span,
		     size_t end, uint32_t with)
{
	unsigned char bytes[sizeof(with)];

	memcpy(bytes, &with, sizeof(with));
	for (size_t at = span->offset + span->bytes; at < end; at++)
		a->inputs.data[at] = bytes[at % sizeof(with)];
}

/* Inputs and weights lie one behind the other, with a gap after each. */
void kf_arena_change_beside(struct kf_arena *a)
{
	uint32_t with = beside[a->besides++ % KF_COUNT(beside)];
	size_t end = inputs_end(a);

	for (size_t i = a->weight_count; i-- > 0; end = a->weight[i].offset)
		fill_gap(a, &a->weight[i], end, with);
	for (size_t i = a->in_count; i-- > 0; end = a->in[i].offset)
		fill_gap(a, &a->in[i], end, with);
}

void kf_arena_poison(struct kf_arena *a)
{
	unsigned char *data = a->outputs.data;
	size_t before, after;

	a->pattern = patterns[a->poisoned % KF_COUNT(patterns)];
	a->guard = guards[a->poisoned++ % KF_COUNT(guards)];
	a->sampled = false;
	if (a->filled_there)
		kf_arena_request(a)->pattern = a->pattern;
	for (size_t i = 0; i < a->out_count; i++) {
		size_t end = a->out[i].offset + a->out[i].bytes;

		guard_of(a, i, &before, &after);
		memset(data + before, a->guard, a->out[i].offset - before);
		if (!a->filled_there)
			kf_parallel_fill(data + a->out[i].offset,
					 a->out[i].bytes, a->pattern);
		memset(data + end, a->guard, after - end);
	}
}

/* The first byte of [from, to) that is not as the guard was, or `to`. */
static size_t first_touched(const struct kf_arena *a, size_t from, size_t to)
{
	while (from < to && a->outputs.data[from] == a->guard)
		from++;
	return from;
}

bool kf_arena_guards(const struct kf_arena *a, size_t *which, int64_t *offset)
{
	size_t before, after;

	for (size_t i = 0; i < a->out_count; i++) {
		size_t start = a->out[i].offset, end = start + a->out[i].bytes;
		size_t at;

		guard_of(a, i, &before, &after);
		at = first_touched(a, end, after);
		if (at < after) {
			*which = i;
			*offset = (int64_t)(at - end);
			return false;
		}
		at = first_touched(a, before, start);
		if (at < start) {
			*which = i;
			*offset = (int64_t)at - (int64_t)start;
			return false;
		}
	}
	return true;
}

/* --- samples ------------------------------------------------------------ */

void kf_arena_sample(struct kf_arena *a)
{
	for (size_t i = 0; i < a->out_count * KF_ARENA_SAMPLES; i++) {
		const struct kf_span *s = &a->out[i / KF_ARENA_SAMPLES];
		size_t count = s->element ? s->bytes / s->element : 0;

		if (!count)
			continue;
		a->sample_at[i] = (size_t)kf_rng_below(&a->rng, count);
		memcpy(a->sample + i * 8, a->outputs.data + s->offset +
		       a->sample_at[i] * s->element, s->element);
	}
	a->sampled = true;
}

bool kf_arena_late(const struct kf_arena *a)
{
	for (size_t i = 0; a->sampled && i < a->out_count * KF_ARENA_SAMPLES;
	     i++) {
		const struct kf_span *s = &a->out[i / KF_ARENA_SAMPLES];

		if (s->element && s->bytes / s->element &&
		    memcmp(a->sample + i * 8, a->outputs.data + s->offset +
			   a->sample_at[i] * s->element, s->element) != 0)
			return true;
	}
	return false;
}

static const struct kf_span *span_of(const struct kf_arena *a, size_t tensor)
{
	return tensor < a->in_count ? &a->in[tensor] :
		&a->weight[tensor - a->in_count];
}

void kf_arena_find(const struct kf_arena *a, uint64_t offset, size_t *tensor,
		   int64_t *byte)
{
	size_t count = a->in_count + a->weight_count;

	*tensor = 0;
	*byte = (int64_t)offset;
	for (size_t i = 0; i < count && offset >= span_of(a, i)->offset; i++) {
		*tensor = i;
		*byte = (int64_t)(offset - span_of(a, i)->offset);
	}
}

void kf_arena_describe(const struct kf_arena *a, uint64_t offset, char *out,
		       size_t size)
{
	size_t i;
	int64_t byte;

	kf_arena_find(a, offset, &i, &byte);
	snprintf(out, size, "memory beside the inputs");
	if (a->in_count + a->weight_count &&
	    (uint64_t)byte < span_of(a, i)->bytes)
		snprintf(out, size, "%s at byte %lld", a->in_name[i],
			 (long long)byte);
}
