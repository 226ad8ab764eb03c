/*
 * options.h - the command line, from tables: every option once, every command
 * with the options that it takes. Help and completions come from here too.
 */
#ifndef KF_OPTIONS_H
#define KF_OPTIONS_H

#include "export/export.h"
#include "loop/loop.h"

struct kf_list {
	const char **text;	/* owned array of borrowed strings */
	size_t count;
};

/* The values of all options, set to their defaults before parsing. */
struct kf_options {
	uint64_t given[2];	/* a bit per row of the table: was typed */
	json_t *config;		/* owned; strings of kforge.json, borrowed below */
	bool no_config;
	const char *config_path;
	bool help, json, quiet, dry_run, context, watch, explain, again, jsonl,
		sanitize;
	bool all, force, fit, keep, merge, table, advisor_sees;
	uint64_t verbose;
	const char *platform, *form, *model, *size, *shapes, *shape, *out;
	const char *record, *prompts, *python, *executor;
	const char *cache, *profiler, *advisor, *profile, *release, *picture;
	struct kf_list set, start, hide;
	uint64_t attempts, max_tokens, budget_tokens, seed, calls, threads;
	uint64_t rejudge;
	double target, temperature, reply_timeout_s;
	double timeout_s, memory_gb;	/* 0: not given */
	uint64_t jobs;			/* 0: as many as there are cores */
	const char *devices;		/* NULL: jobs' own */
	uint64_t rules, libraries, baseline, sandbox, stop_after, dtype, as,
		kind;			/* enums */
	bool portable, unverified;
	uint64_t only;			/* enum kf_part */
};

#define KF_PLATFORM_DEFAULT "cpu"

void kf_options_init(struct kf_options *options);
void kf_options_release(struct kf_options *options);

struct kf_command {
	const char *name;
	const char *arguments;		/* for the usage line */
	const char *summary;		/* one line */
	const char *options;		/* names that it takes, space-separated */
	size_t argument_min, argument_max;
	/* Ends with NULL; their names are two words, "problem check". NULL:
	 * this is no group, and run is there. */
	const struct kf_command *const *sub;
	/* Returns the exit status. NULL in a group. */
	int (*run)(const struct kf_options *options, const char **argument,
		   size_t argument_count);
};

/* Fills *options and *argument (owned array of borrowed strings). A mistake
 * is KF_E_INPUT with the nearest right spelling in the sentence. */
KF_MUST_CHECK enum kf_code kf_options_parse(const struct kf_command *command,
		int argc, char **argv, struct kf_options *options,
		struct kf_list *argument, struct kf_err *err);

/* Sets an option of the command that was not typed, from a member of a file of
 * defaults; value must live as long as options do. The checks and sentences
 * are those of the command line. What the command (NULL: any) does not take is
 * left alone, if it is an option at all; what was set counts as typed. */
KF_MUST_CHECK enum kf_code kf_options_set_default(
		const struct kf_command *command, const char *name,
		const json_t *value, struct kf_options *options,
		struct kf_err *err);

/* Does the command (NULL: any) take an option of this name? */
bool kf_options_takes(const struct kf_command *command, const char *name);
/* Was it typed, or set by kforge.json? */
bool kf_options_was_given(const struct kf_options *options, const char *name);

/* One row of the table of options, for who writes about them. */
struct kf_option_info {
	char letter;			/* 0: none */
	const char *name;
	const char *value;		/* name of its value; NULL: takes none */
	const char *help;
	bool repeats;			/* may be given several times */
};
size_t kf_options_count(void);
/* Row i of the table; false if the command (NULL: any) does not take it. */
bool kf_options_info(const struct kf_command *command, size_t i,
		     struct kf_option_info *out);
/* The nth of the values that row i may have; NULL after the last of them, and
 * where they are not counted. */
const char *kf_options_choice(size_t i, size_t nth);

/* The command's help, from the tables. */
void kf_options_help(const struct kf_command *command, struct kf_buf *out);

/* The closest of the names (count of them) to what was typed, or NULL if
 * none is close. */
const char *kf_closest(const char *typed, const char *const *name,
		       size_t count);

#endif
