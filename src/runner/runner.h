/*
 * runner.h - the second program: kforge-runner, which lives in a sandbox and
 * touches code that nobody has reviewed.
 *
 *	kforge-runner build ...	one compilation (build.c)
 *	kforge-runner host ...	one loaded program, many calls (host.c)
 *	kforge-runner device ...	the same of a two-part program, without
 *				its host part (device.c)
 *	kforge-runner free ...	a program with its host code, on a device
 *				(device.c too)
 *	kforge-runner record ...	what the host part of a two-part program
 *				asks of its device (record.c)
 *
 * protocol.h says what they are told and what they answer. Only main.c prints.
 */
#ifndef KF_RUNNER_RUNNER_H
#define KF_RUNNER_RUNNER_H

#include <time.h>

#include "base/base.h"
#include "runner/protocol.h"

/* The arguments are those after the mode's name. */
enum kf_code kf_runner_build(int argc, const char *const *argv,
			     struct kf_err *err);
/* KF_OK only if it was told to leave; usually the supervisor ends it. */
enum kf_code kf_runner_host(int argc, const char *const *argv,
			    struct kf_err *err);
enum kf_code kf_runner_record(int argc, const char *const *argv,
			      struct kf_err *err);

/* The same for two-part programs. */
enum kf_code kf_runner_device(int argc, const char *const *argv,
			      struct kf_err *err);
/* And for those that share the process and have a device. */
enum kf_code kf_runner_free(int argc, const char *const *argv,
			    struct kf_err *err);

/* Maps a whole descriptor, shared. *bytes is its size. NULL and *err if not. */
void *kf_runner_map(int fd, bool writable, uint64_t *bytes,
		    struct kf_err *err);

/* --- tensors.c: what calls are made from -------------------------------- */
struct kf_runner_tensors {
	const struct kf_host_request *request;
	struct kf_tensor *tensor;	/* inputs, weights, outputs */
	/* Copied afresh for each call, for a program may write to what it is
	 * given. */
	struct kf_tensor *now;
	struct kf_scalar *scalar_now;
	size_t count;
};
/* Maps the request and reads its table; data are NULL yet. Lives as long as
 * the process. */
enum kf_code kf_runner_tensors_open(struct kf_runner_tensors *tensors,
				    struct kf_err *err);
/* From now on data lie in these. */
void kf_runner_tensors_place(struct kf_runner_tensors *tensors,
			     const void *inputs, void *outputs);
/* Tensor i (inputs, weights, outputs) as the last call has it. */
struct kf_tensor *kf_runner_tensor_now(const struct kf_runner_tensors *t,
				       size_t i);
/* Valid until the next. with_data: for kf_forward, not kf_prepare, which sees
 * those of weights alone. */
struct kf_call kf_runner_call(struct kf_runner_tensors *tensors,
			      bool with_data);

/* --- door.c ------------------------------------------------------------- */
/* From here on there is no way back: the strict filter holds for this process
 * and every thread of it, and its descriptors are closed. */
enum kf_code kf_runner_lock_door(struct kf_err *err);

/* --- serve.c: commands come in, answers go out -------------------------- */
struct kf_serve {
	struct kf_runner_tensors tensors;
	struct kf_host_reply *reply;
	const unsigned char *inputs;
	unsigned char *outputs;
	uint64_t in_bytes, out_bytes;	/* as mapped */
	const char *artefact;
	const char *trace_path;		/* device only; NULL: none */
	struct kf_trace trace;
	unsigned call_count;		/* forwards that were traced */
	bool traced;			/* the driver was told to */
	unsigned loaded_before;		/* objects, before the program's */
	const struct kf_driver *driver;
	struct kf_device *device;
	timer_t hold;			/* host only, if it holds */
	bool holds;
};
typedef enum kf_code kf_serve_fn(struct kf_serve *serve, struct kf_err *err);

/* Maps what the supervisor shares and opens the device. */
enum kf_code kf_serve_open(struct kf_serve *serve, int argc,
			   const char *const *argv, struct kf_err *err);
enum kf_code kf_serve_hello(struct kf_serve *serve, struct kf_err *err);
/* Waits for READY, then does it. */
enum kf_code kf_serve_ready(struct kf_serve *serve, kf_serve_fn *ready,
			    struct kf_err *err);
/* KF_OK once it was told to leave. commands[KF_HOST_COMMANDS]; NULL: not
 * one of this mode's. */
enum kf_code kf_serve_loop(struct kf_serve *serve,
			   kf_serve_fn *const *commands, struct kf_err *err);
/* Commands. */
kf_serve_fn kf_serve_nothing, kf_serve_load, kf_serve_prepare,
	kf_serve_forward, kf_serve_tidy;

/* --- trace.c: what operations took, for profiles ------------------------ */
/* After load. */
enum kf_code kf_serve_trace_begin(struct kf_serve *serve, struct kf_err *err);
/* Adds the last forward's operations. */
enum kf_code kf_serve_trace_add(struct kf_serve *serve, struct kf_err *err);

/* --- ran.c: which kernels and libraries a call needs --------------------- */
/* The command: forward, and what it ran. */
kf_serve_fn kf_serve_trace_call;
/* How many objects the loader has in this process. */
unsigned kf_serve_loaded(void);

/* --- runtime.c: libraries that must be set up before the filter --------- */
/* Sets up those of the driver's runtimes that the artefact names. Only looks
 * at the artefact's bytes. */
enum kf_code kf_runner_start_runtimes(const struct kf_driver *driver,
				      const char *artefact_path,
				      struct kf_err *err);

/* --- fault.c: what happens when the program crashes --------------------- */
struct kf_fault_context {
	struct kf_host_fault *fault;	/* where it is written down */
	const unsigned char *inputs;
	uint64_t in_bytes;
	const struct kf_driver *driver;
	const struct kf_device *device;
	/* Async-signal-safe: what this is a handle of, NULL if it is none.
	 * NULL where there are no handles. */
	const char *(*handle)(const void *arg, uint64_t value);
	const void *handle_arg;
};
/* From now on a crash is written down and ends the process. The
 * context must live as long as the process. */
enum kf_code kf_runner_catch_faults(const struct kf_fault_context *context,
				    struct kf_err *err);
/* The same for a program that is called over and over. */
enum kf_code kf_serve_catch_faults(const struct kf_serve *serve,
				   struct kf_err *err);

/* --- hold.c: a thread that is late ---------------------------------------- */
/* Before the filter, by the thread that will be held up; where there are no
 * timers none will be. */
void kf_serve_can_hold(struct kf_serve *serve);
/* The command: forward, held up if the request says so. */
kf_serve_fn kf_serve_forward_held;

#endif
