/*
 * twopart.h - what drivers of two-part programs (launch.h) share: building the
 * pack, reading one, and where everything lies in the device's memory.
 *
 * A device holds four arenas: a copy of the shared inputs and of the shared
 * outputs, laid out alike, scratch (kf_temp), and what is kept (kf_keep). In
 * the last two a guard stands before the first block and behind each. Scratch
 * is filled with KF_TWOPART_PATTERN and guards with KF_TWOPART_GUARD_PATTERN,
 * which no byte of the other has, so that what is copied from the one over the
 * other shows; a guard that has changed is a mistake of the program's.
 *
 * Processes: build in the builder, the rest where the device is.
 * Threads:   plain data, no globals.
 */
#ifndef KF_PLATFORM_TWOPART_H
#define KF_PLATFORM_TWOPART_H

#include <kforge/driver.h>

#include "base/base.h"
#include "platform/pack.h"
#include "platform/plan.h"

/* NaN in every floating-point type and neither 0 nor 1 as a bool. */
#define KF_TWOPART_PATTERN	0xff
/* The same, of 16 bits from each even place on; no NaN that is computed. */
#define KF_TWOPART_GUARD_PATTERN	0x7ffd
#define KF_TWOPART_GUARD	4096u	/* least bytes of a guard */

/* --- build ---------------------------------------------------------------- */

/* Two parts of the pack. parameters may stay empty, and there is no such part
 * then: what the driver's load is to know of the kernels' parameters, which the
 * binary does not tell. It may be cut off where there is too much of it. */
struct kf_twopart_made { struct kf_buf device, parameters; };

/* Compiles source[0..source_count - 1), the kernels, in a process of its own,
 * which is killed at the deadline; KF_BUILD_REFUSED if it crashes. out->end is
 * DONE and made has the bytes, or it is something else; the compiler's words
 * go to out->log. */
typedef enum kf_code kf_twopart_compile_fn(const struct kf_build_request *req,
					   struct kf_twopart_made *made,
					   struct kf_build *out,
					   struct kf_err *err);

/* A driver's whole build: compiles the kernels here and runs the command for
 * host.c at the same time, puts the kernels' log before the other, and writes
 * the pack if both are done. */
KF_MUST_CHECK enum kf_code kf_twopart_build(const struct kf_build_request *req,
		kf_twopart_compile_fn *compile, struct kf_build *out,
		struct kf_err *err);

/* --- load ----------------------------------------------------------------- */

struct kf_twopart {
	struct kf_pack pack;
	const struct kf_pack_part *device;	/* in pack */
	const struct kf_pack_part *parameters;	/* in pack; NULL: none */
	struct kf_plans plans;
};
/* Reads a pack of "device", "plans" and perhaps "parameters". refused gets a
 * sentence if a plan has a mistake. KF_E_IO: it is none; kforge wrote it, so no
 * program is to blame. */
KF_MUST_CHECK enum kf_code kf_twopart_read(const char *path,
		struct kf_twopart *out, char refused[256], struct kf_err *err);
void kf_twopart_release(struct kf_twopart *t);

/* --- tensors -------------------------------------------------------------- */

struct kf_twopart_tensors {
	struct kf_plan_tensors bytes;	/* its arrays are owned by this one;
					   memory_max is not used */
	/* Where each begins: inputs and weights in the inputs, outputs in the
	 * outputs; UINT64_MAX for an absent one. Owned. */
	uint64_t *in, *weight, *out;
	uint64_t inputs_bytes, outputs_bytes;	/* of the arenas */
	uint64_t weights_from;	/* where the first weight begins, in inputs;
				   inputs_bytes if there is none */
};
/* KF_E_INPUT unless every tensor lies in the shared memory, on a multiple of
 * alignment, which the device asks for. */
KF_MUST_CHECK enum kf_code kf_twopart_find_tensors(
		const struct kf_shared_memory *m, const struct kf_call *tensors,
		uint64_t alignment, struct kf_twopart_tensors *out,
		struct kf_err *err);
void kf_twopart_tensors_release(struct kf_twopart_tensors *t);

/* --- layout --------------------------------------------------------------- */

enum kf_twopart_arena {
	KF_TWOPART_INPUTS, KF_TWOPART_OUTPUTS, KF_TWOPART_SCRATCH,
	KF_TWOPART_KEPT,
	KF_TWOPART_BASE,	/* what inputs are made of: no buffer lies there */
	KF_TWOPART_ARENAS
};

/* Up to a multiple of to. */
static inline uint64_t kf_twopart_rounded(uint64_t bytes, uint64_t to)
{
	return (bytes + to - 1) / to * to;
}

/* Where a buffer of a plan lies. */
struct kf_twopart_place {
	enum kf_twopart_arena arena;
	uint64_t offset, bytes;
};

/* The program's bytes, then a guard up to guard_end. The first block of a list
 * has no bytes: its guard stands before all others. */
struct kf_twopart_block {
	uint64_t offset, bytes, guard_end;
	uint32_t index;			/* the kf_temp's or slot's number */
};

struct kf_twopart_blocks {
	struct kf_twopart_block *block;	/* owned */
	size_t count;
};

/* Bytes for the program from a place on, a multiple of alignment, and a guard.
 */
const struct kf_twopart_block *
kf_twopart_add_block(struct kf_twopart_blocks *list, uint64_t from,
		     uint64_t bytes, uint32_t index, uint64_t alignment);
/* Behind the last guard; 0: there is none. */
uint64_t kf_twopart_blocks_end(const struct kf_twopart_blocks *list);

struct kf_twopart_layout {
	struct kf_twopart_place *prepare, *forward;	/* owned; a buffer each */
	struct kf_twopart_blocks kept, prepare_temp, forward_temp;
	uint64_t arena_bytes[KF_TWOPART_ARENAS];
};
/* Every block begins at a multiple of alignment. False: why is a sentence for
 * who wrote the program, by kf_plans_check. */
bool kf_twopart_lay_out(const struct kf_plans *plans,
			const struct kf_twopart_tensors *tensors,
			uint64_t alignment, uint64_t memory_max,
			struct kf_twopart_layout *out, char why[256]);
void kf_twopart_layout_release(struct kf_twopart_layout *layout);

/* A device's memory, and what of it is kforge's whatever the program is. */
struct kf_twopart_room {
	const char *device;		/* its name */
	uint64_t bytes, ours_bytes;
	uint64_t piece_bytes;		/* the most in one piece; 0: no limit */
};
/* Is there room for scratch and kept memory, with nobody else there? False: why
 * is a sentence for who wrote the program. */
bool kf_twopart_fits(const struct kf_twopart_layout *layout,
		     const struct kf_twopart_room *room, char why[256]);

/* Where in bytes, a guard read back from that place of its arena, the pattern
 * first is not; len if nowhere. */
uint64_t kf_twopart_guard_changed(const unsigned char *bytes, uint64_t place,
				  uint64_t len);
/* The sentence about it. arena: SCRATCH or KEPT; at: in the guard. */
void kf_twopart_guard_words(enum kf_twopart_arena arena,
			    const struct kf_twopart_blocks *blocks,
			    size_t block, uint64_t at, char text[256]);

#endif
