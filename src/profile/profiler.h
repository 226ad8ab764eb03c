/*
 * profiler.h - a tool that counts or times, as a table: mostly data.
 *
 * To add one: a file with its table, its reader (read.h) if none of ours will
 * do, a line in profilers.c, its name in the "profilers" of the platforms that
 * it is for, fixtures below tests/data/profile/, a row in
 * docs/profiling.md.
 *
 * A tool is around the runner (its command has {run}: it starts in the sandbox,
 * before the program), or beside it (its command has {pid}: it runs as we do
 * and is told to stop by SIGINT), or there is none and kforge counts by
 * itself.
 */
#ifndef KF_PROFILE_PROFILER_H
#define KF_PROFILE_PROFILER_H

#include "profile/read.h"

#define KF_PROFILER_ABI 1

struct kf_profiler {
	unsigned abi;			/* KF_PROFILER_ABI */
	const char *name;		/* "[a-z]+"; kept in stores */
	const char *title;		/* for people */
	/* The programs that it is for: of one part on shared memory, two-part,
	 * and of one part that have their tensors moved; the last on a device,
	 * or by a command. */
	bool one_part, two_part, free;
	/* What PyTorch must call the kind of device; NULL: any. */
	const char *device;

	/* Words, NULL-terminated; NULL: no tool. PATH has the first.
	 *	{out}		the folder for its files
	 *	{run}		the runner's command; the last word, alone
	 *	{pid}		the process that runs the program
	 *	{control}	perf's --control: counting begins when told
	 *	{metrics}	Nsight Compute's names, with commas
	 */
	const char *const *command;
	const char *install;		/* the way out if it is not there */
	/* Run when the program has ended, as we do, until one of them exits
	 * with 0; what that prints is the result. NULL, or ends with NULL.
	 * {report} is the first of these files in {out} that is there. */
	const char *const *const *after;
	const char *const *report;	/* NULL-terminated */
	const char *result;		/* a file in {out}; NULL: what is printed */
	const char *const *path;	/* what its sandbox shows beside /usr; NULL */
	kf_profile_read_fn *read;

	bool launcher;	/* as in kf_worker_wrap */
	bool trace;	/* the runner times each launch, or tells a tool around
			   it when a call begins and ends */
	bool activity;	/* with trace: by the vendor's own records */
	/* Of the platform's list only where this one, which stands before it,
	 * brought nothing; NULL: always. */
	const char *instead_of;
	bool sample;	/* kforge looks at the process's threads */
	bool passive;	/* threads that wait sleep */
	unsigned threads;		/* 0: as it was judged */
	unsigned warm_count, call_count;
	unsigned slower;		/* so many times slower a call may be */
	/* Instead of the platform's words that bind a program to this machine's
	 * processor: then it is compiled once more. NULL: it is not. */
	const char *const *(*machine)(void);
};

extern const struct kf_profiler kf_profiler_perf, kf_profiler_threads,
	kf_profiler_callgrind, kf_profiler_launches, kf_profiler_ncu,
	kf_profiler_nsys, kf_profiler_cupti;
/* Every one; the last entry is NULL. */
extern const struct kf_profiler *const kf_profilers[];
/* NULL if there is none of that name. */
const struct kf_profiler *kf_profiler_by_name(const char *name);

/* "command:WORDS": one made of words, which *words owns. KF_E_INPUT unless they
 * use {run} or {pid}. */
struct kf_profiler_words { char **word; size_t count; };
KF_MUST_CHECK enum kf_code kf_profiler_of_command(const char *text,
		struct kf_profiler *out, struct kf_profiler_words *words,
		struct kf_err *err);
void kf_profiler_words_release(struct kf_profiler_words *words);

/* --- command.c ------------------------------------------------------------ */

struct kf_profiler_values {
	const char *out, *report;
	pid_t pid;
	const char *control;
};
/* A command with its placeholders replaced, without {run}; words own it. */
void kf_profiler_expand(const char *const *command,
			const struct kf_profiler_values *values,
			struct kf_profiler_words *out);
/* Does any word hold this? */
bool kf_profiler_uses(const char *const *command, const char *placeholder);

/* --- beside.c: a tool that runs beside the program ------------------------ */

struct kf_beside {
	pid_t pid;			/* 0: none */
	int control_fd, answer_fd;	/* -1: it is not told when to count */
};
/* What it prints goes to said_path. */
KF_MUST_CHECK enum kf_code kf_beside_start(const char *const *argv,
		const char *said_path, bool controlled, struct kf_beside *out,
		struct kf_err *err);
/* From here on it counts. False: it has ended, or does not answer. */
bool kf_beside_begin(struct kf_beside *beside);
/* It counts no more, and ends; killed if it does not. */
void kf_beside_end(struct kf_beside *beside);

/* --- sample.c: what the kernel knows of a process's threads --------------- */

struct kf_sample {
	struct kf_sample_thread {
		pid_t id;
		uint64_t run_ns, wait_ns;
	} *thread;			/* owned */
	size_t count;
	uint64_t faults, switches;
};
/* Empty where the kernel does not tell. */
void kf_sample_take(pid_t pid, struct kf_sample *out);
void kf_sample_release(struct kf_sample *sample);
/* What lies between two, of one of so many calls, as lines that kf_read_table
 * reads. took_ns: of all calls together. */
void kf_sample_write(const struct kf_sample *before,
		     const struct kf_sample *after, unsigned call_count,
		     uint64_t took_ns, struct kf_buf *out);

/* --- run.c: one profiler on one program ----------------------------------- */

/* *out, which is to be released in any case, says what came of it: only what
 * stops everything is a kf_code. denied: see kf_profile_request. */
KF_MUST_CHECK enum kf_code kf_profiler_run(const struct kf_profiler *profiler,
		const struct kf_profile_request *req, struct kf_profile *out,
		struct kf_err *err);

#endif
