#include "executor/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/orphans.h"

#define SEND_S 20		/* a worker takes its item at once */
#define END_NS (10 * KF_NS_PER_S)
#define END_POLL_NS (2 * KF_NS_PER_MS)

struct worker {
	pid_t pid;		/* 0: there is none */
	int fd;
	bool busy;
	uint64_t tag, subject;	/* of its last item */
};

struct kf_pool {
	struct kf_pool_spec spec;
	struct kf_buf answer;
	struct worker worker[];
};

enum kf_code kf_pool_new(const struct kf_pool_spec *spec,
			 struct kf_pool **out, struct kf_err *err)
{
	*out = NULL;
	if (!spec->count || spec->count > KF_POOL_MAX)
		return kf_fail(err, KF_E_INPUT, "1 to %d can work at once, "
			       "not %u", KF_POOL_MAX, spec->count);
	*out = kf_alloc(sizeof(**out) + spec->count * sizeof(struct worker));
	(*out)->spec = *spec;
	(*out)->answer.max = KF_POOL_ITEM_BYTES;
	kf_orphans_adopt();
	return KF_OK;
}

/* --- messages: a length, then as many bytes ------------------------------- */

static bool send_all(int fd, const void *bytes, size_t len)
{
	const char *at = bytes;

	while (len) {
		ssize_t put = send(fd, at, len, MSG_NOSIGNAL);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return false;
		at += put;
		len -= (size_t)put;
	}
	return true;
}

static bool read_all(int fd, void *bytes, size_t len)
{
	char *at = bytes;

	while (len) {
		ssize_t got = read(fd, at, len);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		at += got;
		len -= (size_t)got;
	}
	return true;
}

static bool send_message(int fd, const char *bytes, size_t len)
{
	uint64_t length = len;

	return send_all(fd, &length, sizeof(length)) &&
		send_all(fd, bytes, len);
}

static bool read_message(int fd, struct kf_buf *out)
{
	char chunk[65536];
	uint64_t length;

	kf_buf_clear(out);
	if (!read_all(fd, &length, sizeof(length)) || length > out->max)
		return false;
	while (length) {
		size_t part = length < sizeof(chunk) ? (size_t)length :
			sizeof(chunk);

		if (!read_all(fd, chunk, part))
			return false;
		kf_buf_add(out, chunk, part);
		length -= part;
	}
	return true;
}

/* --- the worker ----------------------------------------------------------- */

static void close_standard_descriptors(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		_exit(1);
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	if (null > STDERR_FILENO)
		close(null);
}

static void be_worker(const struct kf_pool *pool, unsigned number, int fd,
		      pid_t owner)
{
	struct kf_buf item = { .max = KF_POOL_ITEM_BYTES };
	struct kf_buf answer = { .max = KF_POOL_ITEM_BYTES };

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != owner)
		_exit(1);
	kf_orphans_adopt();	/* or the owner would get those of each sandbox */
	setpgid(0, 0);
	close_standard_descriptors();
	for (unsigned i = 0; i < pool->spec.count; i++)
		if (i != number && pool->worker[i].pid)
			close(pool->worker[i].fd);
	if (pool->spec.begin)
		pool->spec.begin(pool->spec.arg, number);
	while (read_message(fd, &item)) {
		kf_buf_clear(&answer);
		pool->spec.work(pool->spec.arg, kf_buf_str(&item), item.len,
				&answer);
		if (!send_message(fd, kf_buf_str(&answer), answer.len))
			break;
	}
	if (pool->spec.end)
		pool->spec.end(pool->spec.arg);
	_exit(0);
}

static enum kf_code start_worker(struct kf_pool *pool, unsigned number,
				 struct kf_err *err)
{
	const struct timeval patience = { .tv_sec = SEND_S };
	struct worker *w = &pool->worker[number];
	pid_t owner = getpid(), pid;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return kf_fail_errno(err, "cannot make a socket");
	setsockopt(pair[0], SOL_SOCKET, SO_SNDTIMEO, &patience,
		   sizeof(patience));
	setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &patience,
		   sizeof(patience));
	pid = fork();
	if (pid < 0) {
		close(pair[0]);
		close(pair[1]);
		return kf_fail_errno(err, "cannot fork");
	}
	if (pid == 0) {
		close(pair[0]);
		be_worker(pool, number, pair[1], owner);
	}
	close(pair[1]);
	*w = (struct worker) { .pid = pid, .fd = pair[0] };
	return KF_OK;
}

/* --- the owner ------------------------------------------------------------ */

unsigned kf_pool_busy(const struct kf_pool *pool)
{
	unsigned count = 0;

	for (unsigned i = 0; i < pool->spec.count; i++)
		count += pool->worker[i].busy;
	return count;
}

bool kf_pool_has_room(const struct kf_pool *pool)
{
	return kf_pool_busy(pool) < pool->spec.count;
}

static bool has_subject(const struct worker *w, uint64_t subject)
{
	return w->pid && subject && w->subject == subject;
}

/* The idle worker with this subject; the count of workers: there is none. */
static unsigned find_waiting(const struct kf_pool *pool, uint64_t subject)
{
	unsigned i = 0;

	while (i < pool->spec.count && (pool->worker[i].busy ||
	       !has_subject(&pool->worker[i], subject)))
		i++;
	return i;
}

bool kf_pool_waits_for(const struct kf_pool *pool, uint64_t subject)
{
	return find_waiting(pool, subject) < pool->spec.count;
}

bool kf_pool_knows(const struct kf_pool *pool, uint64_t subject)
{
	for (unsigned i = 0; i < pool->spec.count; i++)
		if (has_subject(&pool->worker[i], subject))
			return true;
	return false;
}

/* One that has nothing to do, with this subject if there is such a one; else a
 * place for a new one. */
static unsigned find_idle(const struct kf_pool *pool, uint64_t subject)
{
	unsigned place = find_waiting(pool, subject);

	if (place < pool->spec.count)
		return place;

	for (unsigned i = 0; i < pool->spec.count; i++) {
		if (pool->worker[i].pid && !pool->worker[i].busy)
			return i;
		if (!pool->worker[i].pid && place == pool->spec.count)
			place = i;
	}
	return place;
}

static void end_orphans(const struct kf_pool *pool)
{
	pid_t spared[KF_POOL_MAX];
	size_t count = 0;

	for (unsigned i = 0; i < pool->spec.count; i++)
		if (pool->worker[i].pid)
			spared[count++] = pool->worker[i].pid;
	kf_orphans_end(spared, count);
}

static void bury(struct kf_pool *pool, struct worker *w,
		 struct kf_pool_answer *how)
{
	int status = 0;

	close(w->fd);
	kill(w->pid, SIGKILL);
	while (waitpid(w->pid, &status, 0) < 0 && errno == EINTR)
		;
	if (how && WIFSIGNALED(status))
		how->signal = WTERMSIG(status);
	else if (how)
		how->status = WEXITSTATUS(status);
	*w = (struct worker) { 0 };
	if (WIFSIGNALED(status))
		end_orphans(pool);
}

enum kf_code kf_pool_give(struct kf_pool *pool,
			  const struct kf_pool_item *item, struct kf_err *err)
{
	unsigned i = find_idle(pool, item->subject);
	struct worker *w = &pool->worker[i];
	enum kf_code code;

	if (item->len > KF_POOL_ITEM_BYTES)
		return kf_fail(err, KF_E_LIMIT, "%zu bytes are more than an "
			       "item may have", item->len);
	/* An idle worker that was killed is found out only now. */
	for (unsigned try = 0; try < 2; try++) {
		code = w->pid ? KF_OK : start_worker(pool, i, err);
		if (code)
			return code;
		w->busy = send_message(w->fd, item->text, item->len);
		w->tag = item->tag;
		w->subject = item->subject;
		if (w->busy)
			return KF_OK;
		bury(pool, w, NULL);
	}
	return kf_fail(err, KF_E_IO, "cannot hand work to a process of ours");
}

size_t kf_pool_poll(const struct kf_pool *pool, struct pollfd *out)
{
	size_t count = 0;

	for (unsigned i = 0; i < pool->spec.count; i++)
		if (pool->worker[i].busy)
			out[count++] = (struct pollfd) {
				.fd = pool->worker[i].fd, .events = POLLIN,
			};
	return count;
}

bool kf_pool_answer(struct kf_pool *pool, struct kf_pool_answer *out)
{
	for (unsigned i = 0; i < pool->spec.count; i++) {
		struct worker *w = &pool->worker[i];
		struct pollfd p = { .fd = w->fd, .events = POLLIN };

		if (!w->busy || poll(&p, 1, 0) != 1)
			continue;
		*out = (struct kf_pool_answer) { .tag = w->tag };
		w->busy = false;
		if (read_message(w->fd, &pool->answer)) {
			out->text = kf_buf_str(&pool->answer);
			out->len = pool->answer.len;
		} else {
			bury(pool, w, out);
		}
		return true;
	}
	return false;
}

void kf_pool_interrupt(struct kf_pool *pool)
{
	for (unsigned i = 0; i < pool->spec.count; i++)
		if (pool->worker[i].pid)
			kill(pool->worker[i].pid, SIGTERM);
}

static bool has_ended(const struct worker *w)
{
	siginfo_t about = { 0 };

	return waitid(P_PID, (id_t)w->pid, &about,
		      WEXITED | WNOHANG | WNOWAIT) || about.si_pid;
}

void kf_pool_free(struct kf_pool *pool)
{
	uint64_t end_ns = kf_now_ns() + END_NS;

	for (unsigned i = 0; pool && i < pool->spec.count; i++)
		if (pool->worker[i].pid)
			shutdown(pool->worker[i].fd, SHUT_RDWR);
	for (unsigned i = 0; pool && i < pool->spec.count; i++) {
		struct worker *w = &pool->worker[i];

		while (w->pid && kf_now_ns() < end_ns && !has_ended(w))
			kf_sleep_ns(END_POLL_NS);
		if (w->pid)
			bury(pool, w, NULL);
	}
	if (pool)
		kf_buf_release(&pool->answer);
	free(pool);
}
