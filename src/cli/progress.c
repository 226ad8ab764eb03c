#include "cli/progress.h"

#include <math.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/cli.h"

#define ROW_COLUMNS 78		/* where the terminal does not tell */
#define SHOW_NS (100 * KF_NS_PER_MS)	/* between two changes of the line */

void kf_progress_init(struct kf_progress *progress, bool quiet)
{
	*progress = (struct kf_progress) {
		.quiet = quiet,
		.terminal = isatty(STDERR_FILENO),
		.started_ns = kf_now_ns(),
	};
}

void kf_progress_end(struct kf_progress *progress)
{
	if (progress->line_open)
		fputs("\r\033[K", stderr);
	progress->line_open = false;
}

/* What of the text fits into one row of the terminal: a line that wraps cannot
 * be taken back. A character counts as one column. */
static size_t row_bytes(const char *text)
{
	size_t columns = ROW_COLUMNS, bytes = 0;
	struct winsize size;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1)
		columns = size.ws_col - 1u;
	while (text[bytes] && columns) {
		bytes++;
		while (((unsigned char)text[bytes] & 0xc0) == 0x80)
			bytes++;
		columns--;
	}
	return bytes;
}

/* A line that the next one replaces; nothing where there is no terminal. */
static void passing(struct kf_progress *progress, const char *text)
{
	if (!progress->terminal)
		return;
	fprintf(stderr, "\r\033[K%.*s", (int)row_bytes(text), text);
	fflush(stderr);
	progress->line_open = true;
}

static void lasting(struct kf_progress *progress, const char *text)
{
	kf_progress_end(progress);
	fprintf(stderr, "%s\n", text);
}

/* "softmax 2/5" */
static void attempt_label(const struct kf_event *e, char *out, size_t size)
{
	if (e->attempt->number)
		snprintf(out, size, "%s %u/%u", e->problem,
			 e->attempt->number, e->attempt_max);
	else
		snprintf(out, size, "%s start", e->problem);
}

static void on_problem(struct kf_progress *p, const struct kf_event *e)
{
	char line[256], took[32];

	if (!e->bundle->set_count) {	/* another machine has it */
		snprintf(line, sizeof(line), "%s: known to the machine that "
			 "judges", e->problem);
		lasting(p, line);
		return;
	}
	kf_cli_time((double)e->bundle->took_ns, took);
	snprintf(line, sizeof(line), "%s: bundle %s in %s: %zu sets, %zu "
		 "fresh inputs for timing", e->problem,
		 e->bundle->made_now ? "made" : "found", took,
		 e->bundle->set_count, e->bundle->stock_count);
	lasting(p, line);
}

static void on_ask(struct kf_progress *p, const struct kf_event *e)
{
	char label[128], line[256];

	p->started_ns = kf_now_ns();
	p->shown_ns = 0;
	attempt_label(e, label, sizeof(label));
	snprintf(line, sizeof(line), "%s: waiting for the %s", label,
		 e->line ? "analysis agent" : "model");
	passing(p, line);
}

static void on_bytes(struct kf_progress *p, const struct kf_event *e)
{
	uint64_t now_ns = kf_now_ns();
	char label[128], line[256];

	if (now_ns - p->shown_ns < SHOW_NS)
		return;
	p->shown_ns = now_ns;
	attempt_label(e, label, sizeof(label));
	snprintf(line, sizeof(line), "%s: %zu bytes of reply, %zu of "
		 "reasoning, %llu s", label, e->reply_bytes,
		 e->reasoning_bytes,
		 (unsigned long long)((now_ns - p->started_ns) / KF_NS_PER_S));
	passing(p, line);
}

static void on_judging(struct kf_progress *p, const struct kf_event *e)
{
	char label[128], line[256];

	attempt_label(e, label, sizeof(label));
	snprintf(line, sizeof(line), "%s: compiling, checking, timing", label);
	passing(p, line);
}

/* The line of the feedback that tells most, short enough for one row: a
 * compiler's first error, else the first line. */
static void telling_line(const char *text, char *out, size_t size)
{
	const char *at = strstr(text, "error: ");
	size_t len;

	while (at && at > text && at[-1] != '\n')
		at--;
	if (!at)
		at = text;
	len = strcspn(at, "\n");
	if (len >= size)
		len = kf_utf8_cut(at, size - 1);
	snprintf(out, size, "%.*s", (int)len, at);
}

/* ", eager 1.2 ms: 2.10x (2.05 to 2.16)", by the baseline's name; "" without
 * one. */
static void against_baseline(const struct kf_event *e, char *out, size_t size)
{
	const struct kf_ratio *r = &e->verdict->speedup;
	char base[32], ratio[32];
	size_t len;

	out[0] = '\0';
	if (!isfinite(r->ratio))
		return;
	kf_cli_time(e->attempt->baseline_ns, base);
	kf_cli_ratio(r->ratio, e->verdict->conclusive, ratio);
	snprintf(out, size, ", %s %s: %s",
		 kf_problem_baseline(e->verdict->kind), base, ratio);
	len = strlen(out);
	if (isfinite(r->low))
		snprintf(out + len, size - len, " (%.2f to %.2f)", r->low,
			 r->high);
}

static void on_judged(struct kf_progress *p, const struct kf_event *e)
{
	const struct kf_attempt *a = e->attempt;
	char label[128], line[640], time[32], against[128], why[160];

	attempt_label(e, label, sizeof(label));
	if (a->state != KF_CORRECT) {
		telling_line(a->feedback ? a->feedback : "", why,
			     sizeof(why));
		snprintf(line, sizeof(line), "%-16s %-20s %s: %s", label,
			 kf_state_name(a->state), a->reason, why);
		lasting(p, line);
		return;
	}
	kf_cli_time(a->time_ns, time);
	against_baseline(e, against, sizeof(against));
	snprintf(line, sizeof(line), "%-16s %-20s %s%s%s", label,
		 kf_state_name(a->state), time, against,
		 e->is_best ? "  <- best so far" : "");
	lasting(p, line);
}

static void on_notice(struct kf_progress *p, const struct kf_event *e)
{
	char label[128], line[1024];

	attempt_label(e, label, sizeof(label));
	snprintf(line, sizeof(line), "%s: %s", label, e->line);
	lasting(p, line);
}

static void on_profile(struct kf_progress *p, const struct kf_event *e)
{
	char label[128], line[256];

	attempt_label(e, label, sizeof(label));
	snprintf(line, sizeof(line), "%s: profiling", label);
	passing(p, line);
}

#define ADVICE_SHOWN 160

static void on_advice(struct kf_progress *p, const struct kf_event *e)
{
	char label[128], line[512], gain[32] = "";
	size_t len = strcspn(e->line, "\n");

	attempt_label(e, label, sizeof(label));
	if (len > ADVICE_SHOWN)
		len = kf_utf8_cut(e->line, ADVICE_SHOWN);
	if (isfinite(e->expected_gain))
		snprintf(gain, sizeof(gain), " (%.2fx expected)",
			 e->expected_gain);
	snprintf(line, sizeof(line), "%-16s advice%s: %.*s%s", label, gain,
		 (int)len, e->line, e->line[len] ? " ..." : "");
	lasting(p, line);
}

static void on_stop(struct kf_progress *p, const struct kf_event *e)
{
	char line[1024];

	if (e->best_path)
		snprintf(line, sizeof(line), "%s: %s; best is attempt %u, in "
			 "%s", e->problem, e->line, e->best->number,
			 e->best_path);
	else
		snprintf(line, sizeof(line), "%s: %s; no correct program",
			 e->problem, e->line);
	lasting(p, line);
}

void kf_progress_event(void *arg, const struct kf_event *event)
{
	static void (*const on[])(struct kf_progress *,
				  const struct kf_event *) = {
		[KF_EVENT_PROBLEM] = on_problem,
		[KF_EVENT_ASK] = on_ask,
		[KF_EVENT_PROGRESS] = on_bytes,
		[KF_EVENT_NOTICE] = on_notice,
		[KF_EVENT_JUDGING] = on_judging,
		[KF_EVENT_JUDGED] = on_judged,
		[KF_EVENT_PROFILE] = on_profile,
		[KF_EVENT_ADVICE] = on_advice,
		[KF_EVENT_STOP] = on_stop,
	};
	struct kf_progress *progress = arg;

	if (!progress->quiet)
		on[event->kind](progress, event);
}
