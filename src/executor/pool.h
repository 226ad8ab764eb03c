/*
 * pool.h - processes of our own that work side by side: an item goes to one of
 * them as a text, an answer comes back as a text.
 *
 * A judgement holds sandboxes that die with the thread that started them, and
 * may find a bug of ours; so each of several has a process. They are forked
 * when there is work for one more, live until the pool is freed, and end when
 * their parent does. One that dies takes its own item with it and no other.
 *
 * Processes: one owner, with a single thread; a worker is a fork of it. Its
 *            standard input and output are /dev/null.
 * Signals:   a worker has a process group of its own, so that Ctrl-C reaches
 *            the owner alone; kf_pool_interrupt passes it on.
 */
#ifndef KF_EXECUTOR_POOL_H
#define KF_EXECUTOR_POOL_H

#include "base/base.h"

#define KF_POOL_MAX 256			/* workers */
#define KF_POOL_ITEM_BYTES (64u << 20)	/* an item, an answer */

struct kf_pool_spec {
	unsigned count;			/* workers at most; 1 .. KF_POOL_MAX */
	/* In the worker, once: which of 0 .. count - 1 it is; or NULL. One
	 * that takes the place of a dead one has its number. */
	void (*begin)(void *arg, unsigned number);
	/* In the worker: does the item, adds the answer (its max is set). */
	void (*work)(void *arg, const char *item, size_t len,
		     struct kf_buf *answer);
	void (*end)(void *arg);		/* in the worker, when it is to end; or
					   NULL */
	void *arg;			/* as the owner had it at the fork */
};

struct kf_pool_item {
	uint64_t tag;			/* comes back with the answer */
	uint64_t subject;		/* a worker whose last item had the same
					   need not begin anew; 0: none */
	const char *text;
	size_t len;
};

struct kf_pool_answer {
	uint64_t tag;			/* of the item */
	const char *text;		/* NULL: the worker died with it */
	size_t len;
	int signal, status;		/* how it died */
};

struct kf_pool;

KF_MUST_CHECK enum kf_code kf_pool_new(const struct kf_pool_spec *spec,
		struct kf_pool **out, struct kf_err *err);
/* Items under way, and whether one more would begin at once. */
unsigned kf_pool_busy(const struct kf_pool *pool);
bool kf_pool_has_room(const struct kf_pool *pool);
/* Is a worker with this subject idle; has any, idle or busy? Not for 0. */
bool kf_pool_waits_for(const struct kf_pool *pool, uint64_t subject);
bool kf_pool_knows(const struct kf_pool *pool, uint64_t subject);
/* To an idle worker with its subject if there is one. There must be room; the
 * text is copied. */
KF_MUST_CHECK enum kf_code kf_pool_give(struct kf_pool *pool,
		const struct kf_pool_item *item, struct kf_err *err);
/* What to poll: one descriptor per busy worker; returns how many were set, at
 * most KF_POOL_MAX. */
struct pollfd;
size_t kf_pool_poll(const struct kf_pool *pool, struct pollfd *out);
/* The next answer that is there, without waiting; false if there is none. Its
 * text is valid until the next call. */
bool kf_pool_answer(struct kf_pool *pool, struct kf_pool_answer *out);
/* SIGTERM to every worker: they give up what they do and answer so. */
void kf_pool_interrupt(struct kf_pool *pool);
/* Ends the workers, kills those that do not within some seconds. */
void kf_pool_free(struct kf_pool *pool);

#endif
