/*
 * cli.h - what the commands share: talk on standard error, results on
 * standard output, Ctrl-C, exit statuses.
 */
#ifndef KF_CLI_H
#define KF_CLI_H

#include "cli/options.h"

/* Exit statuses, documented in docs/cli.md. */
enum kf_exit {
	KF_EXIT_GOOD = 0,
	KF_EXIT_NOT_ALL = 1,	/* run: a problem has no correct program */
	KF_EXIT_INPUT = 2,	/* wrong usage or malformed input */
	KF_EXIT_LIMIT = 3,
	KF_EXIT_UNAVAIL = 4,
	KF_EXIT_TIMEOUT = 5,
	KF_EXIT_IO = 6,
	KF_EXIT_GENERATION_FAILURE = 11,	/* verify: the verdict */
	KF_EXIT_COMPILATION_FAILURE = 12,
	KF_EXIT_RUNTIME_ERROR = 13,
	KF_EXIT_MISMATCH = 14,
	KF_EXIT_CANCELED = 130,	/* Ctrl-C */
};

/* Says what went wrong and gives the exit status for it. */
int kf_cli_fail(const struct kf_err *err);

/* The exit status for a verdict. */
int kf_cli_status(const struct kf_verdict *verdict);

/* A folder for a command's scratch, under TMPDIR; what earlier ones left that
 * were killed goes. Caller releases it. */
KF_MUST_CHECK enum kf_code kf_cli_scratch(const char *command,
		struct kf_temporary *out, struct kf_err *err);

/* From now on Ctrl-C and SIGTERM set *kf_cli_cancel(); a second one ends the
 * process at once. */
void kf_cli_catch_signals(void);
const volatile int *kf_cli_cancel(void);

/* From now on a file that is cut while it is mapped ends the process with
 * KF_EXIT_IO and a sentence that names it. For main() alone; programs that it
 * starts do not inherit it. */
void kf_cli_catch_bus_errors(void);

/* Fills *log from --quiet and --verbose; it writes to standard error. */
void kf_cli_log(const struct kf_options *options, struct kf_log *log);

/* options -> what the stages need. log must outlive it. */
struct kf_setup_spec kf_cli_setup_spec(const struct kf_options *options,
				       const struct kf_log *log);

/* The sets of counters that --hide names, as kf_profile_hide has them. */
KF_MUST_CHECK enum kf_code kf_cli_hidden(const struct kf_options *options,
					 unsigned *out, struct kf_err *err);

/* Prints JSON and a newline on standard output, then lets go of it. */
void kf_cli_print_json_take(json_t *value);

/* --picture: writes where the wrong elements lie to path, as SVG (a map of the
 * evidence, evaluate/error_map.h); a note on standard error where a verdict has
 * none. */
enum kf_code kf_cli_picture(const json_t *verdict, const char *path,
			    struct kf_err *err);

/* The run folder to work on: the argument, or the latest under kforge-runs/.
 * Caller frees. */
KF_MUST_CHECK enum kf_code kf_cli_run_dir(const char *asked, char **out,
					  struct kf_err *err);

/* A path as one word of a shell, so that a command with it can be copied.
 * Caller frees. */
char *kf_cli_quote(const char *path) KF_NEVER_NULL;

/* "1.23 ms"; "-" for NaN. */
void kf_cli_time(double ns, char out[32]);
/* "2.10x", "~2.10x" where it is not conclusive; "-" for NaN. */
void kf_cli_ratio(double ratio, bool conclusive, char out[32]);

/* Reads the file of --shapes, if it was given, into spec->shapes; to be closed
 * again, also on failure, when what was opened with spec has its own. */
enum kf_code kf_cli_open_shapes(const struct kf_options *options,
				struct kf_setup_spec *spec,
				struct kf_err *err);
void kf_cli_close_shapes(struct kf_setup_spec *spec);

/* Programs that a command is given: as many paths for each. */
struct kf_cli_programs {
	const char *const *path;	/* [count * path_count] */
	size_t count, path_count;
	struct kf_candidate *candidate;	/* [count]; gets them */
};

/* What a command begins with: a setup, with --shapes if that was given; then
 * its programs (NULL: none), as opening the problem may take minutes; then
 * that. What was opened is to be released also after a failure. */
KF_MUST_CHECK enum kf_code kf_cli_open(const struct kf_options *options,
		const struct kf_setup_spec *spec, const char *problem,
		const struct kf_cli_programs *programs, struct kf_setup *setup,
		struct kf_target *target, struct kf_err *err);

/* What cannot work on this platform may be meant for another: then the verdict
 * on these files ends with "this looks like a program for cuda: say --platform
 * cuda", where no --platform was said. */
void kf_cli_add_hint(const struct kf_options *options, const char *const *path,
		     size_t count, struct kf_verdict *verdict);

/* The outcome of a run, from its store: a table, or JSON. */
enum kf_code kf_cli_report(const char *run_dir, bool json,
			   struct kf_err *err);

/* Commands and options as sections of the manual page, in scdoc's form. */
void kf_cli_print_manual(void);

/* The commands; each is one file. */
extern const struct kf_command kf_command_run, kf_command_resume,
	kf_command_status, kf_command_judge, kf_command_build,
	kf_command_verify, kf_command_show, kf_command_report,
	kf_command_experiment,
	kf_command_prompt,
	kf_command_platforms, kf_command_models, kf_command_doctor,
	kf_command_completions, kf_command_compare, kf_command_export,
	kf_command_profile,
	kf_command_problem, kf_command_problem_check,
	kf_command_problem_new, kf_command_problem_show;
/* Every command; ends with NULL. */
extern const struct kf_command *const kf_commands[];
/* The ith command that can be run, members of groups in their group's place;
 * NULL after the last. */
const struct kf_command *kf_cli_command(size_t i);

#endif
