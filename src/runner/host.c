/*
 * One program, loaded once and called when the supervisor says so. Reads as
 * its running order: map, open, lock the door, say hello, serve.
 */
#include "runner/runner.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FILTER_MAX	4096u	/* instructions: the kernel's own ceiling */

#if defined(__x86_64__)
#define PAUSE()	__builtin_ia32_pause()
#else
#define PAUSE()	atomic_signal_fence(memory_order_seq_cst)
#endif

struct host {
	const struct kf_host_request *request;
	struct kf_host_reply *reply;
	const unsigned char *inputs;
	unsigned char *outputs;
	uint64_t request_bytes, in_bytes, out_bytes;

	const char *artefact;
	const struct kf_driver *driver;
	struct kf_device *device;
	struct kf_fault_context fault;

	/* What a call is made from; copied afresh for each, for the program may
	 * write to what it is given. */
	struct kf_tensor *tensor, *tensor_now;
	struct kf_scalar *scalar, *scalar_now;
	size_t tensor_count;
};

/* --- the table of tensors ----------------------------------------------- */

static const struct kf_host_tensor *table(const struct host *h)
{
	return (const struct kf_host_tensor *)(h->request + 1);
}

static const struct kf_scalar *scalars(const struct host *h)
{
	return (const struct kf_scalar *)(table(h) + h->tensor_count);
}

static const char *names(const struct host *h)
{
	return (const char *)(scalars(h) + h->request->scalar_count);
}

static void *place(struct host *h, size_t i, const struct kf_host_tensor *t)
{
	const struct kf_host_request *r = h->request;

	if (t->dtype == KF_DTYPE_NONE)
		return NULL;
	if (i >= (size_t)r->in_count + r->weight_count)
		return h->outputs + t->offset;
	return (void *)(uintptr_t)(h->inputs + t->offset);
}

static enum kf_code make_tensors(struct host *h, struct kf_err *err)
{
	const struct kf_host_request *r = h->request;
	size_t need;

	h->tensor_count = (size_t)r->in_count + r->weight_count + r->out_count;
	need = sizeof(*r) + h->tensor_count * sizeof(struct kf_host_tensor) +
	       r->scalar_count * sizeof(struct kf_scalar) + r->names_bytes;
	if (r->magic != KF_HOST_MAGIC || need > h->request_bytes ||
	    r->in_bytes > h->in_bytes || r->out_bytes > h->out_bytes)
		return kf_fail(err, KF_E_INPUT, "malformed request");
	h->tensor = kf_alloc(h->tensor_count * sizeof(h->tensor[0]));
	h->tensor_now = kf_alloc(h->tensor_count * sizeof(h->tensor[0]));
	h->scalar = kf_alloc(r->scalar_count * sizeof(h->scalar[0]));
	h->scalar_now = kf_alloc(r->scalar_count * sizeof(h->scalar[0]));
	for (size_t i = 0; i < h->tensor_count; i++) {
		const struct kf_host_tensor *t = &table(h)[i];

		h->tensor[i] = (struct kf_tensor) {
			.size = sizeof(struct kf_tensor),
			.dtype = t->dtype,
			.rank = t->rank,
			.data = place(h, i, t),
		};
		if (i >= r->in_count && i - r->in_count < r->weight_count)
			h->tensor[i].name = names(h) + t->name;
		memcpy(h->tensor[i].shape, t->shape, sizeof(t->shape));
	}
	if (r->scalar_count)
		memcpy(h->scalar, scalars(h),
		       r->scalar_count * sizeof(h->scalar[0]));
	return KF_OK;
}

static struct kf_call make_call(struct host *h, bool with_data)
{
	const struct kf_host_request *r = h->request;
	struct kf_tensor *t = h->tensor_now;
	struct kf_call call = {
		.size = sizeof(call),
		.in_count = (int32_t)r->in_count,
		.weight_count = (int32_t)r->weight_count,
		.out_count = (int32_t)r->out_count,
		.scalar_count = (int32_t)r->scalar_count,
		.in = t,
		.weight = t + r->in_count,
		.out = t + r->in_count + r->weight_count,
		.scalar = h->scalar_now,
	};

	if (h->tensor_count)
		memcpy(t, h->tensor, h->tensor_count * sizeof(t[0]));
	if (r->scalar_count)
		memcpy(h->scalar_now, h->scalar,
		       r->scalar_count * sizeof(h->scalar[0]));
	for (size_t i = 0; !with_data && i < h->tensor_count; i++)
		if (i < r->in_count || i >= (size_t)r->in_count +
					    r->weight_count)
			t[i].data = NULL;
	return call;
}

/* --- commands ----------------------------------------------------------- */

typedef enum kf_code call_fn(const struct kf_driver *driver,
			     struct kf_device *dev, struct kf_call *call,
			     int *rc, struct kf_err *err);

static enum kf_code run_call(struct host *h, call_fn *fn, bool with_data,
			     struct kf_err *err)
{
	struct kf_call call = make_call(h, with_data);
	uint64_t start_ns = kf_now_ns();
	enum kf_code code;
	int rc = 0;

	code = fn(h->driver, h->device, &call, &rc, err);
	h->reply->own_ns = kf_now_ns() - start_ns;
	h->reply->rc = rc;
	return code;
}

static enum kf_code do_nothing(struct host *h, struct kf_err *err)
{
	(void)h;
	(void)err;
	return KF_OK;
}

static enum kf_code do_load(struct host *h, struct kf_err *err)
{
	char refused[256];
	enum kf_code code = kf_driver_load(h->driver, h->device,
					   h->artefact, refused, err);

	if (!code)
		snprintf(h->reply->text, sizeof(h->reply->text), "%.255s",
			 refused);
	return code;
}

static enum kf_code do_prepare(struct host *h, struct kf_err *err)
{
	return run_call(h, kf_driver_prepare, false, err);
}

static enum kf_code do_forward(struct host *h, struct kf_err *err)
{
	return run_call(h, kf_driver_forward, true, err);
}

static enum kf_code do_tidy(struct host *h, struct kf_err *err)
{
	(void)err;
	kf_driver_tidy(h->driver, h->device);
	return KF_OK;
}

static enum kf_code (*const commands[KF_HOST_COMMANDS])(struct host *h,
							struct kf_err *err) = {
	[KF_HOST_PING] = do_nothing,
	[KF_HOST_LOAD] = do_load,
	[KF_HOST_PREPARE] = do_prepare,
	[KF_HOST_FORWARD] = do_forward,
	[KF_HOST_TIDY] = do_tidy,
};

static unsigned wait_for_go(struct host *h, unsigned last)
{
	/* The atomics of the C library have no const versions. */
	atomic_uint *go = (atomic_uint *)(uintptr_t)&h->request->go;
	unsigned now;

	for (uint32_t i = 0; i < h->request->spins; i++) {
		now = atomic_load_explicit(go, memory_order_acquire);
		if (now != last)
			return now;
		PAUSE();
	}
	while ((now = atomic_load(go)) == last)
		syscall(SYS_futex, go, FUTEX_WAIT, last, NULL, NULL, 0);
	return now;
}

static void answer(struct host *h, unsigned now)
{
	atomic_store(&h->reply->done, now);
	syscall(SYS_futex, &h->reply->done, FUTEX_WAKE, INT_MAX, NULL, NULL,
		0);
}

static enum kf_code serve(struct host *h, unsigned last, struct kf_err *err)
{
	for (;;) {
		unsigned now = wait_for_go(h, last);
		uint32_t command = h->request->command;
		struct kf_err trouble = { 0 };
		enum kf_code code;

		if (now != last + 1 || command >= KF_HOST_COMMANDS ||
		    !commands[command])
			return kf_fail(err, KF_E_INPUT, "malformed command");
		if (command != KF_HOST_FORWARD)
			h->reply->text[0] = '\0';
		code = commands[command](h, &trouble);
		h->reply->code = (uint32_t)code;
		if (code)
			snprintf(h->reply->text, sizeof(h->reply->text),
				 "%.511s", trouble.text);
		answer(h, now);
		last = now;
	}
}

/* --- getting ready ------------------------------------------------------ */

static enum kf_code map_all(struct host *h, struct kf_err *err)
{
	uint64_t reply_bytes;

	h->request = kf_runner_map(KF_RUNNER_FD_REQUEST, false,
				   &h->request_bytes, err);
	if (!h->request)
		return KF_E_IO;
	h->reply = kf_runner_map(KF_RUNNER_FD_REPLY, true, &reply_bytes, err);
	if (!h->reply)
		return KF_E_IO;
	h->inputs = kf_runner_map(KF_RUNNER_FD_INPUTS, false, &h->in_bytes,
				  err);
	if (!h->inputs)
		return KF_E_IO;
	h->outputs = kf_runner_map(KF_RUNNER_FD_OUTPUTS, true, &h->out_bytes,
				   err);
	return h->outputs ? KF_OK : KF_E_IO;
}

/* From here on there is no way back: the filter holds for this process and
 * every thread of it, and its descriptors are closed. */
static enum kf_code lock_door(struct kf_err *err)
{
	static struct sock_filter filter[FILTER_MAX];
	struct sock_fprog program = { .filter = filter };
	ssize_t got = pread(KF_RUNNER_FD_FILTER, filter, sizeof(filter), 0);

	if (got <= 0 || (size_t)got % sizeof(filter[0]))
		return kf_fail_errno(err, "cannot read the filter");
	program.len = (unsigned short)((size_t)got / sizeof(filter[0]));
	for (int fd = KF_RUNNER_FD_REQUEST; fd <= KF_RUNNER_FD_FILTER; fd++)
		if (fd != KF_RUNNER_FD_HELLO)
			close(fd);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return kf_fail_errno(err, "cannot install the filter");
	return KF_OK;
}

/* One byte. The kernel adds who we are, as the supervisor numbers processes. */
static enum kf_code say_hello(struct kf_err *err)
{
	if (send(KF_RUNNER_FD_HELLO, "k", 1, 0) != 1)
		return kf_fail_errno(err, "cannot greet the supervisor");
	close(KF_RUNNER_FD_HELLO);
	return KF_OK;
}

/* Until now nothing here depended on the artefact. */
static enum kf_code get_ready(struct host *h, unsigned *now,
			      struct kf_err *err)
{
	enum kf_code code;

	*now = wait_for_go(h, 0);
	if (*now != 1 || h->request->command != KF_HOST_READY)
		return kf_fail(err, KF_E_INPUT, "malformed command");
	code = kf_runner_start_runtimes(h->driver, h->artefact, err);
	if (!code)
		code = lock_door(err);
	if (!code)
		answer(h, *now);
	return code;
}

enum kf_code kf_runner_host(int argc, const char *const *argv,
			    struct kf_err *err)
{
	struct host *h = kf_alloc(sizeof(*h));
	enum kf_code code = map_all(h, err);
	unsigned now = 0;

	if (!code)
		code = make_tensors(h, err);
	if (code)
		return code;
	h->driver = kf_driver_by_name(h->request->driver);
	if (argc != 1 || !h->driver)
		return kf_fail(err, KF_E_INPUT, "malformed arguments");
	h->artefact = argv[0];
	code = kf_driver_open(h->driver, h->request->device,
			      h->request->memory_max, &h->device, err);
	if (code)
		return code;
	h->fault = (struct kf_fault_context) {
		.reply = h->reply,
		.inputs = h->inputs,
		.in_bytes = h->in_bytes,
		.driver = h->driver,
		.device = h->device,
	};
	h->reply->magic = KF_HOST_MAGIC;
	code = kf_runner_catch_faults(&h->fault, err);
	if (!code)
		code = say_hello(err);
	if (!code)
		code = get_ready(h, &now, err);
	return code ? code : serve(h, now, err);
}
