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
	/* A device adds outputs up, and they come back only where something is
	 * wrong: until then only guards, windows and sums have pages, which are
	 * made here. */
	bool summed;
	/* A device makes inputs of their bases: [in_count], which; of these
	 * nothing is here. NULL: none. */
	bool *made;				/* owned */
	/* Samples of the outputs as they were when the last call was over. */
	struct kf_rng rng;
	size_t *sample_at;		/* owned; element numbers */
	unsigned char *sample;		/* owned */
	bool sampled;
};

struct kf_arena_spec {
	const char *driver, *device;
	uint64_t memory_max;
	uint32_t spins;
	bool summed, made;	/* wished for: done where the bundle allows */
};

/* {.fd = -1} everywhere: releasing it is safe. */
void kf_arena_empty(struct kf_arena *arena);
/* Makes the memory, writes the request for these shapes, and fills what lies
 * beside inputs and weights. Outputs hold nothing before they are poisoned. */
KF_MUST_CHECK enum kf_code kf_arena_init(struct kf_arena *arena,
		const struct kf_bundle *bundle,
		const struct kf_arena_spec *spec, struct kf_err *err);
/* Can sums stand for this bundle's outputs? It is condensed, and they are
 * float32 and not empty. */
bool kf_arena_sums(const struct kf_bundle *bundle);
/* What the next SUM asks, a digest for each output; and the sums that it gave
 * of output i. Where the arena is summed. */
void kf_arena_ask(struct kf_arena *arena, const struct kf_digest *digest);
void kf_arena_unask(struct kf_arena *arena);	/* secret: gone with the answer */
const double *kf_arena_sums_of(const struct kf_arena *arena, size_t i);
/* Room for all of the outputs, which are about to come back. */
void kf_arena_make_outputs(struct kf_arena *arena);
/* How many bytes of inputs can be made of bases, which are float32 and the same
 * for all cases: 0 of a bundle that is not condensed. */
uint64_t kf_arena_base_bytes(const struct kf_bundle *bundle);
/* Where the arena has made. Puts the next part of what input i is made of into
 * the window, from offset on, for BASE; returns how many bytes of it, 0 at its
 * end. given: all of them have it, and the window holds nothing any more. */
size_t kf_arena_give(struct kf_arena *arena, const struct kf_bundle *bundle,
		     size_t i, size_t offset);
void kf_arena_given(struct kf_arena *arena);
/* What the next MAKE makes, of a case; and nothing of it is here any more. */
void kf_arena_ask_made(struct kf_arena *arena, const struct kf_bundle *bundle,
		       const struct kf_case *kase);
void kf_arena_unask_made(struct kf_arena *arena);
/* Only the request, for a process that is given no data. */
KF_MUST_CHECK enum kf_code kf_arena_init_request(struct kf_arena *arena,
		const struct kf_bundle *bundle,
		const struct kf_arena_spec *spec, struct kf_err *err);
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
