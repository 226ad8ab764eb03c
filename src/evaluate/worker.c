#include "evaluate/worker.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "evaluate/arena.h"
#include "evaluate/pause.h"
#include "evaluate/place.h"
#include "evaluate/worker_end.h"

#define SPINS		1000u		/* 10 to 50 microseconds */
#define SLICE_NS	(8 * KF_NS_PER_MS)	/* between looks at the sandbox */
#define READY_NS	(20 * KF_NS_PER_S)	/* for a process to start */
#define LOAD_NS		(20 * KF_NS_PER_S)	/* constructors run in it */
#define BETWEEN_NS	(20 * KF_NS_PER_S)	/* for PING and TIDY */
#define LATE_NS		(50 * KF_NS_PER_MS)	/* for work that was put off */
#define MOVE_NS_PER_BYTE 20u		/* for UPLOAD and DOWNLOAD, beside it */
/* Where kernels run in the runner's process a vendor's compiler may put off its
 * work to their first launch. */
#define FIRST_NS	(20 * KF_NS_PER_S)
/* The device's clock may differ from ours by a part, and by so much. */
#define CLOCK_PART	100u
#define CLOCK_NS	10000u
#define PINGS		20u

struct kf_worker {
	const struct kf_driver *driver;
	struct kf_handshakes *handshakes;	/* borrowed; may be NULL */
	/* Is it the candidate's doing when its process ends? */
	bool in_process;
	const volatile int *cancel;
	struct kf_arena arena;
	struct kf_sandbox *box;
	int hello_fd;			/* -1 once it has been heard */
	char *shm_path;			/* its /dev/shm; NULL if it needs none */
	bool dead;
	struct kf_pause pause;		/* paused but while it has a command; a
					   device runner never is */
	bool untidy;			/* there was a call since the last TIDY */
	bool has_run;			/* kf_forward, once */
	unsigned sequence;		/* of the last command */
	uint64_t ping_ns_min, ping_ns_median;
	enum kf_sandbox_tier tier;
	uint64_t memory_bytes_peak;
};

/* --- the handshake ------------------------------------------------------ */

static void sleep_on(atomic_uint *word, unsigned value, uint64_t ns)
{
	struct timespec slice = {
		.tv_sec = (time_t)(ns / KF_NS_PER_S),
		.tv_nsec = (long)(ns % KF_NS_PER_S),
	};

	syscall(SYS_futex, word, FUTEX_WAIT, value, &slice, NULL, 0);
}

/* Sleeps until there is an answer: on a small machine a supervisor that spins
 * would take a processor from the candidate. */
static enum kf_wait wait_for_done(struct kf_worker *w, uint64_t start_ns,
				  uint64_t timeout_ns)
{
	atomic_uint *done = &kf_arena_reply(&w->arena)->done;
	unsigned want = w->sequence, before = want - 1;

	for (;;) {
		unsigned now = atomic_load(done);
		uint64_t took_ns, left_ns;

		if (now == want)
			return KF_WAIT_ANSWERED;
		if (now != before)
			return KF_WAIT_BROKEN;
		took_ns = kf_now_ns() - start_ns;
		if (took_ns >= timeout_ns)
			return KF_WAIT_LATE;
		left_ns = timeout_ns - took_ns;
		sleep_on(done, before, left_ns < SLICE_NS ? left_ns : SLICE_NS);
		if (atomic_load(done) != before)
			continue;
		if (w->cancel && *w->cancel)
			return KF_WAIT_CANCELED;
		if (kf_sandbox_ended(w->box) && atomic_load(done) == before)
			return KF_WAIT_ENDED;
	}
}

/* To a device runner, which holds no code of the candidate's. */
static enum kf_wait transact_device(struct kf_worker *w,
				    enum kf_host_command command,
				    uint64_t timeout_ns, uint64_t *took_ns)
{
	struct kf_host_request *request = kf_arena_request(&w->arena);
	uint64_t start_ns = kf_now_ns();
	enum kf_wait why;

	request->command = (uint32_t)command;
	atomic_store(&request->go, ++w->sequence);
	syscall(SYS_futex, &request->go, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	why = wait_for_done(w, start_ns, timeout_ns);
	*took_ns = kf_now_ns() - start_ns;
	return why;
}

/*
 * One command and its answer. The process runs from the one to the other and
 * is paused before and after: what has not been done when the clock stops is
 * not done when the outputs are looked at, and what is written before the
 * clock starts is read only after. Whoever forges an answer, or leaves a thread
 * behind, gains nothing. *took_ns is from the first to the last of this.
 */
static enum kf_wait transact(struct kf_worker *w, enum kf_host_command command,
			     uint64_t timeout_ns, uint64_t *took_ns)
{
	struct kf_host_request *request = kf_arena_request(&w->arena);
	uint64_t start_ns;
	enum kf_wait why;

	if (w->driver->two_part)
		return transact_device(w, command, timeout_ns, took_ns);
	request->command = (uint32_t)command;
	start_ns = kf_now_ns();
	/* Nobody need be woken: the kernel looks at the word again when a
	 * process goes on that was paused while it waited. */
	atomic_store(&request->go, ++w->sequence);
	kf_pause_end(&w->pause);
	why = wait_for_done(w, start_ns, timeout_ns);
	kf_pause_begin(&w->pause);
	*took_ns = kf_now_ns() - start_ns;
	if (why == KF_WAIT_ANSWERED && !kf_pause_settle(&w->pause))
		why = KF_WAIT_LATE;
	return why;
}

/* --- its end ------------------------------------------------------------ */

/* Ends the process, whatever it does, and learns what the sandbox knows. */
static enum kf_code bury(struct kf_worker *w, bool ended,
			 struct kf_outcome *outcome, struct kf_err *err)
{
	enum kf_code code;

	w->dead = true;
	code = ended ? kf_sandbox_wait(w->box, outcome, err)
		     : kf_sandbox_kill(w->box, outcome, err);
	w->tier = outcome->tier;
	w->memory_bytes_peak = outcome->memory_bytes_peak;
	return code;
}

/* Can the candidate not be blamed for this? Where nothing of it runs in the
 * process, it can for a call that does not end. */
static bool blameless(const struct kf_worker *w, enum kf_wait why,
		      enum kf_host_command command)
{
	bool calling = command == KF_HOST_PREPARE || command == KF_HOST_FORWARD;

	if (!w->driver->two_part)
		return false;
	return why == KF_WAIT_LATE ? !calling : !w->in_process;
}

/* What a kernel that shares its runner's process did to it. */
static void blame_kernel(struct kf_call_end *end)
{
	if (end->state == KF_CALL_SIGNAL || end->state == KF_CALL_EXITED)
		end->state = KF_CALL_DEVICE_FAULT;
}

/* The command was not answered: bury the worker and say why. */
static enum kf_code fail(struct kf_worker *w, enum kf_wait why,
			 enum kf_host_command command, uint64_t timeout_ns,
			 struct kf_call_end *end, struct kf_err *err)
{
	struct kf_host_fault fault = kf_arena_reply(&w->arena)->fault;
	const struct kf_end_about about = {
		w->driver->two_part ? "a kernel" : "the program",
		kf_worker_doing(command), &w->arena, timeout_ns,
	};
	struct kf_outcome outcome = { 0 };
	enum kf_code code = bury(w, why == KF_WAIT_ENDED, &outcome, err);

	fault.text[sizeof(fault.text) - 1] = '\0';
	if (!code && (why == KF_WAIT_CANCELED ||
		      (why == KF_WAIT_ENDED && outcome.end == KF_END_CANCELED)))
		code = kf_fail(err, KF_E_CANCELED, "stopped");
	if (!code)
		kf_worker_explain(why, &about, &outcome, &fault, end);
	if (why == KF_WAIT_LATE)
		end->wall_ns = timeout_ns;
	if (!code && blameless(w, why, command))
		code = kf_fail(err, KF_E_IO, "the device runner failed: %s",
			       end->text);
	if (!code && w->driver->two_part)
		blame_kernel(end);
	kf_outcome_release(&outcome);
	return code;
}

/* The reply's sentence, made harmless. */
static void reply_text(const struct kf_worker *w, char *out, size_t size)
{
	struct kf_buf clean = { .max = size - 1 };
	char copy[sizeof(kf_arena_reply(&w->arena)->text)];

	memcpy(copy, kf_arena_reply(&w->arena)->text, sizeof(copy));
	kf_utf8_clean(copy, strnlen(copy, sizeof(copy)), &clean);
	snprintf(out, size, "%s", kf_buf_str(&clean));
	kf_buf_release(&clean);
}

/* The runner says that something of ours failed. Where the candidate's code
 * shares its process, that is the candidate speaking. */
static enum kf_code runner_trouble(struct kf_worker *w, uint32_t code,
				   enum kf_host_command command,
				   struct kf_call_end *end, struct kf_err *err)
{
	char text[512];

	if (w->driver->in_process)
		return fail(w, KF_WAIT_BROKEN, command, 0, end, err);
	reply_text(w, text, sizeof(text));
	kf_worker_stop(w);
	return kf_fail(err, code <= KF_E_CANCELED ? (enum kf_code)code
			: KF_E_IO, "the runner: %s", text);
}

/* --- starting ----------------------------------------------------------- */

/* Processors this process may use. */
static unsigned processors(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	/* A machine with more than 1,024 makes it fail, and has many. */
	return sched_getaffinity(0, sizeof(set), &set)
		? 2 : (unsigned)CPU_COUNT(&set);
}

/* The kernel's word on who greets us, as we number processes. */
static bool read_hello(int fd, pid_t *pid)
{
	union { struct cmsghdr align; char bytes[256]; } control;
	char byte;
	struct iovec part = { &byte, 1 };
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	struct ucred who;

	if (recvmsg(fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) != 1)
		return false;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c;
	     c = CMSG_NXTHDR(&message, c)) {
		if (c->cmsg_level != SOL_SOCKET ||
		    c->cmsg_type != SCM_CREDENTIALS)
			continue;
		memcpy(&who, CMSG_DATA(c), sizeof(who));
		*pid = who.pid;
		return who.pid > 0;
	}
	return false;
}

/* Nothing of the candidate's has run yet: what goes wrong is ours. */
static enum kf_code early_end(struct kf_worker *w, bool ended,
			      struct kf_err *err)
{
	struct kf_outcome outcome = { 0 };
	enum kf_code code = bury(w, ended, &outcome, err);

	if (!code && outcome.end == KF_END_CANCELED && ended)
		code = kf_fail(err, KF_E_CANCELED, "stopped");
	if (!code)
		code = kf_fail(err, KF_E_UNAVAIL, "the runner did not start "
			       "(%s): %.300s", outcome.detail[0]
			       ? outcome.detail : kf_end_name(outcome.end),
			       kf_buf_str(&outcome.errout));
	kf_outcome_release(&outcome);
	return code;
}

static enum kf_code wait_for_hello(struct kf_worker *w, struct kf_err *err)
{
	uint64_t start_ns = kf_now_ns();
	pid_t pid = 0;

	while (!read_hello(w->hello_fd, &pid)) {
		struct pollfd p = { .fd = w->hello_fd, .events = POLLIN };

		if (w->cancel && *w->cancel)
			return kf_fail(err, KF_E_CANCELED, "stopped");
		if (kf_sandbox_ended(w->box))
			return early_end(w, true, err);
		if (kf_now_ns() - start_ns > READY_NS)
			return early_end(w, false, err);
		poll(&p, 1, (int)(SLICE_NS / KF_NS_PER_MS));
	}
	close(w->hello_fd);
	w->hello_fd = -1;
	if (w->driver->two_part)
		return KF_OK;
	kf_pause_init(&w->pause, pid);
	if (!kf_pause_begin(&w->pause) || !kf_pause_settle(&w->pause))
		return kf_fail(err, KF_E_UNAVAIL, "cannot pause process %d",
			       (int)pid);
	return KF_OK;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* A command that only the runner's own code answers. */
static enum kf_code own_command(struct kf_worker *w,
				enum kf_host_command command,
				uint64_t *took_ns, struct kf_err *err)
{
	enum kf_wait why = transact(w, command, BETWEEN_NS, took_ns);

	if (why == KF_WAIT_CANCELED)
		return kf_fail(err, KF_E_CANCELED, "stopped");
	return why == KF_WAIT_ANSWERED ? KF_OK :
	       early_end(w, why == KF_WAIT_ENDED, err);
}

/* The lesser of this one and of those before it. */
static uint64_t least_handshake(struct kf_handshakes *seen,
				const struct kf_driver *driver, uint64_t ns)
{
	for (size_t i = 0; seen && i < KF_HANDSHAKE_DRIVERS; i++) {
		if (!seen->of[i].driver)
			seen->of[i].driver = driver;
		if (seen->of[i].driver != driver)
			continue;
		if (!seen->of[i].ns_least || ns < seen->of[i].ns_least)
			seen->of[i].ns_least = ns;
		return seen->of[i].ns_least;
	}
	return ns;
}

/* Empty calls, made exactly as a timed call is. */
static enum kf_code calibrate(struct kf_worker *w, struct kf_err *err)
{
	uint64_t took_ns[PINGS];
	enum kf_code code = KF_OK;

	for (size_t i = 0; !code && i < PINGS; i++)
		code = own_command(w, KF_HOST_PING, &took_ns[i], err);
	if (code)
		return code;
	qsort(took_ns, PINGS, sizeof(took_ns[0]), by_value);
	w->ping_ns_min = least_handshake(w->handshakes, w->driver,
					 took_ns[0]);
	w->ping_ns_median = took_ns[PINGS / 2];
	return KF_OK;
}

static enum kf_code load(struct kf_worker *w, struct kf_call_end *end,
			 struct kf_err *err)
{
	struct kf_outcome outcome = { 0 };
	enum kf_wait why = transact(w, KF_HOST_LOAD, LOAD_NS, &end->time_ns);
	enum kf_code code = KF_OK;
	uint32_t trouble;

	if (why != KF_WAIT_ANSWERED)
		return fail(w, why, KF_HOST_LOAD, LOAD_NS, end, err);
	trouble = kf_arena_reply(&w->arena)->code;
	if (trouble)
		return runner_trouble(w, trouble, KF_HOST_LOAD, end, err);
	reply_text(w, end->text, sizeof(end->text));
	if (end->text[0]) {
		end->state = w->driver->two_part ? KF_CALL_LAUNCH :
			KF_CALL_LOAD;
		code = bury(w, false, &outcome, err);
		kf_outcome_release(&outcome);
	}
	return code;
}

/* A folder for what the driver's runtimes leave in /dev/shm, beside the
 * artefact, where whoever cleans up after a kill will look. */
static enum kf_code make_shm(struct kf_worker *w, const char *artefact_path,
			     struct kf_err *err)
{
	char *path;

	if (!w->driver->runtime)
		return KF_OK;
	path = kf_format("%s.shm.XXXXXX", artefact_path);
	if (!mkdtemp(path)) {
		free(path);
		return kf_fail_errno(err, "cannot make a folder beside %s",
				     artefact_path);
	}
	w->shm_path = path;
	return KF_OK;
}

enum kf_code kf_worker_begin(const struct kf_worker_spec *spec,
			     struct kf_worker **out, struct kf_err *err)
{
	struct kf_worker *w = kf_alloc(sizeof(*w));
	int pair[2] = { -1, -1 }, on = 1;
	enum kf_code code;

	*out = NULL;
	w->driver = spec->platform->driver;
	w->handshakes = spec->handshakes;
	w->in_process = w->driver->in_process || spec->device_in_process;
	w->cancel = spec->cancel;
	w->hello_fd = -1;
	kf_pause_init(&w->pause, 0);
	kf_arena_empty(&w->arena);
	code = make_shm(w, spec->artefact_path, err);
	if (code)
		goto out;
	code = kf_arena_init(&w->arena, spec->bundle, w->driver->name,
			     spec->device_id, spec->limits.memory_bytes,
			     processors() > 1 ? SPINS : 0, err);
	if (code)
		goto out;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) ||
	    setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on))) {
		code = kf_fail_errno(err, "cannot make a socket");
		goto out;
	}
	w->hello_fd = pair[0];
	code = kf_place_worker(spec, &w->arena, w->shm_path, pair[1], &w->box,
			       err);
	if (!code)
		code = wait_for_hello(w, err);
out:
	if (pair[1] >= 0)
		close(pair[1]);
	if (code)
		kf_worker_free(w);
	else
		*out = w;
	return code;
}

enum kf_code kf_worker_load(struct kf_worker *w, struct kf_call_end *end,
			    struct kf_err *err)
{
	enum kf_code code;
	uint64_t took_ns;

	*end = (struct kf_call_end) { .state = KF_CALL_GOOD };
	code = own_command(w, KF_HOST_READY, &took_ns, err);
	if (!code)
		code = calibrate(w, err);
	return code ? code : load(w, end, err);
}

enum kf_code kf_worker_start(const struct kf_worker_spec *spec,
			     struct kf_worker **out, struct kf_call_end *end,
			     struct kf_err *err)
{
	enum kf_code code = kf_worker_begin(spec, out, err);

	*end = (struct kf_call_end) { .state = KF_CALL_GOOD };
	if (code)
		return code;
	code = kf_worker_load(*out, end, err);
	if (code) {
		kf_worker_free(*out);
		*out = NULL;
	}
	return code;
}

/* --- calls -------------------------------------------------------------- */

/* The driver's word on what a two-part program did wrong: its process is of no
 * more use. */
static void take_fault(struct kf_worker *w, struct kf_call_end *end)
{
	if (!w->driver->two_part || !kf_arena_reply(&w->arena)->faulted)
		return;
	end->state = KF_CALL_DEVICE_FAULT;
	reply_text(w, end->text, sizeof(end->text));
	kf_worker_stop(w);
}

enum kf_code kf_worker_tidy(struct kf_worker *w, struct kf_call_end *end,
			    struct kf_err *err)
{
	uint64_t took_ns;
	enum kf_wait why;

	*end = (struct kf_call_end) { .state = KF_CALL_GOOD };
	if (w->dead)
		return kf_fail(err, KF_E_INPUT, "the worker has ended");
	if (!w->untidy)
		return KF_OK;
	w->untidy = false;
	why = transact(w, KF_HOST_TIDY, BETWEEN_NS, &took_ns);
	if (why != KF_WAIT_ANSWERED)
		return fail(w, why, KF_HOST_TIDY, BETWEEN_NS, end, err);
	take_fault(w, end);
	return KF_OK;
}

/* Time for all of the shared memory to go one way. */
static uint64_t move_timeout_ns(const struct kf_worker *w)
{
	uint64_t bytes = w->arena.inputs.bytes + w->arena.outputs.bytes;

	return BETWEEN_NS + MOVE_NS_PER_BYTE * bytes;
}

/* UPLOAD or DOWNLOAD: trouble with it is ours, unless the driver finds that the
 * program is to blame. */
static enum kf_code move(struct kf_worker *w, enum kf_host_command command,
			 struct kf_call_end *end, struct kf_err *err)
{
	uint64_t timeout_ns = move_timeout_ns(w), took_ns;
	enum kf_wait why;
	uint32_t trouble;

	*end = (struct kf_call_end) { .state = KF_CALL_GOOD };
	if (w->dead)
		return kf_fail(err, KF_E_INPUT, "the worker has ended");
	why = transact(w, command, timeout_ns, &took_ns);
	if (why != KF_WAIT_ANSWERED)
		return fail(w, why, command, timeout_ns, end, err);
	trouble = kf_arena_reply(&w->arena)->code;
	if (trouble)
		return runner_trouble(w, trouble, command, end, err);
	take_fault(w, end);
	return KF_OK;
}

enum kf_code kf_worker_upload(struct kf_worker *w, struct kf_call_end *end,
			      struct kf_err *err)
{
	*end = (struct kf_call_end) { .state = KF_CALL_GOOD };
	return w->driver->two_part ? move(w, KF_HOST_UPLOAD, end, err) : KF_OK;
}

enum kf_code kf_worker_download(struct kf_worker *w, struct kf_call_end *end,
				struct kf_err *err)
{
	struct kf_call_end moved = { .state = KF_CALL_GOOD };
	enum kf_code code = KF_OK;

	if (w->driver->two_part)
		code = move(w, KF_HOST_DOWNLOAD, &moved, err);
	if (!code && moved.state != KF_CALL_GOOD)
		*end = moved;
	return code;
}

bool kf_worker_changed(const struct kf_worker *w, size_t *tensor,
		       int64_t *byte)
{
	uint64_t changed = kf_arena_reply(&w->arena)->changed;

	if (!w->driver->two_part || changed == UINT64_MAX)
		return false;
	kf_arena_find(&w->arena, changed, tensor, byte);
	return true;
}

/* The device's own time stands for ours where it has a clock. It cannot be
 * longer than the call was: then its clock, or our use of it, is broken. */
static enum kf_code take_device_time(struct kf_worker *w, uint64_t took_ns,
				     struct kf_call_end *end,
				     struct kf_err *err)
{
	uint64_t device_ns = w->driver->two_part ?
		kf_arena_reply(&w->arena)->device_ns : 0;

	end->wall_ns = end->time_ns;
	if (!device_ns)
		return KF_OK;
	if (device_ns > took_ns + took_ns / CLOCK_PART + CLOCK_NS) {
		kf_worker_stop(w);
		return kf_fail(err, KF_E_IO, "the clock of the device says "
			       "%.3g ms for a call that took %.3g ms",
			       (double)device_ns / 1e6, (double)took_ns / 1e6);
	}
	end->device_clock = true;
	end->time_ns = device_ns;
	return KF_OK;
}

static uint64_t deadline_ns(struct kf_worker *w, enum kf_host_command command,
			    uint64_t timeout_ns)
{
	bool first = command == KF_HOST_FORWARD && !w->has_run;

	w->has_run |= first;
	return first && w->driver->two_part && w->in_process ?
		timeout_ns + FIRST_NS : timeout_ns;
}

static enum kf_code call(struct kf_worker *w, enum kf_host_command command,
			 uint64_t timeout_ns, struct kf_call_end *end,
			 struct kf_err *err)
{
	const struct kf_host_reply *reply = kf_arena_reply(&w->arena);
	uint64_t delay_ns, took_ns = 0;
	enum kf_wait why;
	uint32_t trouble;

	*end = (struct kf_call_end) { .state = KF_CALL_GOOD };
	if (w->dead)
		return kf_fail(err, KF_E_INPUT, "the worker has ended");
	if (!timeout_ns)
		return kf_fail(err, KF_E_INPUT, "a call without a deadline");
	timeout_ns = deadline_ns(w, command, timeout_ns);
	w->untidy = true;
	delay_ns = kf_threads_delay_ns(&w->pause.threads);
	why = transact(w, command, timeout_ns, &took_ns);
	if (!w->driver->two_part)
		kf_arena_sample(&w->arena);
	if (why != KF_WAIT_ANSWERED)
		return fail(w, why, command, timeout_ns, end, err);
	if (took_ns > w->ping_ns_min)
		end->time_ns = took_ns - w->ping_ns_min;
	end->delay_ns = kf_threads_delay_ns(&w->pause.threads);
	end->delay_ns -= end->delay_ns < delay_ns ? end->delay_ns : delay_ns;
	end->own_ns = reply->own_ns;
	end->rc = reply->rc;
	trouble = reply->code;
	if (trouble)
		return runner_trouble(w, trouble, command, end, err);
	if (end->rc) {
		end->state = KF_CALL_RC;
		snprintf(end->text, sizeof(end->text), "%s returned %d",
			 command == KF_HOST_PREPARE ? "kf_prepare"
						    : "kf_forward", end->rc);
	}
	take_fault(w, end);
	return end->state == KF_CALL_GOOD ?
		take_device_time(w, took_ns, end, err) : KF_OK;
}

enum kf_code kf_worker_prepare(struct kf_worker *worker, uint64_t timeout_ns,
			       struct kf_call_end *end, struct kf_err *err)
{
	return call(worker, KF_HOST_PREPARE, timeout_ns, end, err);
}

enum kf_code kf_worker_forward(struct kf_worker *worker, uint64_t timeout_ns,
			       struct kf_call_end *end, struct kf_err *err)
{
	return call(worker, KF_HOST_FORWARD, timeout_ns, end, err);
}

/* --- the rest ----------------------------------------------------------- */

void *kf_worker_in(struct kf_worker *worker, size_t i)
{
	return worker->arena.inputs.data + worker->arena.in[i].offset;
}

void *kf_worker_weight(struct kf_worker *worker, size_t i)
{
	return worker->arena.inputs.data + worker->arena.weight[i].offset;
}

void *kf_worker_out(struct kf_worker *worker, size_t i)
{
	return worker->arena.outputs.data + worker->arena.out[i].offset;
}

void kf_worker_poison(struct kf_worker *worker)
{
	kf_arena_poison(&worker->arena);
}

uint32_t kf_worker_pattern(const struct kf_worker *worker)
{
	return worker->arena.pattern;
}

bool kf_worker_guards(const struct kf_worker *worker, size_t *which,
		      int64_t *offset)
{
	return kf_arena_guards(&worker->arena, which, offset);
}

bool kf_worker_late(struct kf_worker *worker)
{
	struct timespec while_ns = { .tv_nsec = (long)LATE_NS };

	if (worker->dead || worker->driver->two_part)
		return false;
	kf_pause_end(&worker->pause);
	nanosleep(&while_ns, NULL);
	kf_pause_begin(&worker->pause);
	(void)kf_pause_settle(&worker->pause);
	return kf_arena_late(&worker->arena);
}

enum kf_sandbox_tier kf_worker_tier(const struct kf_worker *worker)
{
	return worker->tier;
}

uint64_t kf_worker_memory_peak(const struct kf_worker *worker)
{
	return worker->memory_bytes_peak;
}

uint64_t kf_worker_handshake_ns(const struct kf_worker *worker,
				uint64_t *median)
{
	if (median)
		*median = worker->ping_ns_median;
	return worker->ping_ns_min;
}

void kf_worker_stop(struct kf_worker *worker)
{
	struct kf_outcome outcome = { 0 };

	if (!worker->dead && worker->box)
		(void)bury(worker, false, &outcome, NULL);
	kf_outcome_release(&outcome);
}

void kf_worker_free(struct kf_worker *worker)
{
	if (!worker)
		return;
	kf_worker_stop(worker);
	kf_sandbox_free(worker->box);
	kf_pause_release(&worker->pause);
	if (worker->hello_fd >= 0)
		close(worker->hello_fd);
	if (worker->shm_path)
		(void)kf_remove_tree(worker->shm_path, NULL);
	free(worker->shm_path);
	kf_arena_release(&worker->arena);
	free(worker);
}
