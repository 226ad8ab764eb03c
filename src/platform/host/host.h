/*
 * host.h - the driver for the machine's own processor: shared objects made by
 * a C compiler, loaded into the runner, called as functions.
 *
 *	find.c      what the machine is (the hardware card)
 *	measure.c   what it was measured to do
 *	compile.c   source to shared object
 *	memory.c    kf_temp and kf_keep
 *	device.c    load (platform/program.h) and call
 *	clocks.c    how fast it runs at this moment
 *	evict.c     what leaves its caches
 *	sanitize.c  the words of the compiler's sanitizers
 *	host.c      the table
 */
#ifndef KF_PLATFORM_HOST_H
#define KF_PLATFORM_HOST_H

#include <kforge/driver.h>

#include "base/base.h"

enum kf_code kf_host_find(struct kf_device_info *info, size_t max,
			  const char *measure, size_t *count,
			  struct kf_err *err);
enum kf_code kf_host_build(const struct kf_build_request *req,
			   struct kf_build *out, struct kf_err *err);
enum kf_code kf_host_open(const char *device_id, uint64_t memory_max,
			  struct kf_device **out, struct kf_err *err);
enum kf_code kf_host_load(struct kf_device *dev, const char *artefact_path,
			  char refused[256], struct kf_err *err);
enum kf_code kf_host_prepare(struct kf_device *dev, struct kf_call *call,
			     int *rc, struct kf_err *err);
enum kf_code kf_host_forward(struct kf_device *dev, struct kf_call *call,
			     int *rc, struct kf_err *err);
void kf_host_tidy(struct kf_device *dev);
const char *kf_host_fault(const struct kf_device *dev);
const char *kf_host_owns(const struct kf_device *dev, const void *address);
void kf_host_close(struct kf_device *dev);

/* Ceilings of this machine with the processors we may use; 0: not measured. */
struct kf_host_measured {
	double copy_bytes_per_s;	/* read and written bytes together */
	double read_bytes_per_s;
	double flops_all, flops_one;	/* float32 multiply-adds count as two */
};
/* Takes well under a second. cache_bytes: of the last level. */
void kf_host_measure(unsigned threads, uint64_t cache_bytes,
		     uint64_t memory_bytes, struct kf_host_measured *out);

/* --- clocks.c ------------------------------------------------------------ */
extern const struct kf_clock_source kf_host_clocks;
extern const struct kf_sanitizer kf_host_sanitizer[];
/* root stands before /sys: "" but in tests. */
enum kf_code kf_host_clocks_open(const char *root, struct kf_clock_watch **out,
				 struct kf_err *err);

/* Only where there are instructions for it that any program may give. */
#if defined(__x86_64__) || defined(__aarch64__)
#define KF_HOST_EVICTS
void kf_host_evict(const void *data, size_t bytes);
#endif

/* --- memory.c: what kf_temp and kf_keep hand out ------------------------ */
#define KF_HOST_SLOTS 16

struct kf_host_block { unsigned char *data; size_t bytes; };

struct kf_host_given { unsigned char *data; size_t bytes, guard_end; };

struct kf_host_memory {
	uint64_t max_bytes, held_bytes;
	/* Scratch: one block that grew to what the last call wanted, and the
	 * blocks of this call that did not fit into it. */
	struct kf_host_block scratch, *extra;
	size_t scratch_used, wanted_bytes, extra_count;
	/* What was given in this call, and the guard behind each. */
	struct kf_host_given *given;	/* owned */
	size_t given_count;
	unsigned char guard[514];	/* what guards hold, from even on */
	char fault[256];	/* "" unless a guard was overwritten */
	struct kf_host_block kept[KF_HOST_SLOTS];
	size_t kept_bytes[KF_HOST_SLOTS];	/* of it were asked for */
	bool preparing;
};
void *kf_host_memory_temp(struct kf_host_memory *m, size_t bytes);
void *kf_host_memory_keep(struct kf_host_memory *m, int slot, size_t bytes);
/* A new kf_prepare: drops what was kept. */
void kf_host_memory_prepare(struct kf_host_memory *m);
/* It is over: what is kept becomes read-only. */
void kf_host_memory_seal(struct kf_host_memory *m);
/* The scratch of the last call is gone: its guards are looked at, then it is
 * filled with a pattern, in one block. */
void kf_host_memory_tidy(struct kf_host_memory *m);
/* Does this address lie in kept memory? Async-signal-safe. */
bool kf_host_memory_kept_at(const struct kf_host_memory *m,
			    const void *address);
void kf_host_memory_release(struct kf_host_memory *m);

#endif
