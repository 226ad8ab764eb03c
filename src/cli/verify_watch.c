/* verify --watch: a line for every save. */
#include <math.h>
#include <time.h>
#include <unistd.h>

#include "cli/saves.h"
#include "cli/verify.h"

/* What is compared with later ones. */
struct mark { double time_ns, speedup; bool conclusive; char at[16]; };

struct history { struct mark last, best; };

static void clock_now(char out[16])
{
	time_t now = time(NULL);
	struct tm parts;

	localtime_r(&now, &parts);
	strftime(out, 16, "%H:%M:%S", &parts);
}

/* How much faster than an earlier one; by the ratio to the baseline where both
 * have one, for that knows what the machine did. */
static double gain(const struct mark *now, const struct mark *before)
{
	if (!isnan(now->speedup) && !isnan(before->speedup))
		return now->speedup / before->speedup;
	return before->time_ns / now->time_ns;
}

static void say_changes(const struct history *h, const struct mark *now,
			struct kf_buf *out)
{
	double last, best;

	if (isnan(h->best.time_ns)) {
		kf_buf_puts(out, "  the first that is correct");
		return;
	}
	last = 100 * (gain(now, &h->last) - 1);
	best = 100 * (gain(now, &h->best) - 1);
	kf_buf_printf(out, "  %+.1f %% on the last, ", last);
	if (best > 0)
		kf_buf_puts(out, "best so far");
	else
		kf_buf_printf(out, "%+.1f %% on the best", best);
}

static void say_correct(struct history *h, const struct kf_verdict *v,
			const char *at, struct kf_buf *out)
{
	struct mark now = { v->time_ns, v->speedup.ratio, v->conclusive, "" };
	char time[32], ratio[32];

	snprintf(now.at, sizeof(now.at), "%s", at);
	kf_cli_time(now.time_ns, time);
	kf_cli_ratio(now.speedup, now.conclusive, ratio);
	kf_buf_printf(out, "%10s %8s", time, ratio);
	if (!isnan(now.time_ns)) {
		say_changes(h, &now, out);
		h->last = now;
		if (isnan(h->best.time_ns) || gain(&now, &h->best) > 1)
			h->best = now;
	}
}

static void print_line(const struct kf_verify *v, struct history *h)
{
	const struct kf_verdict *verdict = &v->verdict;
	struct kf_buf out = { .max = 1u << 16 };
	char at[16];

	clock_now(at);
	kf_buf_printf(&out, "%s  %s%s%s", at, verdict->state ?
		      kf_state_name(verdict->state) : "compiles",
		      verdict->reason[0] ? ": " : "", verdict->reason);
	if (verdict->state == KF_CORRECT)
		say_correct(h, verdict, at, &out);
	kf_buf_puts(&out, "\n");
	if (v->options->explain)
		kf_verify_words(v, &out);
	else if (verdict->state && verdict->state != KF_CORRECT)
		kf_buf_puts(&out, kf_buf_str(&verdict->text));
	if (out.len && out.data[out.len - 1] != '\n')
		kf_buf_puts(&out, "\n");
	fputs(kf_buf_str(&out), stdout);
	kf_buf_release(&out);
}

/* One object a line, for programs that read along. */
static void print_json_line(const struct kf_verify *v)
{
	json_t *json = kf_verify_to_json(v);
	char at[32], *text;

	kf_time_iso(at);
	json_object_set_new(json, "at", json_string(at));
	text = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(15));
	puts(text);
	free(text);
	json_decref(json);
}

/* Reads the files as they are now. That one is missing may be an editor at
 * work: it is said, and the next save is waited for. */
static bool read_again(struct kf_verify *v)
{
	struct kf_err err = { 0 };

	kf_candidate_release(&v->candidate);
	if (!kf_candidate_read(v->file, v->file_count, v->setup.platform,
			       &v->candidate, &err))
		return true;
	kf_logf(v->log, KF_LOG_WARN, "%s; waiting for the next save",
		err.text);
	return false;
}

/* *told: there is a verdict; else a save or the user stopped it. */
static enum kf_code judge_unless_saved(struct kf_verify *v,
				       struct kf_saves *saves, bool *told,
				       struct kf_err *err)
{
	enum kf_code code;

	*told = true;
	kf_verdict_release(&v->verdict);
	v->verdict = (struct kf_verdict) { 0 };
	if (v->candidate.end != KF_EXTRACT_GOOD) {
		kf_verify_generation_failure(v);
		kf_verdict_set_health(&v->verdict,
				      kf_target_health(&v->target));
		return KF_OK;
	}
	code = kf_saves_begin(saves, err);
	if (code)
		return code;
	code = kf_verify_judge(v, &saves->cancel, err);
	if (kf_saves_end(saves) && code == KF_E_CANCELED && !*saves->stop) {
		kf_logf(v->log, KF_LOG_INFO, "saved again: judging anew");
		*told = false;
		return KF_OK;
	}
	return code;
}

static void print_best(const struct kf_verify *v, const struct history *h)
{
	char time[32], ratio[32];

	if (v->options->json)
		return;
	if (isnan(h->best.time_ns)) {
		puts("nothing was correct and timed");
		return;
	}
	kf_cli_time(h->best.time_ns, time);
	kf_cli_ratio(h->best.speedup, h->best.conclusive, ratio);
	printf("best: %s %s, at %s\n", time, ratio, h->best.at);
}

static enum kf_code watch(struct kf_verify *v, struct kf_saves *saves,
			  struct history *h, struct kf_err *err)
{
	enum kf_code code = KF_OK;
	bool there = true, told;

	while (!code) {
		if (there) {
			code = judge_unless_saved(v, saves, &told, err);
			if (!code && told && v->options->json)
				print_json_line(v);
			else if (!code && told)
				print_line(v, h);
			if (!code && told)
				code = kf_verify_picture(v, err);
			fflush(stdout);
		}
		if (!code)
			code = kf_saves_wait(saves, err);
		if (!code)
			there = read_again(v);
	}
	return code;
}

enum kf_code kf_verify_watch(struct kf_verify *v, int *status,
			     struct kf_err *err)
{
	const struct mark none = { (double)NAN, (double)NAN, false, "" };
	const struct kf_platform *platform = v->setup.platform;
	struct history h = { none, none };
	const char **name = kf_alloc((platform->file_count + 1) *
				     sizeof(name[0]));
	struct kf_saves saves;
	enum kf_code code;

	for (size_t i = 0; i < platform->file_count; i++)
		name[i] = platform->file[i].name;
	code = kf_saves_open(v->file, v->file_count, name,
			     platform->file_count, kf_cli_cancel(), &saves,
			     err);
	if (!code && !v->options->quiet)
		fprintf(stderr, "kforge: judging at every save; Ctrl-C ends\n");
	if (!code)
		code = watch(v, &saves, &h, err);
	if (code == KF_E_CANCELED && *kf_cli_cancel()) {
		print_best(v, &h);
		*status = isnan(h.best.time_ns) ? KF_EXIT_CANCELED :
			KF_EXIT_GOOD;
		code = KF_OK;
	}
	kf_saves_release(&saves);
	free(name);
	return code;
}
