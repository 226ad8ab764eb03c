/* session_look.c - what a call has left behind: its outputs, and all that it
 * was not to touch. */
#include "evaluate/session_inside.h"

#include <math.h>

#include "base/parallel.h"
#include "evaluate/digest.h"
#include "evaluate/expect.h"
#include "evaluate/weaken.h"
#include "problem/case.h"

#define PRINT_BYTES	((size_t)16 << 20)	/* hashed by one thread */

const char *kf_fault_reason(enum kf_fault fault)
{
	static const char *const reason[KF_FAULTS] = {
		[KF_FAULT_NONE] = "",
		[KF_FAULT_CALL] = "",
		[KF_FAULT_INPUT_CHANGED] = "input_changed",
		[KF_FAULT_OUT_OF_BOUNDS] = "out_of_bounds",
		[KF_FAULT_DEFERRED] = "cheat_deferred_work",
		[KF_FAULT_UNWRITTEN] = "unwritten",
		[KF_FAULT_NONFINITE] = "non_finite",
		[KF_FAULT_VALUES] = "values",
		[KF_FAULT_PRECISION] = "precision",
	};

	return reason[fault];
}

static bool same_bytes(const void *now, const void *before, size_t bytes,
		       int64_t *first)
{
	const unsigned char *a = now, *b = before;
	size_t i = 0;

	if (!now || !before || kf_parallel_same(a, b, bytes))
		return true;
	while (a[i] == b[i])
		i++;
	*first = (int64_t)i;
	return false;
}

static void check_inputs(struct kf_session *s, const struct kf_case *kase,
			 struct kf_check *check)
{
	const struct kf_bundle *b = s->shared->req->bundle;

	if (kf_driver_moves(s->shared->req->platform->driver)) {
		if (kf_worker_changed(s->worker, &check->tensor, &check->byte))
			check->fault = KF_FAULT_INPUT_CHANGED;
		return;	/* shared memory is out of its reach */
	}
	for (size_t i = 0; i < b->in_count; i++)
		if (!kf_case_input_is(b, kase, i, kf_worker_in(s->worker, i),
				      &check->byte)) {
			check->fault = KF_FAULT_INPUT_CHANGED;
			check->tensor = i;
			return;
		}
	for (size_t i = 0; i < b->weight_count; i++)
		if (!same_bytes(kf_worker_weight(s->worker, i), s->weight[i],
				b->weight[i].bytes, &check->byte)) {
			check->fault = KF_FAULT_INPUT_CHANGED;
			check->tensor = b->in_count + i;
			return;
		}
}

static enum kf_fault fault_of_compare(enum kf_compare_end end)
{
	static const enum kf_fault fault[] = {
		[KF_COMPARE_GOOD] = KF_FAULT_NONE,
		[KF_COMPARE_UNWRITTEN] = KF_FAULT_UNWRITTEN,
		[KF_COMPARE_NONFINITE] = KF_FAULT_NONFINITE,
		[KF_COMPARE_VALUES] = KF_FAULT_VALUES,
	};

	return fault[end];
}

static struct kf_compare_request compare_request(const struct kf_session *s,
						 const struct kf_case *kase,
						 size_t i)
{
	struct kf_compare_request req = kf_expect(s->shared->req->bundle, kase,
						  i,
						  kf_worker_out(s->worker, i));

	req.typical = &s->shared->typical[i];
	req.poison = kf_worker_pattern(s->worker);
	req.sums = s->summed ? kf_worker_sums_of(s->worker, i) : NULL;
	return req;
}

/* Keeps the worst of an output's faults; earlier outputs win among equals. */
static void take_compare(struct kf_check *check, size_t i,
			 const struct kf_compare *c)
{
	enum kf_fault fault = fault_of_compare(c->end);

	if (!fault || (check->fault && check->fault <= fault))
		return;
	check->fault = fault;
	check->tensor = i;
	check->compare = *c;
}

/* By kforge's own rule; other positions of what is equal are right. */
static void judge_by_scale(struct kf_session *s, const struct kf_case *kase,
			   size_t i, const struct kf_compare_request *r,
			   struct kf_compare *c)
{
	struct kf_compare_request again = *r;
	void *settled;

	kf_expect_compare(kase, i, r, false, c);
	if (c->end == KF_COMPARE_GOOD)
		return;
	settled = kf_positions_settled(&s->shared->positions[i],
				       s->shared->req->bundle, kase, i,
				       r->got);
	again.got = settled;
	if (settled)
		kf_expect_compare(kase, i, &again, false, c);
	free(settled);
}

static void check_outputs(struct kf_session *s, const struct kf_case *kase,
			  struct kf_check *check)
{
	const struct kf_evaluate_request *req = s->shared->req;
	bool by_kernelbench = req->rules == KF_RULES_KERNELBENCH;

	check->good = true;
	check->kernelbench_good = check->kernelbench_applies;
	for (size_t i = 0; i < req->bundle->out_count; i++) {
		struct kf_compare_request r = compare_request(s, kase, i);
		struct kf_compare c;

		judge_by_scale(s, kase, i, &r, &c);
		check->good = check->good && c.end == KF_COMPARE_GOOD;
		check->q_max = fmax(check->q_max, c.q_max);
		check->rms_max = fmax(check->rms_max, c.rms_max);
		check->tie_count += c.tie_count;
		check->tie_chunk_count += c.tie_chunk_count;
		if (!by_kernelbench)
			take_compare(check, i, &c);
		if (!check->kernelbench_applies)
			continue;
		kf_expect_compare(kase, i, &r, true, &c);
		if (c.end != KF_COMPARE_GOOD)
			check->kernelbench_good = false;
		if (by_kernelbench)
			take_compare(check, i, &c);
	}
}

/* One output, or its sums, in parts that threads share. */
struct printing { const char *bytes; size_t size; uint64_t *part; };

static void print_part(void *arg, size_t number)
{
	const struct printing *p = arg;
	size_t at = number * PRINT_BYTES, end = at + PRINT_BYTES;
	uint64_t hash = UINT64_C(0xcbf29ce484222325), word;

	end = end < p->size ? end : p->size;
	for (; at + sizeof(word) <= end; at += sizeof(word)) {
		memcpy(&word, p->bytes + at, sizeof(word));
		hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 29;
	}
	for (; at < end; at++)
		hash = (hash ^ (unsigned char)p->bytes[at]) *
			UINT64_C(0x100000001b3);
	p->part[number] = hash;
}

static bool lower_precision(struct kf_session *s, const struct kf_case *kase,
			    enum kf_precision p, size_t i,
			    struct kf_check *check)
{
	const struct kf_tensor_info *info = &s->shared->req->bundle->out[i];

	if (!kase->rounded[p] || !kase->rounded[p][i] || !kase->exact[i])
		return false;
	check->found = kf_precision_find(kase->rounded[p][i], kase->exact[i],
					 kf_worker_out(s->worker, i),
					 info->numel);
	return check->found.used;
}

/* Of what is within its bounds. */
static void check_precision(struct kf_session *s, const struct kf_case *kase,
			    struct kf_check *check)
{
	const struct kf_evaluate_request *req = s->shared->req;

	if (req->rules != KF_RULES_KFORGE || kf_weak(KF_WEAK_PRECISION))
		return;
	for (size_t i = 0; i < req->bundle->out_count; i++)
		for (int p = 0; p < KF_PRECISIONS; p++) {
			struct kf_compare_request r;

			if (!lower_precision(s, kase, (enum kf_precision)p, i,
					     check))
				continue;
			check->fault = KF_FAULT_PRECISION;
			check->precision = (enum kf_precision)p;
			check->tensor = i;
			check->good = false;
			r = compare_request(s, kase, i);
			kf_compare_run(&r, &check->compare);
			return;
		}
}

static uint64_t fingerprint(const struct kf_session *s)
{
	const struct kf_bundle *b = s->shared->req->bundle;
	uint64_t hash = 0;

	for (size_t i = 0; i < b->out_count; i++) {
		struct printing p = {
			.bytes = kf_worker_out(s->worker, i),
			.size = b->out[i].bytes,
		};
		size_t count;

		if (s->summed) {
			p.bytes = (const char *)kf_worker_sums_of(s->worker, i);
			p.size = (size_t)kf_chunks_of(b->out[i].numel) *
				KF_CHUNK_SUMS * sizeof(double);
		}
		count = (p.size + PRINT_BYTES - 1) / PRINT_BYTES;
		p.part = kf_alloc((count + 1) * sizeof(p.part[0]));

		kf_parallel(count, print_part, &p);
		for (size_t k = 0; k < count; k++)
			hash = (hash ^ p.part[k]) *
				UINT64_C(0x9e3779b97f4a7c15);
		free(p.part);
	}
	return hash;
}

#define RESEMBLE_SAMPLES 64

/* Do samples of an output look like what a case expects? */
static bool resembles(const struct kf_session *s, const struct kf_case *kase,
		      size_t i)
{
	const struct kf_tensor_info *info = &s->shared->req->bundle->out[i];
	const struct kf_digest *digest = kase->digest ? &kase->digest[i] : NULL;
	const void *got = kf_worker_out(s->worker, i);
	int64_t count = kf_expect_count(info, digest);
	int64_t step = count / RESEMBLE_SAMPLES + 1;

	for (int64_t k = 0; k < count; k += step) {
		double a = kf_element(info->dtype, got,
				      kf_digest_place(digest, k));
		double b = kf_element(info->dtype, kase->expect[i], k);

		if (!(fabs(a - b) <= 1e-3 * fabs(b)))
			return false;
	}
	return count > 0;
}

/* The earlier case of this process whose result the output is, or NULL. */
static const struct kf_case *stale_of(const struct kf_session *s,
				      const struct kf_case *now, size_t i)
{
	if (resembles(s, now, i))
		return NULL;
	for (size_t k = s->used_count; k > 0; k--)
		if (resembles(s, s->used[k - 1], i))
			return s->used[k - 1];
	return NULL;
}

static void look(struct kf_session *s, const struct kf_case *kase,
		 struct kf_check *check)
{
	size_t which = 0;
	int64_t offset = 0;

	check_outputs(s, kase, check);
	kf_laps_end(&s->call, "compare");
	if (!check->fault)
		check_precision(s, kase, check);
	kf_laps_end(&s->call, "precision");
	if (check->fault == KF_FAULT_VALUES)
		check->stale = stale_of(s, kase, check->tensor);
	if (kase == s->shared->req->bundle->set)
		check->fingerprint = fingerprint(s);
	kf_laps_end(&s->call, "fingerprint");
	if (!kf_worker_guards(s->worker, &which, &offset)) {
		check->fault = KF_FAULT_OUT_OF_BOUNDS;
		check->tensor = which;
		check->byte = offset;
	}
	check_inputs(s, kase, check);
	kf_laps_end(&s->call, "inputs after it");
	if (check->fault > KF_FAULT_DEFERRED && kf_worker_late(s->worker))
		check->fault = KF_FAULT_DEFERRED;
	if (check->fault && check->fault < KF_FAULT_UNWRITTEN)
		check->good = check->kernelbench_good = false;
}

/* What is wrong by windows and sums is looked at whole, so that it can be told
 * as it is of any output. */
static enum kf_code look_closely(struct kf_session *s,
				 const struct kf_case *kase,
				 struct kf_check *check, struct kf_err *err)
{
	const uint64_t fingerprint = check->fingerprint;
	enum kf_code code = kf_worker_download(s->worker, &check->call, err);

	kf_laps_end(&s->call, "download of all");
	if (code)
		return code;
	s->summed = false;
	check->stale = NULL;
	if (check->call.state != KF_CALL_GOOD) {
		check->fault = KF_FAULT_CALL;
		check->good = check->kernelbench_good = false;
		return KF_OK;
	}
	check->fault = KF_FAULT_NONE;
	look(s, kase, check);
	check->fingerprint = fingerprint;	/* other processes have sums */
	if (!check->fault)
		kf_logf(s->shared->req->log, KF_LOG_DEBUG, "call %u: the "
			"device's sums were off, and all elements are right",
			check->call_number);
	return KF_OK;
}

enum kf_code kf_session_look(struct kf_session *s, const struct kf_case *kase,
			     struct kf_check *check, struct kf_err *err)
{
	look(s, kase, check);
	return s->summed && check->fault >= KF_FAULT_UNWRITTEN ?
		look_closely(s, kase, check, err) : KF_OK;
}
