/*
 * base.h (internal) - helpers that every folder of src/ may use.
 * See kforge/base.h for the rules on errors, ownership and threads.
 */
#ifndef KF_BASE_BASE_H
#define KF_BASE_BASE_H

#include <kforge/base.h>

#include "base/banned.h"

/* --- memory: abort instead of returning NULL ----------------------------- */
void *kf_alloc(size_t size_bytes) KF_NEVER_NULL;	/* zeroed */
void *kf_realloc(void *old, size_t size_bytes) KF_NEVER_NULL;
char *kf_strdup(const char *text);		/* NULL gives NULL */
char *kf_strndup(const char *text, size_t len) KF_NEVER_NULL;
/* Caller frees. */
char *kf_format(const char *fmt, ...) KF_PRINTF(1, 2) KF_NEVER_NULL;

/* --- errors --------------------------------------------------------------- */
/* Adds "; way_out" to a sentence that others wrote. err may be NULL. */
void kf_advise(struct kf_err *err, const char *way_out);

/* --- element types -------------------------------------------------------- */
size_t kf_dtype_bytes(enum kf_dtype dtype);	/* 0 for KF_DTYPE_NONE */
const char *kf_dtype_name(enum kf_dtype dtype);	/* "float32", "bool", ... */
enum kf_dtype kf_dtype_by_name(const char *name);	/* NONE if unknown */

/* --- time ----------------------------------------------------------------- */
uint64_t kf_now_ns(void);		/* CLOCK_MONOTONIC */
void kf_sleep_ns(uint64_t ns);
/* Waits, whatever signals come, until fd can be read or its other end is
 * closed (of a pidfd: until the process has ended); false after timeout_ns. */
bool kf_wait_readable(int fd, uint64_t timeout_ns);
/* Processors that this process may use; at least 1. */
unsigned kf_processors(void);
/* UTC, ISO 8601 with seconds: "2026-11-27T10:00:00Z"; needs 21 bytes. */
void kf_time_iso(char out[32]);
/* "1.23 ms" for 3 digits, in the largest unit that gives 1 or more; returns
 * out. */
const char *kf_time_words(double ns, int digits, char out[32]);

/* --- numbers, independent of the locale; the whole text must be used ------ */
bool kf_parse_u64(const char *text, uint64_t *out);
bool kf_parse_i64(const char *text, int64_t *out);
bool kf_parse_double(const char *text, double *out);	/* finite only */

/* --- random --------------------------------------------------------------- */
void kf_random_bytes(void *out, size_t len);	/* getrandom; aborts on failure */
/* SplitMix64: small, seedable, for tests, secret orders and samples. */
struct kf_rng { uint64_t state; };
uint64_t kf_rng_next(struct kf_rng *rng);
uint64_t kf_rng_below(struct kf_rng *rng, uint64_t bound);	/* bound > 0 */
double kf_rng_double(struct kf_rng *rng);			/* [0, 1) */

/* --- content ids ---------------------------------------------------------- */
#define KF_HASH_HEX 65	/* 64 lower-case hex digits and the NUL */
void kf_hash_hex(const void *bytes, size_t len, char out[KF_HASH_HEX]);
enum kf_code kf_hash_file(const char *path, char out[KF_HASH_HEX],
			  struct kf_err *err);

/* --- paths and files ------------------------------------------------------ */
/* Caller frees. */
char *kf_path_join(const char *dir, const char *name) KF_NEVER_NULL;
bool kf_path_exists(const char *path);
bool kf_path_is_dir(const char *path);
/* A folder without entries; false for what is no folder or cannot be read. */
bool kf_path_is_empty(const char *path);
enum kf_code kf_mkdir_p(const char *path, struct kf_err *err);
/* Removes a tree; refuses "" and "/"; a missing tree is not an error. */
enum kf_code kf_remove_tree(const char *path, struct kf_err *err);
/* What all below a folder takes of the disk, and how many entries that are (may
 * be NULL). Links are not followed; somebody may write there meanwhile. */
uint64_t kf_folder_bytes(const char *path, size_t *entries);
/* Reads a whole file into out (its max is the ceiling; KF_E_LIMIT beyond). */
enum kf_code kf_file_read(const char *path, struct kf_buf *out,
			  struct kf_err *err);
/* A file or folder that its maker removes or renames in the end. Its name ends
 * in ".tmp-" and six characters, and it is locked while its maker lives, so
 * that what a killed process left can be swept. */
struct kf_temporary {
	char *path;	/* owned; NULL when empty */
	int fd;		/* of the file, for writing, or of the folder */
};
/* Its name begins with beside, a path. */
enum kf_code kf_temporary_file(const char *beside, struct kf_temporary *out,
			       struct kf_err *err);
enum kf_code kf_temporary_folder(const char *beside, struct kf_temporary *out,
				 struct kf_err *err);
/* Removes it, whatever it holds; then it is empty. */
enum kf_code kf_temporary_remove(struct kf_temporary *temporary,
				 struct kf_err *err);
/* Lets go of it and leaves it where it is. */
void kf_temporary_release(struct kf_temporary *temporary);
/* Removes the temporaries of processes that are gone from a folder: those of
 * this user whose names begin with prefix. What cannot be removed stays. */
void kf_temporaries_sweep(const char *folder, const char *prefix);
/* Writes a temporary beside path, syncs it, renames it, syncs the folder:
 * after a crash there is the old file or the new one, never half of it. */
enum kf_code kf_file_write(const char *path, const void *bytes, size_t len,
			   struct kf_err *err);
/* The same for dir/name. */
enum kf_code kf_file_write_in(const char *dir, const char *name,
			      const void *bytes, size_t len,
			      struct kf_err *err);
/* Writes a file that can be made again: not synced, but never half of it under
 * its name while this machine runs. */
enum kf_code kf_file_write_scratch(const char *path, const void *bytes,
				   size_t len, struct kf_err *err);
/* A lock between processes: a file that one of them holds, made if it is not
 * there (one that all may lock, if all may make files there) and never removed
 * by us; who waited for one that somebody removed takes the new one. The kernel
 * lets go of it when its holder dies. A zeroed kf_lock is one that is not held.
 */
struct kf_lock { bool open, held; int fd; };
/* At once: out->held tells whether it was free. */
KF_MUST_CHECK enum kf_code kf_lock_try(const char *path, struct kf_lock *out,
				       struct kf_err *err);
/* Waits for it: KF_E_TIMEOUT, or KF_E_CANCELED once *cancel (may be NULL) is
 * not 0. */
KF_MUST_CHECK enum kf_code kf_lock_wait(const char *path, uint64_t timeout_ns,
		const volatile int *cancel, struct kf_lock *out,
		struct kf_err *err);
/* The same, together with others who share it: it waits for whoever has it
 * alone, and they wait for all who share it. */
KF_MUST_CHECK enum kf_code kf_lock_share(const char *path, uint64_t timeout_ns,
		const volatile int *cancel, struct kf_lock *out,
		struct kf_err *err);
/* Who holds it, or held it last: "process 1234 on box", as the holder wrote it
 * there; "another process" where that cannot be read. */
void kf_lock_holder(const char *path, char *out, size_t size);
void kf_lock_release(struct kf_lock *lock);
/* Cuts invalid UTF-8 from text by replacing each bad byte with U+FFFD, and
 * control characters other than \n and \t with '?'; adds the rest to out, cut
 * at its ceiling between characters. bytes must not lie in out. */
void kf_utf8_clean(const char *bytes, size_t len, struct kf_buf *out);
/* Text as it stands in XML and HTML, in elements and between quotation marks,
 * cleaned as above. */
void kf_xml_text(const char *text, struct kf_buf *out);
/* The same text with invalid bytes and NUL replaced by U+FFFD, and nothing
 * else changed. False if out was too small and the rest was dropped. */
bool kf_utf8_repair(const char *bytes, size_t len, struct kf_buf *out);
/* Largest n <= len that does not cut a UTF-8 sequence. */
size_t kf_utf8_cut(const char *bytes, size_t len);

/* --- differences ---------------------------------------------------------- */
struct kf_diff_text { const char *name, *text; size_t len; };
/* Adds the unified diff of two texts, with three lines of context; nothing if
 * they are the same. Texts that differ in very many lines are not compared
 * line by line. */
void kf_diff(const struct kf_diff_text *old, const struct kf_diff_text *new,
	     struct kf_buf *out);

/* --- child processes ------------------------------------------------------ */
/* Closes all descriptors from this number on. After a fork, too. */
void kf_close_from(unsigned first);
/* Runs argv[0] (looked up in PATH) to its end with its own process group.
 * Trusted helpers only; whatever is not trusted goes through sandbox/. */
struct kf_proc_spec {
	const char *const *argv;	/* NULL-terminated */
	const char *const *env;		/* NULL: inherit */
	const char *cwd;		/* NULL: inherit */
	const void *stdin_bytes;
	size_t stdin_len;
	uint64_t timeout_ns;		/* 0 is refused */
	const volatile int *cancel;	/* NULL, or becomes non-zero to stop */
	bool stop_when_full;		/* kill it when out has no more room */
};
struct kf_proc_end {
	bool timed_out, canceled;
	bool full;		/* stop_when_full, and out had no room for all */
	int exit_code;		/* valid when signal is 0 and not timed_out */
	int signal;		/* 0 if it exited by itself */
	uint64_t took_ns;
};
/* out and errout (may be NULL: discarded) collect up to their max bytes; more
 * is read and dropped. KF_E_UNAVAIL if the program cannot be started. */
enum kf_code kf_proc_run(const struct kf_proc_spec *spec, struct kf_buf *out,
			 struct kf_buf *errout, struct kf_proc_end *end,
			 struct kf_err *err);
/* Full path of a program on PATH, or NULL; caller frees. */
char *kf_proc_which(const char *name);

/* --- logging -------------------------------------------------------------- */
enum kf_log_level { KF_LOG_ERROR, KF_LOG_WARN, KF_LOG_INFO, KF_LOG_DEBUG,
		    KF_LOG_TRACE };
struct kf_log {
	enum kf_log_level level;	/* lines above it are dropped */
	void (*write)(void *arg, enum kf_log_level level, const char *line);
	void *arg;
};
/* log may be NULL. */
void kf_logf(const struct kf_log *log, enum kf_log_level level,
	     const char *fmt, ...) KF_PRINTF(3, 4);

#endif
