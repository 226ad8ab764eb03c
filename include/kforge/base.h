/*
 * base.h - the few things every kforge header needs.
 *
 * Errors:    a function of ours that can fail returns enum kf_code and writes
 *            one sentence for the user into *err. What a candidate does wrong
 *            is never such an error: it is a verdict, stored as data.
 * Ownership: _init/_release for structs the caller holds, _new/_free for those
 *            that kforge allocates. Every _release accepts the empty value and
 *            every _free accepts NULL. Out of memory aborts.
 * Threads:   nothing here is shared; an object belongs to one thread at a time.
 */
#ifndef KF_BASE_H
#define KF_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KF_MUST_CHECK	__attribute__((warn_unused_result))
#define KF_PRINTF(f, a)	__attribute__((format(printf, f, a)))
#define KF_UNUSED	__attribute__((unused))
#define KF_NEVER_NULL	__attribute__((returns_nonnull))
#define KF_COUNT(a)	(sizeof(a) / sizeof((a)[0]))

#define KF_NS_PER_S	UINT64_C(1000000000)
#define KF_NS_PER_MS	UINT64_C(1000000)

/* Why a function of ours failed; also the exit status of the command line. */
enum kf_code {
	KF_OK = 0,
	KF_E_INPUT,	/* what the user or a file gave us is malformed */
	KF_E_LIMIT,	/* larger than a stated ceiling */
	KF_E_UNAVAIL,	/* device, library, program or service is absent */
	KF_E_TIMEOUT,	/* our own deadline passed */
	KF_E_IO,	/* file, pipe or socket trouble; the text says which */
	KF_E_CANCELED,	/* the user said stop */
};

/* The first failure, in words fit for the user. Plain data; never allocates. */
struct kf_err {
	enum kf_code code;
	char text[1024];
};

/* Record a failure and return its code, so callers can `return kf_fail(...)`.
 * err may be NULL when nobody wants the words. The sentence names the thing
 * and the way out, begins in lower case and ends without a full stop. */
enum kf_code kf_fail(struct kf_err *err, enum kf_code code,
		     const char *fmt, ...) KF_PRINTF(3, 4);
/* As kf_fail with KF_E_IO, followed by ": " and strerror(errno). */
enum kf_code kf_fail_errno(struct kf_err *err, const char *fmt, ...)
	KF_PRINTF(2, 3);
const char *kf_code_name(enum kf_code code);	/* "input", "limit", ... */

/* Growable bytes with a ceiling; always NUL-terminated. {.max = N} is ready;
 * a zeroed kf_buf holds nothing until max is set. */
struct kf_buf {
	char *data;	/* owned; NULL until the first byte */
	size_t len;	/* bytes, without the final NUL */
	size_t cap;	/* bytes allocated */
	size_t max;	/* bytes; kf_buf_add never grows past it */
};

/* Add what fits. Returns false, keeping the first max bytes, if it did not. */
bool kf_buf_add(struct kf_buf *buf, const void *bytes, size_t len);
bool kf_buf_puts(struct kf_buf *buf, const char *text);
bool kf_buf_printf(struct kf_buf *buf, const char *fmt, ...) KF_PRINTF(2, 3);
bool kf_buf_vprintf(struct kf_buf *buf, const char *fmt, va_list ap);
/* "" when empty. */
const char *kf_buf_str(const struct kf_buf *buf) KF_NEVER_NULL;
void kf_buf_clear(struct kf_buf *buf);	/* len = 0, keeps memory and max */
void kf_buf_release(struct kf_buf *buf);	/* keeps max */

/* Element types. The numbers are frozen: they are in the contract with
 * candidates (kforge/program.h uses the same). */
enum kf_dtype {
	KF_DTYPE_NONE = 0,
	KF_BOOL = 1,	/* one byte, 0 or 1 */
	KF_U8 = 2,
	KF_I8 = 3,
	KF_I16 = 4,
	KF_I32 = 5,
	KF_I64 = 6,
	KF_F16 = 7,
	KF_BF16 = 8,
	KF_F32 = 9,
	KF_F64 = 10,
};

#define KF_MAX_RANK 8

#endif
