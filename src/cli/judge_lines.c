/*
 * judge_lines.c - kforge judge --jsonl: requests come in as lines, verdicts go
 * out as lines, in the order in which they are done. No more is read than can
 * be begun: whoever writes faster waits.
 */
#include "cli/judge.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#define LINE_BYTES (16u << 20)
#define POLL_MS 200		/* how late a signal may be noticed */

enum found { FOUND_NONE, FOUND_LINE, FOUND_TOO_LONG, FOUND_END };

/* Standard input, cut into lines. */
struct lines {
	char chunk[65536];
	size_t at, len;			/* what of the chunk is not used yet */
	struct kf_buf line;
	bool too_long, ended;
	int failure;			/* why it ended early: errno; 0: not */
	uint64_t number;		/* of the line in hand, from 1 */
};

/* An item under way; kept to answer for a worker that dies with it. */
struct item { char *text; size_t len; uint64_t line; };

struct session {
	struct kf_work *work;
	struct kf_pool *pool;
	struct lines in;
	struct item *item;		/* [count] */
	unsigned count;
	bool pending;			/* in.line waits for room */
	bool interrupted, reader_left;
};

/* --- lines ---------------------------------------------------------------- */

static enum found end_line(struct lines *in)
{
	bool too_long = in->too_long;

	in->number++;
	in->too_long = false;
	return too_long ? FOUND_TOO_LONG : FOUND_LINE;
}

/* Takes the next line out of what has been read. */
static enum found next_line(struct lines *in)
{
	const char *start = in->chunk + in->at, *end;
	size_t left = in->len - in->at, part;

	end = memchr(start, '\n', left);
	part = end ? (size_t)(end - start) : left;
	if (!in->too_long && !kf_buf_add(&in->line, start, part))
		in->too_long = true;
	in->at += part + (end != NULL);
	if (end)
		return end_line(in);
	if (!in->ended)
		return FOUND_NONE;
	return in->line.len || in->too_long ? end_line(in) : FOUND_END;
}

static void read_some(struct lines *in)
{
	ssize_t got = read(STDIN_FILENO, in->chunk, sizeof(in->chunk));

	if (got < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	in->ended = got <= 0;
	in->at = 0;
	in->len = got > 0 ? (size_t)got : 0;
	if (got >= 0)
		return;
	/* Nobody knows how a line that was cut here would have gone on. */
	in->failure = errno;
	in->too_long = false;
	kf_buf_clear(&in->line);
}

static bool is_blank(const struct kf_buf *line)
{
	const char *text = kf_buf_str(line);

	return strspn(text, " \t\r") == line->len;
}

/* --- answers -------------------------------------------------------------- */

static void print_line(struct session *s, const char *text, size_t len)
{
	if (fwrite(text, 1, len, stdout) != len || putchar('\n') == EOF ||
	    fflush(stdout))
		s->reader_left = true;
}

static void print_error(struct session *s, const json_t *id, uint64_t line,
			const struct kf_err *trouble)
{
	json_t *json = kf_work_error(id, line, trouble);
	char *text = kf_json_text(json);

	print_line(s, text, strlen(text));
	free(text);
	json_decref(json);
}

static void answer_for_dead(struct session *s, const struct item *item,
			    const struct kf_pool_answer *how)
{
	struct kf_err trouble = { 0 };
	json_t *request = NULL;

	kf_fail(&trouble, KF_E_IO, "the process of kforge that judged this "
		"died (%s %d); send it again", how->signal ? "signal" :
		"status", how->signal ? how->signal : how->status);
	if (kf_json_parse(item->text, item->len, "it", &request, NULL))
		request = NULL;
	print_error(s, json_object_get(request, "id"), item->line, &trouble);
	json_decref(request);
}

static void take_answers(struct session *s)
{
	struct kf_pool_answer answer;

	while (kf_pool_answer(s->pool, &answer)) {
		struct item *item = &s->item[answer.tag];

		if (answer.text)
			print_line(s, answer.text, answer.len);
		else
			answer_for_dead(s, item, &answer);
		free(item->text);
		*item = (struct item) { 0 };
	}
}

/* --- requests ------------------------------------------------------------- */

static void give(struct session *s)
{
	char *text = kf_format("%llu %s", (unsigned long long)s->in.number,
			       kf_buf_str(&s->in.line));
	struct kf_err err = { 0 };
	struct item *item = s->item;

	while (item->text)
		item++;
	*item = (struct item) {
		.text = kf_strndup(kf_buf_str(&s->in.line), s->in.line.len),
		.len = s->in.line.len, .line = s->in.number,
	};
	if (kf_pool_give(s->pool, &(struct kf_pool_item) {
		.tag = (uint64_t)(item - s->item), .text = text,
		.len = strlen(text),
	}, &err)) {
		print_error(s, NULL, s->in.number, &err);
		free(item->text);
		*item = (struct item) { 0 };
	}
	free(text);
	kf_buf_clear(&s->in.line);
	s->pending = false;
}

static void refuse_long(struct session *s)
{
	struct kf_err trouble = { 0 };

	kf_fail(&trouble, KF_E_LIMIT, "line %llu is longer than %u bytes",
		(unsigned long long)s->in.number, LINE_BYTES);
	print_error(s, NULL, s->in.number, &trouble);
	kf_buf_clear(&s->in.line);
}

/* Begins what can be begun from what has been read; true once there is
 * nothing more to come. */
static bool begin_some(struct session *s)
{
	for (;;) {
		enum found found;

		if (s->pending && !kf_pool_has_room(s->pool))
			return false;
		if (s->pending)
			give(s);
		if (!kf_pool_has_room(s->pool))
			return false;
		found = next_line(&s->in);
		if (found == FOUND_NONE || found == FOUND_END)
			return found == FOUND_END;
		if (found == FOUND_TOO_LONG)
			refuse_long(s);
		else if (is_blank(&s->in.line))
			kf_buf_clear(&s->in.line);
		else
			s->pending = true;
	}
}

/* --- the session ---------------------------------------------------------- */

static void wait_for_something(struct session *s, bool reading)
{
	struct pollfd p[KF_POOL_MAX + 2] = {
		{ .fd = reading ? STDIN_FILENO : -1, .events = POLLIN },
		{ .fd = STDOUT_FILENO },
	};
	size_t count = 2 + kf_pool_poll(s->pool, p + 2);

	if (poll(p, (nfds_t)count, POLL_MS) <= 0)
		return;
	if (p[0].revents)
		read_some(&s->in);
	if (p[1].revents & POLLERR)
		s->reader_left = true;
}

/* Until the input has ended and everything is answered; or, once stopped or
 * without a reader, until nothing is under way. */
static void converse(struct session *s)
{
	bool ended = false;

	for (;;) {
		bool stopping;

		if (*kf_cli_cancel() || s->reader_left) {
			if (!s->interrupted)
				kf_pool_interrupt(s->pool);
			s->interrupted = true;
		}
		stopping = s->interrupted;
		if (!stopping && !ended)
			ended = begin_some(s);
		if ((stopping || ended) && !kf_pool_busy(s->pool))
			break;
		wait_for_something(s, !stopping && !ended && !s->in.ended &&
				   !s->pending && kf_pool_has_room(s->pool));
		take_answers(s);
	}
}

static int how_it_ended(const struct session *s)
{
	struct kf_err err = { 0 };

	if (s->reader_left)
		return KF_EXIT_IO;
	if (*kf_cli_cancel())
		return KF_EXIT_CANCELED;
	if (!s->in.failure)
		return KF_EXIT_GOOD;
	kf_fail(&err, KF_E_IO, "cannot read standard input after line %llu: "
		"%s; the lines before it are answered",
		(unsigned long long)s->in.number, strerror(s->in.failure));
	return kf_cli_fail(&err);
}

/* --devices are those of the command's platform. */
static enum kf_code count_workers(struct session *s,
				  const struct kf_options *options,
				  struct kf_err *err)
{
	unsigned asked = (unsigned)options->jobs, usual = kf_judge_cores();

	if (!options->devices) {
		s->count = kf_judge_at_once(options->platform, asked, usual);
		return KF_OK;
	}
	if (strcmp(options->platform, KF_PLATFORM_DEFAULT) == 0)
		return kf_judge_wants_platform(options, err);
	s->work->spec.share.platform = options->platform;
	return kf_judge_at_once_shared(&s->work->spec, asked, usual, &s->count,
				       err);
}

int kf_judge_lines(const struct kf_options *options, struct kf_work *work)
{
	struct session *s = kf_alloc(sizeof(*s));
	struct kf_temporary scratch = { 0 };
	struct kf_err err = { 0 };
	int status = KF_EXIT_GOOD;

	s->work = work;
	s->in.line.max = LINE_BYTES;
	if (count_workers(s, options, &err)) {
		status = kf_cli_fail(&err);
		goto out;
	}
	work->spec.at_once = s->count;
	s->item = kf_alloc(s->count * sizeof(s->item[0]));
	if (kf_cli_scratch("judge", &scratch, &err) ||
	    kf_pool_new(&(struct kf_pool_spec) {
			.count = s->count, .begin = kf_work_begin,
			.work = kf_work_line, .end = kf_work_end, .arg = work,
		}, &s->pool, &err)) {
		status = kf_cli_fail(&err);
		goto out;
	}
	work->scratch_folder = scratch.path;
	converse(s);
	status = how_it_ended(s);
out:
	kf_pool_free(s->pool);
	if (kf_temporary_remove(&scratch, &err))
		kf_logf(work->spec.log, KF_LOG_WARN, "%s", err.text);
	kf_buf_release(&s->in.line);
	free(s->item);
	free(s);
	return status;
}
