/*
 * apart.h - a function run in a process of its own, for libraries of vendors:
 * what they crash, hang, leave running or set up is then not ours.
 *
 * Threads: the child has only the thread that called; start it before there
 *          are others, or where they hold no lock that the function needs.
 */
#ifndef KF_PLATFORM_APART_H
#define KF_PLATFORM_APART_H

#include <sys/types.h>

#include "base/base.h"

/* Runs in the child, which has none of our descriptors, and whose standard
 * output and error go nowhere; what it puts into out the parent gets. */
typedef void kf_apart_fn(void *arg, struct kf_buf *out);

struct kf_apart {
	pid_t pid;
	int result_fd, alive_fd;
};

struct kf_apart_end {
	bool timed_out;		/* and was killed, with what it had started */
	bool stuck;		/* it did not even die, and is left alone */
	int signal;		/* that ended it; 0: none */
};

/* At most result_max bytes come back. */
KF_MUST_CHECK enum kf_code kf_apart_start(kf_apart_fn *fn, void *arg,
		size_t result_max, struct kf_apart *out, struct kf_err *err);
/* Waits until it has ended, at the latest timeout_ns from now. result gets its
 * bytes, unless it was stopped or crashed. */
KF_MUST_CHECK enum kf_code kf_apart_finish(struct kf_apart *apart,
		uint64_t timeout_ns, struct kf_buf *result,
		struct kf_apart_end *end, struct kf_err *err);

/*
 * The same for a library that is asked again and again: its process stays.
 * There answer is called for each question, with what arg was when the line was
 * opened, and fills in what goes back: answer_bytes, zeroed before.
 */
typedef void kf_apart_answer_fn(void *arg, int question, void *answer);

/* A zeroed one is closed. */
struct kf_apart_line {
	pid_t pid;
	int fd;
	size_t answer_bytes;
	const char *name;	/* of the library, in sentences; borrowed */
};

KF_MUST_CHECK enum kf_code kf_apart_line_open(const char *name,
		kf_apart_answer_fn *answer, void *arg, size_t answer_bytes,
		struct kf_apart_line *out, struct kf_err *err);
/* KF_E_TIMEOUT: no answer by then. KF_E_UNAVAIL: it has crashed. Then it can be
 * asked no more. */
KF_MUST_CHECK enum kf_code kf_apart_line_ask(struct kf_apart_line *line,
		int question, void *answer, uint64_t timeout_ns,
		struct kf_err *err);
/* Ends the process, whatever it does. */
void kf_apart_line_close(struct kf_apart_line *line);

#endif
