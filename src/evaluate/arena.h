/*
 * arena.h - the memory that a worker shares with its supervisor: two pages of
 * control, inputs and weights, outputs between guards (runner/protocol.h).
 * Part of worker.c; nobody else needs it.
 */
#ifndef KF_EVALUATE_ARENA_H
#define KF_EVALUATE_ARENA_H

#include "problem/problem.h"
#include "runner/protocol.h"

struct kf_shared {		/* one memfd and our view of it */
	int fd;			/* -1: none */
	int pass_fd;		/* for the worker; opened for reading only where
				   it must not write */
	unsigned char *data;
	size_t bytes;
};

/* Where a tensor lies. */
struct kf_span { size_t offset, bytes, element; };

struct kf_arena {
	struct kf_shared request, reply, inputs, outputs;
	struct kf_span *in, *weight, *out;	/* owned */
	char **in_name;				/* owned; for sentences */
	size_t in_count, weight_count, out_count;
	uint32_t pattern;		/* of outputs, for this call */
	unsigned char guard;		/* around them */
	unsigned poisoned;		/* how often */
	bool filled_there;		/* outputs, where the driver has them: here
					   only the guards are set */
	unsigned besides;		/* what lies beside inputs: which of all */
	/* Samples of the outputs as they were when the last call was over. */
	struct kf_rng rng;
	size_t *sample_at;		/* owned; element numbers */
	unsigned char *sample;		/* owned */
	bool sampled;
};

/* {.fd = -1} everywhere: releasing it is safe. */
void kf_arena_empty(struct kf_arena *arena);
/* Makes the memory, writes the request for these shapes, and fills what lies
 * beside inputs and weights. Outputs hold nothing before they are poisoned. */
KF_MUST_CHECK enum kf_code kf_arena_init(struct kf_arena *arena,
		const struct kf_bundle *bundle, const char *driver,
		const char *device, uint64_t memory_max, uint32_t spins,
		struct kf_err *err);
/* Only the request, for a process that is given no data. */
KF_MUST_CHECK enum kf_code kf_arena_init_request(struct kf_arena *arena,
		const struct kf_bundle *bundle, const char *driver,
		const char *device, uint64_t memory_max, uint32_t spins,
		struct kf_err *err);
void kf_arena_release(struct kf_arena *arena);

struct kf_host_request *kf_arena_request(const struct kf_arena *arena);
struct kf_host_reply *kf_arena_reply(const struct kf_arena *arena);

void kf_arena_poison(struct kf_arena *arena);
/* Another of what may lie beside inputs and weights; nobody has a copy yet. */
void kf_arena_change_beside(struct kf_arena *arena);
bool kf_arena_guards(const struct kf_arena *arena, size_t *which,
		     int64_t *offset);
/* Remembers up to KF_ARENA_SAMPLES secretly chosen elements of each output;
 * true from kf_arena_late if any of them has changed since. */
#define KF_ARENA_SAMPLES 64u
void kf_arena_sample(struct kf_arena *arena);
bool kf_arena_late(const struct kf_arena *arena);
/* Which tensor (inputs, then weights) this offset in the inputs' arena lies in
 * or follows; byte is counted from its start. */
void kf_arena_find(const struct kf_arena *arena, uint64_t offset,
		   size_t *tensor, int64_t *byte);
/* "input 0 (x) at byte 12" for an offset in the inputs' arena. */
void kf_arena_describe(const struct kf_arena *arena, uint64_t offset,
		       char *out, size_t size);

#endif
