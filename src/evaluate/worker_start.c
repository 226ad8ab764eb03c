/* worker_start.c - a worker's process is made, greets, and loads a program. */
#include "evaluate/worker.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "evaluate/nursery.h"
#include "evaluate/place.h"
#include "evaluate/weaken.h"
#include "evaluate/worker_talk.h"

#define SPINS		1000u		/* 10 to 50 microseconds */
#define READY_NS	(20 * KF_NS_PER_S)	/* for a process to start */
#define LOAD_NS		(20 * KF_NS_PER_S)	/* constructors run in it */
/* Python with torch: both, on a machine that is busy and has not read it yet.
 * What was compiled is at hand. */
#define PYTHON_NS	(180 * KF_NS_PER_S)
#define ENDING_NS	KF_NS_PER_S	/* for helpers that are done */
#define PINGS		20u
#define FILLED_BYTES	(1u << 20)	/* of outputs: less is sent as soon */

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
	enum kf_code code = kf_talk_bury(w, ended, &outcome, err);

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
		if (kf_now_ns() - start_ns > (w->driver->python ? PYTHON_NS :
					      READY_NS))
			return early_end(w, false, err);
		poll(&p, 1, (int)(KF_TALK_SLICE_NS / KF_NS_PER_MS));
	}
	close(w->hello_fd);
	w->hello_fd = -1;
	w->pid = pid;
	if (w->driver->two_part) {
		/* Never paused, but its kernels want processors too. */
		if (w->in_process)
			kf_threads_init(&w->pause.threads, pid);
		return KF_OK;
	}
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
	enum kf_wait why = kf_talk_transact(w, command, w->driver->python ?
					    PYTHON_NS : KF_TALK_BETWEEN_NS,
					    took_ns);

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

/* A program in Python may have compilers run while it is loaded, and nobody
 * but itself from then on: another process would not be paused with it. */
static void count_processes(struct kf_worker *w)
{
	if (w->driver->python)
		w->processes = kf_sandbox_processes(w->box);
}

/* How many there are more than before; a compiler's helper that just ends has a
 * moment for it. */
static unsigned processes_more(const struct kf_worker *w)
{
	uint64_t start_ns = kf_now_ns();
	unsigned now = kf_sandbox_processes(w->box);

	while (now > w->processes && kf_now_ns() - start_ns < ENDING_NS &&
	       !(w->cancel && *w->cancel)) {
		kf_sleep_ns(KF_TALK_SLICE_NS);
		now = kf_sandbox_processes(w->box);
	}
	return now > w->processes ? now - w->processes : 0;
}

static void find_left_behind(const struct kf_worker *w,
			     struct kf_call_end *end)
{
	unsigned more = w->processes ? processes_more(w) : 0;

	if (more)
		snprintf(end->text, sizeof(end->text), "the program started "
			 "%u process%s that still ran when it was loaded; it "
			 "must do all work by itself", more,
			 more == 1 ? "" : "es");
}

/* What it means that the runner refuses the artefact. */
static enum kf_call_state refusal(const struct kf_worker *w)
{
	enum kf_call_state python = w->driver->python ?
		kf_worker_python_state(w->driver,
				       kf_arena_reply(&w->arena)->rc) :
		KF_CALL_GOOD;

	if (python == KF_CALL_WEIGHTS || python == KF_CALL_PATCHED ||
	    python == KF_CALL_EXITED || python == KF_CALL_DEVICE_FAULT)
		return python;
	if (!w->driver->two_part)
		return KF_CALL_LOAD;
	return kf_arena_reply(&w->arena)->short_of_memory ? KF_CALL_MEMORY :
		KF_CALL_LAUNCH;
}

/* A program in Python may compile what it has inside when it is loaded; so it
 * has no longer than its builder had. */
static uint64_t load_timeout(const struct kf_platform *platform)
{
	uint64_t build_ns = platform->build_limits.wall_ns;

	if (!platform->driver->python)
		return LOAD_NS;
	return build_ns && build_ns < PYTHON_NS ? build_ns : PYTHON_NS;
}

static enum kf_code load(struct kf_worker *w, struct kf_call_end *end,
			 struct kf_err *err)
{
	const uint64_t timeout_ns = w->load_ns;
	struct kf_outcome outcome = { 0 };
	enum kf_code code = KF_OK;
	enum kf_wait why;
	uint32_t trouble;

	count_processes(w);
	why = kf_talk_transact(w, KF_HOST_LOAD, timeout_ns, &end->time_ns);
	if (why != KF_WAIT_ANSWERED)
		return kf_talk_fail(w, why, KF_HOST_LOAD, timeout_ns, end,
				    err);
	trouble = kf_arena_reply(&w->arena)->code;
	if (trouble)
		return kf_talk_trouble(w, trouble, KF_HOST_LOAD, end, err);
	kf_talk_text(w, end->text, sizeof(end->text));
	if (!end->text[0])
		find_left_behind(w, end);
	if (end->text[0]) {
		end->state = refusal(w);
		end->device_trouble = w->driver->python &&
			kf_worker_python_trouble(w->driver, end->state);
		code = kf_talk_bury(w, false, &outcome, err);
		kf_end_output(&outcome, end);
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

/* Forked if that is possible. */
static enum kf_code place(const struct kf_worker_spec *spec,
			  struct kf_worker *w, int hello, struct kf_err *err)
{
	struct kf_nursery *n = spec->nursery;
	struct kf_err why = { 0 };
	enum kf_code code;

	if (!n || n->busy || n->useless)
		return kf_place_worker(spec, &w->arena, w->shm_path, hello,
				       &w->box, err);
	code = kf_nursery_fork(n, spec, &w->arena, hello, &why);
	if (code && n->useless)
		return place(spec, w, hello, err);
	if (code && err)
		*err = why;
	if (code)
		return code;
	w->nursery = n;
	w->box = n->box;
	return KF_OK;
}

/* Tensors, bases beside them, and the most that the program may ask for, in
 * half of what is free on the device: others want the rest. What has no room
 * all the same is told when the process gets ready (session_shared.c). */
static bool has_room(const struct kf_worker_spec *spec)
{
	const struct kf_driver *driver = spec->platform->driver;
	const struct kf_bundle *b = spec->bundle;
	uint64_t bases = kf_arena_base_bytes(b);
	uint64_t all = bases + kf_bundle_bytes(b) + spec->limits.memory_bytes;

	return bases && driver->memory_free &&
		all <= driver->memory_free(spec->device_id) / 2;
}

enum kf_code kf_worker_begin(const struct kf_worker_spec *spec,
			     struct kf_worker **out, struct kf_err *err)
{
	struct kf_worker *w = kf_alloc(sizeof(*w));
	int pair[2] = { -1, -1 }, on = 1;
	bool whole = !spec->wrap && !KF_MAY_BE_WEAK;
	enum kf_code code;

	*out = NULL;
	w->driver = spec->platform->driver;
	w->load_ns = load_timeout(spec->platform);
	w->handshakes = spec->handshakes;
	w->in_process = w->driver->in_process || spec->device_in_process;
	w->traced = spec->wrap && spec->wrap->trace;
	w->cancel = spec->cancel;
	w->hello_fd = -1;
	kf_pause_init(&w->pause, 0);
	kf_arena_empty(&w->arena);
	kf_laps_begin(&w->laps);
	code = make_shm(w, spec->artefact_path, err);
	if (code)
		goto out;
	code = kf_arena_init(&w->arena, spec->bundle, &(struct kf_arena_spec) {
		.driver = w->driver->name, .device = spec->device_id,
		.memory_max = spec->limits.memory_bytes,
		.spins = kf_processors() > 1 ? SPINS : 0,
		.summed = whole && w->driver->sum,
		.made = whole && w->driver->make && !spec->inputs_here &&
			has_room(spec),
	}, err);
	if (code)
		goto out;
	w->arena.filled_there = w->driver->fills_outputs &&
		w->arena.outputs.bytes >= FILLED_BYTES;
	kf_laps_end(&w->laps, "memory");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) ||
	    setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on))) {
		code = kf_fail_errno(err, "cannot make a socket");
		goto out;
	}
	w->hello_fd = pair[0];
	code = place(spec, w, pair[1], err);
	kf_laps_end(&w->laps, "start");
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
	kf_laps_begin(&w->laps);
	code = wait_for_hello(w, err);
	kf_laps_end(&w->laps, "wait");
	if (!code)
		code = own_command(w, KF_HOST_READY, &took_ns, err);
	if (!code)
		code = calibrate(w, err);
	kf_laps_end(&w->laps, "handshakes");
	if (!code)
		code = load(w, end, err);
	kf_laps_end(&w->laps, "load");
	return code;
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
