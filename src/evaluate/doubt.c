/* doubt.c - what the times of a judgement do not show, and why. */
#include <math.h>

#include "evaluate/judge.h"

static void note_disturbed(struct kf_judgement *j)
{
	const struct kf_clock_log *clocks = &j->clocks;

	if (j->disturbed_count)
		kf_buf_printf(&j->notes, "%s: %zu of %zu pairs of blocks were "
			      "disturbed by %s and taken again%s\n",
			      clocks->unsteady_count ? "speed was not steady" :
			      "the machine was busy", j->disturbed_count,
			      j->disturbed_count + j->ratio.block_count,
			      clocks->unsteady_count ?
			      "changing clock rates, or by other programs," :
			      "other programs",
			      3 * j->disturbed_count > j->ratio.block_count ?
			      ", more than a quarter" : "");
	if (!kf_clock_log_bad(clocks))
		return;
	j->out->conclusive = false;
	kf_buf_printf(&j->notes, "the device's clock rates changed by over 2 "
		      "%%, or it was slowed down for heat or power, in %zu of "
		      "%zu pairs of blocks: let it cool, or fix its clocks\n",
		      clocks->unsteady_count, clocks->pair_count);
}

/* Seldom: the process that waited was late itself. */
static void doubt_clock(struct kf_judgement *j)
{
	if (4 * j->doubted_count <= j->wall_count)
		return;
	j->out->conclusive = false;
	kf_buf_printf(&j->notes, "the device's clock lagged far behind the "
		      "host's in %zu of %zu timed calls: the host's time "
		      "counts for them\n", j->doubted_count, j->wall_count);
}

const char *kf_judgement_doubts(const struct kf_evaluate_request *req,
				bool in_process)
{
	const struct kf_driver *driver = req->platform->driver;

	if (in_process && driver->two_part)
		return "the kernels ran in the process that waits for them: a "
			"program that means to can make its time look shorter";
	if (in_process && kf_driver_moves(driver))
		return "the program shares its process with what moves its "
			"inputs and outputs before and after the clock runs: "
			"one that means to can compute then";
	return NULL;
}

static void doubt_form(struct kf_judgement *j)
{
	const char *why = kf_judgement_doubts(j->req, j->out->in_process);

	if (!why)
		return;
	j->out->conclusive = false;
	kf_buf_printf(&j->notes, "%s\n", why);
}

/* A program with host code of its own is timed from outside. */
static void doubt_outside(struct kf_judgement *j)
{
	const struct kf_driver *driver = j->req->platform->driver;

	if (driver->torch_device && !driver->two_part &&
	    j->req->problem->kind == KF_PROBLEM_PYTHON &&
	    !isnan(j->out->baseline_ns) && j->out->baseline_ns > 0)
		kf_buf_puts(&j->notes, "a call's time has its launches and "
			    "what it does on the processor in it, the "
			    "baseline's is the device's own: of short calls "
			    "the speed-up is larger than it says\n");
}

/* The interval of the difference is the ratio's, times the program's time;
 * with a stored baseline that of the program's own blocks. */
static void doubt_difference(struct kf_judgement *j)
{
	const struct kf_ratio *r = &j->out->speedup;
	double time_ns = j->out->time_ns;
	double away_ns = time_ns * (r->ratio - 1);
	double width_ns = time_ns * (isnan(r->low) ? j->ratio.width :
				     r->high - r->low);

	if (isnan(r->ratio) || isnan(width_ns) ||	/* too few blocks */
	    kf_claim_shown(away_ns, width_ns))
		return;
	j->out->conclusive = false;
	kf_buf_printf(&j->notes, "a call or its baseline takes less than %.0f "
		      "us, where a difference counts if it is over 0.5 us and "
		      "over three widths of its 95 %% interval: it is %.2f us, "
		      "and the interval %.2f us wide\n", KF_SHORT_NS / 1e3,
		      fabs(away_ns) / 1e3, width_ns / 1e3);
}

static void doubt_short(struct kf_judgement *j)
{
	struct kf_verdict *out = j->out;

	if (out->time_ns < KF_SHORT_NS && !j->shared.device_clock) {
		out->conclusive = false;
		kf_buf_printf(&j->notes, "a call takes less than %.0f us: the "
			      "handshake with the program's process is part "
			      "of what was measured\n", KF_SHORT_NS / 1e3);
	} else if (out->time_ns < KF_SHORT_NS ||
		   out->baseline_ns < KF_SHORT_NS) {
		doubt_difference(j);
	}
}

static void doubt_floor(struct kf_judgement *j)
{
	struct kf_verdict *out = j->out;

	if (kf_floor_beaten(&j->floor, out->time_ns, out->baseline_ns)) {
		out->conclusive = false;
		kf_floor_say(&j->floor, out->time_ns, &j->notes);
		kf_buf_puts(&j->notes, "\n");
	} else if (j->first_ns > 0) {
		kf_floor_say(&j->floor, j->first_ns, &j->notes);
		kf_buf_puts(&j->notes, ": it was timed once more\n");
	}
}

void kf_judgement_doubt(struct kf_judgement *j)
{
	struct kf_verdict *out = j->out;

	out->conclusive = j->ratio.block_count >= kf_stop_default.block_min &&
		j->ratio.width <= kf_stop_default.width &&
		3 * j->disturbed_count <= j->ratio.block_count;
	note_disturbed(j);
	if (j->ratio.block_count < kf_stop_default.block_min)
		kf_buf_printf(&j->notes, "the time comes from %zu block%s of "
			      "calls, fewer than the %zu that an interval "
			      "needs\n", j->ratio.block_count,
			      j->ratio.block_count == 1 ? "" : "s",
			      kf_stop_default.block_min);
	else if (j->ratio.width > kf_stop_default.width)
		kf_buf_printf(&j->notes, "the 95 %% interval is %.1f %% wide "
			      "after %zu blocks, more than the 2 %% asked "
			      "for\n", 100 * j->ratio.width,
			      j->ratio.block_count);
	doubt_form(j);
	doubt_outside(j);
	doubt_short(j);
	doubt_floor(j);
	doubt_clock(j);
}
