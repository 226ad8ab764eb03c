/* feedback.c - what was found, as text for the next prompt. */
#include "evaluate/feedback.h"

#include <math.h>

#include "evaluate/digest.h"
#include "evaluate/kinds.h"

static void finish(struct kf_verdict *out, enum kf_state state,
		   const char *reason)
{
	out->state = state;
	snprintf(out->reason, sizeof(out->reason), "%s", reason);
}

/* --- builds -------------------------------------------------------------- */

void kf_feedback_build(const struct kf_build *build, uint64_t limit_ns,
		       const char *source_dir, struct kf_verdict *out)
{
	struct kf_buf errors = { .max = KF_BUILD_FEEDBACK_BYTES };
	static const char *const reason[] = {
		[KF_BUILD_NONE] = "refused",
		[KF_BUILD_DONE] = "",
		[KF_BUILD_REFUSED] = "refused",
		[KF_BUILD_TOO_SLOW] = "compile_timeout",
		[KF_BUILD_TOO_LARGE] = "compile_resource",
	};

	out->text.max = KF_BUILD_FEEDBACK_BYTES;
	if (build->end == KF_BUILD_TOO_SLOW)
		kf_buf_printf(&out->text, "The compiler was stopped after "
			      "%.0f s. Unroll, inline and generate less.\n",
			      (double)limit_ns / 1e9);
	else if (build->end == KF_BUILD_TOO_LARGE)
		kf_buf_puts(&out->text, "The compiler needed more memory or "
			    "wrote a larger file than is allowed. Unroll, "
			    "inline and generate less; make large static "
			    "tables smaller.\n");
	else
		kf_buf_puts(&out->text, "The compiler refused the program. "
			    "Its first errors:\n");
	kf_build_log_reduce(kf_buf_str(&build->log), build->log.len, &errors);
	kf_buf_add(&out->text, kf_buf_str(&errors), errors.len);
	if (build->end == KF_BUILD_REFUSED)
		kf_build_lines(kf_buf_str(&errors), source_dir, &out->text);
	kf_buf_release(&errors);
	finish(out, KF_COMPILATION_FAILURE, reason[build->end]);
}

/* --- calls that did not end well ----------------------------------------- */

static const struct {
	enum kf_state state;
	const char *reason, *says;
} call_end[] = {
	[KF_CALL_GOOD] = { KF_STATE_NONE, "", "" },
	[KF_CALL_RC] = { KF_RUNTIME_ERROR, "nonzero_return",
		"returned a value other than 0" },
	[KF_CALL_LOAD] = { KF_COMPILATION_FAILURE, "load",
		"could not be loaded" },
	[KF_CALL_SIGNAL] = { KF_RUNTIME_ERROR, "signal", "crashed" },
	[KF_CALL_INPUT_WRITE] = { KF_MISMATCH, "input_changed",
		"wrote to an input or a weight; they are read-only" },
	[KF_CALL_TIMEOUT] = { KF_RUNTIME_ERROR, "timeout",
		"did not return in time and was stopped" },
	[KF_CALL_CPU] = { KF_RUNTIME_ERROR, "cpu_time",
		"used up its processor time" },
	[KF_CALL_MEMORY] = { KF_RUNTIME_ERROR, "memory",
		"used more memory than is allowed" },
	[KF_CALL_VIOLATION] = { KF_RUNTIME_ERROR, "violation",
		"made a system call that is forbidden" },
	[KF_CALL_EXITED] = { KF_RUNTIME_ERROR, "exited",
		"ended the process" },
	[KF_CALL_PROTOCOL] = { KF_RUNTIME_ERROR, "tampering",
		"wrote to memory that belongs to the harness" },
	[KF_CALL_BOUNDS] = { KF_MISMATCH, "out_of_bounds",
		"wrote beyond memory that it was given" },
	[KF_CALL_LAUNCH] = { KF_RUNTIME_ERROR, "launch",
		"asked for something that cannot be done" },
	[KF_CALL_NOT_REPEATABLE] = { KF_RUNTIME_ERROR, "not_repeatable",
		"does not ask for the same launches every time" },
	[KF_CALL_EXCEPTION] = { KF_RUNTIME_ERROR, "exception",
		"raised an exception" },
	[KF_CALL_OUTPUTS] = { KF_MISMATCH, "outputs",
		"returned other outputs than the problem's" },
	[KF_CALL_SHAPE] = { KF_MISMATCH, "shape",
		"returned an output of another shape" },
	[KF_CALL_DTYPE] = { KF_MISMATCH, "dtype",
		"returned an output of another dtype" },
	[KF_CALL_WEIGHTS] = { KF_RUNTIME_ERROR, "weights",
		"does not take the problem's weights" },
	[KF_CALL_PATCHED] = { KF_MISMATCH, "cheat_patched",
		"replaced functions that are not its own" },
	[KF_CALL_DEFERRED] = { KF_MISMATCH, "cheat_deferred_work",
		"left work undone when it returned" },
	[KF_CALL_LIBRARY] = { KF_RUNTIME_ERROR, "library",
		"used a vendor's library, which is refused here" },
	[KF_CALL_DEVICE_FAULT] = { KF_RUNTIME_ERROR, "device_fault",
		"was stopped by the device" },
};

static const char *entry_of(const struct kf_judgement *j, bool preparing)
{
	return kf_driver_entry(j->req->platform->driver, preparing);
}

static void say_call(struct kf_judgement *j, struct kf_buf *out)
{
	const struct kf_check *f = &j->failure;
	const struct kf_call_end *c = &f->call;

	if (!f->kase)
		kf_buf_puts(out, "The program ");
	else
		kf_buf_printf(out, "%s ", entry_of(j, f->preparing));
	kf_buf_puts(out, call_end[c->state].says);
	if (c->state == KF_CALL_RC)
		kf_buf_printf(out, ": %d", c->rc);
	if (c->state == KF_CALL_SIGNAL && c->signal)
		kf_buf_printf(out, ": %s", strsignal(c->signal));
	if (c->state == KF_CALL_TIMEOUT && f->kase)
		kf_buf_printf(out, " (%.3g s)", (double)(c->wall_ns ?
			      c->wall_ns : j->shared.timeout_ns) / 1e9);
	if (f->kase)
		kf_buf_printf(out, ", in call %u of its process, on %s",
			      f->call_number, kf_kind_of(f->kase->kind).data);
	kf_buf_puts(out, ".\n");
	if (c->text[0] && (c->state != KF_CALL_TIMEOUT || !f->kase))
		kf_buf_printf(out, "%s\n", c->text);
	if (c->output[0])
		kf_buf_printf(out, "It printed, at the end:\n%s\n", c->output);
}

/* --- outputs that are not right ------------------------------------------ */

static void say_input(struct kf_judgement *j, struct kf_buf *out)
{
	const struct kf_bundle *b = j->req->bundle;
	const struct kf_check *f = &j->failure;
	bool weight = f->tensor >= b->in_count;
	const struct kf_tensor_info *info = weight ?
		&b->weight[f->tensor - b->in_count] : &b->in[f->tensor];

	if ((size_t)f->byte >= info->bytes)	/* seen on devices alone */
		kf_buf_printf(out, "Something was written beyond the end of "
			      "%s %s, %lld bytes after it.\n", weight ?
			      "weight" : "input", info->name ? info->name : "",
			      (long long)((size_t)f->byte - info->bytes));
	else
		kf_buf_printf(out, "%s %s was changed, first at byte %lld. "
			      "Inputs and weights are read-only.\n", weight ?
			      "Weight" : "Input", info->name ? info->name : "",
			      (long long)f->byte);
}

static void say_bounds(struct kf_judgement *j, struct kf_buf *out)
{
	const struct kf_check *f = &j->failure;

	if (f->byte < 0)
		kf_buf_printf(out, "Something was written %lld bytes before "
			      "output %zu.\n", (long long)-f->byte, f->tensor);
	else
		kf_buf_printf(out, "Something was written beyond the end of "
			      "output %zu, %lld bytes after it.\n", f->tensor,
			      (long long)f->byte);
}

static void say_deferred(struct kf_judgement *j, struct kf_buf *out)
{
	kf_buf_printf(out, "Work went on after %s had returned: outputs still "
		      "changed. All work must be done when it returns.\n",
		      entry_of(j, false));
}

static const char *type_of(const struct kf_judgement *j, size_t output)
{
	return kf_dtype_name(j->req->bundle->out[output].dtype);
}

#define LITTLE	4	/* times what is allowed: no range was overlooked */
#define MUCH	1e6

/* How far off the worst element is, in units of what is allowed; 0: unknown. */
static double excess_of(const struct kf_check *f)
{
	if (f->fault != KF_FAULT_VALUES || !f->compare.worst_count)
		return 0;
	return kf_compare_excess(&f->compare.worst[0]);
}

/* Of a condensed bundle's outputs. */
static void say_looked_at(struct kf_judgement *j, struct kf_buf *out)
{
	const struct kf_bundle *b = j->req->bundle;
	int64_t all = 0, windows = 0;

	if (!b->condensed)
		return;
	for (size_t i = 0; i < b->out_count; i++) {
		all += b->out[i].numel;
		windows += kf_expect_count(&b->out[i], &b->set[0].digest[i]);
	}
	kf_buf_printf(out, "Judged by samples: of %lld elements %lld were "
		      "looked at one by one, and all of them in sums.\n",
		      (long long)all, (long long)windows);
}

static void say_counts(struct kf_judgement *j, struct kf_buf *out)
{
	const struct kf_check *f = &j->failure;
	const struct kf_compare *c = &f->compare;
	double excess = excess_of(f);

	kf_buf_printf(out, "Output %zu (%s) on %s: ", f->tensor,
		      type_of(j, f->tensor), kf_kind_of(f->kase->kind).data);
	if (f->fault == KF_FAULT_UNWRITTEN)
		kf_buf_printf(out, "%lld of %lld elements were not written.\n",
			      (long long)c->unwritten_count,
			      (long long)c->numel);
	else if (f->fault == KF_FAULT_NONFINITE)
		kf_buf_printf(out, "%lld of %lld elements are NaN or infinite "
			      "where the reference is finite, or the "
			      "reverse; %lld are wrong in all.\n",
			      (long long)c->nonfinite_count,
			      (long long)c->numel, (long long)c->wrong_count);
	else if (c->wrong_count)
		kf_buf_printf(out, "%lld of %lld elements are wrong.\n",
			      (long long)c->wrong_count,
			      (long long)c->numel);
	else
		kf_buf_printf(out, "no single element is far off, but the "
			      "errors in %lld of %lld blocks of the output are "
			      "too large together (%.3g times the limit in "
			      "the worst).\n", (long long)c->block_bad_count,
			      (long long)c->block_count, c->rms_max);
	if (c->pattern[0])
		kf_buf_printf(out, "Pattern: %s.\n", c->pattern);
	if (excess > MUCH)
		kf_buf_puts(out, "The worst is off by more than a million "
			    "times what is allowed.\n");
	else if (excess > 1)
		kf_buf_printf(out, "The worst is off by %.*f times what is "
			      "allowed.\n", excess < 10 ? 2 : 0,
			      fmax(excess, 1.01));
	say_looked_at(j, out);
}

static void say_worst(struct kf_judgement *j, struct kf_buf *out)
{
	const struct kf_check *f = &j->failure;
	const struct kf_tensor_info *info = &j->req->bundle->out[f->tensor];
	int64_t wrong = f->compare.wrong_count;
	size_t count = f->compare.worst_count;

	if (wrong && wrong < (int64_t)count)	/* the rest is right */
		count = (size_t)wrong;
	if (f->fault == KF_FAULT_UNWRITTEN || !count)
		return;
	kf_buf_puts(out, "Worst elements (index, expected, got):\n");
	for (size_t i = 0; i < count; i++) {
		const struct kf_worst *w = &f->compare.worst[i];
		char place[128];

		kf_compare_index(info->rank, info->shape, w->index, place);
		kf_buf_printf(out, "  %s  %.9g  %.9g\n", place, w->expect,
			      w->got);
	}
}

static void list_kinds(struct kf_judgement *j, bool good, struct kf_buf *out)
{
	const char *before = "";

	for (size_t i = 0; i < j->req->bundle->set_count; i++) {
		if (!j->set[i].ran || (j->set[i].fault == KF_FAULT_NONE) !=
		    good)
			continue;
		kf_buf_printf(out, "%s%s", before,
			      kf_kind_of(j->req->bundle->set[i].kind).data);
		before = "; ";
	}
}

static void say_sets(struct kf_judgement *j, struct kf_buf *out)
{
	const struct kf_bundle *b = j->req->bundle;
	size_t good = 0, bad = 0, first_bad = 0;
	struct kf_kind kind;

	for (size_t i = 0; i < b->set_count; i++) {
		good += j->set[i].ran && !j->set[i].fault;
		if (j->set[i].ran && j->set[i].fault && !bad++)
			first_bad = i;
	}
	if (!bad || bad + good < 2)
		return;
	if (!good) {
		kf_buf_puts(out, "It is wrong on every kind of data that was "
			    "tried.\n");
		return;
	}
	kf_buf_puts(out, "Right on: ");
	list_kinds(j, true, out);
	kf_buf_puts(out, ".\nWrong on: ");
	list_kinds(j, false, out);
	kf_buf_puts(out, ".\n");
	kind = kf_kind_of(b->set[first_bad].kind);
	if (bad == 1 && kind.range && excess_of(&j->failure) > 1 &&
	    excess_of(&j->failure) < LITTLE)
		kf_buf_puts(out, "Off by so little, precision seems to be "
			    "missing: operands or sums have too few bits for "
			    "such inputs, where terms cancel or differ in "
			    "size.\n");
	else if (bad == 1 && kind.hint)
		kf_buf_printf(out, "%s\n", kind.hint);
}

static void say_history(struct kf_judgement *j, struct kf_buf *out)
{
	const struct kf_check *f = &j->failure;

	if (f->stale)
		kf_buf_printf(out, "The output is that of an earlier call, on "
			      "%s: a result seems to be kept between calls.\n",
			      kf_kind_of(f->stale->kind).data);
	else if (j->failure_timed)
		kf_buf_printf(out, "All earlier calls were right; this was "
			      "call %u of its process, on fresh inputs. What "
			      "%s computes must not depend on earlier "
			      "calls.\n", f->call_number, entry_of(j, false));
}

static void say_values(struct kf_judgement *j, struct kf_buf *out)
{
	say_counts(j, out);
	say_history(j, out);
	if (!j->failure.stale)	/* else it is chance which sets are right */
		say_sets(j, out);
	say_worst(j, out);
}

static void say_precision(struct kf_judgement *j, struct kf_buf *out)
{
	static const char *const words[] = {
		[KF_TF32] = "10 bits of fraction, as TF32 and float16 have",
		[KF_TF32_CUT] = "10 bits of fraction, the rest cut off",
		[KF_BF16_OPERANDS] = "7 bits of fraction, as bfloat16 has",
	};
	const struct kf_check *f = &j->failure;

	kf_buf_printf(out, "Output %zu (%s) on %s: every element is within its "
		      "bounds, but the errors are those of operands rounded "
		      "to %s (%.2f times theirs, give or take %.2f). The "
		      "problem is in float32: compute with whole operands, or "
		      "with parts that together keep its accuracy.\n",
		      f->tensor, type_of(j, f->tensor),
		      kf_kind_of(f->kase->kind).data, words[f->precision],
		      f->found.coefficient, f->found.error);
}

static void say_tail(struct kf_judgement *j, struct kf_buf *out)
{
	(void)j;
	out->len = kf_utf8_cut(kf_buf_str(out), out->len);
	if (out->data)
		out->data[out->len] = '\0';
}

static void say_held(struct kf_judgement *j, struct kf_buf *out)
{
	kf_buf_printf(out, "All earlier calls were right. In this one the "
		      "calling thread was held up for some milliseconds, so "
		      "that others came first: most likely what %s computes "
		      "depends on the order of its threads. Look for a missing "
		      "barrier or atomic, a thread that reads what another has "
		      "yet to write, data that threads share.\n",
		      entry_of(j, false));
}

void kf_feedback_failure(struct kf_judgement *j)
{
	static void (*const say[KF_FAULTS])(struct kf_judgement *j,
					    struct kf_buf *out) = {
		[KF_FAULT_CALL] = say_call,
		[KF_FAULT_INPUT_CHANGED] = say_input,
		[KF_FAULT_OUT_OF_BOUNDS] = say_bounds,
		[KF_FAULT_DEFERRED] = say_deferred,
		[KF_FAULT_UNWRITTEN] = say_values,
		[KF_FAULT_NONFINITE] = say_values,
		[KF_FAULT_VALUES] = say_values,
		[KF_FAULT_PRECISION] = say_precision,
	};
	const struct kf_check *f = &j->failure;

	j->out->text.max = KF_FEEDBACK_BYTES;
	if (f->held)
		say_held(j, &j->out->text);
	say[f->fault](j, &j->out->text);
	say_tail(j, &j->out->text);
	if (f->fault == KF_FAULT_CALL)
		finish(j->out, call_end[f->call.state].state,
		       call_end[f->call.state].reason);
	else
		finish(j->out, KF_MISMATCH, kf_fault_reason(f->fault));
}

/* --- right --------------------------------------------------------------- */

void kf_feedback_correct(struct kf_judgement *j)
{
	struct kf_buf *out = &j->out->text;

	out->max = KF_FEEDBACK_BYTES;
	kf_buf_printf(out, "The program is correct in all %u calls; the worst "
		      "error was %.3g of what is allowed.\n",
		      j->shared.call_count,
		      j->q_max / KF_COMPARE_FAR > j->rms_max ?
		      j->q_max / KF_COMPARE_FAR : j->rms_max);
	say_looked_at(j, out);
	finish(j->out, KF_CORRECT, "");
}
