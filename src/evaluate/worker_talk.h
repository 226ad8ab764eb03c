/*
 * worker_talk.h - one command to a worker's process and its answer, and what is
 * said about the candidate if there is none. Part of worker.c and
 * worker_start.c.
 */
#ifndef KF_EVALUATE_WORKER_TALK_H
#define KF_EVALUATE_WORKER_TALK_H

#include "base/laps.h"
#include "evaluate/arena.h"
#include "evaluate/pause.h"
#include "evaluate/worker_end.h"

#define KF_TALK_SLICE_NS   (8 * KF_NS_PER_MS)	/* between looks at the sandbox */
#define KF_TALK_BETWEEN_NS (20 * KF_NS_PER_S)	/* for what only our own code
						   answers */

struct kf_worker {
	const struct kf_driver *driver;
	struct kf_handshakes *handshakes;	/* borrowed; may be NULL */
	/* Is it the candidate's doing when its process ends? */
	bool in_process;
	bool traced;			/* it writes a profile's file */
	const volatile int *cancel;
	struct kf_arena arena;
	struct kf_sandbox *box;
	struct kf_nursery *nursery;	/* borrowed, and the box is its; or NULL */
	pid_t pid;			/* 0: not heard of yet */
	int hello_fd;			/* -1 once it has been heard */
	uint64_t load_ns;		/* the candidate may take to be loaded */
	char *shm_path;			/* its /dev/shm; NULL if it needs none */
	bool dead;
	struct kf_pause pause;		/* paused but while it has a command; a
					   device runner never is */
	unsigned processes;		/* in its sandbox before the program was
					   loaded; 0: not counted */
	bool untidy;			/* there was a call since the last TIDY */
	bool has_run;			/* kf_forward, once */
	bool has_bases;			/* the device, of inputs it makes */
	unsigned sequence;		/* of the last command */
	uint64_t delay_ns;		/* how long its threads had waited for a
					   processor when that was given */
	uint64_t ping_ns_min, ping_ns_median;
	enum kf_sandbox_tier tier;
	uint64_t memory_bytes_peak;
	struct kf_laps laps;		/* what making it took */
};

/* Sends it and waits. *took_ns is what that took by our clock. */
enum kf_wait kf_talk_transact(struct kf_worker *worker,
			      enum kf_host_command command,
			      uint64_t timeout_ns, uint64_t *took_ns);
/* Sends it, lets the process go on, and does not wait. */
void kf_talk_tell(struct kf_worker *worker, enum kf_host_command command);
/* Ends the process, whatever it does, and learns what the sandbox knows. */
enum kf_code kf_talk_bury(struct kf_worker *worker, bool ended,
			  struct kf_outcome *outcome, struct kf_err *err);
/* The command was not answered: buries the worker and says why. */
enum kf_code kf_talk_fail(struct kf_worker *worker, enum kf_wait why,
			  enum kf_host_command command, uint64_t timeout_ns,
			  struct kf_call_end *end, struct kf_err *err);
/* The reply's sentence, made harmless. */
void kf_talk_text(const struct kf_worker *worker, char *out, size_t size);
/* The runner says that something of ours failed. Where the candidate's code
 * shares its process, that is the candidate speaking; if it is trouble with a
 * device it may be true, which end says (device_trouble): who tells of it each
 * time, of a device that is well, has a verdict. */
enum kf_code kf_talk_trouble(struct kf_worker *worker, uint32_t code,
			     enum kf_host_command command,
			     struct kf_call_end *end, struct kf_err *err);

#endif
