/*
 * plan.h - what a two-part program does on its device: launches, fills and
 * copies over numbered buffers, in order.
 *
 * host.c is run in a process without device and data (runner/record.c); what it
 * asks for through launch.h is written down as two plans, one of kf_prepare
 * and one of kf_forward. The supervisor reads them (they come from a process
 * that ran a candidate's code: kf_plans_read believes nothing), checks them,
 * and hands them with the device's code to a driver, which replays them for
 * every call. No line of host.c runs where the device, the inputs or the clock
 * are.
 *
 * Units are bytes unless said otherwise. Threads: plain data.
 */
#ifndef KF_PLATFORM_PLAN_H
#define KF_PLATFORM_PLAN_H

#include <kforge/base.h>
#include <kforge/launch.h>

struct json_t;

/* Ceilings of one plan: beyond them it is refused. */
#define KF_PLAN_OPS_MAX		(1u << 16)
#define KF_PLAN_BUFFERS_MAX	4096u
#define KF_PLAN_ARGS_MAX	256u	/* of one launch */
#define KF_PLAN_BYTES_MAX	(16u << 20)	/* both plans, written down */
#define KF_PLAN_NAME_MAX	255u	/* of a kernel */
#define KF_PLAN_STRUCT_MAX	4096u	/* bytes of a KF_ARG_BYTES */
#define KF_PLAN_DIM_MAX		(INT64_C(1) << 31)	/* of grid, group, cluster */
#define KF_PLAN_SLOTS		16u	/* of kf_keep */
#define KF_PLAN_MAP_BYTES	128u	/* a tensor map, as a kernel sees it */

enum kf_plan_memory {		/* written down: never renumber */
	KF_PLAN_IN = 1,		/* index: the input's number */
	KF_PLAN_WEIGHT = 2,
	KF_PLAN_OUT = 3,
	KF_PLAN_TEMP = 4,	/* index: the how-manieth kf_temp */
	KF_PLAN_KEEP = 5,	/* index: the slot */
};

struct kf_plan_buffer {
	enum kf_plan_memory memory;
	uint32_t index;
	uint64_t bytes;
};

/* Within one buffer: offset <= bytes is checked, and for fills, copies and
 * tensor maps the whole range. Buffers are numbered within their plan. */
struct kf_plan_place { uint32_t buffer; uint64_t offset; };

struct kf_plan_arg {
	enum kf_arg_kind kind;
	uint32_t bytes;			/* as the kernel sees it; BUFFER: 8,
					   TENSOR_MAP: KF_PLAN_MAP_BYTES */
	struct kf_plan_place place;	/* BUFFER, TENSOR_MAP */
	unsigned char value[8];		/* INT, FLOAT: little-endian */
	unsigned char *data;		/* owned; BYTES: bytes of them */
	struct kf_tensor_map *map;	/* owned; TENSOR_MAP; map->data NULL */
};

enum kf_plan_op_kind { KF_PLAN_LAUNCH = 1, KF_PLAN_FILL = 2, KF_PLAN_COPY = 3 };

struct kf_plan_op {
	enum kf_plan_op_kind kind;
	/* LAUNCH */
	char *kernel;			/* owned; a C identifier */
	int64_t grid[3], group[3], cluster[3];	/* cluster[0] 0: none */
	int64_t shared_bytes;
	bool cooperative, dependent;
	struct kf_plan_arg *arg;	/* owned */
	size_t arg_count;
	/* FILL, COPY */
	struct kf_plan_place to, from;
	uint64_t value;			/* FILL: the low `width` bytes */
	uint32_t width;			/* FILL: 1, 2, 4, 8 */
	uint64_t bytes;			/* to be written */
};

struct kf_plan {
	struct kf_plan_buffer *buffer;	/* owned */
	size_t buffer_count;
	struct kf_plan_op *op;		/* owned */
	size_t op_count;
	int32_t rc;			/* what the function returned */
	/* The first mistake in the order of calls, a sentence for who wrote
	 * host.c; "" if none. */
	char mistake[256];
};

struct kf_plans {
	bool has_prepare;
	struct kf_plan prepare, forward;
};
void kf_plan_op_release(struct kf_plan_op *op);
void kf_plan_release(struct kf_plan *plan);
void kf_plans_release(struct kf_plans *plans);

/* As bytes; kf_plans_read of what kf_plans_write wrote gives equal plans. */
void kf_plans_write(const struct kf_plans *plans, struct kf_buf *out);
/* One operation of them: what it takes of KF_PLAN_BYTES_MAX. */
void kf_plan_op_write(const struct kf_plan_op *op, struct kf_buf *out);
/* KF_E_INPUT with a sentence unless the bytes are well-formed in every detail:
 * numbers in their ranges, names C identifiers, buffers that exist, every
 * operation as kf_plan_op_check wants it, what kf_forward keeps as kf_prepare
 * made it. So drivers need not check that again. */
KF_MUST_CHECK enum kf_code kf_plans_read(const void *bytes, size_t len,
		struct kf_plans *out, struct kf_err *err);
/* Do both do the same? If not, *why names the first difference. */
bool kf_plans_equal(const struct kf_plans *a, const struct kf_plans *b,
		    char why[256]);

/* Is operation `number` of this plan one that can be done, as far as can be
 * told without a device: ranges inside their buffers, no input, weight or (in
 * kf_forward) kept memory written by a fill or copy, 1 to KF_PLAN_DIM_MAX of
 * each dimension, arguments of the sizes that there are? False: *why is a
 * sentence for who wrote host.c. What only the device knows (its kernels, their
 * arguments, its limits) drivers check in load. */
bool kf_plan_op_check(const struct kf_plan *plan, size_t number,
		      bool preparing, char why[256]);
/* "call 3 of kf_forward, a launch of axpb": the beginning of such sentences.
 * Adds to what out holds. */
void kf_plan_op_name(const struct kf_plan_op *op, size_t number,
		     bool preparing, struct kf_buf *out);
/* "input 0", "weight 3", "output 0", "kf_temp 2", "kf_keep 0": of what a
 * handle is. */
void kf_plan_buffer_name(enum kf_plan_memory memory, uint32_t index,
			 char out[32]);

/* "KF_BUF", "KF_I32": how host.c passed it. */
const char *kf_plan_arg_macro(const struct kf_plan_arg *arg);

/* Adds bytes, rounded up to what kf_temp and kf_keep give, to what is held;
 * false, and nothing is added, if that would be more than max. */
bool kf_plan_hold(uint64_t *held, uint64_t max, uint64_t bytes);

/* What tensors there are, to check plans against. */
struct kf_plan_tensors {
	const uint64_t *in_bytes, *weight_bytes, *out_bytes;
	size_t in_count, weight_count, out_count;
	uint64_t memory_max;	/* most that kf_temp and kf_keep may hold
				   together: see kf_plan_hold */
};
/* Is every tensor there and as large as its buffer, and scratch within
 * bounds? False: *why says what is not. A recorder writes no such plans. */
bool kf_plans_check(const struct kf_plans *plans,
		    const struct kf_plan_tensors *tensors, char why[256]);

/* For the record and for people: [{"launch": "axpb", "grid": [4, 1, 1], ...}];
 * at most max operations, and then {"more": how many}. New reference. */
struct json_t *kf_plan_to_json(const struct kf_plan *plan, size_t max);

#endif
