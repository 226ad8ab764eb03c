/*
 * protocol.h - what the supervisor and kforge-runner say to each other.
 *
 * Build: what is asked stands in the arguments (so that the sandbox's tiers can
 * translate the paths in it), the result goes into a memfd. Nothing is said
 * over stdout.
 *
 * Host and device: two pages of control and two arenas of tensors, all shared
 * memory.
 *
 *	request	the supervisor writes, the runner may only read: the sequence
 *		number `go`, the command, and the table of tensors
 *	reply	the runner writes, and so can the candidate's code: `done`, what
 *		was returned, and a record of a crash
 *	inputs	inputs and weights; read-only in the runner, whose descriptor
 *		was opened for reading, so that no mprotect can change it
 *	outputs	outputs, with a guard before and after each
 *
 * The supervisor raises go by one, the runner answers by setting done to the
 * same number. Both wait on those words with futexes. Whatever the supervisor
 * reads from the reply it reads once, and believes nothing that matters: a
 * candidate that writes there can spoil its own verdict and no more.
 *
 * The process is paused (SIGSTOP) but from a command to its answer, so that
 * the candidate's code cannot look at what is written for its next call, nor
 * write to what is read of its last one, whatever it makes of this protocol. A
 * device runner holds no code of the candidate's and is not paused.
 */
#ifndef KF_RUNNER_PROTOCOL_H
#define KF_RUNNER_PROTOCOL_H

#include <kforge/driver.h>
#include <signal.h>
#include <stdatomic.h>

/* Descriptors as the runner finds them. */
enum {
	KF_RUNNER_FD_REPLY = 3,		/* build, record: the result */
	KF_RUNNER_FD_REQUEST = 4,	/* host and record, from here */
	KF_RUNNER_FD_INPUTS = 5,	/* host only */
	KF_RUNNER_FD_OUTPUTS = 6,	/* host only */
	KF_RUNNER_FD_HELLO = 7,		/* one byte with our credentials */
	KF_RUNNER_FD_FILTER = 8,	/* a compiled seccomp program */
	KF_RUNNER_FD_NURSERY = 3,	/* a nursery's only one: a socket */
};

/* Of every tensor, bytes: 256 are promised, and NVIDIA's OpenCL wants 512. */
#define KF_RUNNER_ALIGNMENT	512u
#define KF_RUNNER_GUARD		4096u	/* least bytes around each output */

/* --- build -----------------------------------------------------------------
 *
 *	kforge-runner build DRIVER DEVICE ARCH DEADLINE_MS OUTPUT
 *		COUNT SOURCE... COMMAND...
 *
 * DEVICE and ARCH may be empty. COUNT is the number of sources; the rest is the
 * compile command.
 */

#define KF_BUILD_MAGIC	UINT32_C(0x6b66626c)

/* The result's memfd. The supervisor puts the nonce there before it starts the
 * runner; the runner writes the whole, followed by the log, as its last act. */
struct kf_build_answer {
	uint32_t magic;			/* set by the runner */
	uint32_t code;			/* enum kf_code */
	uint32_t end;			/* enum kf_build_end */
	uint32_t log_bytes;
	uint64_t nonce;			/* set by the supervisor, repeated */
	uint64_t took_ns;
	char text[512];			/* the error's sentence */
	char kernels[32];		/* as in struct kf_build */
};

/* --- host --------------------------------------------------------------------
 *
 *	kforge-runner host ARTEFACT
 *	kforge-runner free ARTEFACT [TRACE [watched]]
 *	kforge-runner device ARTEFACT [TRACE [watched|activity]]
 *
 * TRACE: a file to which every FORWARD adds a line for each of its operations,
 * if the driver can trace. watched: a tool is around the process; activity: by
 * the vendor's own records (kf_trace).
 *
 * It greets and waits. At READY it looks into the artefact, which may have been
 * empty until then, for runtimes to set up, and installs the filter. Until it
 * does the runner may write to /dev/shm, a folder of its own, if the driver has
 * runtimes to set up.
 */

#define KF_HOST_MAGIC	UINT32_C(0x6b666870)

enum kf_host_command {
	KF_HOST_NONE,
	KF_HOST_PING,		/* nothing; measures the handshake */
	KF_HOST_LOAD,
	KF_HOST_PREPARE,
	KF_HOST_FORWARD,
	KF_HOST_TIDY,		/* between calls: the driver's tidy */
	KF_HOST_READY,		/* the first, once: the artefact is there */
	/* A device runner's: shared memory to the device before FORWARD, and
	 * back after it. */
	KF_HOST_UPLOAD,
	KF_HOST_DOWNLOAD,
	/* It answers, and ends: for profilers, which speak when a program has
	 * ended by itself. */
	KF_HOST_LEAVE,
	/* Of programs that share the process and have their tensors moved:
	 * FORWARD, and what it ran is told in `ran`. */
	KF_HOST_TRACE,
	/* A device runner's, in the place of DOWNLOAD, where the request has
	 * sums_at: of outputs only what is asked. */
	KF_HOST_SUM,
	/* A device runner's, where the request has made_at: a part of what
	 * inputs are made of; and in the place of UPLOAD, the inputs made of
	 * it first. */
	KF_HOST_BASE,
	KF_HOST_MAKE,
	KF_HOST_COMMANDS
};

struct kf_host_tensor {
	uint64_t offset;	/* in its arena; not used if the dtype is NONE */
	uint64_t name;		/* in the names; weights only */
	int32_t dtype, rank;
	uint32_t structural;	/* of a weight: its values are never changed */
	uint32_t reserved;
	int64_t shape[8];
};

/* What SUM asks of an output; [out_count] of them lie at sums_at. */
struct kf_host_sums {
	uint64_t sign_at, window_at;	/* as kf_sums has them; in the inputs'
					   memory, beyond in_bytes */
	uint64_t sum_at;		/* in the outputs', beyond out_bytes */
	int64_t window_count, window;
};

/* What MAKE makes of an input; [in_count] of them lie at made_at. Offsets are
 * into the inputs' memory, beyond in_bytes. */
struct kf_host_made {
	uint32_t there;			/* 0: UPLOAD has this input */
	uint32_t as_is;			/* 1: it is its base */
	uint64_t column_at, row_at;	/* as kf_made has them */
	double shift;
	uint64_t tail, tail_from;
};

/* Followed by the tensors (inputs, weights, outputs), the scalars, and the
 * names. */
struct kf_host_request {
	uint32_t magic;
	atomic_uint go;			/* raised for each command */
	uint32_t command;
	uint32_t spins;			/* 0: never spin, there is one processor */
	uint64_t total_bytes;		/* of this and what follows */
	uint64_t in_bytes, out_bytes;	/* of the arenas */
	uint64_t memory_max;		/* for kf_temp and kf_keep */
	/* FORWARD, host only: so long after its start the thread that calls the
	 * program sleeps for KF_HOST_HOLD_NS, and on until its other threads
	 * have worked for KF_HOST_HOLD_WORK_NS together, but no longer than
	 * KF_HOST_HOLD_MOST_NS: they may have to wait for a processor. 0: it
	 * does not. */
	uint64_t hold_after_ns;
	uint64_t sums_at;		/* in the inputs' memory; 0: no SUM */
	uint64_t made_at;		/* likewise; 0: no BASE, no MAKE */
	uint64_t window_at, window_bytes;	/* where BASE has its part */
	uint64_t base_offset, base_bytes;	/* of BASE */
	uint32_t base_input;
	uint32_t pattern;		/* kf_shared_memory.pattern; for UPLOAD */
	uint32_t in_count, weight_count, out_count, scalar_count;
	uint64_t names_bytes;
	char driver[32], device[32];
};

/* What kind of memory a write that the processor refused went to. */
enum kf_host_region {
	KF_HOST_ELSEWHERE,
	KF_HOST_INPUTS,		/* offset counts from the arena's start */
	KF_HOST_OWNED,		/* the driver's own: text says what */
	KF_HOST_HANDLE,		/* record: none; text: whose handle it was */
};

struct kf_host_fault {
	uint32_t signal;	/* 0: none */
	int32_t code;		/* si_code */
	uint64_t address;
	uint32_t call;		/* number of the forbidden system call */
	uint32_t region;	/* enum kf_host_region */
	uint64_t offset;
	char text[96];
};

/* One that neither libraries nor programs are likely to use. */
#define KF_HOST_HOLD_SIGNAL	(SIGRTMAX - 3)
#define KF_HOST_HOLD_NS		(4 * KF_NS_PER_MS)	/* at least */
#define KF_HOST_HOLD_WORK_NS	(3 * KF_NS_PER_MS)	/* of the other threads */
#define KF_HOST_HOLD_MOST_NS	(40 * KF_NS_PER_MS)

#define KF_HOST_RAN_BYTES 65536u

struct kf_host_reply {
	uint32_t magic;		/* set when the runner is ready */
	atomic_uint done;	/* the go that was answered last */
	uint32_t code;		/* enum kf_code */
	int32_t rc;		/* what the program returned */
	uint64_t own_ns;	/* the runner's clock around the program */
	char text[512];		/* the refusal or the error's sentence */
	struct kf_host_fault fault;
	/* Of a device runner. */
	uint32_t faulted;	/* the program did wrong; text says what */
	uint32_t short_of_memory;	/* LOAD: the device has less than the
					   program asks for; text says so */
	uint32_t held, reserved;	/* of a host runner: held up in FORWARD */
	uint64_t device_ns;	/* of PREPARE, FORWARD; 0: no such clock */
	uint64_t host_ns;	/* the same by the host's clock; 0: not taken */
	uint64_t changed;	/* DOWNLOAD: where the inputs first differ from
				   what they were; UINT64_MAX: nowhere */
	/* TRACE: lines, each once and as many as have room. "kernel NAME",
	 * "operator NAME" (PyTorch's), "library FILE" (loaded since the program
	 * was), or "unseen WHY": nobody can tell. */
	char ran[KF_HOST_RAN_BYTES];
};

/* --- python ------------------------------------------------------------------
 *
 *	python -B candidate.py serve TORCH_DEVICE ARTEFACT PROBLEM
 *		[TRACE [watched]]
 *
 * TORCH_DEVICE: "" for the processor, "cuda". TRACE, watched: as above.
 * python/kforge_candidate: the commands of a device runner, with a program that
 * is a Python file. ARTEFACT is what `candidate.py build` has made. The filter
 * is installed when LOAD is over. rc says how PREPARE, UPLOAD, FORWARD and
 * DOWNLOAD ended, and text the rest.
 */

/*	python -B candidate.py nurse TORCH_DEVICE ARTEFACT PROBLEM
 *
 * One that has PyTorch loaded, and no device and no program, from which serving
 * processes are forked (evaluate/nursery.h). Over its socket go letters; its
 * answer is READY: once it is there, and to every CLEAR.
 */
#define KF_NURSERY_READY	'r'
#define KF_NURSERY_FORK		'f'	/* with descriptors, in this order: standard
					   output and error, and 3 to 8 of the
					   list above */
#define KF_NURSERY_CLEAR	'c'	/* end all other processes, remove what
					   they left */

enum kf_python_end {
	KF_PYTHON_GOOD,
	KF_PYTHON_EXCEPTION,
	KF_PYTHON_EXITED,
	KF_PYTHON_OUTPUTS,
	KF_PYTHON_SHAPE,
	KF_PYTHON_DTYPE,
	KF_PYTHON_WEIGHTS,
	KF_PYTHON_PATCHED,
	KF_PYTHON_DEFERRED,
	KF_PYTHON_MEMORY,
	KF_PYTHON_DEVICE,	/* the device is in trouble, CUDA says */
};

/* --- record ------------------------------------------------------------------
 *
 *	kforge-runner record HOST
 *
 * HOST is the shared object of a two-part program's host.c. Request, filter and
 * faults are as in host; there are no arenas. HELLO is a pipe: one byte is
 * written to it directly before HOST is loaded, so that what goes wrong before
 * is told from what the program does.
 */

#define KF_RECORD_MAGIC	UINT32_C(0x6b667263)

/* Of handles: bits 63 to 52 the salt, 51 to 40 which buffer, and below it the
 * offset and this bias, so that places before the buffer are told. */
#define KF_RECORD_SALT_SHIFT	52
#define KF_RECORD_NUMBER_SHIFT	40
#define KF_RECORD_NUMBERS	4096u
#define KF_RECORD_BIAS		(INT64_C(1) << 36)

enum kf_record_stage { KF_RECORD_LOADING, KF_RECORD_PREPARING,
		       KF_RECORD_FORWARDING, KF_RECORD_STAGES };

/* At the beginning of the reply's memfd; the plans (platform/plan.h) follow.
 * The supervisor sets salt and nonce, the runner takes the nonce out and puts
 * it back as its last act. */
struct kf_record_answer {
	uint32_t magic;		/* set by the runner when all is written */
	uint32_t salt;		/* 12 bits: the highest set, the next clear */
	uint64_t nonce;
	uint32_t stage;		/* enum kf_record_stage: what it does now */
	uint32_t plans_bytes;
	char text[256];		/* why the program cannot be loaded, or "" */
	struct kf_host_fault fault;
};

#endif
