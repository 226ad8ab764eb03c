/* Commands come in, answers go out: what host and device runner share. */
#include "runner/runner.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define PAUSE()	__builtin_ia32_pause()
#else
#define PAUSE()	atomic_signal_fence(memory_order_seq_cst)
#endif

/* --- getting ready ------------------------------------------------------ */

static enum kf_code map_all(struct kf_serve *s, struct kf_err *err)
{
	const struct kf_host_request *r = s->tensors.request;
	uint64_t reply_bytes;

	s->reply = kf_runner_map(KF_RUNNER_FD_REPLY, true, &reply_bytes, err);
	if (!s->reply)
		return KF_E_IO;
	close(KF_RUNNER_FD_REPLY);	/* the door closes the others */
	s->inputs = kf_runner_map(KF_RUNNER_FD_INPUTS, false, &s->in_bytes,
				  err);
	if (!s->inputs)
		return KF_E_IO;
	s->outputs = kf_runner_map(KF_RUNNER_FD_OUTPUTS, true, &s->out_bytes,
				   err);
	if (!s->outputs)
		return KF_E_IO;
	if (r->in_bytes > s->in_bytes || r->out_bytes > s->out_bytes)
		return kf_fail(err, KF_E_INPUT, "malformed request");
	kf_runner_tensors_place(&s->tensors, s->inputs, s->outputs);
	return KF_OK;
}

enum kf_code kf_serve_open(struct kf_serve *s, int argc,
			   const char *const *argv, struct kf_err *err)
{
	const struct kf_host_request *r;
	enum kf_code code = kf_runner_tensors_open(&s->tensors, err);

	if (!code)
		code = map_all(s, err);
	if (code)
		return code;
	r = s->tensors.request;
	s->driver = kf_driver_by_name(r->driver);
	if (argc < 1 || argc > 3 || !s->driver ||
	    (argc > 1 && !s->driver->attach))
		return kf_fail(err, KF_E_INPUT, "malformed arguments");
	s->artefact = argv[0];
	s->trace_path = argc > 1 ? argv[1] : NULL;
	s->trace.watched = argc > 2 && strcmp(argv[2], "watched") == 0;
	s->trace.activity = argc > 2 && strcmp(argv[2], "activity") == 0;
	return kf_driver_open(s->driver, r->device, r->memory_max, &s->device,
			      err);
}

/* One byte. The kernel adds who we are, as the supervisor numbers processes. */
enum kf_code kf_serve_hello(struct kf_serve *s, struct kf_err *err)
{
	s->reply->magic = KF_HOST_MAGIC;
	if (send(KF_RUNNER_FD_HELLO, "k", 1, 0) != 1)
		return kf_fail_errno(err, "cannot greet the supervisor");
	close(KF_RUNNER_FD_HELLO);
	return KF_OK;
}

/* --- the handshake ------------------------------------------------------ */

static unsigned wait_for_go(struct kf_serve *s, unsigned last)
{
	const struct kf_host_request *r = s->tensors.request;
	/* The atomics of the C library have no const versions. */
	atomic_uint *go = (atomic_uint *)(uintptr_t)&r->go;
	unsigned now;

	for (uint32_t i = 0; i < r->spins; i++) {
		now = atomic_load_explicit(go, memory_order_acquire);
		if (now != last)
			return now;
		PAUSE();
	}
	while ((now = atomic_load(go)) == last)
		syscall(SYS_futex, go, FUTEX_WAIT, last, NULL, NULL, 0);
	return now;
}

static void answer(struct kf_serve *s, unsigned now)
{
	atomic_store(&s->reply->done, now);
	syscall(SYS_futex, &s->reply->done, FUTEX_WAKE, INT_MAX, NULL, NULL,
		0);
}

/* --- commands ----------------------------------------------------------- */

typedef enum kf_code call_fn(const struct kf_driver *driver,
			     struct kf_device *dev, struct kf_call *call,
			     int *rc, struct kf_err *err);

static enum kf_code run_call(struct kf_serve *s, call_fn *fn, bool with_data,
			     struct kf_err *err)
{
	struct kf_call call = kf_runner_call(&s->tensors, with_data);
	uint64_t start_ns = kf_now_ns();
	enum kf_code code;
	int rc = 0;

	code = fn(s->driver, s->device, &call, &rc, err);
	s->reply->own_ns = kf_now_ns() - start_ns;
	s->reply->rc = rc;
	return code;
}

enum kf_code kf_serve_nothing(struct kf_serve *s, struct kf_err *err)
{
	(void)s;
	(void)err;
	return KF_OK;
}

enum kf_code kf_serve_load(struct kf_serve *s, struct kf_err *err)
{
	char refused[256];
	enum kf_code code = kf_driver_load(s->driver, s->device, s->artefact,
					   refused, err);

	if (!code)
		snprintf(s->reply->text, sizeof(s->reply->text), "%.255s",
			 refused);
	return code;
}

enum kf_code kf_serve_prepare(struct kf_serve *s, struct kf_err *err)
{
	return run_call(s, kf_driver_prepare, false, err);
}

enum kf_code kf_serve_forward(struct kf_serve *s, struct kf_err *err)
{
	return run_call(s, kf_driver_forward, true, err);
}

enum kf_code kf_serve_tidy(struct kf_serve *s, struct kf_err *err)
{
	(void)err;
	kf_driver_tidy(s->driver, s->device);
	return KF_OK;
}

/* --- the loop ----------------------------------------------------------- */

enum kf_code kf_serve_ready(struct kf_serve *s, kf_serve_fn *ready,
			    struct kf_err *err)
{
	unsigned now = wait_for_go(s, 0);
	enum kf_code code;

	if (now != 1 || s->tensors.request->command != KF_HOST_READY)
		return kf_fail(err, KF_E_INPUT, "malformed command");
	code = ready(s, err);
	if (!code)
		answer(s, now);
	return code;
}

enum kf_code kf_serve_loop(struct kf_serve *s, kf_serve_fn *const *commands,
			   struct kf_err *err)
{
	for (unsigned last = 1;; last++) {
		unsigned now = wait_for_go(s, last);
		uint32_t command = s->tensors.request->command;
		struct kf_err trouble = { 0 };
		enum kf_code code;

		if (now == last + 1 && command == KF_HOST_LEAVE) {
			answer(s, now);
			return KF_OK;
		}
		if (now != last + 1 || command >= KF_HOST_COMMANDS ||
		    !commands[command])
			return kf_fail(err, KF_E_INPUT, "malformed command");
		if (command != KF_HOST_FORWARD)
			s->reply->text[0] = '\0';
		code = commands[command](s, &trouble);
		s->reply->code = (uint32_t)code;
		if (code)
			snprintf(s->reply->text, sizeof(s->reply->text),
				 "%.511s", trouble.text);
		answer(s, now);
	}
}
