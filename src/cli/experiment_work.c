/* The cells that are not done, several at once: each in a process of a pool,
 * for it holds sandboxes, and one that dies must not end the others. */
#include "cli/experiment.h"

#include <poll.h>

#include "cli/judge.h"
#include "cli/progress.h"
#include "executor/pool.h"

#define POLL_MS 200
#define FAILURES_MAX 3		/* in a row: the rest would fail as well */

enum stage { DONE, WAITING, UNDER_WAY, FAILED };

struct session {
	const struct kf_experiment *experiment;
	struct kf_pool *pool;
	enum stage *stage;		/* owned; of each cell */
	size_t count, next, in_a_row;
	struct kf_experiment_counts *counts;
	struct kf_err last;		/* why the last one failed */
	bool interrupted;
};

/* --- in a process of the pool --------------------------------------------- */

/* Killed before its settings were there, it begins anew. */
static bool has_begun(const char *run_dir)
{
	struct kf_store *store = NULL;
	json_t *settings = NULL;
	bool begun = !kf_store_open(run_dir, KF_STORE_READ, &store, NULL) &&
		     !kf_store_settings(store, &settings, NULL);

	json_decref(settings);
	kf_store_close(store);
	return begun;
}

static enum kf_code run_cell(const struct kf_experiment *e,
			     const struct kf_cell *cell,
			     struct kf_run_summary *summary,
			     struct kf_err *err)
{
	struct kf_progress progress;
	struct kf_watch watch = { kf_progress_event, &progress };
	struct kf_cell_note note = { 0 };
	struct kf_cell_run run;
	uint64_t start_ns = kf_now_ns();
	struct kf_log log;
	enum kf_code code;

	kf_cli_log(e->options, &log);
	kf_progress_init(&progress, !e->options->verbose);
	progress.terminal = false;	/* others write there too */
	code = kf_cell_open(e, cell, &log, &run, err);
	if (!code)
		code = kf_cell_note_read(e, cell, &run, &note, err);
	if (!code)
		code = kf_mkdir_p(run.dir, err);
	if (!code)
		code = kf_cell_note_write(&run, &note, err);
	if (code)
		goto out;
	code = kf_loop_run(&run.run.spec, has_begun(run.dir), &watch, summary,
			   err);
	free(note.error);
	note.error = code && code != KF_E_CANCELED ? kf_strdup(err->text) :
		     NULL;
	note.done = !code;
	note.seconds += (double)(kf_now_ns() - start_ns) / KF_NS_PER_S;
	if (code)
		(void)!kf_cell_note_write(&run, &note, NULL);
	else
		code = kf_cell_note_write(&run, &note, err);
out:
	kf_cell_note_release(&note);
	kf_cell_close(&run);
	return code;
}

/* item: the cell's number. */
static void work(void *arg, const char *item, size_t len,
		 struct kf_buf *answer)
{
	const struct session *s = arg;
	struct kf_run_summary summary = { 0 };
	struct kf_err err = { 0 };
	struct kf_cell cell;
	uint64_t number = 0;
	enum kf_code code;
	json_t *json;
	char *text;

	(void)len;
	(void)kf_parse_u64(item, &number);
	cell = kf_experiment_cell(s->experiment, number);
	code = run_cell(s->experiment, &cell, &summary, &err);
	json = json_pack("{s:i, s:b, s:I}", "code", (int)code, "correct",
			 summary.correct_count > 0, "tokens",
			 (json_int_t)summary.tokens);
	json_object_set_new(json, "error",
			    kf_json_string(err.text, strlen(err.text)));
	text = kf_json_text(json);
	kf_buf_puts(answer, text);
	free(text);
	json_decref(json);
}

/* --- their owner ---------------------------------------------------------- */

static void say(const struct session *s, size_t i, const char *what)
{
	struct kf_cell cell = kf_experiment_cell(s->experiment, i);
	char *name = kf_cell_name(s->experiment, &cell);

	fprintf(stderr, "[%zu of %zu] %s: %s\n",
		s->counts->done + s->counts->failed, s->count, name, what);
	free(name);
}

static void take_failure(struct session *s, size_t i, const json_t *answer,
			 const struct kf_pool_answer *how)
{
	char text[sizeof(s->last.text)];

	if (how->text)
		snprintf(text, sizeof(text), "%s",
			 kf_json_str(answer, "error", "an unreadable answer"));
	else
		snprintf(text, sizeof(text), "the process that ran it died "
			 "(%s %d)", how->signal ? "signal" : "status",
			 how->signal ? how->signal : how->status);
	kf_fail(&s->last, (enum kf_code)kf_json_int(answer, "code", KF_E_IO),
		"%s", text);
	s->stage[i] = FAILED;
	s->counts->failed++;
	/* A problem that is refused says nothing of the others. */
	s->in_a_row += s->last.code != KF_E_INPUT &&
		       s->last.code != KF_E_LIMIT;
	say(s, i, text);
}

static void take_answer(struct session *s, const struct kf_pool_answer *how)
{
	size_t i = (size_t)how->tag;
	json_t *answer = NULL;
	int64_t code;

	if (how->text && kf_json_parse(how->text, how->len, "an answer",
				       &answer, NULL))
		answer = NULL;
	code = kf_json_int(answer, "code", KF_E_IO);
	if (code == KF_OK) {
		s->stage[i] = DONE;
		s->counts->done++;
		s->in_a_row = 0;
		if (!s->experiment->options->quiet)
			say(s, i, kf_json_bool(answer, "correct", false) ?
			    "correct" : "no correct program");
	} else if (code == KF_E_CANCELED || s->interrupted) {
		s->stage[i] = WAITING;
	} else {
		take_failure(s, i, answer, how);
	}
	json_decref(answer);
}

static enum kf_code give_some(struct session *s, struct kf_err *err)
{
	enum kf_code code = KF_OK;

	for (; !code && s->next < s->count && kf_pool_has_room(s->pool);
	     s->next++) {
		char number[24];

		if (s->stage[s->next] != WAITING)
			continue;
		snprintf(number, sizeof(number), "%zu", s->next);
		code = kf_pool_give(s->pool, &(struct kf_pool_item) {
			.tag = s->next, .text = number, .len = strlen(number),
		}, err);
		s->stage[s->next] = UNDER_WAY;
	}
	return code;
}

static void say_begin(const struct session *s, unsigned at_once)
{
	const struct kf_experiment *e = s->experiment;

	if (!e->options->quiet && s->counts->done < s->count)
		fprintf(stderr, "%zu runs in %s, %zu of them done; %u at "
			"once\n", s->count, e->dir, s->counts->done,
			at_once);
}

static enum kf_code end_of(const struct session *s, enum kf_code code,
			   struct kf_err *err)
{
	if (code)
		return code;
	if (*kf_cli_cancel())
		return kf_fail(err, KF_E_CANCELED, "stopped with %zu of %zu "
			       "runs done; the same command goes on",
			       s->counts->done, s->count);
	if (s->in_a_row >= FAILURES_MAX)
		return kf_fail(err, s->last.code, "stopped, for the last %zu "
			       "runs have failed; the same command goes on. "
			       "The last one: %s", s->in_a_row, s->last.text);
	return KF_OK;
}

static enum kf_code work_on_all(struct session *s, struct kf_err *err)
{
	enum kf_code code = KF_OK;

	for (;;) {
		struct pollfd p[KF_POOL_MAX];
		struct kf_pool_answer answer;

		if ((*kf_cli_cancel() || code) && !s->interrupted) {
			kf_pool_interrupt(s->pool);
			s->interrupted = true;
		}
		if (!s->interrupted && s->in_a_row < FAILURES_MAX)
			code = give_some(s, err);
		if (!kf_pool_busy(s->pool) && !code)
			break;
		if (!kf_pool_busy(s->pool) && s->interrupted)
			break;
		poll(p, (nfds_t)kf_pool_poll(s->pool, p), POLL_MS);
		while (kf_pool_answer(s->pool, &answer))
			take_answer(s, &answer);
	}
	return end_of(s, code, err);
}

/* --- what there is to do -------------------------------------------------- */

/* Every cell is looked at before the first is paid for. */
static enum kf_code look(struct session *s, unsigned *at_once,
			 struct kf_err *err)
{
	const struct kf_experiment *e = s->experiment;
	enum kf_code code = KF_OK;

	*at_once = e->options->jobs ? (unsigned)e->options->jobs : 1;
	for (size_t i = 0; !code && i < s->count; i++) {
		struct kf_cell cell = kf_experiment_cell(e, i);
		struct kf_cell_note note = { 0 };
		struct kf_cell_run run;
		unsigned most = *at_once;

		code = kf_cell_open(e, &cell, NULL, &run, err);
		if (!code)
			code = kf_cell_note_read(e, &cell, &run, &note, err);
		s->stage[i] = note.done ? DONE : WAITING;
		s->counts->done += note.done;
		/* Arms differ in platforms, the rest of the cells does not. */
		if (!code && i < e->arm_count && most > 1 &&
		    !run.run.spec.setup.away)
			most = kf_judge_at_once(run.parsed.platform, most, 1);
		*at_once = most;
		kf_cell_note_release(&note);
		kf_cell_close(&run);
	}
	return code;
}

enum kf_code kf_experiment_work(const struct kf_experiment *e,
				struct kf_experiment_counts *out,
				struct kf_err *err)
{
	struct session s = {
		.experiment = e, .counts = out,
		.count = kf_experiment_cells(e),
	};
	unsigned at_once;
	enum kf_code code;

	*out = (struct kf_experiment_counts) { 0 };
	s.stage = kf_alloc(s.count * sizeof(*s.stage));
	code = look(&s, &at_once, err);
	if (!code)
		code = kf_pool_new(&(struct kf_pool_spec) {
			.count = at_once, .work = work, .arg = &s,
		}, &s.pool, err);
	if (!code) {
		say_begin(&s, at_once);
		code = work_on_all(&s, err);
	}
	kf_pool_free(s.pool);
	free(s.stage);
	return code;
}
