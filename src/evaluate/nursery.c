#include "evaluate/nursery.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "evaluate/place.h"

#define SLICE_MS	8
/* On a machine that is busy and has not read PyTorch yet. */
#define START_NS	(180 * KF_NS_PER_S)
#define CLEAR_NS	(20 * KF_NS_PER_S)
#define PASSED		8	/* descriptors of one process */

/* Meanwhile the sandbox is looked after. */
static enum kf_code wait_ready(struct kf_nursery *n, uint64_t timeout_ns,
			       const volatile int *cancel, struct kf_err *err)
{
	uint64_t start_ns = kf_now_ns();
	char letter = 0;

	while (recv(n->fd, &letter, 1, MSG_DONTWAIT) != 1) {
		struct pollfd p = { .fd = n->fd, .events = POLLIN };

		if (cancel && *cancel)
			return kf_fail(err, KF_E_CANCELED, "stopped");
		if (kf_sandbox_ended(n->box))
			return kf_fail(err, KF_E_UNAVAIL, "it has ended");
		if (kf_now_ns() - start_ns > timeout_ns)
			return kf_fail(err, KF_E_TIMEOUT, "it does not answer");
		poll(&p, 1, SLICE_MS);
	}
	return letter == KF_NURSERY_READY ? KF_OK :
		kf_fail(err, KF_E_UNAVAIL, "it answers something else");
}

static enum kf_code begin(struct kf_nursery *n,
			  const struct kf_worker_spec *spec,
			  const struct kf_arena *arena, struct kf_err *err)
{
	int pair[2];
	enum kf_code code;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return kf_fail_errno(err, "cannot make a socket");
	n->fd = pair[0];
	code = kf_place_nursery(spec, arena, pair[1], &n->box, err);
	close(pair[1]);
	if (code)
		close(pair[0]);
	return code ? code : wait_ready(n, START_NS, spec->cancel, err);
}

static enum kf_code send_fork(const struct kf_nursery *n,
			      const int fd[PASSED], struct kf_err *err)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(PASSED * sizeof(int))];
	} control = { .bytes = "" };
	char letter = KF_NURSERY_FORK;
	struct iovec part = { &letter, 1 };
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&message);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(PASSED * sizeof(int));
	memcpy(CMSG_DATA(c), fd, PASSED * sizeof(int));
	if (sendmsg(n->fd, &message, MSG_NOSIGNAL) != 1)
		return kf_fail_errno(err, "cannot reach it");
	return KF_OK;
}

static enum kf_code fork_one(struct kf_nursery *n, const struct kf_arena *a,
			     int hello, struct kf_err *err)
{
	int out[2] = { -1, -1 }, filter;
	enum kf_code code = kf_sandbox_new_output(n->box, out, err);

	filter = code ? -1 : kf_sandbox_filter_fd(KF_SANDBOX_PYTHON, err);
	if (!code && filter < 0)
		code = KF_E_UNAVAIL;
	if (!code)
		code = send_fork(n, (const int[PASSED]) {
			out[0], out[1], a->reply.pass_fd, a->request.pass_fd,
			a->inputs.pass_fd, a->outputs.pass_fd, hello, filter,
		}, err);
	if (filter >= 0)
		close(filter);
	for (size_t i = 0; i < 2; i++)
		if (out[i] >= 0)
			close(out[i]);
	return code;
}

enum kf_code kf_nursery_fork(struct kf_nursery *n,
			     const struct kf_worker_spec *spec,
			     const struct kf_arena *arena, int hello,
			     struct kf_err *err)
{
	struct kf_outcome outcome = { 0 };
	bool fresh = !n->box;
	uint64_t start_ns = kf_now_ns();
	enum kf_code code = fresh ? begin(n, spec, arena, err) : KF_OK;

	if (fresh && !code)
		kf_logf(n->log, KF_LOG_DEBUG, "processes of the candidate will "
			"be forked from one that was ready in %.1f ms",
			(double)(kf_now_ns() - start_ns) / 1e6);
	n->useless = fresh && code && code != KF_E_CANCELED;
	if (!code)
		code = fork_one(n, arena, hello, err);
	n->busy = !code;
	if (code)
		kf_nursery_end(n, &outcome);
	if (n->useless)
		kf_logf(n->log, KF_LOG_DEBUG, "no process to fork those of "
			"the candidate from: %s; %.300s", err->text,
			kf_buf_str(&outcome.errout));
	kf_outcome_release(&outcome);
	return code;
}

bool kf_nursery_clear(struct kf_nursery *n, const volatile int *cancel)
{
	const char letter = KF_NURSERY_CLEAR;
	struct kf_err why = { 0 };

	if (!kf_sandbox_ended(n->box) &&
	    send(n->fd, &letter, 1, MSG_NOSIGNAL) == 1 &&
	    wait_ready(n, CLEAR_NS, cancel, &why) == KF_OK)
		return true;
	kf_logf(n->log, KF_LOG_DEBUG, "the process that those of the candidate "
		"are forked from is given up: %s", why.text);
	return false;
}

void kf_nursery_leave(struct kf_nursery *n)
{
	struct kf_outcome outcome = { 0 };

	n->busy = false;
	if (n->box && kf_sandbox_ended(n->box))
		kf_nursery_end(n, &outcome);
	kf_outcome_release(&outcome);
}

void kf_nursery_end(struct kf_nursery *n, struct kf_outcome *outcome)
{
	*outcome = (struct kf_outcome) { 0 };
	if (!n->box)
		return;
	(void)kf_sandbox_kill(n->box, outcome, NULL);
	kf_sandbox_free(n->box);
	close(n->fd);
	n->box = NULL;
}
