/* kforge profile: a correct program, and why it takes the time it takes. */
#include <math.h>

#include "cli/cli.h"
#include "profile/profile.h"

#define WORDS_BYTES	(1u << 16)
#define SVG_BYTES	(1u << 18)

/* Everything that one profile holds. */
struct profiling {
	const struct kf_options *options;
	struct kf_setup setup;
	struct kf_target target;
	struct kf_candidate candidate;
	struct kf_verdict verdict;
	struct kf_profile profile;
	unsigned hidden;		/* sets of counters */
	struct kf_roofline roofline;
	enum kf_profile_class bottleneck;
	struct kf_buf page;
	char *source_dir, *judge_dir;
	struct kf_temporary scratch;	/* removed at the end */
	bool profiled;
};

static enum kf_code judge(struct profiling *p, struct kf_err *err)
{
	enum kf_code code = kf_cli_scratch("profile", &p->scratch, err);

	if (code)
		return code;
	p->source_dir = kf_path_join(p->scratch.path, "source");
	p->judge_dir = kf_path_join(p->scratch.path, "judge");
	code = kf_candidate_write(&p->candidate, p->source_dir, err);
	return code ? code : kf_judge(&(struct kf_judge_spec) {
		.setup = &p->setup,
		.target = &p->target,
		.seed = p->options->seed,
		.call_count_fixed = (unsigned)p->options->calls,
		.source_dir = p->source_dir,
		.work_dir = p->judge_dir,
	}, &p->verdict, err);
}

/* --- the profile ---------------------------------------------------------- */

static enum kf_code take(struct profiling *p, struct kf_err *err)
{
	const struct kf_options *options = p->options;
	struct kf_evaluate_request base =
		kf_judge_request(&(struct kf_judge_spec) {
			.setup = &p->setup, .target = &p->target,
			.source_dir = p->source_dir,
		});
	char *artefact = kf_artefact_path(p->judge_dir,
					  p->verdict.artefact_hash);
	char *work = options->out ? kf_path_join(options->out, "raw") :
		kf_path_join(p->scratch.path, "profile");
	enum kf_code code = kf_mkdir_p(work, err);

	if (!code)
		code = kf_profile_take(&(struct kf_profile_request) {
			.base = &base,
			.artefact_path = artefact,
			.compiler_log = kf_buf_str(&p->verdict.compiler_log),
			.time_ns = p->verdict.time_ns,
			.profiler = options->profiler,
			.work_dir = work,
		}, &p->profile, err);
	if (!code && !options->out) {	/* it is removed with the scratch */
		free(p->profile.raw_path);
		p->profile.raw_path = NULL;
	}
	free(work);
	free(artefact);
	return code;
}

static void reduce(struct profiling *p)
{
	kf_profile_hide(&p->profile, p->hidden);
	kf_roofline_make(&p->target.bundle, &p->setup.device,
			 p->verdict.time_ns, &p->profile, &p->roofline);
	p->page = (struct kf_buf) { .max = KF_PROFILE_PAGE_BYTES };
	p->bottleneck = kf_profile_reduce(&p->profile, &p->roofline,
					  &p->page);
	p->profiled = true;
}

static json_t *to_json(const struct profiling *p)
{
	json_t *json = json_object();

	json_object_set_new(json, "problem",
			    json_string(p->target.problem.name));
	json_object_set_new(json, "platform",
			    json_string(p->setup.platform->name));
	json_object_set_new(json, "verdict", kf_verdict_to_json(&p->verdict));
	if (!p->profiled)
		return json;
	json_object_set_new(json, "bottleneck", json_string(
			    kf_profile_class_name(p->bottleneck)));
	json_object_set_new(json, "roofline", kf_roofline_json(&p->roofline));
	json_object_set_new(json, "profile", kf_profile_json(&p->profile));
	json_object_set_new(json, "page", kf_json_string(kf_buf_str(&p->page),
							 p->page.len));
	return json;
}

/* The folder of --out: page, picture, everything as JSON, and raw/. */
static enum kf_code keep(const struct profiling *p, struct kf_err *err)
{
	const char *out = p->options->out;
	struct kf_buf svg = { .max = SVG_BYTES };
	char *title, *path;
	json_t *json;
	enum kf_code code;

	if (!out)
		return KF_OK;
	title = kf_format("%s on %s", p->target.problem.name,
			  p->setup.device.name);
	path = kf_path_join(out, "profile.json");
	json = to_json(p);
	kf_roofline_svg(&p->roofline, title, &svg);
	code = kf_file_write_in(out, "roofline.svg", kf_buf_str(&svg),
				svg.len, err);
	if (!code)
		code = kf_file_write_in(out, "page.txt", kf_buf_str(&p->page),
					p->page.len, err);
	if (!code)
		code = kf_json_write(path, json, err);
	json_decref(json);
	kf_buf_release(&svg);
	free(path);
	free(title);
	return code;
}

/* --- telling -------------------------------------------------------------- */

static void print_words(const struct profiling *p)
{
	struct kf_buf words = { .max = WORDS_BYTES };

	kf_verdict_explain(&p->verdict, &words);
	if (p->profiled) {
		kf_buf_puts(&words, "\n");
		kf_roofline_words(&p->roofline, &words);
		kf_buf_puts(&words, "\n");
		kf_buf_add(&words, kf_buf_str(&p->page), p->page.len);
	}
	fputs(kf_buf_str(&words), stdout);
	kf_buf_release(&words);
}

static enum kf_code check_out(const char *out, struct kf_err *err)
{
	if (!out || !kf_path_exists(out) || kf_path_is_empty(out))
		return KF_OK;
	return kf_fail(err, KF_E_INPUT, "%s is there already and is no empty "
		       "folder: name another as --out", out);
}

static enum kf_code run_stages(struct profiling *p, const char **argument,
			       size_t argument_count, const struct kf_log *log,
			       struct kf_err *err)
{
	struct kf_setup_spec spec = kf_cli_setup_spec(p->options, log);
	enum kf_code code = kf_cli_hidden(p->options, &p->hidden, err);

	if (!code)
		code = check_out(p->options->out, err);
	spec.baseline = KF_BASELINE_NONE;
	if (!code)
		code = kf_cli_open(p->options, &spec, argument[0],
				   &(struct kf_cli_programs) {
			.path = argument + 1, .count = 1,
			.path_count = argument_count - 1,
			.candidate = &p->candidate,
		}, &p->setup, &p->target, err);
	if (code)
		return code;
	if (p->candidate.end == KF_EXTRACT_GOOD)
		code = judge(p, err);
	else
		kf_generation_failure(&p->candidate, &p->verdict);
	if (!code)
		kf_cli_add_hint(p->options, argument + 1, argument_count - 1,
				&p->verdict);
	if (code || p->verdict.state != KF_CORRECT)
		return code;
	/* Ceilings take a second, so only now that there is a program. */
	code = kf_setup_measure(&p->setup, err);
	if (!code)
		code = take(p, err);
	if (!code)
		reduce(p);
	return code ? code : keep(p, err);
}

static void release(struct profiling *p, const struct kf_log *log)
{
	struct kf_err ignored = { 0 };

	if (kf_temporary_remove(&p->scratch, &ignored))
		kf_logf(log, KF_LOG_WARN, "%s", ignored.text);
	free(p->source_dir);
	free(p->judge_dir);
	kf_buf_release(&p->page);
	kf_roofline_release(&p->roofline);
	kf_profile_release(&p->profile);
	kf_verdict_release(&p->verdict);
	kf_candidate_release(&p->candidate);
	kf_target_release(&p->target);
	kf_setup_release(&p->setup);
}

static int profile(const struct kf_options *options, const char **argument,
		   size_t argument_count)
{
	struct profiling p = { .options = options };
	struct kf_err err = { 0 };
	struct kf_log log;
	int status;

	kf_cli_log(options, &log);
	kf_cli_catch_signals();
	if (run_stages(&p, argument, argument_count, &log, &err)) {
		status = kf_cli_fail(&err);
	} else {
		status = kf_cli_status(&p.verdict);
		if (options->json)
			kf_cli_print_json_take(to_json(&p));
		else
			print_words(&p);
	}
	release(&p, &log);
	return status;
}

const struct kf_command kf_command_profile = {
	.name = "profile",
	.arguments = "PROBLEM FILE...|DIR|REPLY.md|-",
	.summary = "why a correct program takes the time it takes: counters, roofline, one page",
	.options = "platform set size dtype seed calls threads sandbox python "
		   "cache profiler hide out json quiet verbose help",
	.argument_min = 2,
	.argument_max = 64,
	.run = profile,
};
