#include "evaluate/explain.h"

#include <math.h>

#include "evaluate/compare.h"
#include "evaluate/kinds.h"
#include "evaluate/libraries.h"

#define COLUMNS 79
#define INDENT 2
#define LABEL 12	/* the column of labels */
#define LINES_MAX 40	/* of the text that the next prompt is told */

/* --- layout --------------------------------------------------------------- */

static void heading(struct kf_buf *out, const char *words)
{
	kf_buf_printf(out, "\n%s\n", words);
}

/* So many bytes of words, wrapped; the cursor stands at column indent. */
static void wrap(struct kf_buf *out, int indent, const char *words, size_t len)
{
	const char *end = words + len;
	int column = indent;

	while (words < end) {
		size_t word = strcspn(words, " \n");

		if (word > (size_t)(end - words))
			word = (size_t)(end - words);
		if (column > indent && column + 1 + (int)word > COLUMNS) {
			kf_buf_printf(out, "\n%*s", indent, "");
			column = indent;
		} else if (column > indent) {
			kf_buf_puts(out, " ");
			column++;
		}
		kf_buf_add(out, words, word);
		column += (int)word;
		words += word + 1;
	}
	kf_buf_puts(out, "\n");
}

/* Words after a label in a column of its own. */
static void paragraph(struct kf_buf *out, const char *label, const char *words)
{
	kf_buf_printf(out, "%*s%-*s", INDENT, "", LABEL, label);
	wrap(out, INDENT + LABEL, words, strlen(words));
}

KF_PRINTF(3, 4)
static void say(struct kf_buf *out, const char *label, const char *format, ...)
{
	struct kf_buf words = { .max = 4096 };
	va_list ap;

	va_start(ap, format);
	kf_buf_vprintf(&words, format, ap);
	va_end(ap);
	paragraph(out, label, kf_buf_str(&words));
	kf_buf_release(&words);
}

static const char *time_of(double ns, char out[32])
{
	return kf_time_words(ns, 3, out);
}

/* --- reading -------------------------------------------------------------- */

static double number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	const char *word = json_string_value(value);

	if (word && strcmp(word, "inf") == 0)
		return (double)INFINITY;
	if (word && strcmp(word, "-inf") == 0)
		return -(double)INFINITY;
	return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static long long whole(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

static const json_t *failure_of(const json_t *verdict)
{
	return json_object_get(json_object_get(verdict, "evidence"),
			       "failure");
}

static bool is(const json_t *verdict, const char *state)
{
	return strcmp(kf_json_str(verdict, "state", ""), state) == 0;
}

/* --- stages --------------------------------------------------------------- */

static void say_build(const json_t *v, struct kf_buf *out)
{
	double ns = number(json_object_get(v, "took"), "compiler_ns");
	const char *compiler = kf_json_str(v, "compiler", "the compiler");
	char took[32];

	if (!(ns > 0))
		say(out, "build", "not begun: there was no program");
	else if (is(v, "compilation_failure") &&
		 strcmp(kf_json_str(v, "reason", ""), "load") != 0)
		say(out, "build", "%s refused it after %s", compiler,
		    time_of(ns, took));
	else
		say(out, "build", "%s compiled it in %s", compiler,
		    time_of(ns, took));
}

static void say_run(const json_t *v, struct kf_buf *out)
{
	const json_t *e = json_object_get(v, "evidence");
	double prepare_ns = number(v, "prepare_ns");
	long long processes = whole(e, "processes");
	char took[32];

	if (!processes)
		return;
	say(out, "run", "%lld call%s in %lld process%s (trust: %s, sandbox "
	    "tier: %s), %.3g MB of memory beside the tensors",
	    whole(v, "calls"), whole(v, "calls") == 1 ? "" : "s", processes,
	    processes == 1 ? "" : "es", kf_json_str(v, "trust", "?"),
	    kf_json_str(v, "sandbox", "?"),
	    number(v, "memory_bytes_peak") / 1e6);
	if (prepare_ns > 0)
		say(out, "", "kf_prepare took %s, which is in no call's time",
		    time_of(prepare_ns, took));
}

/* The worst error of all calls, as a part of what is allowed. */
static void say_checked(const json_t *v, struct kf_buf *out)
{
	const json_t *e = json_object_get(v, "evidence");
	double element = number(e, "q_max") / 16, block = number(e, "rms_max");

	if (isnan(element) || !(is(v, "correct") || is(v, "mismatch")))
		return;
	say(out, "values", "every output of every call was compared in full; "
	    "the worst element was off by %.3g of what one may be, the worst "
	    "block by %.3g of what a block's RMS may be", element, block);
}

static void say_stages(const json_t *v, struct kf_buf *out)
{
	heading(out, "What was done");
	say_build(v, out);
	say_run(v, out);
	say_checked(v, out);
	if (is(v, "correct") && isnan(number(v, "time_ns")))
		say(out, "time", "not taken: it was to stop after \"%s\"",
		    kf_json_str(v, "stop_after", "values"));
}

/* --- sets ----------------------------------------------------------------- */

static void say_sets(const json_t *v, struct kf_buf *out)
{
	json_t *sets = json_object_get(json_object_get(v, "evidence"), "sets");
	const char *kind;
	json_t *word;

	if (!json_object_size(sets))
		return;
	heading(out, "Kinds of data");
	json_object_foreach(sets, kind, word) {
		struct kf_kind k = kf_kind_of(kind);

		kf_buf_printf(out, "  %-11s %-20s %s\n", kind,
			      json_string_value(word),
			      k.brief ? k.brief :
			      k.data != k.name ? k.data : "");
	}
}

/* --- what failed ---------------------------------------------------------- */

static const char *bound_words(const char *from)
{
	static const struct { const char *from, *words; } rows[] = {
		{ "size", "its own size" },
		{ "reaction", "its reaction to inputs" },
		{ "block", "its block's size" },
		{ "noise", "the reference's error" },
	};

	for (size_t i = 0; i < KF_COUNT(rows); i++)
		if (strcmp(from, rows[i].from) == 0)
			return rows[i].words;
	return "";
}

static void say_worst(const json_t *f, struct kf_buf *out)
{
	json_t *list = json_object_get(f, "worst"), *w;
	size_t i;

	if (!json_array_size(list))
		return;
	kf_buf_printf(out, "\n  %-16s%12s%14s%12s  %s\n", "worst elements",
		      "expected", "got", "x allowed", "allowed by");
	json_array_foreach(list, i, w) {
		double q = number(w, "q") / 16;

		if (i && q <= 1 && whole(f, "wrong"))
			break;		/* the rest is right */
		kf_buf_printf(out, "  %-16.24s%12.6g%14.6g%12.3g  %s\n",
			      kf_json_str(w, "index", "?"),
			      number(w, "expected"), number(w, "got"), q,
			      bound_words(kf_json_str(w, "bound_from", "")));
	}
}

static void say_map(const json_t *f, struct kf_buf *out)
{
	struct kf_buf map = { .max = 8192 };

	if (kf_error_map_draw(json_object_get(f, "map"), INDENT + 2, &map))
		kf_buf_printf(out, "\n  where the wrong elements lie\n%s",
			      kf_buf_str(&map));
	kf_buf_release(&map);
}

static void say_outputs(const json_t *f, struct kf_buf *out)
{
	say(out, "output", "%lld (%s), %lld elements in %lld blocks",
	    whole(f, "output"), kf_json_str(f, "type", "?"),
	    whole(f, "elements"), whole(f, "blocks"));
	say(out, "wrong", "%lld elements (%lld not written, %lld NaN or "
	    "infinite against the reference), and %lld blocks by their RMS",
	    whole(f, "wrong"), whole(f, "unwritten"), whole(f, "non_finite"),
	    whole(f, "blocks_bad"));
	if (number(f, "error_max_abs") >= 0)
		say(out, "error", "%.4g at most", number(f, "error_max_abs"));
	if (kf_json_str(f, "pattern", "")[0])
		say(out, "pattern", "%s", kf_json_str(f, "pattern", ""));
	if (kf_json_str(f, "result_of", NULL))
		say(out, "stale", "it is the result of an earlier call, on "
		    "\"%s\"", kf_json_str(f, "result_of", ""));
	if (number(f, "limit") > 0)
		say(out, "limit", "an element may be off by 16 T times its "
		    "scale, T = 2^%.0f here; the RMS of a block's errors by "
		    "T (1 + 15 / n) times (docs/judging.md, \"Values\")",
		    log2(number(f, "limit")));
	say_worst(f, out);
	say_map(f, out);
}

static void say_failure(const json_t *v, struct kf_buf *out)
{
	const json_t *f = failure_of(v);

	if (!f)
		return;
	heading(out, "What failed");
	say(out, "where", "call %lld of its process%s%s%s%s", whole(f, "call"),
	    kf_json_str(f, "set", NULL) ? ", on \"" : "",
	    kf_json_str(f, "set", ""),
	    kf_json_str(f, "set", NULL) ? "\"" : "",
	    kf_json_bool(f, "timed", false) ?
	    "; one of the timed calls, when all sets had passed" :
	    kf_json_bool(f, "held", false) ?
	    "; a thread was held up in it, when all sets had passed" : "");
	if (kf_json_str(f, "text", "")[0])
		say(out, "what", "%s", kf_json_str(f, "text", ""));
	if (json_object_get(f, "elements"))
		say_outputs(f, out);
}

/* The text that a model is told. Its worst elements are told below, with more
 * about them. */
static void say_text(const json_t *v, struct kf_buf *out)
{
	const char *at = kf_json_str(v, "text", "");

	for (unsigned i = 0; *at && i < LINES_MAX; i++) {
		size_t len = strcspn(at, "\n");

		if (strncmp(at, "Worst elements", 14) == 0)
			return;
		kf_buf_printf(out, "%*s", INDENT, "");
		if (*at == ' ')		/* source, and not prose */
			kf_buf_printf(out, "%.*s\n", (int)len, at);
		else
			wrap(out, INDENT, at, len);
		at += len + (at[len] == '\n');
	}
	if (*at)
		kf_buf_puts(out, "  ...\n");
}

/* --- rules ---------------------------------------------------------------- */

static void say_rules(const json_t *v, struct kf_buf *out)
{
	const json_t *rules = json_object_get(json_object_get(v, "evidence"),
					      "rules");
	const json_t *kb = json_object_get(rules, "kernelbench");
	bool ours = strcmp(kf_json_str(rules, "decided_by", ""), "kforge") == 0;

	if (!rules)
		return;
	heading(out, "Rules");
	say(out, "kforge", "%s%s", kf_json_bool(rules, "kforge", false) ?
	    "right" : "wrong", ours ? "; this one decides" : "");
	say(out, "KernelBench", "%s%s", json_is_true(kb) ? "right" :
	    json_is_false(kb) ? "wrong" : "not reached",
	    ours ? " (allclose, on the problem's own kind of inputs)" :
	    "; this one decides");
}

/* --- libraries ------------------------------------------------------------ */

static void say_libraries(const json_t *v, struct kf_buf *out)
{
	struct kf_buf words = { .max = 1024 };

	kf_libraries_words(json_object_get(v, "libraries"), &words);
	if (words.len) {
		heading(out, "Libraries");
		say(out, "did work", "%s", kf_buf_str(&words));
	}
	kf_buf_release(&words);
}

/* --- times ---------------------------------------------------------------- */

static void say_ratio(const json_t *v, struct kf_buf *out)
{
	const json_t *r = json_object_get(v, "speedup");
	char text[32];

	if (isnan(number(v, "baseline_ns")))
		return;
	say(out, "baseline", "%s, %s a call%s",
	    strcmp(kf_json_str(v, "baseline", "eager"), "eager") == 0 ?
	    "PyTorch eager" : "the reference",
	    time_of(number(v, "baseline_ns"), text),
	    kf_json_bool(v, "baseline_live", false) ?
	    ", in turn with the program on the same inputs" :
	    ", measured earlier and stored");
	if (isnan(number(r, "low")))
		say(out, "speed-up", "%.3g, without an interval",
		    number(r, "ratio"));
	else
		say(out, "speed-up", "%.3g; the 95 %% interval is %.3g to "
		    "%.3g, %.1f %% wide over %lld blocks", number(r, "ratio"),
		    number(r, "low"), number(r, "high"),
		    100 * number(r, "width"), whole(r, "blocks"));
}

static void say_cold(const json_t *timing, struct kf_buf *out)
{
	double baseline_ns = number(timing, "baseline_cold_ns");
	char text[32], other[32];

	if (isnan(number(timing, "cold_ns")))
		return;
	say(out, "cold", "%s a call whose inputs are in no cache%s%s",
	    time_of(number(timing, "cold_ns"), text),
	    isnan(baseline_ns) ? "" : "; the baseline ",
	    isnan(baseline_ns) ? "" : time_of(baseline_ns, other));
}

/* Of a device that tells them. */
static void say_clocks(const json_t *clocks, struct kf_buf *out)
{
	const json_t *mhz = json_object_get(clocks, "core_mhz");

	if (json_array_size(mhz) == 2)
		say(out, "clock rate", "%lld to %lld MHz; it changed by over "
		    "2 %% within %lld of %lld pairs of blocks",
		    (long long)json_integer_value(json_array_get(mhz, 0)),
		    (long long)json_integer_value(json_array_get(mhz, 1)),
		    whole(clocks, "changed"), whole(clocks, "pairs"));
}

static void say_times(const json_t *v, struct kf_buf *out)
{
	const json_t *e = json_object_get(v, "evidence");
	const json_t *t = json_object_get(e, "timing");
	char text[32];

	if (isnan(number(v, "time_ns")))
		return;
	heading(out, "Time");
	say(out, "program", "%s a call, the median of %lld timed calls in %lld "
	    "blocks, over %lld process%s", time_of(number(v, "time_ns"), text),
	    whole(t, "calls"), whole(t, "blocks"), whole(e, "processes"),
	    whole(e, "processes") == 1 ? "" : "es");
	if (strcmp(kf_json_str(t, "clock", ""), "device") == 0)
		say(out, "", "each by the device's own clock; by kforge's they "
		    "took %s on average",
		    time_of(number(t, "wall_ns_mean"), text));
	else if (whole(t, "handshake_ns"))
		say(out, "", "each less %s, what an empty call takes",
		    time_of(number(t, "handshake_ns"), text));
	say_ratio(v, out);
	if (t)
		say(out, "disturbed", "%lld pair%s of blocks taken again "
		    "because other programs were busy", whole(t, "disturbed"),
		    whole(t, "disturbed") == 1 ? "" : "s");
	say_cold(t, out);
	say_clocks(json_object_get(t, "clocks"), out);
	say(out, "conclusive", "%s", kf_json_bool(v, "conclusive", false) ?
	    "yes" : "no; the notes say why");
}

static void say_wall(const json_t *v, struct kf_buf *out)
{
	static const struct { const char *key, *name, *words; } rows[] = {
		{ "compiler_ns", "compiler", "" },
		{ "candidate_ns", "candidate", "its calls and kf_prepare" },
		{ "baseline_ns", "baseline", "starting it, and its calls" },
		{ "ours_ns", "kforge", "sandboxes, copying, comparing" },
	};
	const json_t *took = json_object_get(v, "took");
	double all = number(took, "all_ns");
	char text[32];

	if (!(all > 0))
		return;
	heading(out, "Where the wall time went");
	for (size_t i = 0; i < KF_COUNT(rows); i++) {
		double ns = number(took, rows[i].key);

		kf_buf_printf(out, "  %-11s %9s %3.0f %%%s%s\n", rows[i].name,
			      time_of(ns, text), 100 * ns / all,
			      rows[i].words[0] ? "   " : "", rows[i].words);
	}
	kf_buf_printf(out, "  %-11s %9s\n", "all", time_of(all, text));
}

static void say_notes(const json_t *v, struct kf_buf *out)
{
	json_t *notes = json_object_get(json_object_get(v, "evidence"),
					"notes"), *note;
	const char *unhealthy = kf_json_str(v, "unhealthy_text", "");
	size_t i;

	if (!json_array_size(notes) && !unhealthy[0])
		return;
	heading(out, "Notes");
	if (unhealthy[0])
		say(out, "problem", "it is unhealthy: %s", unhealthy);
	json_array_foreach(notes, i, note) {
		const char *words = json_string_value(note);

		kf_buf_printf(out, "%*s", INDENT, "");
		wrap(out, INDENT, words ? words : "", words ?
		     strlen(words) : 0);
	}
}

/* --- what to do next ------------------------------------------------------ */

static const struct { const char *reason, *words; } advice[] = {
	{ "no_code", "Put each file into one fenced block that is headed by its name." },
	{ "cut_off", "The reply or a block has no end: ask again with a larger --max-tokens." },
	{ "refused", "Mend the first error; later ones often come from it." },
	{ "compile_timeout", "Unroll, inline and generate less." },
	{ "compile_resource", "Unroll, inline and generate less; make static tables smaller." },
	{ "load", "Define kf_forward with C linkage, and call nothing but libc, libm and OpenMP." },
	{ "signal", "Look at indices and sizes first: take every extent from the tensors' shapes. The same sources under -fsanitize=address in a small main of your own show where." },
	{ "timeout", "Look for a loop or a lock that does not end; the deadline is 50 times the reference's time, at least 2 s." },
	{ "memory", "Allocate less; scratch comes from kf_temp." },
	{ "violation", "Compute only: no files, sockets or processes." },
	{ "library", "Compute by kernels of your own what it names, or judge it with --libraries allow." },
	{ "exception", "Mend the line that it names; forward gets the tensors of get_inputs(), on the device." },
	{ "outputs", "Return what the problem's forward returns: as many tensors, in the same order." },
	{ "shape", "Return tensors of the reference's shapes." },
	{ "dtype", "Return tensors of the reference's element types." },
	{ "weights", "Give ModelNew the parameters of Model, by the same names or in the same order and shapes." },
	{ "cheat_patched", "Leave functions of PyTorch, Python and its clocks as they are." },
	{ "nonzero_return", "Return 0 from kf_forward and kf_prepare where all went well." },
	{ "launch", "Compare the launch that is named with the kernel's parameters and with what the device's card allows." },
	{ "not_repeatable", "host.c may depend on shapes, scalars and constants only: no clock, no address, no random number, and handles only through KF_BUF." },
	{ "device_fault", "Look at indices and sizes first: guard the remainder (if (i < n)), and take every extent from an argument." },
	{ "exited", "Return from kf_forward instead of ending the process." },
	{ "input_changed", "Write to outputs and scratch only; copy an input that is to be changed." },
	{ "out_of_bounds", "Check the remainder loops: the last rows, and what is beyond a multiple of the vector's length." },
	{ "cheat_deferred_work", "Join all threads before kf_forward returns." },
	{ "unwritten", "Every element of every output must be written in every call." },
	{ "non_finite", "Look for overflow: subtract the maximum before exp, add epsilon before a division or a logarithm." },
	{ "precision", "Look for operands that are rounded or packed into fewer bits, and for a switch that allows it (TF32, fast math). Splitting each operand into parts, so that their products together have all bits, is allowed." },
	{ "values", "Begin with the kind of data that fails and with the pattern, then compare the worst elements by hand. If all kinds fail by little, look for lower precision or another order of a long sum." },
};

static const char *advice_of(const json_t *v)
{
	const char *reason = kf_json_str(v, "reason", "");

	for (size_t i = 0; i < KF_COUNT(advice); i++)
		if (strcmp(reason, advice[i].reason) == 0)
			return advice[i].words;
	if (!is(v, "correct"))
		return "";
	if (isnan(number(v, "time_ns")))
		return "Judge it without --stop-after to have its time.";
	if (kf_json_bool(v, "conclusive", false))
		return "Nothing is left to mend. `kforge compare PROBLEM A B` "
			"tells whether another version is really faster.";
	if (number(v, "time_ns") < 20e3)
		return "The call is too short to be timed well: choose larger "
			"sizes with --set or --size.";
	return "Judge it again on a quiet machine, or with fewer --threads.";
}

void kf_explain(const json_t *v, struct kf_buf *out)
{
	const char *reason = kf_json_str(v, "reason", "");

	kf_buf_printf(out, "%s%s%s\n", is(v, "none") ? "it compiles" :
		      kf_json_str(v, "state", "no verdict"),
		      reason[0] ? ": " : "", reason);
	say_text(v, out);
	say_stages(v, out);
	say_failure(v, out);
	say_sets(v, out);
	say_rules(v, out);
	say_libraries(v, out);
	kf_explain_plans(v, out);
	say_times(v, out);
	say_wall(v, out);
	say_notes(v, out);
	if (advice_of(v)[0]) {
		heading(out, "Next");
		kf_buf_printf(out, "%*s", INDENT, "");
		wrap(out, INDENT, advice_of(v), strlen(advice_of(v)));
	}
}
