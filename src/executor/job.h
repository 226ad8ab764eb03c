/*
 * job.h - one judgement as a folder: what is to be judged and how, and later
 * what came of it. docs/jobs.md has the format.
 *
 *	job.json	problem, platform, files, rules, seed, limits ...
 *	program.c	the candidate's files, or a model's whole reply
 *	problem/	optional: the problem, so that the folder is complete
 *	result.json	there, and whole, once it is judged
 *	error.json	why it could not be judged; tried again the next time
 *	log.txt		the compiler's words and what was said meanwhile
 *	lock		held by the process that judges it
 *	profile/	what profilers wrote, if one was asked for
 *	work/		scratch, removed at the end
 *
 * Who starts a judgement (the loop, kforge judge, a queue on another machine)
 * makes no difference to it.
 */
#ifndef KF_EXECUTOR_JOB_H
#define KF_EXECUTOR_JOB_H

#include "executor/judge.h"

#define KF_JOB_VERSION		1
#define KF_RESULT_VERSION	1
#define KF_JOB_FILES_MAX	64

/* What is wanted of a judge. */
enum kf_job_ask {
	KF_ASK_VERDICT,		/* on the job's candidate */
	KF_ASK_PROBLEM,		/* what a writer must know: the device, the
				   problem's shapes, its health; no candidate */
};

/* One of the candidate's files. */
struct kf_job_file {
	char *name;		/* owned; a plain name */
	char *text;		/* owned; NULL: it lies in the folder */
	size_t len;
};

struct kf_job {
	char *problem;		/* owned; path, absolute or from the folder */
	char *problem_hash;	/* owned; what it must have; NULL: any */
	char **set;		/* owned; NAME=VALUE */
	size_t set_count;
	char *size;		/* owned; name of a preset; NULL: as declared */
	char *platform;		/* owned; "cpu", "cpu:1", "cuda:h200" */
	char *form;		/* owned; of the program, "torch"; NULL: the
				   platform's default */
	struct kf_job_file *file;	/* owned */
	size_t file_count;
	char *profile;			/* owned; how a correct program is profiled
					   besides: "auto" or a profiler's
					   name; NULL: not at all */
	char *reply;		/* owned; instead of files: the name of the file
				   with a whole reply; in a line its text */
	uint64_t ask;		/* enum kf_job_ask */
	uint64_t dtype;		/* enum kf_dtype; NONE: the problem's own */
	uint64_t rules, libraries, baseline, stop_after, sandbox;	/* enums */
	uint64_t seed, calls, threads;	/* 0 as in struct kf_judge_spec */
	struct kf_judge_limits limits;
};

/* Where a job stands: in a folder "files" is a list of names and "reply" a
 * name; in a line (kforge judge --jsonl) they hold the texts themselves, "id"
 * is allowed, and "kforge_job" may be left out. */
enum kf_job_form { KF_JOB_FOLDER, KF_JOB_LINE };

/* A zeroed kf_job is empty. Whatever is not as docs/jobs.md has it is
 * KF_E_INPUT; what names the text in the sentence. */
KF_MUST_CHECK enum kf_code kf_job_from_json(const json_t *json,
		enum kf_job_form form, const char *what, struct kf_job *out,
		struct kf_err *err);
/* New reference; without texts of files. */
json_t *kf_job_to_json(const struct kf_job *job);
void kf_job_release(struct kf_job *job);

/* Reads FOLDER/job.json. What it leaves out is taken from defaults, which may
 * be NULL: members as kf_job_to_json has them. */
KF_MUST_CHECK enum kf_code kf_job_read(const char *folder,
		const json_t *defaults, struct kf_job *out,
		struct kf_err *err);
/* Makes the folder if there is none, and writes job.json last: a folder that
 * has one is whole. The candidate's files take the place of job's; problem
 * (NULL: the job's stays) is written below FOLDER/problem/. A result of before
 * is removed. Nothing is synced to the disk: a job can be made again. */
KF_MUST_CHECK enum kf_code kf_job_write(const char *folder,
		const struct kf_job *job, const struct kf_candidate *candidate,
		const struct kf_problem *problem, struct kf_err *err);

/* The same, unless just this job lies there already: then it and its result
 * stay. candidate may be NULL if only the problem is asked for. */
KF_MUST_CHECK enum kf_code kf_job_write_if_other(const char *folder,
		const struct kf_job *job, const struct kf_candidate *candidate,
		const struct kf_problem *problem, struct kf_err *err);

/* FOLDER/NAME, for the caller to free; there, or not there at all. A link, a
 * pipe or anything else but a regular file is KF_E_INPUT: a folder that others
 * have made could name files elsewhere, or block who reads. */
KF_MUST_CHECK enum kf_code kf_job_file(const char *folder, const char *name,
		char **path, struct kf_err *err);
/* Of job.json and the candidate's files as they lie in the folder: what a
 * result belongs to, together with the problem's hash. */
KF_MUST_CHECK enum kf_code kf_job_hash(const char *folder,
		char out[KF_HASH_HEX], struct kf_err *err);

/* FOLDER/NAME as JSON, new reference; NULL if it is not there, is no regular
 * file or no JSON. */
json_t *kf_job_file_read(const char *folder, const char *name);
/* FOLDER/result.json if it is one of the job of that hash; else NULL. */
json_t *kf_job_result_of(const char *folder, const char *hash);

/* A folder that is perhaps being copied to where it lies, by what does not
 * bring job.json last. Zeroed before the first look. */
struct kf_job_copy {
	uint64_t changed_ns;	/* the newest change in it, by the disk's clock */
	uint64_t since_ns;	/* when that was seen first, by kf_now_ns */
};
#define KF_JOB_COPY_NS (60 * KF_NS_PER_S)
/* Is it to be judged as it is now? If job.json can be read and all that it
 * names is there; or if nothing has changed for so long: then judging tells
 * what is wrong. */
bool kf_job_has_come(const char *folder, uint64_t now_ns,
		     struct kf_job_copy *copy);

/* --- judging one ---------------------------------------------------------- */

struct kf_job_spec {
	struct kf_setup *setup;		/* remembers that its compiler works */
	const struct kf_target *target;
	const struct kf_job *job;	/* its rules, seed, limits and so on */
	const struct kf_candidate *candidate;
	const char *folder;		/* gets work/ while it is judged */
	const char *hash;		/* kf_job_hash, for its result; NULL: none */
	const volatile int *cancel;	/* NULL: the setup's */
};

/* A candidate without a program has its verdict at once. Writes nothing that
 * stays. log_text (may be NULL) gets what was said meanwhile. */
KF_MUST_CHECK enum kf_code kf_job_judge(const struct kf_job_spec *spec,
		struct kf_verdict *out, struct kf_buf *log_text,
		struct kf_err *err);
/* The verdict with what it belongs to: problem, platform, device, machine. New
 * reference. */
json_t *kf_job_result(const struct kf_job_spec *spec,
		      const struct kf_verdict *verdict);
/* Writes log.txt, then result.json, whole and on disk or not at all. */
KF_MUST_CHECK enum kf_code kf_job_finish(const char *folder,
		const json_t *result, const struct kf_buf *log_text,
		struct kf_err *err);
/* The whole way of one judgement through a folder: writes the job with its
 * problem and the candidate, judges it, writes log.txt and result.json. */
KF_MUST_CHECK enum kf_code kf_job_do(const struct kf_job_spec *spec,
		struct kf_verdict *out, struct kf_err *err);

/* --- a folder that somebody has made -------------------------------------- */

struct kf_targets;

/* How a job's candidate is read: from its folder, or from its line. */
typedef enum kf_code kf_job_reader(const struct kf_job *job,
		const struct kf_platform *platform, const char *folder,
		struct kf_candidate *out, struct kf_err *err);

struct kf_job_steps {
	const struct kf_job *job;
	const char *folder;		/* as in struct kf_job_spec */
	const char *hash;		/* likewise */
	const char *problem_folder;	/* where its path begins; NULL: here */
	kf_job_reader *read;
	struct kf_buf *log_text;	/* see kf_job_judge */
};

/* What became of it; the setup and target of spec are valid until the next
 * judgement with these targets. */
struct kf_judged {
	struct kf_candidate candidate;
	struct kf_verdict verdict;
	struct kf_job_spec spec;
};
void kf_judged_release(struct kf_judged *judged);

/* Opens what the job needs, reads its candidate, judges it. *out is to be
 * released also after a failure. */
KF_MUST_CHECK enum kf_code kf_job_open_and_judge(struct kf_targets *targets,
		const struct kf_job_steps *steps, struct kf_judged *out,
		struct kf_err *err);

/* Writes error.json: why the job of this folder could not be judged. */
KF_MUST_CHECK enum kf_code kf_job_note_trouble(const char *folder,
		const struct kf_err *trouble, struct kf_err *err);

enum kf_job_end {
	KF_JOB_DONE,		/* judged now */
	KF_JOB_HAD_RESULT,	/* judged before, just as it is now */
	KF_JOB_TAKEN,		/* another process judges it now */
	KF_JOB_TROUBLE,		/* ours: error.json says which */
};

struct kf_job_how {
	bool again;		/* one with its result too, with that one's seed */
	bool wait;		/* for a process that judges it now */
	const json_t *defaults;	/* for what the job leaves out; may be NULL */
	const volatile int *cancel;
};

struct kf_job_outcome {
	enum kf_job_end end;
	json_t *result;		/* owned; what result.json holds; NULL: none */
	struct kf_err trouble;	/* for KF_JOB_TROUBLE */
};
void kf_job_outcome_release(struct kf_job_outcome *outcome);

/* Claims the folder, so that no two processes judge it, reads the job, judges
 * it unless it has its result: one of this job.json, candidate and problem.
 * Returns a code only for what has left no error.json: KF_E_CANCELED, and
 * a folder that cannot be written to. */
KF_MUST_CHECK enum kf_code kf_job_run(struct kf_targets *targets,
		const char *folder, const struct kf_job_how *how,
		struct kf_job_outcome *out, struct kf_err *err);

#endif
