/*
 * worker.h - the supervisor's end of a running candidate.
 *
 * One worker is one fresh process (kforge-runner host) in the host sandbox
 * that has loaded one artefact. Inputs, weights and outputs are memory shared
 * with it: the supervisor writes inputs and weights (the worker's view is
 * read-only) and reads outputs; expected values never enter. Calls are made
 * over a shared control page; the supervisor's clock around the handshake is
 * the time, less the least time of a handshake, measured with empty calls
 * before the candidate's code was loaded. Between commands the process is
 * paused, all its threads: it cannot see inputs before its time runs, nor write
 * outputs after.
 *
 * A worker cannot tell a call that is checked from one that is timed.
 *
 * A program in Python is loaded by python/candidate.py instead: tensors go to
 * where it computes and back in commands of their own, in nobody's time.
 *
 * A two-part program (launch.h) is another matter: kforge-runner device holds
 * its kernels' binary and its plans and no line of its host.c, so it is our own
 * code, is not paused, and its driver's clock and word are believed. If its
 * process ends that is trouble of ours, unless kernels run in it.
 *
 * Errors: trouble of ours is a kf_code. What the candidate did is in struct
 * kf_call_end; after anything but KF_CALL_GOOD or KF_CALL_RC the worker is
 * dead and only kf_worker_stop may follow.
 */
#ifndef KF_EVALUATE_WORKER_H
#define KF_EVALUATE_WORKER_H

#include "base/laps.h"
#include "evaluate/build.h"
#include "evaluate/python_side.h"
#include "problem/problem.h"

struct kf_nursery;

/*
 * The least handshake that was ever measured, for each driver. One that is
 * measured while others keep the machine busy is too long, and too much would
 * be taken off; so the caller keeps this over many workers. Zeroed: none yet.
 */
#define KF_HANDSHAKE_DRIVERS 8
struct kf_handshakes {
	struct {
		const struct kf_driver *driver;
		uint64_t ns_least;
	} of[KF_HANDSHAKE_DRIVERS];
};

/*
 * Another program around the runner, or files that it leaves: for profilers,
 * never for a judgement. Its out_path appears as KF_WRAP_OUT in the sandbox;
 * what is in it afterwards is hostile (sandbox.h).
 */
#define KF_WRAP_OUT	"/profile"
#define KF_WRAP_TRACE	KF_WRAP_OUT "/launches.csv"

struct kf_worker_wrap {
	/* Put before the runner's own command, NULL-terminated; may be empty.
	 * It then shares the process, so the strict filter is not installed,
	 * and what it needs is shown: /usr, and path, where there. */
	const char *const *word;
	const char *const *path;	/* NULL-terminated; NULL: none */
	const char *out_path;		/* a folder of ours */
	bool passive;	/* threads that wait sleep */
	bool launcher;	/* it starts the runner as vendors' tools do: traced,
			   and spoken with (KF_SANDBOX_TOOL) */
	bool trace;	/* two-part, or kf_worker_traces: each call's launches
			   to KF_WRAP_TRACE, unless a word is put before */
	bool activity;	/* with trace: by the vendor's own records */
};

struct kf_worker_spec {
	const struct kf_platform *platform;
	const char *device_id;		/* "cpu:0" */
	bool device_in_process;		/* kf_device_info.in_process */
	const char *artefact_path;
	const struct kf_python_side *python;	/* for programs in Python; or NULL */
	const struct kf_bundle *bundle;	/* shapes, dtypes, names, scalars only */
	unsigned threads;		/* OMP_NUM_THREADS */
	bool passive;		/* threads that wait sleep: no times are taken,
				   and others want the processors */
	enum kf_sandbox_tier tier_min;
	struct kf_limits limits;	/* memory: what the program may use beside
					   the tensors */
	struct kf_handshakes *handshakes;	/* NULL: its own one alone counts */
	const struct kf_worker_wrap *wrap;	/* NULL: none */
	struct kf_nursery *nursery;	/* of programs in Python: where it is
					   forked, if that is free; NULL: it is
					   started anew. Outlives it */
	bool inputs_here;		/* no device is to make inputs */
	const volatile int *cancel;
};

enum kf_call_state {
	KF_CALL_GOOD,
	KF_CALL_RC,		/* kf_forward or kf_prepare returned non-zero */
	KF_CALL_LOAD,		/* the artefact cannot be loaded; text says why */
	KF_CALL_SIGNAL,		/* crashed */
	KF_CALL_INPUT_WRITE,	/* wrote to an input or weight; text names it */
	KF_CALL_TIMEOUT,
	KF_CALL_CPU,
	KF_CALL_MEMORY,
	KF_CALL_VIOLATION,	/* forbidden system call; text names it */
	KF_CALL_EXITED,		/* the candidate ended the process */
	KF_CALL_PROTOCOL,	/* the worker broke the handshake: tampering */
	KF_CALL_BOUNDS,		/* wrote beyond its scratch; text says where */
	/* Two-part programs: */
	KF_CALL_LAUNCH,		/* used launch.h wrongly; text says how */
	KF_CALL_NOT_REPEATABLE,	/* asked for other launches the second time */
	KF_CALL_DEVICE_FAULT,	/* a kernel did what its device does not allow;
				   or device_trouble; text says what */
	/* Programs in Python; text says the rest: */
	KF_CALL_EXCEPTION,	/* raised an exception */
	KF_CALL_OUTPUTS,	/* another number of outputs, or no tensors */
	KF_CALL_SHAPE,
	KF_CALL_DTYPE,
	KF_CALL_WEIGHTS,	/* has no place for the problem's weights */
	KF_CALL_PATCHED,	/* replaced functions of PyTorch or Python */
	KF_CALL_DEFERRED,	/* outputs changed after forward's return */
	/* Found by libraries.h; text says which: */
	KF_CALL_LIBRARY,	/* used a vendor's library, and must not */
};

struct kf_call_end {
	enum kf_call_state state;
	int rc, signal;
	uint64_t time_ns;	/* supervisor's clock, handshake taken off; with
				   device_clock the device's own */
	uint64_t wall_ns;	/* supervisor's in any case; of TIMEOUT what was
				   waited; 0 unless one of these */
	bool device_clock;
	bool clock_doubted;	/* the device's lags far behind the host's,
				   which time_ns is then */
	uint64_t own_ns;	/* the runner's own clock: a diagnostic only */
	uint64_t delay_ns;	/* its threads were ready in this call and
				   waited for a processor: the machine was busy;
				   0 where the kernel does not tell */
	bool device_trouble;	/* told by a process that is the program's too:
				   its own doing, the device's or others' */
	char text[512];		/* one sentence about what happened, "" if good */
	char output[2048];	/* tail of what the program printed, cleaned */
};

struct kf_worker;

/* Makes the process and its memory, and does not wait until it is there:
 * nothing of the candidate is needed yet but the file at artefact_path, which
 * may still be empty and is filled in place before kf_worker_load. So processes
 * can be made while the compiler works, several at a time. */
KF_MUST_CHECK enum kf_code kf_worker_begin(const struct kf_worker_spec *spec,
		struct kf_worker **out, struct kf_err *err);
/* Waits for the process, measures the handshake, then loads the artefact. A
 * candidate that cannot be loaded is KF_OK with *end telling so and a dead
 * worker (still to be freed, as it is after a failure). */
KF_MUST_CHECK enum kf_code kf_worker_load(struct kf_worker *worker,
		struct kf_call_end *end, struct kf_err *err);
/* Both; *out is NULL after a failure. */
KF_MUST_CHECK enum kf_code kf_worker_start(const struct kf_worker_spec *spec,
		struct kf_worker **out, struct kf_call_end *end,
		struct kf_err *err);

/* Shared memory as the supervisor sees it. in and weight are for writing
 * before a call, out for reading after it. Guard bytes lie before and after
 * every output and are checked by kf_worker_guards. */
void *kf_worker_in(struct kf_worker *worker, size_t i);
void *kf_worker_weight(struct kf_worker *worker, size_t i);
void *kf_worker_out(struct kf_worker *worker, size_t i);

/* Fill every output with one of two alternating patterns, and the guards. */
void kf_worker_poison(struct kf_worker *worker);
/* The byte pattern of the last kf_worker_poison. */
uint32_t kf_worker_pattern(const struct kf_worker *worker);
/* True if the guards are whole; else *which is the output whose guard was
 * overwritten and *offset the first byte: negative before its data, else
 * counted from its end. */
bool kf_worker_guards(const struct kf_worker *worker, size_t *which,
		      int64_t *offset);

/* Lets the process go on for a moment without a command: true if any of 64
 * secretly chosen elements of each output changes, so that work was put off
 * beyond the return. Ask when outputs have been looked at and are wrong. */
bool kf_worker_late(struct kf_worker *worker);

/* Cleans up after the last call, in nobody's time and for its own process to
 * do: so after its outputs have been looked at, and before the inputs of the
 * next are written. */
KF_MUST_CHECK enum kf_code kf_worker_tidy(struct kf_worker *worker,
		struct kf_call_end *end, struct kf_err *err);

/* kf_prepare with the weights as they are now (in[].data NULL). */
KF_MUST_CHECK enum kf_code kf_worker_prepare(struct kf_worker *worker,
		uint64_t timeout_ns, struct kf_call_end *end,
		struct kf_err *err);
KF_MUST_CHECK enum kf_code kf_worker_forward(struct kf_worker *worker,
		uint64_t timeout_ns, struct kf_call_end *end,
		struct kf_err *err);

/* In kf_worker_forward from now on, 0: not again: so long after its start the
 * thread that is called sleeps for some milliseconds, so that others come
 * first. Where kf_worker_holds. */
void kf_worker_hold(struct kf_worker *worker, uint64_t after_ns);
bool kf_worker_holds(const struct kf_driver *driver);
/* Did it, within the program, in the last kf_worker_forward? What the runner
 * says: a program can have it say anything. */
bool kf_worker_held(const struct kf_worker *worker);

/* kf_worker_forward with what runs in it written down, so slower: *ran (empty,
 * with a ceiling) gets the lines of kf_host_reply.ran, which the candidate
 * could write itself. Only where kf_worker_traces. */
KF_MUST_CHECK enum kf_code kf_worker_trace(struct kf_worker *worker,
		uint64_t timeout_ns, struct kf_buf *ran,
		struct kf_call_end *end, struct kf_err *err);
bool kf_worker_traces(const struct kf_driver *driver);

/* Drivers that move tensors, for others nothing: what inputs, outputs and
 * guards hold now goes to the device before kf_worker_forward, and outputs and
 * guards come back after it; *end is changed only if that shows a fault. Then,
 * did an input or weight change there? tensor counts inputs, then weights; byte
 * is counted from its start, beyond its end if what follows it changed. */
KF_MUST_CHECK enum kf_code kf_worker_upload(struct kf_worker *worker,
		struct kf_call_end *end, struct kf_err *err);
/* In the place of kf_worker_upload, with the inputs of a case. Those for which
 * kf_worker_makes is true the device makes, and the caller does not write.
 * While kf_worker_lacks_bases, before the first call and after each
 * kf_worker_prepare, kf_worker_give brings what they are made of. bundle is the
 * spec's. */
KF_MUST_CHECK enum kf_code kf_worker_make(struct kf_worker *worker,
		const struct kf_bundle *bundle, const struct kf_case *kase,
		struct kf_call_end *end, struct kf_err *err);
KF_MUST_CHECK enum kf_code kf_worker_give(struct kf_worker *worker,
		const struct kf_bundle *bundle, struct kf_call_end *end,
		struct kf_err *err);
bool kf_worker_lacks_bases(const struct kf_worker *worker);
bool kf_worker_makes(const struct kf_worker *worker, size_t i);
bool kf_worker_makes_any(const struct kf_worker *worker);
KF_MUST_CHECK enum kf_code kf_worker_download(struct kf_worker *worker,
		struct kf_call_end *end, struct kf_err *err);
/* kf_worker_download of what digest, one for each output, needs of them, and
 * guards; kf_worker_out holds the windows then, and kf_worker_sums_of the sums
 * of an output's chunks, [KF_CHUNK_SUMS] of each. A download may follow. Only
 * where kf_worker_sums. */
KF_MUST_CHECK enum kf_code kf_worker_sum(struct kf_worker *worker,
		const struct kf_digest *digest, struct kf_call_end *end,
		struct kf_err *err);
bool kf_worker_sums(const struct kf_worker *worker);
const double *kf_worker_sums_of(const struct kf_worker *worker, size_t i);
bool kf_worker_changed(const struct kf_worker *worker, size_t *tensor,
		       int64_t *byte);

/* From a nursery, and not started anew. */
bool kf_worker_forked(const struct kf_worker *worker);
/* Where the time of kf_worker_begin and kf_worker_load went. */
const struct kf_laps *kf_worker_laps(const struct kf_worker *worker);
/* Its number, as we see it; 0 until it has greeted. */
pid_t kf_worker_pid(const struct kf_worker *worker);
/* Lets the process end by itself, and with it what is around it; at the
 * deadline it is killed, which outcome tells (KF_END_CANCELED). It is dead
 * then. outcome is to be released in any case. */
KF_MUST_CHECK enum kf_code kf_worker_leave(struct kf_worker *worker,
		uint64_t timeout_ns, struct kf_outcome *outcome,
		struct kf_err *err);

/* Ends the process and its tree, if it still runs. Shared memory stays. */
void kf_worker_stop(struct kf_worker *worker);
/* Has them killed, does not wait, and gives the shared memory back meanwhile;
 * kf_worker_stop or _free follows. One whose nursery lives on goes on. */
void kf_worker_doom(struct kf_worker *worker);
/* These two are known once the worker has ended or was stopped; until then
 * they are KF_TIER_NONE and 0, as they are of one whose nursery lives on. */
enum kf_sandbox_tier kf_worker_tier(const struct kf_worker *worker);
uint64_t kf_worker_memory_peak(const struct kf_worker *worker); /* 0 unknown */
/* What is taken off every time: the least that an empty call took by the
 * supervisor's clock, of this worker's 20 and of those in handshakes. *median
 * (may be NULL) is its own usual one. */
uint64_t kf_worker_handshake_ns(const struct kf_worker *worker,
				uint64_t *median);
/* Stops it and gives everything back. NULL is allowed. */
void kf_worker_free(struct kf_worker *worker);

#endif
