#include "cli/options.h"

#include <math.h>
#include <stddef.h>

#include "cli/attempt.h"
#include "executor/words.h"

enum option_kind { FLAG, COUNTER, TEXT, LIST, COUNT, COUNT_OR_0, REAL, POSITIVE,
		   CHOICE };

struct option {
	char letter;			/* 0: none */
	const char *name;
	const char *value;		/* name of its value in help; NULL: none */
	const char *help;
	enum option_kind kind;
	size_t offset;			/* in struct kf_options */
	const struct kf_word *choice;	/* ends with a NULL name */
	uint64_t most;			/* of a number: its ceiling; 0: none */
};

static const struct kf_word as_choice[] = {
	{ "c", KF_EXPORT_C },
	{ "torch", KF_EXPORT_TORCH },
	{ "cuda", KF_EXPORT_CUDA },
	{ NULL, 0 },
};

static const struct kf_word kind_choice[] = {
	{ "c", KF_PROBLEM_C },
	{ "python", KF_PROBLEM_PYTHON },
	{ NULL, 0 },
};

static const struct kf_word only_choice[] = {
	{ "prompt", KF_PART_PROMPT },
	{ "reply", KF_PART_REPLY },
	{ "reasoning", KF_PART_REASONING },
	{ "source", KF_PART_SOURCE },
	{ "log", KF_PART_LOG },
	{ "verdict", KF_PART_VERDICT },
	{ "diff", KF_PART_DIFF },
	{ "advice", KF_PART_ADVICE },
	{ "profile", KF_PART_PROFILE },
	{ NULL, 0 },
};

#define AT(member) offsetof(struct kf_options, member)

static const struct option option_table[] = {
	{ 'p', "platform", "NAME[:DEVICE]", "where programs run (default: cpu), and the number or a part of the name of a device there; see `kforge platforms`", TEXT, AT(platform), NULL, 0 },
	{ 0, "form", "FORM", "of programs: c, two-part, cu, torch, triton (default: the platform's; verify and compare tell it by the files)", TEXT, AT(form), NULL, 0 },
	{ 'm', "model", "NAME", "the language model: openai:NAME, exec:COMMAND, manual:DIR, replay:FILE", TEXT, AT(model), NULL, 0 },
	{ 0, "advisor", "WHO", "who says what to change next: rules (default), none, or a model as in --model", TEXT, AT(advisor), NULL, 0 },
	{ 0, "advisor-sees", NULL, "the model of --advisor sees: it gets the pictures that profilers drew", FLAG, AT(advisor_sees), NULL, 0 },
	{ 0, "profile", "WHAT", "how the best program is profiled before it is improved: auto (default), none, or what --profiler takes", TEXT, AT(profile), NULL, 0 },
	{ 'n', "attempts", "N", "replies to ask for, per problem (default: 5)", COUNT, AT(attempts), NULL, 10000 },
	{ 't', "target", "X", "stop a problem when it is X times as fast as the baseline", REAL, AT(target), NULL, 0 },
	{ 'o', "out", "DIR", "where to write: a run's folder (default: kforge-runs/DATE-PROBLEM), an experiment's (kforge-experiments/NAME), an export's, a build's", TEXT, AT(out), NULL, 0 },
	{ 's', "start", "FILE", "begin from this program (again for each further file)", LIST, AT(start), NULL, 0 },
	{ 0, "set", "NAME=VALUE", "rewrite an assignment in the problem, such as a size", LIST, AT(set), NULL, 0 },
	{ 0, "size", "NAME", "choose a preset of the problem's sizes; --set still wins", TEXT, AT(size), NULL, 0 },
	{ 0, "dtype", "TYPE", "run the problem in float64, float32, float16 or bfloat16 (default: its own; in C: float64, float32)", CHOICE, AT(dtype), kf_words_dtype, 0 },
	{ 0, "shapes", "FILE", "judge on several shapes: a JSON list of names, sizes and types (docs/problems.md)", TEXT, AT(shapes), NULL, 0 },
	{ 0, "record", "FILE", "append every reply to FILE, for --model replay:FILE", TEXT, AT(record), NULL, 0 },
	{ 0, "prompts", "DIR", "templates that replace ours, file by file", TEXT, AT(prompts), NULL, 0 },
	{ 0, "temperature", "X", "sent to the model if given", REAL, AT(temperature), NULL, 0 },
	{ 0, "max-tokens", "N", "ceiling of one reply (default: 32768)", COUNT, AT(max_tokens), NULL, 100000000 },
	{ 0, "budget-tokens", "N", "ceiling of the whole run, prompts and replies", COUNT, AT(budget_tokens), NULL, 0 },
	{ 0, "reply-timeout", "S", "seconds to wait for one reply (default: 3600)", POSITIVE, AT(reply_timeout_s), NULL, 1000000 },
	{ 0, "dry-run", NULL, "ask nothing: show the number of calls and the ceiling of tokens", FLAG, AT(dry_run), NULL, 0 },
	{ 0, "force", NULL, "work on problems that are unhealthy too (see `kforge problem check`)", FLAG, AT(force), NULL, 0 },
	{ 0, "fit", NULL, "make what is too large for this machine smaller, and say so", FLAG, AT(fit), NULL, 0 },
	{ 0, "timeout", "S", "seconds for each problem (default: 300)", POSITIVE, AT(timeout_s), NULL, 1000000 },
	{ 0, "memory", "GB", "the most that a reference may take (default: 80 % of the machine's)", POSITIVE, AT(memory_gb), NULL, 1000000 },
	{ 0, "keep", NULL, "keep the bundles that were made only for this", FLAG, AT(keep), NULL, 0 },
	{ 0, "rules", "WHOSE", "kforge (default) or kernelbench: which rules decide; both are recorded", CHOICE, AT(rules), kf_words_rules, 0 },
	{ 0, "libraries", "RULE", "allow (default) or refuse: may programs of form cu, torch and triton have vendors' libraries compute (docs/forms.md)", CHOICE, AT(libraries), kf_words_libraries, 0 },
	{ 0, "baseline", "HOW", "live (default): the reference in turn with the program; stored: the last one measured; none", CHOICE, AT(baseline), kf_words_baseline, 0 },
	{ 0, "calls", "N", "a fixed plan of N calls instead of measuring until the interval is narrow", COUNT, AT(calls), NULL, 100000000 },
	{ 0, "seed", "N", "of the secret order of calls (default: random)", COUNT, AT(seed), NULL, INT64_MAX },
	{ 0, "rejudge", "N", "at the end judge the best N of a problem again, on data drawn anew (default: 3; 0: none)", COUNT_OR_0, AT(rejudge), NULL, KF_REJUDGE_MAX },
	{ 0, "stop-after", "STAGE", "build: does it compile; values: is it right; time (default): how fast is it", CHOICE, AT(stop_after), kf_words_stop_after, 0 },
	{ 0, "threads", "N", "for programs and references alike (default: all cores)", COUNT, AT(threads), NULL, 4096 },
	{ 0, "sandbox", "TIER", "strict (default); weak: go on where namespaces are refused", CHOICE, AT(sandbox), kf_words_sandbox, 0 },
	{ 0, "python", "PATH", "a Python that has torch (default: KFORGE_PYTHON, else found)", TEXT, AT(python), NULL, 0 },
	{ 0, "executor", "WHERE", "who judges: local (default), or folder:DIR: jobs are written there, and `kforge judge DIR` on another machine answers", TEXT, AT(executor), NULL, 0 },
	{ 0, "cache", "DIR", "where bundles and baselines are kept (default: the user's cache folder)", TEXT, AT(cache), NULL, 0 },
	{ 0, "release", "DEVICE", "take a device out of quarantine (docs/platforms.md)", TEXT, AT(release), NULL, 0 },
	{ 0, "profiler", "NAME", "one instead of the platform's: perf, threads, callgrind, launches, ncu, nsys, or command:WORDS (docs/profiling.md)", TEXT, AT(profiler), NULL, 0 },
	{ 0, "hide", "SET", "keep a set of counters from rules and models: times, processor, throughput, memory, occupancy, stalls, static, kernels or other (may be repeated)", LIST, AT(hide), NULL, 0 },
	{ 'w', "watch", NULL, "go on until Ctrl-C: verify judges again at every save, judge takes jobs as they appear", FLAG, AT(watch), NULL, 0 },
	{ 0, "explain", NULL, "say why: stages, sets, worst elements, times, and what to do next", FLAG, AT(explain), NULL, 0 },
	{ 0, "picture", "FILE", "write where the wrong elements of an output lie, as SVG", TEXT, AT(picture), NULL, 0 },
	{ 0, "sanitize", NULL, "run the program once more under a tool that watches its accesses (AddressSanitizer, oclgrind, compute-sanitizer)", FLAG, AT(sanitize), NULL, 0 },
	{ 0, "kind", "KIND", "of a new problem: c (default): problem.json and reference.c; python: a PyTorch file", CHOICE, AT(kind), kind_choice, 0 },
	{ 0, "context", NULL, "show the data that templates see, as JSON, instead of the prompt", FLAG, AT(context), NULL, 0 },
	{ 0, "jobs", "N", "so many at once (default: as many as there are cores; for folders half, for experiments one; on a GPU one for each 20 GiB of its memory that is free)", COUNT, AT(jobs), NULL, 256 },
	{ 0, "devices", "LIST", "several devices for jobs that name none: their numbers or names (0,2,h200), or all (default: the first)", TEXT, AT(devices), NULL, 0 },
	{ 0, "again", NULL, "judge jobs that have a result once more, in the same order of calls", FLAG, AT(again), NULL, 0 },
	{ 0, "jsonl", NULL, "requests as lines of JSON on standard input, verdicts as lines on standard output", FLAG, AT(jsonl), NULL, 0 },
	{ 0, "as", "FORM", "c: a C library with header and example; torch: a PyTorch module and operator; cuda: sources for nvcc", CHOICE, AT(as), as_choice, 0 },
	{ 0, "shape", "NAME", "of a run that was judged on several: the one to export (default: the first)", TEXT, AT(shape), NULL, 0 },
	{ 0, "portable", NULL, "build for any processor of this architecture, not for this one", FLAG, AT(portable), NULL, 0 },
	{ 0, "unverified", NULL, "export a program that nobody has judged; the files say so", FLAG, AT(unverified), NULL, 0 },
	{ 0, "only", "PART", "just that, as it is: prompt, reply, reasoning, source, log, verdict, diff, advice or profile", CHOICE, AT(only), only_choice, 0 },
	{ 0, "merge", NULL, "several runs as one", FLAG, AT(merge), NULL, 0 },
	{ 0, "table", NULL, "work on nothing: print the table of what is there", FLAG, AT(table), NULL, 0 },
	{ 0, "all", NULL, "every run under ./kforge-runs", FLAG, AT(all), NULL, 0 },
	{ 'j', "json", NULL, "results as JSON on standard output", FLAG, AT(json), NULL, 0 },
	{ 'q', "quiet", NULL, "say nothing but results and errors", FLAG, AT(quiet), NULL, 0 },
	{ 'v', "verbose", NULL, "say more (twice: everything)", COUNTER, AT(verbose), NULL, 0 },
	{ 0, "config", "FILE", "take defaults from FILE instead of kforge.json, and trust it", TEXT, AT(config_path), NULL, 0 },
	{ 0, "no-config", NULL, "leave kforge.json alone", FLAG, AT(no_config), NULL, 0 },
	{ 'h', "help", NULL, "this help", FLAG, AT(help), NULL, 0 },
};

_Static_assert(KF_COUNT(option_table) <=
	       64 * KF_COUNT(((struct kf_options *)0)->given),
	       "one bit of given for each option");


void kf_options_init(struct kf_options *options)
{
	*options = (struct kf_options) {
		.platform = KF_PLATFORM_DEFAULT,
		.attempts = 5,
		.rejudge = KF_REJUDGE_UNSAID,
		.target = (double)NAN,
		.temperature = (double)NAN,
		.reply_timeout_s = 3600,
		.sandbox = KF_TIER_MEDIUM,
		.kind = KF_PROBLEM_C,
	};
}

void kf_options_release(struct kf_options *options)
{
	free(options->set.text);
	free(options->start.text);
	free(options->hide.text);
	options->set = options->start = options->hide = (struct kf_list) { 0 };
	json_decref(options->config);
	options->config = NULL;
}

static void append(struct kf_list *list, const char *text)
{
	list->text = kf_realloc(list->text,
				(list->count + 1) * sizeof(list->text[0]));
	list->text[list->count++] = text;
}

/* --- names ---------------------------------------------------------------- */

/* Edit distance, for short names. */
static size_t distance(const char *a, const char *b)
{
	size_t row[64];
	size_t len = strlen(b);

	if (len >= KF_COUNT(row))
		return SIZE_MAX;
	for (size_t j = 0; j <= len; j++)
		row[j] = j;
	for (size_t i = 1; a[i - 1]; i++) {
		size_t corner = row[0];

		row[0] = i;
		for (size_t j = 1; j <= len; j++) {
			size_t change = corner + (a[i - 1] != b[j - 1]);
			size_t gap = (row[j] < row[j - 1] ? row[j] :
				      row[j - 1]) + 1;

			corner = row[j];
			row[j] = change < gap ? change : gap;
		}
	}
	return row[len];
}

const char *kf_closest(const char *typed, const char *const *name,
		       size_t count)
{
	size_t least = strlen(typed) / 3 + 2;
	const char *closest = NULL;

	for (size_t i = 0; i < count; i++) {
		size_t d = distance(typed, name[i]);

		if (d < least) {
			least = d;
			closest = name[i];
		}
	}
	return closest;
}

/* What every command takes without naming it: where defaults come from. */
static bool is_everywhere(const char *name)
{
	return strcmp(name, "config") == 0 || strcmp(name, "no-config") == 0;
}

/* Is name one of the space-separated words? */
static bool takes(const struct kf_command *command, const char *name)
{
	size_t len = strlen(name);

	if (!command || is_everywhere(name))
		return true;
	for (const char *at = command->options; *at;) {
		size_t word = strcspn(at, " ");

		if (word == len && memcmp(at, name, len) == 0)
			return true;
		at += word + (at[word] == ' ');
	}
	return false;
}

static const struct option *by_letter(const struct kf_command *command,
				      char letter)
{
	for (size_t i = 0; i < KF_COUNT(option_table); i++) {
		const struct option *o = &option_table[i];

		if (o->letter == letter && takes(command, o->name))
			return o;
	}
	return NULL;
}

/* name need not end after len bytes. */
static const struct option *by_name(const struct kf_command *command,
				    const char *name, size_t len)
{
	for (size_t i = 0; i < KF_COUNT(option_table); i++) {
		const struct option *o = &option_table[i];

		if (strlen(o->name) == len &&
		    memcmp(o->name, name, len) == 0 &&
		    takes(command, o->name))
			return o;
	}
	return NULL;
}

static enum kf_code unknown_option(const struct kf_command *command,
				   const char *typed, struct kf_err *err)
{
	const char *name[KF_COUNT(option_table)];
	size_t len = strcspn(typed, "=");
	char *word = kf_strndup(typed, len);
	const char *closest;
	size_t count = 0;

	for (size_t i = 0; i < KF_COUNT(option_table); i++)
		if (takes(command, option_table[i].name))
			name[count++] = option_table[i].name;
	closest = word[0] == '-' && word[1] == '-' ?
		  kf_closest(word + 2, name, count) : NULL;
	if (closest)
		kf_fail(err, KF_E_INPUT, "`kforge %s` has no option %s; did "
			"you mean --%s?", command->name, word, closest);
	else
		kf_fail(err, KF_E_INPUT, "`kforge %s` has no option %s; see "
			"`kforge %s --help`", command->name, word,
			command->name);
	free(word);
	return KF_E_INPUT;
}

/* --- values --------------------------------------------------------------- */

static enum kf_code set_choice(const struct option *o, const char *value,
			       uint64_t *out, struct kf_err *err)
{
	struct kf_buf names = { .max = 200 };

	for (const struct kf_word *c = o->choice; c->name; c++) {
		if (strcmp(c->name, value) == 0) {
			*out = c->value;
			kf_buf_release(&names);
			return KF_OK;
		}
		kf_buf_printf(&names, "%s%s", names.len ? ", " : "", c->name);
	}
	kf_fail(err, KF_E_INPUT, "--%s '%s' is not one of: %s", o->name,
		value, kf_buf_str(&names));
	kf_buf_release(&names);
	return KF_E_INPUT;
}

static enum kf_code set_count(const struct option *o, const char *value,
			      uint64_t *out, struct kf_err *err)
{
	bool positive = o->kind == COUNT;
	uint64_t count;

	if (!kf_parse_u64(value, &count) || (positive && !count))
		return kf_fail(err, KF_E_INPUT, "--%s wants a whole number "
			       "%s 0, not '%s'", o->name,
			       positive ? "above" : "of at least", value);
	if (o->most && count > o->most)
		return kf_fail(err, KF_E_INPUT, "--%s can be at most %llu, "
			       "not %s", o->name, (unsigned long long)o->most,
			       value);
	*out = count;
	return KF_OK;
}

static enum kf_code set_real(const struct option *o, const char *value,
			     double *out, struct kf_err *err)
{
	bool positive = o->kind == POSITIVE;
	double real;

	if (!kf_parse_double(value, &real) || real < 0 ||
	    (positive && real <= 0))
		return kf_fail(err, KF_E_INPUT, "--%s wants a number %s 0, "
			       "not '%s'", o->name,
			       positive ? "above" : "of at least", value);
	if (o->most && real > (double)o->most)
		return kf_fail(err, KF_E_INPUT, "--%s can be at most %llu, "
			       "not %s", o->name, (unsigned long long)o->most,
			       value);
	*out = real;
	return KF_OK;
}

static enum kf_code set_value(const struct option *o, const char *value,
			      struct kf_options *options, struct kf_err *err)
{
	void *at = (char *)options + o->offset;

	switch (o->kind) {
	case FLAG:
		*(bool *)at = true;
		return KF_OK;
	case COUNTER:
		++*(uint64_t *)at;
		return KF_OK;
	case TEXT:
		*(const char **)at = value;
		return KF_OK;
	case LIST:
		append(at, value);
		return KF_OK;
	case CHOICE:
		return set_choice(o, value, at, err);
	case COUNT:
	case COUNT_OR_0:
		return set_count(o, value, at, err);
	case REAL:
	case POSITIVE:
		return set_real(o, value, at, err);
	}
	return KF_OK;
}

/* --- parsing -------------------------------------------------------------- */

struct parse { int argc; char **argv; int at; };

static void note_given(struct kf_options *options, const struct option *o)
{
	size_t row = (size_t)(o - option_table);

	options->given[row / 64] |= UINT64_C(1) << row % 64;
}

static bool was_given(const struct kf_options *options, const struct option *o)
{
	size_t row = (size_t)(o - option_table);

	return options->given[row / 64] >> row % 64 & 1;
}

static enum kf_code take_option(const struct kf_command *command,
				struct parse *p, const struct option *o,
				const char *attached,
				struct kf_options *options,
				struct kf_err *err)
{
	const char *value = attached;

	note_given(options, o);
	if (!o->value) {
		if (attached)
			return kf_fail(err, KF_E_INPUT,
				       "--%s takes no value", o->name);
		return set_value(o, NULL, options, err);
	}
	if (!value && p->at < p->argc)
		value = p->argv[p->at++];
	if (!value || !value[0])
		return kf_fail(err, KF_E_INPUT, "--%s wants a value: %s; see "
			       "`kforge %s --help`", o->name, o->value,
			       command->name);
	return set_value(o, value, options, err);
}

/* "--no-json" takes back what kforge.json says. */
static bool take_no(const struct kf_command *command, const char *word,
		    struct kf_options *options)
{
	const struct option *o;

	if (strncmp(word, "--no-", 5) != 0)
		return false;
	o = by_name(command, word + 5, strlen(word + 5));
	if (!o || (o->kind != FLAG && o->kind != COUNTER))
		return false;
	note_given(options, o);
	if (o->kind == FLAG)
		*(bool *)((char *)options + o->offset) = false;
	else
		*(uint64_t *)((char *)options + o->offset) = 0;
	return true;
}

static enum kf_code take_long(const struct kf_command *command,
			      struct parse *p, const char *word,
			      struct kf_options *options, struct kf_err *err)
{
	size_t len = strcspn(word + 2, "=");
	const struct option *o = by_name(command, word + 2, len);
	const char *attached = word[2 + len] ? word + 3 + len : NULL;

	if (!o && take_no(command, word, options))
		return KF_OK;
	if (!o)
		return unknown_option(command, word, err);
	return take_option(command, p, o, attached, options, err);
}

/* "-jv" is -j -v; "-n3" is -n 3. */
static enum kf_code take_short(const struct kf_command *command,
			       struct parse *p, const char *word,
			       struct kf_options *options, struct kf_err *err)
{
	enum kf_code code = KF_OK;

	for (const char *c = word + 1; !code && *c; c++) {
		const struct option *o = by_letter(command, *c);
		const char *attached;

		if (!o)
			return unknown_option(command, word, err);
		attached = o->value && c[1] ? c + 1 : NULL;
		code = take_option(command, p, o, attached, options, err);
		if (o->value)
			break;
	}
	return code;
}

enum kf_code kf_options_parse(const struct kf_command *command, int argc,
			      char **argv, struct kf_options *options,
			      struct kf_list *argument, struct kf_err *err)
{
	struct parse p = { argc, argv, 0 };
	enum kf_code code = KF_OK;
	bool only_arguments = false;

	*argument = (struct kf_list) { 0 };
	while (!code && p.at < argc) {
		const char *word = argv[p.at++];

		if (only_arguments || word[0] != '-' || !word[1])
			append(argument, word);
		else if (strcmp(word, "--") == 0)
			only_arguments = true;
		else if (word[1] == '-')
			code = take_long(command, &p, word, options, err);
		else
			code = take_short(command, &p, word, options, err);
	}
	if (code || options->help)
		return code;
	if (argument->count < command->argument_min)
		return kf_fail(err, KF_E_INPUT, "usage: kforge %s %s",
			       command->name, command->arguments);
	if (argument->count > command->argument_max)
		return kf_fail(err, KF_E_INPUT,
			       "'%s' is one argument too many; usage: kforge "
			       "%s%s%s", argument->text[command->argument_max],
			       command->name,
			       command->arguments[0] ? " " : "",
			       command->arguments);
	return KF_OK;
}

/* --- defaults from a file ------------------------------------------------- */

static const struct option *any_by_name(const char *name)
{
	for (size_t i = 0; i < KF_COUNT(option_table); i++)
		if (strcmp(option_table[i].name, name) == 0)
			return &option_table[i];
	return NULL;
}

bool kf_options_takes(const struct kf_command *command, const char *name)
{
	return any_by_name(name) && takes(command, name);
}

bool kf_options_was_given(const struct kf_options *options, const char *name)
{
	const struct option *o = any_by_name(name);

	return o && was_given(options, o);
}

static enum kf_code unknown_default(const char *typed, struct kf_err *err)
{
	const char *name[KF_COUNT(option_table)];
	const char *closest;

	for (size_t i = 0; i < KF_COUNT(option_table); i++)
		name[i] = option_table[i].name;
	closest = kf_closest(typed, name, KF_COUNT(option_table));
	return kf_fail(err, KF_E_INPUT, "there is no option of this name%s%s%s",
		       closest ? "; did you mean \"" : "",
		       closest ? closest : "; see `kforge run --help`",
		       closest ? "\"?" : "");
}

static enum kf_code set_default_list(const struct option *o,
				     const json_t *value, void *at,
				     struct kf_err *err)
{
	const json_t *text;
	size_t i;

	json_array_foreach(value, i, text) {
		if (!json_is_string(text) || !json_string_length(text))
			return kf_fail(err, KF_E_INPUT, "--%s wants strings "
				       "in its list: %s", o->name, o->value);
		append(at, json_string_value(text));
	}
	return KF_OK;
}

/* A value of the kind as a command line would spell it; NULL if it is of
 * another type. Strings are borrowed, numbers are written to text. */
static const char *spell(const struct option *o, const json_t *value,
			 char text[32])
{
	bool number = o->kind == COUNT || o->kind == COUNT_OR_0 ||
		      o->kind == REAL || o->kind == POSITIVE;

	if (json_is_string(value) && json_string_length(value) && o->value)
		return json_string_value(value);
	if (number && json_is_integer(value))
		snprintf(text, 32, "%lld",
			 (long long)json_integer_value(value));
	else if (number && json_is_real(value))
		snprintf(text, 32, "%.17g", json_real_value(value));
	else
		return NULL;
	return text;
}

enum kf_code kf_options_set_default(const struct kf_command *command,
				    const char *name, const json_t *value,
				    struct kf_options *options,
				    struct kf_err *err)
{
	const struct option *o = any_by_name(name);
	const char *spelled;
	char text[32];
	void *at;

	if (!o)
		return unknown_default(name, err);
	if (o->offset == AT(help) || is_everywhere(name))
		return kf_fail(err, KF_E_INPUT, "--%s is for the command line "
			       "only", name);
	if (!takes(command, name) || was_given(options, o))
		return KF_OK;
	note_given(options, o);
	at = (char *)options + o->offset;
	if (o->kind == FLAG && json_is_boolean(value)) {
		*(bool *)at = json_is_true(value);
		return KF_OK;
	}
	if (o->kind == COUNTER && json_is_integer(value) &&
	    json_integer_value(value) >= 0) {
		*(uint64_t *)at = (uint64_t)json_integer_value(value);
		return KF_OK;
	}
	if (o->kind == LIST && json_is_array(value))
		return set_default_list(o, value, at, err);
	spelled = spell(o, value, text);
	if (spelled)
		return set_value(o, spelled, options, err);
	return kf_fail(err, KF_E_INPUT, "--%s wants %s", name,
		       o->kind == FLAG ? "true or false" :
		       o->kind == COUNTER ? "a whole number of at least 0" :
		       o->kind == LIST ? "a string, or a list of strings" :
		       o->kind == TEXT || o->kind == CHOICE ? "a string" :
		       "a number");
}

/* --- for who writes about options ----------------------------------------- */

size_t kf_options_count(void)
{
	return KF_COUNT(option_table);
}

bool kf_options_info(const struct kf_command *command, size_t i,
		     struct kf_option_info *out)
{
	const struct option *o = &option_table[i];

	*out = (struct kf_option_info) {
		.letter = o->letter,
		.name = o->name,
		.value = o->value,
		.help = o->help,
		.repeats = o->kind == LIST || o->kind == COUNTER,
	};
	return takes(command, o->name);
}

const char *kf_options_choice(size_t i, size_t nth)
{
	const struct kf_word *c = option_table[i].choice;

	for (; c && c->name && nth; nth--)
		c++;
	return c ? c->name : NULL;
}

void kf_options_help(const struct kf_command *command, struct kf_buf *out)
{
	kf_buf_printf(out, "kforge %s%s%s\n\n%s\n\n", command->name,
		      command->arguments[0] ? " " : "", command->arguments,
		      command->summary);
	for (size_t i = 0; i < KF_COUNT(option_table); i++) {
		const struct option *o = &option_table[i];
		char left[40];

		if (!takes(command, o->name))
			continue;
		snprintf(left, sizeof(left), "--%s%s%s", o->name,
			 o->value ? " " : "", o->value ? o->value : "");
		if (o->letter)
			kf_buf_printf(out, "  -%c, %-24s", o->letter, left);
		else
			kf_buf_printf(out, "      %-24s", left);
		kf_buf_printf(out, " %s\n", o->help);
	}
}
